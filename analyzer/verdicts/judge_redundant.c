/*
 * The judge of collectives that are made more often than needed: gradients are reduced after each micro-step of an
 * accumulation, not once before the parameters change; buffers are broadcast before each forward pass. Micro-steps
 * repeat a sequence of reductions or broadcasts, each time after nearly the same kernels and a batch of its own; the
 * update of the parameters is what sets one of them apart.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/comm.h"

/* Micro-steps have this share of their kernels in common: the first adds no gradients, and has the update before it. */
#define ALIKE_SHARE 0.6
/* The same broadcast of the step before is looked for among so many communication kernels. */
#define LOOKED_BACK 2048u

enum meaning { NOT_REPEATED = 0, PERHAPS_REPEATED, MICRO_STEPS };

/* What a device was given after the reductions of one repetition and up to the end of those of the next. */
struct portion {
    uint32_t *names; /* of its kernels, sorted once they are compared */
    size_t count, uploads;
};

/* The reductions of one step and device: `times` repetitions of a period, of which every group-th is needed. */
struct repetition {
    size_t from, count; /* into the list of reductions */
    size_t times, group, kept;
    enum meaning meaning;
    uint32_t device;
    bool has_before; /* the reductions of the step before are known */
};

struct reductions {
    const struct gw_judge *judge;
    bool broadcasts;                    /* the list is of these, not of reductions */
    const struct gw_comm_kernel **list; /* of all steps, those that are made once in a step left out */
    struct repetition *steps;
    size_t steps_count;
    struct portion *portions; /* of the step at hand */
    uint32_t *names;          /* likewise */
    uint64_t *keys;           /* likewise */
};

static bool are_same(const struct gw_judge *judge, const struct gw_comm_kernel *left,
                     const struct gw_comm_kernel *right)
{
    return left->size_bytes == right->size_bytes &&
           gw_comm_are_alike(judge->model, left->collective, right->collective);
}

/* Equal for reductions of one kind, size and communicator. */
static uint64_t key_of(const struct gw_model *model, const struct gw_comm_kernel *kernel)
{
    const struct gw_collective *collective = &model->collectives[kernel->collective];
    const uint64_t parts[] = {kernel->size_bytes, collective->communicator, collective->kind, collective->type,
                              collective->reduction};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        key = (key ^ parts[i]) * 0x9e3779b97f4a7c15u + (key >> 31);
    return key;
}

static bool is_wanted(const struct reductions *self, const struct gw_comm_kernel *kernel)
{
    const struct gw_model *model = self->judge->model;
    return self->broadcasts
               ? kernel->collective != GW_NONE && model->collectives[kernel->collective].kind == GW_COMM_BROADCAST
               : gw_comm_is_reduction(model, kernel);
}

static bool comes_again(const uint64_t *sorted, size_t count, uint64_t key)
{
    const uint64_t *found = bsearch(&key, sorted, count, sizeof(key), gw_by_u64);
    return (found > sorted && found[-1] == key) || (found + 1 < sorted + count && found[1] == key);
}

/* Adds the step's reductions to the list. What is reduced once, a loss or a norm, is no part of what repeats. */
static size_t list_step(struct reductions *self, size_t from, size_t to, size_t place)
{
    const struct gw_comm *comm = self->judge->comm;
    const struct gw_model *model = self->judge->model;
    size_t count = 0, kept = 0;
    for (size_t i = from; i < to; i++) {
        if (is_wanted(self, &comm->kernels[i]))
            self->keys[count++] = key_of(model, &comm->kernels[i]);
    }
    qsort(self->keys, count, sizeof(*self->keys), gw_by_u64);
    for (size_t i = from; i < to; i++) {
        if (is_wanted(self, &comm->kernels[i]) && comes_again(self->keys, count, key_of(model, &comm->kernels[i])))
            self->list[place + kept++] = &comm->kernels[i];
    }
    return kept;
}

/* Whether list[0..count) is a sequence of `period` reductions, over and over. */
static bool repeats(const struct gw_judge *judge, const struct gw_comm_kernel *const *list, size_t count, size_t period)
{
    if (count % period)
        return false;
    for (size_t i = period; i < count; i++) {
        if (!are_same(judge, list[i], list[i - period]))
            return false;
    }
    return true;
}

static int compare_names(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* The portion after the operation `after` and up to `until`. Returns how many names it takes. */
static size_t fill_portion(const struct gw_judge *judge, uint32_t after, const struct gw_comm_kernel *until,
                           struct portion *portion, uint32_t *names)
{
    const struct gw_comm *comm = judge->comm;
    const size_t end = gw_comm_place_after(comm, until->device, until->op);
    *portion = (struct portion){.names = names};
    for (size_t at = gw_comm_place_after(comm, until->device, after); at < end; at++) {
        const struct gw_op *op = &judge->model->ops[comm->device_ops[at]];
        if (op->kind == GW_OP_KERNEL)
            names[portion->count++] = op->name;
        portion->uploads += op->kind == GW_OP_H2D;
    }
    return portion->count;
}

/* How many kernels two portions have in common; *ret_own: how many names only the left one has. */
static size_t common_kernels(const struct portion *left, const struct portion *right, size_t *ret_own)
{
    size_t i = 0, j = 0, common = 0, own = 0;
    while (i < left->count) {
        const uint32_t name = left->names[i];
        size_t in_left = 0, in_right = 0;
        for (; i < left->count && left->names[i] == name; i++)
            in_left++;
        while (j < right->count && right->names[j] < name)
            j++;
        for (; j < right->count && right->names[j] == name; j++)
            in_right++;
        common += in_left < in_right ? in_left : in_right;
        own += in_right == 0;
    }
    *ret_own = own;
    return common;
}

static bool are_alike(const struct portion *left, const struct portion *right, double share)
{
    size_t own = 0;
    const size_t more = left->count > right->count ? left->count : right->count;
    return more && (double)common_kernels(left, right, &own) >= share * (double)more;
}

/* Every how many portions the same come again; the number of portions when they do not. */
static size_t group_of(const struct portion *portions, size_t times)
{
    for (size_t group = 1; group < times; group++) {
        bool same = times % group == 0;
        for (size_t r = 0; r < times && same; r++)
            same = are_alike(&portions[r], &portions[(r + group) % times], 1);
        if (same)
            return group;
    }
    return times;
}

/* The repetition before the update: the one after it has kernels that the next one has not. */
static size_t last_before_update(const struct portion *portions, size_t times, size_t group)
{
    size_t update = 0, most = 0;
    for (size_t r = 0; r < group; r++) {
        size_t own = 0;
        common_kernels(&portions[r], &portions[(r + 1) % times], &own);
        if (own > most) {
            most = own;
            update = r;
        }
    }
    return (update + group - 1) % group;
}

/* Whether the repetitions leave their sums in the same memory, as gradients do, and not each in its own, as layers do
 * whose values are kept for the backward pass. Unknown buffers are taken for the same. */
static bool reduce_the_same(const struct gw_judge *judge, const struct gw_comm_kernel *const *list, size_t count,
                            size_t period)
{
    size_t same = 0;
    for (size_t i = period; i < count; i++) {
        const struct gw_collective *this = &judge->model->collectives[list[i]->collective];
        same += this->recv == judge->model->collectives[list[i - period]->collective].recv;
    }
    return 2 * same >= count - period;
}

/* What the repetition of a period means. `before`: the last reduction of the step before. */
static enum meaning weigh(struct reductions *self, struct repetition *step, size_t period, uint32_t before)
{
    const struct gw_comm_kernel *const *list = self->list + step->from;
    const size_t times = step->count / period;
    size_t used = 0;
    const bool same = reduce_the_same(self->judge, list, step->count, period);
    bool has_batches = true, alike = true;
    for (size_t r = 0; r < times; r++) {
        used += fill_portion(self->judge, r ? list[r * period - 1]->op : before, list[(r + 1) * period - 1],
                             &self->portions[r], self->names + used);
        has_batches = has_batches && self->portions[r].uploads;
    }
    if (!has_batches && !same)
        return NOT_REPEATED; /* however alike they are */
    for (size_t r = 0; r < times; r++)
        qsort(self->portions[r].names, self->portions[r].count, sizeof(uint32_t), compare_names);
    for (size_t r = 0; r < times && alike; r++)
        alike = r == 1 || are_alike(&self->portions[r], &self->portions[1], ALIKE_SHARE);
    step->times = times;
    step->group = group_of(self->portions, times);
    if (step->group < 2 || alike + has_batches + same < 2)
        return NOT_REPEATED; /* group 1: each has all that the others have, so they are steps by themselves */
    step->kept = last_before_update(self->portions, times, step->group);
    return alike && has_batches && same ? MICRO_STEPS : PERHAPS_REPEATED;
}

static void weigh_step(struct reductions *self, struct repetition *step, uint32_t before)
{
    for (size_t period = 1; period <= step->count / 2 && step->meaning == NOT_REPEATED; period++) {
        if (repeats(self->judge, self->list + step->from, step->count, period))
            step->meaning = weigh(self, step, period, before);
    }
}

/* The first step of a device has no reductions before it: it is as the one after it. */
static void take_over(struct reductions *self)
{
    for (size_t s = 0; s + 1 < self->steps_count; s++) {
        struct repetition *step = &self->steps[s];
        const struct repetition *next = &self->steps[s + 1];
        if (!step->has_before && next->device == step->device && next->count == step->count) {
            step->times = next->times;
            step->group = next->group;
            step->kept = next->kept;
            step->meaning = next->meaning;
        }
    }
}

static int find_repetitions(struct reductions *self)
{
    const struct gw_comm *comm = self->judge->comm;
    uint32_t device = GW_NONE, before = GW_NONE;
    size_t place = 0;
    self->list = calloc(comm->kernels_count + 1, sizeof(*self->list));
    self->steps = calloc(comm->kernels_count + 1, sizeof(*self->steps));
    self->portions = calloc(comm->kernels_count + 1, sizeof(*self->portions));
    self->names = calloc(self->judge->model->ops_count + 1, sizeof(*self->names));
    self->keys = calloc(comm->kernels_count + 1, sizeof(*self->keys));
    if (!self->list || !self->steps || !self->portions || !self->names || !self->keys)
        return -ENOMEM;
    for (size_t from = 0, to; from < comm->kernels_count; from = to) {
        to = gw_comm_same_step_until(comm, from);
        struct repetition *step = &self->steps[self->steps_count];
        *step = (struct repetition){.from = place, .device = comm->kernels[from].device};
        step->count = list_step(self, from, to, place);
        if (!step->count)
            continue;
        step->has_before = step->device == device;
        if (step->has_before)
            weigh_step(self, step, before);
        device = step->device;
        before = self->list[place + step->count - 1]->op;
        place += step->count;
        self->steps_count++;
    }
    take_over(self);
    return 0;
}

/* Takes out all but the last reductions before each update, in the steps of this meaning. */
static int mark(const struct reductions *self, struct gw_comm_plan *plan, enum meaning meaning)
{
    for (size_t s = 0; s < self->steps_count; s++) {
        const struct repetition *step = &self->steps[s];
        for (size_t i = 0; i < step->count && step->meaning == meaning; i++) {
            if (i / (step->count / step->times) % step->group == step->kept)
                continue;
            gw_comm_plan_drop(plan, self->judge, self->list[step->from + i]->op);
            if (gw_comm_plan_mark(plan, self->list[step->from + i]->op) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

static void release(struct reductions *self)
{
    free(self->list);
    free(self->steps);
    free(self->portions);
    free(self->names);
    free(self->keys);
}

/* Marks what repeats of one kind of collective. Adds to *most how often, at most. Returns 0 or -ENOMEM. */
static int mark_repeated(const struct reductions *self, enum meaning meaning, struct gw_comm_plan *plan, size_t *most)
{
    const int ret = mark(self, plan, meaning);
    for (size_t s = 0; s < self->steps_count && ret == 0; s++) {
        if (self->steps[s].meaning == meaning && self->steps[s].group > *most)
            *most = self->steps[s].group;
    }
    return ret;
}

/* Whether the step before had the same broadcast, into the same memory. */
static bool was_broadcast(const struct gw_judge *judge, size_t place)
{
    const struct gw_comm_kernel *kernel = &judge->comm->kernels[place];
    const struct gw_collective *collectives = judge->model->collectives;
    for (size_t i = place; i-- > 0 && place - i <= LOOKED_BACK;) {
        const struct gw_comm_kernel *before = &judge->comm->kernels[i];
        if (before->device != kernel->device || before->step + 1 < kernel->step)
            return false;
        if (before->step != kernel->step && before->collective != GW_NONE && are_same(judge, before, kernel) &&
            collectives[before->collective].recv == collectives[kernel->collective].recv)
            return true;
    }
    return false;
}

/* Marks broadcasts that come once in every step. Returns 0 or -ENOMEM. */
static int mark_broadcasts_of_each_step(const struct gw_judge *judge, struct gw_comm_plan *plan)
{
    for (size_t i = 0; i < judge->comm->kernels_count; i++) {
        const struct gw_comm_kernel *kernel = &judge->comm->kernels[i];
        if (kernel->collective == GW_NONE || judge->model->collectives[kernel->collective].kind != GW_COMM_BROADCAST ||
            !was_broadcast(judge, i))
            continue;
        gw_comm_plan_drop(plan, judge, kernel->op);
        if (gw_comm_plan_mark(plan, kernel->op) < 0)
            return -ENOMEM;
    }
    return 0;
}

int gw_judge_comm_redundant(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm_plan plan = {0};
    struct reductions reductions = {.judge = judge}, broadcasts = {.judge = judge, .broadcasts = true};
    size_t reduced = 1, broadcast = 1;
    bool of_each_step = false;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES);
    if (ret <= 0)
        return ret;
    if ((ret = gw_comm_plan_init(&plan, judge)) < 0 || (ret = find_repetitions(&reductions)) < 0 ||
        (ret = find_repetitions(&broadcasts)) < 0 ||
        (ret = mark_repeated(&reductions, MICRO_STEPS, &plan, &reduced)) < 0 ||
        (ret = mark_repeated(&broadcasts, MICRO_STEPS, &plan, &broadcast)) < 0)
        goto end;
    if (!plan.marked_count) {
        plan.doubt = "that they reduce the same gradients is not sure: no batch is uploaded for each, or the kernels "
                     "between differ, or the buffers";
        if ((ret = mark_repeated(&reductions, PERHAPS_REPEATED, &plan, &reduced)) < 0 ||
            (ret = mark_repeated(&broadcasts, PERHAPS_REPEATED, &plan, &broadcast)) < 0)
            goto end;
    }
    if (!plan.marked_count) {
        plan.doubt = "whether what they carry changes, and whether the other ranks use it, is on the devices and not "
                     "seen: try without (PyTorch: broadcast_buffers=False) and compare";
        of_each_step = true;
        if ((ret = mark_broadcasts_of_each_step(judge, &plan)) < 0)
            goto end;
    }
    if (!plan.marked_count)
        ret = gw_verdict_rule_out(verdict, 0,
                                  "no sequence of reductions or broadcasts comes more than once in a step, and no "
                                  "buffers are broadcast in every step");
    else
        ret = of_each_step
                  ? gw_comm_plan_conclude(&plan, judge, verdict, "the same buffers are broadcast in every step")
                  : gw_comm_plan_conclude(&plan, judge, verdict,
                                          "the same %s up to %zu times between two parameter updates; once would do",
                                          reduced == 1    ? "buffers are broadcast"
                                          : broadcast > 1 ? "reductions and broadcasts are made"
                                                          : "reductions are made",
                                          reduced > broadcast ? reduced : broadcast);
end:
    release(&reductions);
    release(&broadcasts);
    gw_comm_plan_release(&plan);
    return ret;
}
