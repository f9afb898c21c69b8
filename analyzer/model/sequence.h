/*
 * The sequence of a process: its operations and the host's waits in order of enqueue, each as a small number, and the
 * search for the unit that repeats in it. Internal to analyzer/model.
 */
#ifndef GW_ANALYZER_MODEL_SEQUENCE_H
#define GW_ANALYZER_MODEL_SEQUENCE_H

#include "analyzer/model/model.h"
#include "analyzer/model/steps.h"

#define GW_TRAIT_KERNEL 0x1u  /* kernel, communication or graph replay */
#define GW_TRAIT_UPLOAD 0x2u  /* host to device */
#define GW_TRAIT_READ 0x4u    /* device to host */
#define GW_TRAIT_SYNC 0x8u    /* the host waits; not an operation */
#define GW_TRAIT_REPLAY 0x10u /* graph replay: the host enters the picture once for many kernels */
#define GW_TRAIT_UPDATE 0x20u /* kernel whose name says that it updates parameters */
#define GW_TRAITS_HOST (GW_TRAIT_UPLOAD | GW_TRAIT_READ | GW_TRAIT_SYNC | GW_TRAIT_REPLAY)

/* Longer silences, of more than an hour, count as this. */
#define GW_SILENCE_MOST_NS ((1ull << 42) - 1)

struct gw_sequence_event {
    uint64_t begin_ns;        /* of the outermost host call */
    uint64_t silence_ns : 42; /* outside CUDA since the call before it, whichever that is */
    uint64_t traits : 6;
    uint64_t device : 16; /* of an operation */
    uint32_t token;       /* kind, kernel name, size class: what similarity compares */
    uint32_t lane;        /* the token together with its stream */
    uint32_t op;          /* place in the process's operations, GW_NONE for a wait */
    union {
        uint32_t last_op; /* of an operation: the same; the nodes of a graph are one event */
        uint32_t call;    /* of a wait */
    };
};
_Static_assert(sizeof(struct gw_sequence_event) == 32, "there are as many as operations");

/* The outermost known call that enqueued an operation, or GW_NONE. */
static inline uint32_t gw_host_call(const struct gw_op *op)
{
    return op->outer_call != GW_NONE ? op->outer_call : op->call;
}

struct gw_sequence {
    uint32_t process, lane;
    struct gw_sequence_event *events;
    size_t count;
    uint32_t token_count, lane_count, stream_count;
    bool has_loaders;       /* threads that launch nothing upload */
    bool has_uploaders;     /* several threads that launch upload */
    uint32_t *lane_streams; /* by lane: below stream_count; waits have one of their own */
};

/* Builds the sequence of a process: of its lane with the most operations, which the others keep step with; without the
 * uploads of threads that launch nothing, if asked for. Release with gw_sequence_clear. Returns 0 or -ENOMEM. */
int gw_sequence_create(const struct gw_model *model, uint32_t process, bool without_loaders,
                       struct gw_sequence *ret_sequence);
void gw_sequence_clear(struct gw_sequence *sequence);

/* Which events begin a repeating unit. */
enum gw_mark_kind {
    GW_MARK_TOKEN,      /* events with token a */
    GW_MARK_TOKEN_PAIR, /* operations with token b after one with token a, waits and reads between them or not */
    GW_MARK_LANE,       /* events with lane a */
    GW_MARK_LANE_PAIR,
    GW_MARK_AFTER_WAIT, /* operations right after a wait with token a */
    GW_MARK_AFTER_GAP,  /* operations before which the host was silent for more than gap_ns */
    GW_MARK_BATCH       /* uploads after something else, or after nothing */
};

struct gw_mark {
    enum gw_mark_kind kind;
    uint32_t a, b;
    uint64_t gap_ns;
    double preference; /* how much its events look like the top of a loop: 0 … 2 */
    uint32_t parts;    /* micro-steps of a typical unit; 0: none can be told apart */
    bool updates;      /* units update parameters; one that does not is no step */
    bool varies;       /* units have now more, now fewer of them */
    size_t from;       /* the typical unit lies behind this event: before it is another phase of the program */
};

/* In the place of an event's index: none. */
#define GW_NO_EVENT SIZE_MAX

/* Whether the event at `at` begins a unit. */
bool gw_mark_matches(const struct gw_sequence *sequence, const struct gw_mark *mark, size_t at);

/* Marks worth judging in events [first, last), at most `capacity`, best kept. Returns 0 or -ENOMEM. */
int gw_marks_collect(const struct gw_sequence *sequence, size_t first, size_t last, struct gw_mark *ret_marks,
                     size_t capacity, size_t *ret_count);

/* A unit this many times longer or shorter than the typical one is something else. */
#define GW_UNIT_UNUSUAL 2.5

/* What repeats in a part of a sequence. */
struct gw_period {
    struct gw_mark mark;
    struct gw_mark other; /* of another reading that is about as likely, if doubtful */
    bool doubtful;
    double events; /* of a typical unit */
    double confidence;
    bool found; /* else nothing repeats, and the rest is zero */
};

/* Searches events [first, last). Returns 0 or -ENOMEM. */
int gw_period_find_within(const struct gw_sequence *sequence, size_t first, size_t last, struct gw_period *ret_period);

/* Searches the mark whose units are the program's steps: of several phases that repeat (a compiler's trials of its
 * kernels, then the loop) the loop's. ret_period->found is false when nothing repeats. Returns 0 or -ENOMEM. */
int gw_period_find(const struct gw_sequence *sequence, struct gw_period *ret_period);

/* Ranges of the sequence that are steps by the mark: units like the typical one; what lies between (evaluation,
 * checkpoints) is left out. The caller frees *ret_ranges. Returns 0 or -ENOMEM. */
int gw_period_apply(const struct gw_sequence *sequence, const struct gw_mark *mark, struct gw_step_range **ret_ranges,
                    size_t *ret_count);

/* Steps that were found in a sequence. */
struct gw_found_steps {
    struct gw_step_range *ranges;
    size_t count;
    uint32_t micro_steps; /* of a typical step; 0: none can be told apart */
    double confidence;
    double regularity; /* similarity of steps to the next, times the share of the run that they are */
    size_t *others;    /* begins of steps by another reading that is about as likely, as events; NULL: there is none */
    size_t other_count;
    bool found;
};

/* Finds the steps of a sequence: by the batches that it uploads, else by whatever repeats. Release with
 * gw_found_steps_clear. Returns 0, also when there are none, or -ENOMEM. */
int gw_found_steps_find(const struct gw_sequence *sequence, struct gw_found_steps *ret_found);
void gw_found_steps_clear(struct gw_found_steps *found);

/* Bags of tokens, compared: 2 |A ∩ B| / (|A| + |B|) with multiplicity. counts has token_count zeroes and is left so. */
double gw_similarity(const struct gw_sequence *sequence, uint32_t *counts, size_t first, size_t first_end,
                     size_t second, size_t second_end);

#endif
