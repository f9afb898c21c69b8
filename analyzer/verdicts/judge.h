/*
 * What judges share: facts on each outermost call of the analysed steps, and how a suspicion becomes a verdict.
 *
 * A judge marks the calls a repair would change, then concludes: the bound of what they can cost, the replay of the
 * repaired graph where the bound is worth it, and from these confirmed, ruled out or unknown.
 *
 * Memory: 12 bytes a fact; 4 bytes a call for their list; a byte a call for each finding.
 */
#ifndef GW_ANALYZER_VERDICTS_JUDGE_H
#define GW_ANALYZER_VERDICTS_JUDGE_H

#include <pthread.h>

#include "analyzer/verdicts/call_ops.h"
#include "analyzer/verdicts/host.h"
#include "analyzer/verdicts/lane_steps.h"
#include "analyzer/verdicts/repairs.h"
#include "analyzer/verdicts/replay.h"
#include "analyzer/verdicts/slow_steps.h"
#include "analyzer/verdicts/verdicts.h"

/* An outermost call. Facts are grouped by thread, in order of begin, for the whole trace; outside the analysed steps,
 * of calls that follow each other and are of class other, without typed arguments or operations, only the first and the
 * last are kept. */
struct gw_fact {
    uint32_t call;
    uint32_t step;             /* the analysed step of its lane that it begins in, GW_NONE for none */
    uint8_t cls;               /* enum gw_call_class */
    uint8_t op_place;          /* see gw_call_ops_place */
    uint8_t detail_kind;       /* enum gw_detail_kind: of its typed arguments, or of those of a call nested in it */
    bool argument_inside : 1;  /* of the latter */
    bool loads : 1;            /* calls nested in it load or compile, see gw_fact_compile_ns */
    bool gap_before : 1;       /* some record tells of the CPU in the pause before it */
    bool enqueues_nothing : 1; /* so that its operations need not be looked for */
    bool claimed : 1;          /* explained by host-sync, so not counted again as device-sync or tiny-copies */
    bool compiling : 1; /* recompile explains the pause before it: not counted again as the host's work or sleep */
};
_Static_assert(sizeof(struct gw_fact) == 12, "there are many facts");

struct gw_judge {
    const struct gw_model *model;
    const struct gw_budget *budget;
    struct gw_budget *own_budget; /* the same when none was given; whoever takes it leaves NULL */
    struct gw_host host;
    struct gw_call_ops call_ops;
    struct gw_lane_steps lane_steps;
    GW_ARRAY(struct gw_fact, facts);
    size_t *device_gaps; /* gaps of device d lie in [device_gaps[d], device_gaps[d + 1]) of budget->gaps */
    uint32_t *first_device, *next_device; /* of process p: first_device[p], then next_device[d]; GW_NONE at the end */
    uint64_t *idle_on_ns;                 /* a gap's length and that of the gaps that follow it without a break */
    double steps;                         /* analysed */
    double mean_ns, median_ns, noise_ns, threshold_ns; /* of a step; median and noise of device_steps */
    struct gw_interval *device_steps;                  /* by step of the model: see device_steps.h */
    struct gw_slow_steps slow;                         /* which of them are slow */
    double class_ns[GW_CLASS_COUNT];                   /* mean per analysed step, mean over devices */
    double idle_ns;                                    /* of all idle classes */
    double unknown_ns;                                 /* of idle_unknown */
    bool gpu_timed;                                    /* some operation has times */
    bool lost;                                         /* events were lost within the analysed steps */
    const char *loss_advice;                           /* then: what happened, and what to do */
    double launch_wait_share;                          /* of launches that returned after their kernel */
    struct gw_replay *replay;                          /* NULL: none, or it is too far from the measured steps */
    double replay_mean_ns;                             /* of the unchanged replay, without noise */
    double replay_error_percent;                       /* negative: no replay was made */
    double replay_doubt_ns;    /* of each saving, as the replay misses the measured step; 0 when it reproduces it */
    struct gw_comm *comm;      /* see comm.h */
    struct gw_copies copies;   /* whoever takes them leaves none */
    pthread_mutex_t lock;      /* of the two below */
    struct gw_repairs repairs; /* of confirmed suspects */
    uint64_t *explained_ns;    /* by step: the most that one confirmed verdict makes it longer than usual */
};

/* What a count or sum over the analysed steps is on average in one. */
static inline double gw_a_step(const struct gw_judge *judge, double count)
{
    return count / (judge->steps > 0 ? judge->steps : 1);
}

/* budget may be NULL: the judge makes its own, of steps. Returns 0 or -ENOMEM. */
int gw_judge_init(struct gw_judge *ret_judge, const struct gw_model *model, const struct gw_budget *budget);
void gw_judge_release(struct gw_judge *judge);

/* A fact on any call, which has no neighbours and is in no step. */
struct gw_fact gw_fact_of_call(const struct gw_judge *judge, uint32_t call);

/* Typed arguments of a fact, NULL when it has none of that kind. */
const struct gw_copy *gw_fact_copy(const struct gw_judge *judge, const struct gw_fact *fact);
const struct gw_memory *gw_fact_memory(const struct gw_judge *judge, const struct gw_fact *fact);
const struct gw_order *gw_fact_order(const struct gw_judge *judge, const struct gw_fact *fact);

static inline uint32_t gw_fact_thread(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return judge->model->calls[fact->call].thread;
}

/* Time in loads and compilations nested in the call; 0 without any. */
uint64_t gw_fact_compile_ns(const struct gw_judge *judge, const struct gw_fact *fact);

/* The fact before or after on the same thread, or NULL. */
static inline const struct gw_fact *gw_fact_before(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact != judge->facts && gw_fact_thread(judge, fact - 1) == gw_fact_thread(judge, fact) ? fact - 1 : NULL;
}

static inline struct gw_fact *gw_fact_after(struct gw_judge *judge, const struct gw_fact *fact)
{
    const size_t next = (size_t)(fact - judge->facts) + 1;
    return next < judge->facts_count && gw_fact_thread(judge, fact + 1) == gw_fact_thread(judge, fact)
               ? &judge->facts[next]
               : NULL;
}

/* What a fact enqueued, in judge->call_ops.list. */
struct gw_op_range gw_fact_ops(const struct gw_judge *judge, const struct gw_fact *fact);

/* The first operation a fact enqueued that has times, or NULL. */
const struct gw_op *gw_fact_op(const struct gw_judge *judge, const struct gw_fact *fact);

/* Time outside CUDA before the call on its thread: all of it, and the part off the CPU. */
uint64_t gw_fact_pause_ns(const struct gw_judge *judge, const struct gw_fact *fact, uint64_t *ret_blocked_ns);

/* What a replayed saving makes of a suspect: confirmed when it is worth it for all the replay's doubt, ruled out when
 * it is not even with it. */
enum gw_verdict_state gw_judge_saving(const struct gw_judge *judge, double saving_ns);

/* Keeps the repair of a suspect that is confirmed, as gw_repairs_keep(); several threads may. Returns 0 or -ENOMEM. */
int gw_judge_keep_repair(struct gw_judge *judge, const struct gw_repair *repair, const struct gw_kept_repair *kept);

/* "", or a clause on how far the replay, and so the saving, may be off. The caller frees it; NULL without memory. */
char *gw_judge_doubt_words(const struct gw_judge *judge);

/* ---- a suspicion being made into a verdict ---- */

struct gw_finding {
    uint8_t *edits;        /* by call of the model: GW_EDIT_* */
    uint64_t *step_ns;     /* by step: what the marked calls explain of it */
    double host_ns, op_ns; /* sums over marks: time of calls and pauses, time of operations */
    double cap_ns;         /* no more than this per step, whatever the replay says; negative: no cap */
    double owed_ns;        /* over the run: what the repair does instead takes so long where it saves anything */
    double least_ns;       /* a repair that saves a step less is not worth its making: ruled out */
    uint64_t count;        /* occurrences */
    bool overlaps;         /* the repair lets kernels run beside each other: not only idle time and copies end */
    bool waits;            /* the marked calls wait for the device: long ones do not explain a slow step */
    uint32_t calls[GW_EVIDENCE_MAX];
    uint64_t evidence_t_ns[GW_EVIDENCE_MAX], evidence_ns[GW_EVIDENCE_MAX];
    uint32_t evidence_count;
};

/* Returns 0 or -ENOMEM. */
int gw_finding_init(struct gw_finding *ret_finding, const struct gw_judge *judge);
void gw_finding_release(struct gw_finding *finding);

/* Marks a call of an analysed step as an occurrence that edit would mend. */
void gw_finding_mark(struct gw_finding *finding, const struct gw_judge *judge, const struct gw_fact *fact,
                     uint8_t edit);

/* Marks all calls of the analysed steps that belong in it, to be dropped. Returns their time in them, in ns. */
typedef bool gw_fact_test(const struct gw_judge *judge, const struct gw_fact *fact);
double gw_finding_drop_all(struct gw_finding *finding, const struct gw_judge *judge, gw_fact_test *belongs);

/* Adds an edit to a call without counting an occurrence. */
void gw_finding_edit(struct gw_finding *finding, const struct gw_judge *judge, const struct gw_fact *fact,
                     uint8_t edit);

/* Offers evidence; the longest GW_EVIDENCE_MAX are kept. */
void gw_finding_evidence(struct gw_finding *finding, uint64_t t_ns, uint64_t duration_ns, uint32_t call);

/* Makes the verdict. sign: what was seen, in numbers, without a full stop, printf-like. Returns 0 or -ENOMEM. */
int gw_finding_conclude(struct gw_finding *finding, struct gw_judge *judge, struct gw_verdict *verdict,
                        const char *sign, ...) __attribute__((format(printf, 4, 5)));

/* Verdicts made without a finding. why is printf-like. Each returns 0 or -ENOMEM. */
int gw_verdict_rule_out(struct gw_verdict *verdict, double bound_ns, const char *why, ...)
    __attribute__((format(printf, 3, 4)));
int gw_verdict_unknown(struct gw_verdict *verdict, const char *why, ...) __attribute__((format(printf, 2, 3)));
int gw_verdict_confirm(struct gw_verdict *verdict, const struct gw_judge *judge, double saving_ns, const char *why, ...)
    __attribute__((format(printf, 4, 5)));

/* ", while ptxas (process 7) ran for 48.1 ms of it", of the compiler that the process executed for longest in [begin,
 * end), or "". The caller frees; NULL: no memory. */
char *gw_compiler_words(const struct gw_judge *judge, uint32_t thread, uint64_t begin_ns, uint64_t end_ns);

/* One line on a call for a person: its name, bytes or kernel. The caller frees; NULL: no memory. */
char *gw_describe_call(const struct gw_judge *judge, uint32_t call);

/* Whether a copy is an upload that a stream of its own could hide: page-locked, from 64 KiB on. */
bool gw_is_large_upload(const struct gw_copy *copy);

/* Uploads on a stream of their own need buffers in turn and events: worth it from this share of a step on. */
#define GW_OWN_STREAM_SHARE 0.05

/* By operation: 1 for an upload of bytes that the GPU still has, or that came from it. The caller frees; NULL: no
 * memory. */
uint8_t *gw_needless_uploads(const struct gw_judge *judge);

/* A judge fills state, numbers, evidence and why of a verdict whose id and suspect are set. Returns 0 or -ENOMEM. */
typedef int gw_judge_function(struct gw_judge *judge, struct gw_verdict *verdict);

#define GW_VERDICT(id, judge, suspect, fix, explanation) gw_judge_function gw_judge_##judge;
#include "analyzer/verdicts/verdicts.def"
#undef GW_VERDICT

#endif
