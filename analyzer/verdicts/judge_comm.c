/*
 * Judges of how a program communicates: beside compute or not, in how many pieces, how often.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/verdicts/comm.h"
#include "analyzer/verdicts/intervals.h"

/* Fewer small collectives a step than this are not many. */
#define TINY_LEAST 8u
#define PREPARATION_MOST 64u /* nodes back: calls of other threads lie between */
/* Rate taken for the bytes of small collectives where the run has no large ones, unless they were faster: no collective
 * begins to transfer sooner than this. */
#define TINY_ASSUMED_GBPS 10.0
#define BEGIN_LEAST_NS 2000.0
/* Collectives that run alone for less of a step are taken for what any order leaves exposed: the last gradients. */
#define EXPOSED_UNSEEN_SHARE 0.05
/* Kinds of collectives of a step that are told apart. */
#define GROUPS_MAX 64u

static bool is_compute(const struct gw_judge *judge, uint32_t op)
{
    return gw_op_class(&judge->model->ops[op]) == GW_CLASS_COMPUTE;
}

/* The device's first operation after `op` that computes, or GW_NONE. */
static uint32_t next_compute(const struct gw_judge *judge, uint32_t device, uint32_t op)
{
    const struct gw_comm *comm = judge->comm;
    size_t at = gw_comm_place_after(comm, device, op), end = comm->device_first[device + 1];
    while (at < end && !is_compute(judge, comm->device_ops[at]))
        at++;
    return at < end ? comm->device_ops[at] : GW_NONE;
}

/* ---- on the compute stream ---- */

/* Why savings of reductions are doubted that do not come as gradients. */
#define MAY_BE_ACTIVATIONS                                                                                             \
    "they come throughout the step, as where each layer needs the sum of the one before, and what needs their "        \
    "results "                                                                                                         \
    "is not recorded"

/* What is reduced after the forward pass alone leaves at least this part of a step's compute in one piece. */
#define FORWARD_LEAST_SHARE 0.25

/* Which streams compute in analysed steps; NULL: no memory. The caller frees. */
static bool *find_computing(const struct gw_judge *judge)
{
    bool *computes = calloc(judge->model->streams_count + 1, sizeof *computes);
    for (uint32_t i = 0; computes && i < judge->model->ops_count; i++) {
        if (judge->comm->op_step[i] != GW_NONE && is_compute(judge, i))
            computes[judge->model->ops[i].stream] = true;
    }
    return computes;
}

/* Whether two operations are branches of one graph launch, which bear the name of one stream, and ran at once. */
static bool are_branches(const struct gw_op *left, const struct gw_op *right)
{
    return left->outer_call == right->outer_call && left->stream == right->stream && left->start_ns < right->end_ns &&
           right->start_ns < left->end_ns;
}

/* Whether a collective of a graph has compute beside it already. */
static bool runs_beside(const struct gw_judge *judge, const struct gw_comm_kernel *kernel)
{
    const struct gw_comm *comm = judge->comm;
    const struct gw_op *ops = judge->model->ops, *op = &ops[kernel->op];
    const uint32_t next = next_compute(judge, kernel->device, kernel->op);
    size_t at = gw_comm_place_after(comm, kernel->device, kernel->op);
    while (at > comm->device_first[kernel->device] && !is_compute(judge, comm->device_ops[at - 1]))
        at--;
    return (next != GW_NONE && are_branches(op, &ops[next])) ||
           (at > comm->device_first[kernel->device] && are_branches(op, &ops[comm->device_ops[at - 1]]));
}

/* Whether a collective might run beside the compute after it: what gathers or hands out data is needed at once. */
static bool may_run_beside(const struct gw_judge *judge, const struct gw_comm_kernel *kernel, const bool *computes)
{
    return !kernel->is_message && !kernel->claimed && computes[judge->model->ops[kernel->op].stream] &&
           (kernel->collective == GW_NONE || gw_comm_is_reduction(judge->model, kernel)) && !runs_beside(judge, kernel);
}

/* A step's compute between the collectives that might run beside it. */
struct stretches {
    uint64_t head_ns, longest_ns, now_ns, total_ns;
    bool any; /* collective so far */
};

/* A step's end and its begin are one stretch: where a step begins is a matter of convention. */
static bool leaves_forward_alone(const struct stretches *step)
{
    uint64_t around = step->head_ns + step->now_ns;
    uint64_t longest = around > step->longest_ns ? around : step->longest_ns;
    return (double)longest >= FORWARD_LEAST_SHARE * (double)step->total_ns;
}

/* Whether the collectives that might run beside compute come as gradients do, after a forward pass without any, in most
 * steps. Layers that exchange activations have them throughout. */
static bool come_as_gradients(const struct gw_judge *judge, const bool *computes)
{
    const struct gw_comm *comm = judge->comm;
    size_t like = 0, unlike = 0;
    for (uint32_t d = 0; d < judge->model->devices_count; d++) {
        struct stretches step = {0};
        uint32_t number = GW_NONE;
        for (uint32_t i = comm->device_first[d]; i <= comm->device_first[d + 1]; i++) {
            const uint32_t op = i < comm->device_first[d + 1] ? comm->device_ops[i] : GW_NONE;
            if (op == GW_NONE || comm->op_step[op] != number) {
                if (number != GW_NONE && step.any)
                    ++*(leaves_forward_alone(&step) ? &like : &unlike);
                step = (struct stretches){0};
                number = op == GW_NONE ? GW_NONE : comm->op_step[op];
            }
            if (op == GW_NONE)
                break;
            const uint32_t place = gw_comm_kernel_of(comm, judge->model, op);
            const uint64_t length_ns = judge->model->ops[op].end_ns - judge->model->ops[op].start_ns;
            if (is_compute(judge, op)) {
                step.total_ns += length_ns;
                step.now_ns += length_ns;
            } else if (place != GW_NONE && may_run_beside(judge, &comm->kernels[place], computes)) {
                if (!step.any)
                    step.head_ns = step.now_ns;
                else if (step.now_ns > step.longest_ns)
                    step.longest_ns = step.now_ns;
                step.any = true;
                step.now_ns = 0;
            }
        }
    }
    return like >= unlike;
}

int gw_judge_comm_serialised(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm *comm = judge->comm;
    struct gw_comm_plan plan = {0};
    bool *computes = NULL;
    int ret = gw_comm_ready(judge, verdict, 0);
    if (ret <= 0)
        return ret;
    computes = find_computing(judge);
    if (!computes || gw_comm_plan_init(&plan, judge) < 0) {
        ret = -ENOMEM;
        goto end;
    }
    for (size_t from = 0, to; from < comm->kernels_count; from = to) {
        uint32_t last = GW_NONE;
        to = gw_comm_same_step_until(comm, from);
        for (size_t i = from; i < to; i++) {
            const struct gw_comm_kernel *kernel = &comm->kernels[i];
            if (!may_run_beside(judge, kernel, computes))
                continue;
            plan.ops[kernel->op] |= GW_OP_EDIT_BESIDE;
            last = kernel->op;
            if ((ret = gw_comm_plan_mark(&plan, kernel->op)) < 0)
                goto end;
        }
        /* What follows the step's last collective is taken to need them all. */
        uint32_t join = last == GW_NONE ? GW_NONE : next_compute(judge, comm->kernels[from].device, last);
        if (join != GW_NONE)
            plan.ops[join] |= GW_OP_EDIT_JOIN;
    }
    plan.cap_ns = comm->exposed_ns;
    if (!come_as_gradients(judge, computes))
        plan.doubt = MAY_BE_ACTIVATIONS;
    ret = gw_comm_plan_conclude(&plan, judge, verdict,
                                "%.1f reductions a step run on a stream that computes too; only communication runs "
                                "for %.3f ms of a step; if nothing needs their results before the last of the step has "
                                "ended, they can run beside compute",
                                gw_a_step(judge, (double)plan.marked_count), comm->exposed_ns / 1e6);
end:
    gw_comm_plan_release(&plan);
    free(computes);
    return ret;
}

/* ---- late, one after the other ---- */

/* Collectives that follow each other with no compute enqueued between: all but the longest could have been under way
 * while the compute before them was. */
static int mark_train(struct gw_comm_plan *plan, const struct gw_comm *comm, const uint32_t *train, size_t count)
{
    /* By bytes, not by times: all ranks must leave the same one. */
    size_t longest = 0;
    for (size_t i = 1; i < count; i++) {
        if (comm->kernels[train[i]].bus_bytes >= comm->kernels[train[longest]].bus_bytes)
            longest = i;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == longest)
            continue;
        plan->op_ns[comm->kernels[train[i]].op] = 0; /* its ranks still wait for each other */
        if (gw_comm_plan_mark(plan, comm->kernels[train[i]].op) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int mark_trains(struct gw_comm_plan *plan, const struct gw_judge *judge, uint32_t *train)
{
    const struct gw_comm *comm = judge->comm;
    int ret = 0;
    for (uint32_t d = 0; d < judge->model->devices_count && ret == 0; d++) {
        size_t count = 0;
        uint32_t step = GW_NONE;
        for (uint32_t i = comm->device_first[d]; i < comm->device_first[d + 1] && ret == 0; i++) {
            uint32_t op = comm->device_ops[i], place = gw_comm_kernel_of(comm, judge->model, op);
            if (is_compute(judge, op) || comm->op_step[op] != step) {
                ret = mark_train(plan, comm, train, count);
                step = comm->op_step[op];
                count = 0;
            }
            if (place != GW_NONE && !comm->kernels[place].claimed && !comm->kernels[place].is_message)
                train[count++] = place;
        }
        if (ret == 0)
            ret = mark_train(plan, comm, train, count);
    }
    return ret;
}

/* Time of a step in which a device computes and does not communicate as well: what could be beside collectives. */
static double room_ns(const struct gw_judge *judge)
{
    const struct gw_comm *comm = judge->comm;
    double cells = 0, length = 0;
    for (size_t i = 0; i < judge->budget->cells_count; i++)
        cells += !judge->model->steps[judge->budget->cells[i].step].warmup && !judge->budget->cells[i].unused;
    for (size_t i = 0; i < comm->kernels_count; i++)
        length += (double)(comm->kernels[i].end_ns - comm->kernels[i].start_ns);
    double hidden = fmax(length / fmax(cells, 1) - comm->exposed_ns, 0);
    return fmax(judge->class_ns[GW_CLASS_COMPUTE] - hidden, 0);
}

/* What hiding every collective beside compute would save of a step at most; 0 where messages or what a confirmed
 * verdict explains are among them, since these are not told apart from the rest. */
static double all_hidden_ns(const struct gw_judge *judge, double cap_ns)
{
    for (size_t i = 0; i < judge->comm->kernels_count; i++) {
        if (judge->comm->kernels[i].claimed || judge->comm->kernels[i].is_message)
            return 0;
    }
    return fmin(cap_ns, judge->class_ns[GW_CLASS_COMM_TRANSFER] + judge->class_ns[GW_CLASS_COMM_EXPOSED]);
}

/* Collectives that could not have begun earlier in this order of things are not the end of it: their data, or parts of
 * them, may be ready before the compute that goes before. */
static int bound_by_all(const struct gw_judge *judge, struct gw_verdict *verdict, double cap_ns)
{
    const double most_ns = all_hidden_ns(judge, cap_ns);
    if (most_ns <= verdict->bound_ms * 1e6)
        return 0;
    if (most_ns < EXPOSED_UNSEEN_SHARE * judge->mean_ns)
        return gw_verdict_rule_out(verdict, most_ns,
                                   "only communication runs for %.3f ms of a step; all of it beside compute would save "
                                   "at most %.3f ms",
                                   judge->comm->exposed_ns / 1e6, most_ns / 1e6);
    return gw_verdict_unknown(
        verdict,
        "only communication runs for %.3f ms of a step; begun as early as the order of the calls "
        "allows, it would cost %.3f ms less at most; whether its data, or parts of them, are ready "
        "earlier is not seen: if these are gradients, reducing them in smaller pieces as they come "
        "saves up to %.3f ms",
        judge->comm->exposed_ns / 1e6, verdict->bound_ms, most_ns / 1e6);
}

int gw_judge_comm_exposed(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm_plan plan = {0};
    uint32_t *train = NULL;
    int ret = gw_comm_ready(judge, verdict, 0);
    if (ret <= 0)
        return ret;
    train = calloc(judge->comm->kernels_count + 1, sizeof *train);
    if (!train || gw_comm_plan_init(&plan, judge) < 0) {
        ret = -ENOMEM;
        goto end;
    }
    if ((ret = mark_trains(&plan, judge, train)) < 0)
        goto end;
    plan.cap_ns = fmin(room_ns(judge), judge->comm->exposed_ns);
    ret = gw_comm_plan_conclude(&plan, judge, verdict,
                                "only communication runs for %.3f ms of a step; %.1f collectives a step follow others "
                                "with no compute between, and could have begun during the compute before",
                                judge->comm->exposed_ns / 1e6, gw_a_step(judge, (double)plan.marked_count));
    if (ret == 0 && verdict->state == GW_RULED_OUT)
        ret = bound_by_all(judge, verdict, plan.cap_ns);
end:
    gw_comm_plan_release(&plan);
    free(train);
    return ret;
}

/* ---- in many pieces ---- */

/* The small collectives of one step and device that could be one. */
struct tiny_group {
    uint32_t first, last; /* kernels */
    uint32_t count;
    double bus_bytes, latency_ns; /* of all */
};

/* The rate at which bytes would follow each other in one large collective. */
static double large_gbps(const struct gw_comm *comm)
{
    double gbps = comm->gbps > 0 ? comm->gbps : TINY_ASSUMED_GBPS;
    for (size_t i = 0; i < comm->kernels_count && !(comm->gbps > 0); i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        const double transfer_ns = (double)gw_comm_transfer_ns(kernel);
        if (kernel->count == 1 && !kernel->is_message && transfer_ns > 0)
            gbps = fmax(gbps, kernel->bus_bytes / (transfer_ns - fmin(BEGIN_LEAST_NS, transfer_ns / 2)));
    }
    return gbps;
}

/* A collective is small when its bytes take less than what it takes beside. */
static bool is_tiny(const struct gw_comm_kernel *kernel, double gbps)
{
    return kernel->count == 1 && !kernel->is_message && !kernel->claimed &&
           kernel->bus_bytes / gbps < 0.5 * (double)gw_comm_transfer_ns(kernel);
}

static size_t find_groups(const struct gw_judge *judge, size_t from, size_t to, double gbps, struct tiny_group *groups)
{
    const struct gw_comm *comm = judge->comm;
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        size_t g = 0;
        if (!is_tiny(kernel, gbps))
            continue;
        while (g < count &&
               !gw_comm_are_alike(judge->model, comm->kernels[groups[g].first].collective, kernel->collective))
            g++;
        if (g == GROUPS_MAX)
            continue;
        if (g == count)
            groups[count++] = (struct tiny_group){.first = (uint32_t)i};
        groups[g].last = (uint32_t)i;
        groups[g].count++;
        groups[g].bus_bytes += kernel->bus_bytes;
        groups[g].latency_ns += (double)gw_comm_transfer_ns(kernel) - kernel->bus_bytes / gbps;
    }
    return count;
}

/* Takes out what a collective that is merged into another needed for itself: the events by which its stream waited for
 * the kernels before it, and the time between. */
static void drop_preparation(const struct gw_judge *judge, uint32_t op, uint8_t *calls)
{
    const struct gw_replay *replay = judge->replay;
    const uint32_t call = judge->model->ops[op].outer_call;
    const uint32_t node = replay && call != GW_NONE ? gw_replay_node_of(replay, call) : GW_NONE;
    if (node == GW_NONE)
        return;
    calls[call] |= GW_EDIT_NO_THINK;
    for (uint32_t i = node; i-- > 0 && node - i <= PREPARATION_MOST;) {
        if (replay->nodes[i].thread != replay->nodes[node].thread)
            continue;
        if (gw_call_class(judge->model->calls[replay->nodes[i].call].function) != GW_CALL_ORDER)
            return;
        calls[replay->nodes[i].call] |= GW_EDIT_DROP | GW_EDIT_NO_THINK;
    }
}

int gw_judge_comm_tiny(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_comm *comm = judge->comm;
    struct tiny_group groups[GROUPS_MAX];
    struct gw_comm_plan plan = {0};
    bool *computes = NULL;
    double bytes = 0;
    size_t dependent = 0;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS);
    if (ret <= 0)
        return ret;
    const double gbps = large_gbps(comm);
    computes = find_computing(judge);
    if (!computes || gw_comm_plan_init(&plan, judge) < 0) {
        ret = -ENOMEM;
        goto end;
    }
    for (size_t from = 0, to; from < comm->kernels_count; from = to) {
        to = gw_comm_same_step_until(comm, from);
        size_t count = find_groups(judge, from, to, gbps, groups);
        for (size_t g = 0; g < count; g++) {
            if (groups[g].count < TINY_LEAST)
                continue;
            for (size_t i = groups[g].first; i <= groups[g].last; i++) {
                const struct gw_comm_kernel *kernel = &comm->kernels[i];
                if (!is_tiny(kernel, gbps) ||
                    !gw_comm_are_alike(judge->model, comm->kernels[groups[g].first].collective, kernel->collective))
                    continue;
                bytes += (double)kernel->size_bytes;
                dependent += may_run_beside(judge, kernel, computes);
                if (i == groups[g].last)
                    plan.op_ns[kernel->op] =
                        (uint64_t)(groups[g].latency_ns / groups[g].count + groups[g].bus_bytes / gbps);
                else
                    gw_comm_plan_drop(&plan, judge, kernel->op);
                /* The pause before the first is the merged one's. */
                if (i != groups[g].first && i != groups[g].last)
                    drop_preparation(judge, kernel->op, plan.calls);
                if ((ret = gw_comm_plan_mark(&plan, kernel->op)) < 0)
                    goto end;
            }
        }
    }
    if (2 * dependent > plan.marked_count && !come_as_gradients(judge, computes))
        plan.doubt = MAY_BE_ACTIVATIONS;
    ret =
        gw_comm_plan_conclude(&plan, judge, verdict,
                              "%.1f collectives a step, of %.0f bytes on average, take longer to begin than to "
                              "transfer; merged, each kind of them would be one",
                              gw_a_step(judge, (double)plan.marked_count), bytes / fmax((double)plan.marked_count, 1));
end:
    gw_comm_plan_release(&plan);
    free(computes);
    return ret;
}
