#include "analyzer/verdicts/verdicts.h"
#include "analyzer/model/perturbation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/parallel.h"
#include "analyzer/verdicts/judge.h"

static const struct suspect {
    const char *id, *words, *fix, *explanation;
    gw_judge_function *judge;
} suspects[] = {
#define GW_VERDICT(id, judge, suspect, fix, explanation) {id, suspect, fix, explanation, gw_judge_##judge},
#include "analyzer/verdicts/verdicts.def"
#undef GW_VERDICT
};

#define SUSPECT_COUNT (sizeof suspects / sizeof *suspects)

/* Why a suspect of which nothing was seen is not ruled out by that: the recorder does not look. NULL when it does. */
static const char *blind_to(const struct gw_model *model, const char *id)
{
    static const struct {
        const char *id, *why;
        uint32_t unseen;
    } blind[] = {
        {"recompile", "the trace's recorder does not record loads of modules: record with gpuwitness", GW_UNSEEN_LOADS},
        {"compile-warmup", "the trace's recorder does not record loads of modules: record with gpuwitness",
         GW_UNSEEN_LOADS},
        {"input-starved", "the trace's recorder does not tell whether a thread sleeps: record with gpuwitness",
         GW_UNSEEN_CPU_TIME},
        {"host-blocked", "the trace's recorder does not tell whether a thread sleeps: record with gpuwitness",
         GW_UNSEEN_CPU_TIME},
        {"dependency-stall",
         "the trace's recorder does not tell which stream waits for which event: record with "
         "gpuwitness",
         GW_UNSEEN_ORDERS},
        {"comm-init", "the trace's recorder does not record NCCL's own calls: record with gpuwitness", GW_UNSEEN_NCCL},
        {"repeated-upload", "the trace's recorder does not look at what copies carry: record with gpuwitness",
         GW_UNSEEN_BYTES},
        {"round-trip-copy", "the trace's recorder does not look at what copies carry: record with gpuwitness",
         GW_UNSEEN_BYTES},
        {"straggler", "some ranks of the job are not in the run: record all of them", GW_UNSEEN_RANKS},
        {"imbalance", "some ranks of the job are not in the run: record all of them", GW_UNSEEN_RANKS},
        {"comm-slow-link", "some ranks of the job are not in the run: record all of them", GW_UNSEEN_RANKS},
        {"pipeline-bubble", "some ranks of the job are not in the run: record all of them", GW_UNSEEN_RANKS},
        {"idle-device", "some ranks of the job are not in the run: record all of them", GW_UNSEEN_RANKS},
    };
    for (size_t i = 0; i < sizeof blind / sizeof *blind; i++) {
        if (model->run.unseen & blind[i].unseen && strcmp(blind[i].id, id) == 0)
            return blind[i].why;
    }
    return NULL;
}

/* What a recording slows much it also shifts: each saving may be off by as much. */
static int say_slowed(const struct gw_model *model, struct gw_verdict *verdict)
{
    const struct gw_perturbation *cost = &model->perturbation;
    char *why = NULL;
    if (cost->percent <= GW_PERTURBATION_MUCH_PERCENT)
        return 0;
    if (asprintf(&why, "%s; the recording itself slowed the run by %.0f ± %.0f %%%s, which may be in it",
                 verdict->why ? verdict->why : "", cost->percent, cost->plus_minus_percent,
                 gw_perturbation_is_least(model) ? " or more" : "") < 0)
        return -ENOMEM;
    free(verdict->why);
    verdict->why = why;
    return 0;
}

static int judge_suspect(struct gw_judge *judge, const struct suspect *suspect, struct gw_verdict *verdict)
{
    *verdict = (struct gw_verdict){.id = suspect->id, .suspect = suspect->words, .state = GW_UNKNOWN};
    verdict->process = verdict->device = verdict->stream = verdict->thread = GW_NONE;
    if (!judge->model->calls_count)
        return gw_verdict_unknown(verdict, "no CUDA call was seen");
    if (!judge->budget->analysed_steps)
        return gw_verdict_unknown(verdict, "no repeating steps were found to judge");
    int ret = suspect->judge(judge, verdict);
    const char *why = blind_to(judge->model, suspect->id);
    if (ret == 0 && verdict->state == GW_RULED_OUT && why) {
        verdict->bound_ms = 0;
        return gw_verdict_unknown(verdict, "%s", why);
    }
    /* What would have shown the fault may be among what was lost. */
    if (ret == 0 && verdict->state == GW_RULED_OUT && judge->lost) {
        verdict->bound_ms = 0;
        return gw_verdict_unknown(verdict, "%s; %s", verdict->why, judge->loss_advice);
    }
    if (ret == 0 && verdict->state == GW_CONFIRMED && !verdict->fix && !(verdict->fix = strdup(suspect->fix)))
        ret = -ENOMEM;
    if (ret == 0 && verdict->state == GW_CONFIRMED)
        ret = say_slowed(judge->model, verdict);
    return ret;
}

struct ranked {
    struct gw_verdict verdict;
    size_t place;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->verdict.state != b->verdict.state)
        return a->verdict.state < b->verdict.state ? -1 : 1;
    if (a->verdict.state == GW_CONFIRMED && a->verdict.saving_ms != b->verdict.saving_ms)
        return a->verdict.saving_ms > b->verdict.saving_ms ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static void release_verdict(struct gw_verdict *verdict)
{
    for (uint32_t i = 0; i < verdict->evidence_count; i++)
        free(verdict->evidence[i].what);
    free(verdict->why);
    free(verdict->fix);
}

/* Judged with no other beside them: they claim calls that others then leave alone. */
static const char *const alone[] = {"host-sync", "blocking-launches", "recompile"};

/* Judged when all others have been: it asks what they explain. */
static const char *const last = "hiccup";

/* From the first to the last one after the other: they claim communication. */
static const char *const in_sequence[2] = {"comm-redundant", "comm-bound"};

static bool is_alone(const struct suspect *suspect)
{
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        if (strcmp(alone[i], suspect->id) == 0)
            return true;
    }
    return false;
}

/* Suspects in [first, end) that one thread judges in their order. */
struct turn {
    size_t first, end;
};

struct session {
    struct gw_judge *judge;
    struct ranked *ranked;
    struct turn turns[SUSPECT_COUNT];
};

static int take_turn(void *user, size_t index)
{
    struct session *session = user;
    int ret = 0;
    for (size_t s = session->turns[index].first; s < session->turns[index].end && ret == 0; s++)
        ret = judge_suspect(session->judge, &suspects[s], &session->ranked[s].verdict);
    return ret;
}

/* Suspects are judged side by side as far as they do not depend on each other, with the result of judging them one
 * after the other. */
static int judge_all(struct gw_judge *judge, struct ranked *ranked)
{
    struct session session = {.judge = judge, .ranked = ranked};
    size_t turns = 0, last_place = SUSPECT_COUNT;
    int ret = 0;
    for (size_t s = 0; s < SUSPECT_COUNT; s++)
        ranked[s].place = s;
    for (size_t s = 0; s < SUSPECT_COUNT && ret == 0; s++) {
        if (is_alone(&suspects[s])) {
            ret = gw_parallel_for(turns, take_turn, &session);
            turns = 0;
            if (ret == 0)
                ret = judge_suspect(judge, &suspects[s], &ranked[s].verdict);
            continue;
        }
        if (strcmp(suspects[s].id, last) == 0) {
            last_place = s;
            continue;
        }
        struct turn *turn = &session.turns[turns++];
        turn->first = s;
        while (strcmp(suspects[turn->first].id, in_sequence[0]) == 0 && strcmp(suspects[s].id, in_sequence[1]) != 0)
            s++;
        turn->end = s + 1;
        if (turn->end - turn->first > 1) { /* the longest one is begun first, so that others go on beside it */
            const struct turn longest = *turn;
            *turn = session.turns[0];
            session.turns[0] = longest;
        }
    }
    if (ret == 0)
        ret = gw_parallel_for(turns, take_turn, &session);
    if (ret == 0 && last_place < SUSPECT_COUNT)
        ret = judge_suspect(judge, &suspects[last_place], &ranked[last_place].verdict);
    return ret;
}

/* How long a thread sleeps may depend on what wakes it: a step that gets there earlier may only sleep longer. */
static int say_waits(struct gw_verdict *list, size_t count)
{
    static const char *const sleeps[] = {"input-starved", "host-blocked"};
    for (size_t w = 0; w < sizeof sleeps / sizeof *sleeps; w++) {
        bool sleeping = false;
        for (size_t i = 0; i < count; i++)
            sleeping |= list[i].state == GW_CONFIRMED && strcmp(list[i].id, sleeps[w]) == 0;
        for (size_t i = 0; i < count && sleeping && list[i].state == GW_CONFIRMED; i++) {
            char *why = NULL;
            if (strcmp(list[i].id, sleeps[w]) == 0)
                continue;
            if (asprintf(&why, "%s; unless %s is mended too, the thread may only sleep longer instead", list[i].why,
                         sleeps[w]) < 0)
                return -ENOMEM;
            free(list[i].why);
            list[i].why = why;
        }
        if (sleeping)
            break;
    }
    return 0;
}

/* A repair of the late rank alone may save this much more than ranks that take equally long: the median one has pauses
 * too. */
#define OF_LATE_RANK 1.05

/* What a rank that is late does by itself (a synchronisation, a sleep) is why it is late: the straggler, which is that
 * on all ranks, saves as much and stands before it. */
static int lead_with_straggler(const struct gw_judge *judge, struct ranked *ranked)
{
    size_t at = 0, first;
    while (at < SUSPECT_COUNT && strcmp(ranked[at].verdict.id, "straggler") != 0)
        at++;
    if (at == SUSPECT_COUNT || ranked[at].verdict.state != GW_CONFIRMED || !judge->replay)
        return 0;
    struct ranked straggler = ranked[at];
    struct gw_verdict *verdict = &straggler.verdict;
    for (first = 0; first < at; first++) {
        if (ranked[first].verdict.saving_ms <= OF_LATE_RANK * verdict->saving_ms &&
            gw_repairs_is_of_lane(&judge->repairs, judge->replay, ranked[first].verdict.id, verdict->device))
            break;
    }
    if (first == at)
        return 0;
    char *why = NULL;
    if (asprintf(&why, "%s; what it does alone (%s) costs %.3f ms", verdict->why, ranked[first].verdict.id,
                 ranked[first].verdict.saving_ms) < 0)
        return -ENOMEM;
    free(verdict->why);
    verdict->why = why;
    verdict->saving_ms = ranked[first].verdict.saving_ms;
    verdict->saving_percent = ranked[first].verdict.saving_percent;
    memmove(&ranked[first + 1], &ranked[first], (at - first) * sizeof *ranked);
    ranked[first] = straggler;
    return 0;
}

/* budget NULL: one is made and given to *ret_budget. */
static int create(const struct gw_model *model, const struct gw_budget *budget, struct gw_budget **ret_budget,
                  struct gw_verdicts **ret_verdicts)
{
    struct gw_judge judge;
    struct gw_verdicts *verdicts = calloc(1, sizeof *verdicts);
    struct ranked *ranked = calloc(SUSPECT_COUNT, sizeof *ranked);
    size_t owned = SUSPECT_COUNT; /* of ranked */
    int ret = -ENOMEM;
    if (!verdicts || !ranked || (ret = gw_judge_init(&judge, model, budget)) < 0)
        goto end;
    ret = judge_all(&judge, ranked);
    verdicts->replay_error_percent = judge.replay_error_percent;
    if (ret < 0)
        goto release;
    ret = -ENOMEM;
    verdicts->list = calloc(SUSPECT_COUNT, sizeof *verdicts->list);
    if (!verdicts->list)
        goto release;
    qsort(ranked, SUSPECT_COUNT, sizeof *ranked, compare_ranked);
    if ((ret = lead_with_straggler(&judge, ranked)) < 0)
        goto release;
    for (size_t i = 0; i < SUSPECT_COUNT; i++)
        verdicts->list[i] = ranked[i].verdict;
    verdicts->list_count = SUSPECT_COUNT;
    owned = 0;
    ret = gw_repairs_compare(&judge.repairs, judge.replay, judge.replay_mean_ns, judge.threshold_ns, verdicts->list,
                             SUSPECT_COUNT, &verdicts->together_ms);
    if (ret == 0)
        ret = say_waits(verdicts->list, SUSPECT_COUNT);
    if (judge.mean_ns > 0)
        verdicts->together_percent = 100 * verdicts->together_ms * 1e6 / judge.mean_ns;
    if (ret == 0 && !budget) {
        *ret_budget = judge.own_budget;
        judge.own_budget = NULL;
    }
    verdicts->copies = judge.copies;
    judge.copies = (struct gw_copies){0};
release:
    gw_judge_release(&judge);
    if (ret < 0)
        goto end;
    *ret_verdicts = verdicts;
    verdicts = NULL;
    ret = 0;
end:
    for (size_t i = 0; ranked && i < owned; i++)
        release_verdict(&ranked[i].verdict);
    free(ranked);
    gw_verdicts_destroy(verdicts);
    return ret;
}

int gw_verdicts_create(const struct gw_model *model, const struct gw_budget *budget, struct gw_verdicts **ret_verdicts)
{
    return create(model, budget, NULL, ret_verdicts);
}

int gw_verdicts_create_with_budget(const struct gw_model *model, struct gw_budget **ret_budget,
                                   struct gw_verdicts **ret_verdicts)
{
    return create(model, NULL, ret_budget, ret_verdicts);
}

void gw_verdicts_destroy(struct gw_verdicts *verdicts)
{
    if (!verdicts)
        return;
    for (size_t i = 0; i < verdicts->list_count; i++)
        release_verdict(&verdicts->list[i]);
    free(verdicts->list);
    gw_copies_release(&verdicts->copies);
    free(verdicts);
}

size_t gw_verdict_ids(const char *const **ret_ids)
{
    static const char *const ids[] = {
#define GW_VERDICT(id, judge, suspect, fix, explanation) id,
#include "analyzer/verdicts/verdicts.def"
#undef GW_VERDICT
    };
    *ret_ids = ids;
    return SUSPECT_COUNT;
}

bool gw_verdict_explain(const char *id, const char **ret_suspect, const char **ret_explanation, const char **ret_fix)
{
    for (size_t i = 0; i < SUSPECT_COUNT; i++) {
        if (strcmp(suspects[i].id, id) != 0)
            continue;
        *ret_suspect = suspects[i].words;
        *ret_explanation = suspects[i].explanation;
        *ret_fix = suspects[i].fix;
        return true;
    }
    return false;
}
