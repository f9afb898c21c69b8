#include "analyzer/verdicts/repairs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/parallel.h"
#include "analyzer/verdicts/array.h"

/* The largest savings are compared two by two: more would take more replays than the answer is worth. */
#define COMPARED_MOST 4u
#define PAIRS_MOST (COMPARED_MOST * (COMPARED_MOST - 1) / 2)
/* Less than this part of the smaller saving is not worth telling. */
#define SHARED_LEAST 0.1

static void release_kept(struct gw_kept_repair *kept)
{
    free(kept->calls);
    free(kept->ops);
    free(kept->op_ns);
    free(kept->nodes);
}

static int copy_ops(struct gw_kept_repair *kept, const struct gw_replay *replay, const struct gw_repair *repair)
{
    kept->ops = calloc(replay->ops_count + 1, sizeof *kept->ops);
    kept->op_ns = calloc(replay->ops_count + 1, sizeof *kept->op_ns);
    if (!kept->ops || !kept->op_ns)
        return -ENOMEM;
    for (size_t i = 0; i < replay->ops_count; i++) {
        kept->ops[i] = repair->ops ? repair->ops[replay->ops[i].op] : 0;
        kept->op_ns[i] = repair->op_ns ? repair->op_ns[replay->ops[i].op] : GW_TIME_UNKNOWN;
    }
    return 0;
}

int gw_repairs_keep(struct gw_repairs *repairs, const struct gw_replay *replay, const struct gw_repair *repair,
                    const struct gw_kept_repair *kept)
{
    struct gw_kept_repair copy = *kept;
    copy.ops = NULL;
    copy.op_ns = NULL;
    copy.nodes = NULL;
    copy.calls = calloc(replay->nodes_count + 1, sizeof *copy.calls);
    if (!copy.calls)
        goto end;
    for (size_t i = 0; i < replay->nodes_count; i++)
        copy.calls[i] = repair->calls ? repair->calls[replay->nodes[i].call] : 0;
    if ((repair->ops || repair->op_ns) && copy_ops(&copy, replay, repair) < 0)
        goto end;
    if (repair->nodes) {
        copy.nodes = malloc((replay->nodes_count + 1) * sizeof *copy.nodes);
        if (!copy.nodes)
            goto end;
        memcpy(copy.nodes, repair->nodes, replay->nodes_count * sizeof *copy.nodes);
    }
    if (!GW_ARRAY_RESERVE(repairs->list, repairs->list_count, &repairs->room))
        goto end;
    repairs->list[repairs->list_count++] = copy;
    return 0;
end:
    release_kept(&copy);
    return -ENOMEM;
}

void gw_repairs_release(struct gw_repairs *repairs)
{
    for (size_t i = 0; i < repairs->list_count; i++)
        release_kept(&repairs->list[i]);
    free(repairs->list);
    *repairs = (struct gw_repairs){0};
}

bool gw_repairs_is_of_lane(const struct gw_repairs *repairs, const struct gw_replay *replay, const char *id,
                           uint32_t device)
{
    const struct gw_kept_repair *kept = NULL;
    bool any = false;
    for (size_t i = 0; i < repairs->list_count; i++) {
        if (strcmp(repairs->list[i].id, id) == 0)
            kept = &repairs->list[i];
    }
    if (!kept || kept->ops || kept->nodes)
        return false;
    for (size_t i = 0; i < replay->nodes_count; i++) {
        if (!kept->calls[i])
            continue;
        any = true;
        if (replay->thread_lane[replay->nodes[i].thread] != replay->device_lane[device])
            return false;
    }
    return any;
}

/* ---- several at once ---- */

struct comparison {
    const struct gw_replay *replay;
    double mean_ns;
    const struct gw_kept_repair **chosen; /* by saving */
    size_t chosen_count;
    struct {
        size_t first, last; /* of chosen; those of the first set do not matter, it has all */
        double saving_ns;
    } sets[PAIRS_MOST + 1];
};

static void lower(uint64_t *value, uint64_t other)
{
    *value = other < *value ? other : *value;
}

/* Arrays as the replay wants them, by call and operation of the model, in which both repairs are made. */
struct merged {
    uint8_t *calls, *ops;
    uint64_t *op_ns;
    struct gw_host_time *nodes;
};

static int add_repair(struct merged *merged, const struct gw_replay *replay, const struct gw_kept_repair *kept)
{
    const struct gw_model *model = replay->host->model;
    for (size_t i = 0; i < replay->nodes_count; i++)
        merged->calls[replay->nodes[i].call] |= kept->calls[i];
    if (kept->ops && !merged->ops) {
        merged->ops = calloc(model->ops_count + 1, sizeof *merged->ops);
        merged->op_ns = malloc((model->ops_count + 1) * sizeof *merged->op_ns);
        if (!merged->ops || !merged->op_ns)
            return -ENOMEM;
        for (size_t i = 0; i < replay->ops_count; i++) /* the replay asks for no others */
            merged->op_ns[replay->ops[i].op] = GW_TIME_UNKNOWN;
    }
    for (size_t i = 0; i < replay->ops_count && kept->ops; i++) {
        const uint32_t op = replay->ops[i].op;
        merged->ops[op] |= kept->ops[i];
        /* What one repair gives a device to do in another's place is not there to be given when that is mended. */
        if (kept->op_ns[i] != GW_TIME_UNKNOWN && kept->op_ns[i] < model->ops[op].end_ns - model->ops[op].start_ns)
            lower(&merged->op_ns[op], kept->op_ns[i]);
    }
    if (kept->nodes && !merged->nodes) {
        merged->nodes = malloc((replay->nodes_count + 1) * sizeof *merged->nodes);
        if (!merged->nodes)
            return -ENOMEM;
        memcpy(merged->nodes, kept->nodes, replay->nodes_count * sizeof *merged->nodes);
    }
    for (size_t i = 0; i < replay->nodes_count && kept->nodes; i++) {
        lower(&merged->nodes[i].think_ns, kept->nodes[i].think_ns);
        lower(&merged->nodes[i].blocked_ns, kept->nodes[i].blocked_ns);
        lower(&merged->nodes[i].own_ns, kept->nodes[i].own_ns);
    }
    return 0;
}

static bool is_in(size_t place, size_t first, size_t last, bool all)
{
    return all || place == first || place == last;
}

static int replay_set(void *user, size_t index)
{
    struct comparison *self = user;
    size_t first = self->sets[index].first, last = self->sets[index].last;
    const bool all = index == 0;
    struct merged merged = {.calls = calloc(self->replay->host->model->calls_count + 1, 1)};
    double mean_ns = 0, owed_ns = 0, covered = 1, sum_ns = 0, most_ns = 0;
    bool capped = false;
    int ret = merged.calls ? 0 : -ENOMEM;
    for (size_t i = 0; i < self->chosen_count && ret == 0; i++) {
        const struct gw_kept_repair *kept = self->chosen[i];
        if (!is_in(i, first, last, all))
            continue;
        ret = add_repair(&merged, self->replay, kept);
        owed_ns += kept->owed_ns;
        sum_ns += kept->saving_ns;
        most_ns = fmax(most_ns, kept->saving_ns);
        covered = fmin(covered, kept->covered);
        capped |= kept->capped;
    }
    const struct gw_repair repair = {merged.calls, merged.ops, merged.op_ns, merged.nodes};
    if (ret == 0)
        ret = gw_replay_run(self->replay, &repair, &mean_ns, NULL);
    if (ret == 0) {
        double saving_ns = (self->mean_ns - mean_ns) / covered - owed_ns;
        self->sets[index].saving_ns = fmax(capped ? fmin(saving_ns, sum_ns) : saving_ns, most_ns);
    }
    free(merged.calls);
    free(merged.ops);
    free(merged.op_ns);
    free(merged.nodes);
    return ret;
}

static const struct gw_kept_repair *kept_of(const struct gw_repairs *repairs, const struct gw_verdict *verdict)
{
    for (size_t i = 0; i < repairs->list_count && verdict->state == GW_CONFIRMED; i++) {
        if (strcmp(repairs->list[i].id, verdict->id) == 0)
            return &repairs->list[i];
    }
    return NULL;
}

static void add_share(struct gw_verdict *verdict, const char *id, double shared_ns)
{
    if (verdict->shares_count < GW_SHARES_MAX)
        verdict->shares[verdict->shares_count++] = (struct gw_share){id, shared_ns / 1e6};
}

int gw_repairs_compare(const struct gw_repairs *repairs, const struct gw_replay *replay, double mean_ns,
                       double least_ns, struct gw_verdict *list, size_t count, double *ret_together_ms)
{
    struct comparison self = {.replay = replay, .mean_ns = mean_ns};
    struct gw_verdict *verdicts[COMPARED_MOST];
    size_t sets = 1;
    int ret = -ENOMEM;
    self.chosen = calloc(repairs->list_count + 1, sizeof(*self.chosen));
    if (!self.chosen)
        return -ENOMEM;
    for (size_t i = 0; i < count && self.chosen_count < repairs->list_count; i++) {
        const struct gw_kept_repair *kept = kept_of(repairs, &list[i]);
        if (!kept)
            continue;
        if (self.chosen_count < COMPARED_MOST)
            verdicts[self.chosen_count] = &list[i];
        self.chosen[self.chosen_count++] = kept;
        list[i].together = true;
    }
    size_t compared = self.chosen_count < COMPARED_MOST ? self.chosen_count : COMPARED_MOST;
    for (size_t a = 0; a < compared; a++) {
        for (size_t b = a + 1; b < compared; b++) {
            self.sets[sets].first = a;
            self.sets[sets++].last = b;
        }
    }
    *ret_together_ms = -1;
    /* The only pair is all of them. */
    ret = self.chosen_count < 2 ? 0 : gw_parallel_for(self.chosen_count == 2 ? 1 : sets, replay_set, &self);
    if (ret < 0 || self.chosen_count < 2)
        goto end;
    *ret_together_ms = self.sets[0].saving_ns / 1e6;
    if (self.chosen_count == 2)
        self.sets[1].saving_ns = self.sets[0].saving_ns;
    for (size_t s = 1; s < sets; s++) {
        size_t a = self.sets[s].first, b = self.sets[s].last;
        double one_ns = self.chosen[a]->saving_ns, other_ns = self.chosen[b]->saving_ns;
        double shared_ns = one_ns + other_ns - self.sets[s].saving_ns;
        if (shared_ns < least_ns || shared_ns < SHARED_LEAST * fmin(one_ns, other_ns))
            continue;
        add_share(verdicts[a], self.chosen[b]->id, shared_ns);
        add_share(verdicts[b], self.chosen[a]->id, shared_ns);
    }
end:
    free(self.chosen);
    return ret;
}
