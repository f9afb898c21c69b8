/*
 * Verdicts: one per suspect, always all of them, from the model and its budget.
 */
#ifndef GW_ANALYZER_VERDICTS_VERDICTS_H
#define GW_ANALYZER_VERDICTS_VERDICTS_H

#include "analyzer/model/copies.h"
#include "analyzer/verdicts/budget.h"

enum gw_verdict_state { GW_CONFIRMED = 0, GW_UNKNOWN, GW_RULED_OUT };

#define GW_EVIDENCE_MAX 5

struct gw_evidence {
    uint64_t t_ns, duration_ns;
    char *what;
};

/* What a confirmed verdict has in common with another one: their savings together are less than their sum by this. */
struct gw_share {
    const char *id; /* of the other; static */
    double ms;
};

#define GW_SHARES_MAX 3

struct gw_verdict {
    const char *id;      /* as in the table of verdicts.def; static */
    const char *suspect; /* a few words; static */
    enum gw_verdict_state state;
    double saving_ms, saving_percent; /* confirmed: mean per analysed step */
    double bound_ms;                  /* ruled out: it costs at most this per step */
    double per_step;                  /* occurrences per analysed step */
    uint32_t steps_affected;
    uint32_t process, device, stream, thread; /* indices, GW_NONE where it does not apply */
    struct gw_evidence evidence[GW_EVIDENCE_MAX];
    uint32_t evidence_count;
    struct gw_share shares[GW_SHARES_MAX]; /* with the largest confirmed verdicts */
    uint32_t shares_count;
    bool together; /* its repair is among those of gw_verdicts.together_ms */
    char *why;     /* one sentence: why this state, in numbers */
    char *fix;     /* one sentence; NULL unless confirmed */
};

struct gw_verdicts {
    GW_ARRAY(struct gw_verdict, list); /* confirmed by saving, then unknown, then ruled out */
    double replay_error_percent;       /* negative: no replay was made */
    double together_ms; /* what all repairs that could be replayed save a step together; negative: not two of them */
    double together_percent; /* of the mean step */
    struct gw_copies copies; /* of the run, which judging goes by too */
};

/* Judges every suspect. Returns 0 or -ENOMEM; destroy with gw_verdicts_destroy. */
int gw_verdicts_create(const struct gw_model *model, const struct gw_budget *budget, struct gw_verdicts **ret_verdicts);

/* The same with the budget of gw_budget_create_of_steps, which is made beside what judging needs besides: for whoever
 * wants both. The caller destroys both. */
int gw_verdicts_create_with_budget(const struct gw_model *model, struct gw_budget **ret_budget,
                                   struct gw_verdicts **ret_verdicts);
void gw_verdicts_destroy(struct gw_verdicts *verdicts);

/* Ids of all suspects in the order of verdicts.def; returns how many. The array and strings are static. */
size_t gw_verdict_ids(const char *const **ret_ids);

/* What a suspect is, how it is judged and what mends it: static texts. False when there is no such id. */
bool gw_verdict_explain(const char *id, const char **ret_suspect, const char **ret_explanation, const char **ret_fix);

#endif
