/*
 * Judges of the devices of a run: work that is spread unevenly or not at all, and GPUs that are not the program's
 * alone.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/device_work.h"
#include "analyzer/verdicts/kernel_times.h"

int gw_judge_imbalance(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_device_work work = {0};
    struct gw_comm_plan plan = {0};
    int ret;
    if (judge->model->devices_count < 2)
        return gw_verdict_rule_out(verdict, 0, "the run uses one device");
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    if ((ret = gw_device_work_create(judge, false, &work)) < 0 || (ret = gw_comm_plan_init(&plan, judge)) < 0)
        goto end;
    const double more_ns = work.most_ns - work.mean_ns;
    if (work.used < 2 || more_ns < judge->threshold_ns) {
        ret = gw_verdict_rule_out(verdict, work.used ? more_ns : 0,
                                  "the busiest of %zu working devices works %.3f ms a step more than their mean",
                                  work.used, more_ns / 1e6);
        goto end;
    }
    verdict->device = work.busiest;
    verdict->process = judge->model->devices[work.busiest].process;
    if (!judge->replay) {
        ret = gw_verdict_confirm(verdict, judge, more_ns,
                                 "the busiest of %zu working devices works %.3f ms a step, their mean is %.3f ms; the "
                                 "replay does not reproduce this run, and balanced work saves at most the difference",
                                 work.used, work.most_ns / 1e6, work.mean_ns / 1e6);
        goto end;
    }
    if ((ret = gw_device_work_balance(&plan, judge, &work)) < 0)
        goto end;
    ret = gw_comm_plan_conclude(&plan, judge, verdict,
                                "the busiest of %zu working devices works %.3f ms a step, their mean is %.3f ms; with "
                                "the work of each as long as that mean the run was replayed",
                                work.used, work.most_ns / 1e6, work.mean_ns / 1e6);
end:
    gw_comm_plan_release(&plan);
    gw_device_work_release(&work);
    return ret;
}

/* ---- devices without work ---- */

/* Devices of all hosts: those the processes see or opened, each once, and those that work. */
struct device_use {
    size_t visible, opened, used;
    bool is_known; /* every process said how many it sees */
    uint32_t idle; /* one that was opened and does not work, or GW_NONE */
};

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Whether an earlier device of the model is the same piece of hardware, seen by another process of the host; of those
 * that work, where work is given. */
static bool is_again(const struct gw_model *model, uint32_t device, const struct gw_device_work *work)
{
    const struct gw_device *this = &model->devices[device];
    for (uint32_t d = 0; d < device; d++) {
        const struct gw_device *other = &model->devices[d];
        if (other->process != this->process && same_text(other->uuid, this->uuid) &&
            same_text(model->processes[other->process].host, model->processes[this->process].host) &&
            (!work || gw_device_works(work, d)))
            return true;
    }
    return false;
}

static struct device_use use_of(const struct gw_model *model, const struct gw_device_work *work)
{
    struct device_use use = {.is_known = true, .idle = GW_NONE};
    for (uint32_t d = 0; d < model->devices_count; d++) {
        use.opened += !is_again(model, d, NULL);
        if (gw_device_works(work, d))
            use.used += !is_again(model, d, work);
        else if (use.idle == GW_NONE)
            use.idle = d;
    }
    for (uint32_t p = 0; p < model->processes_count; p++) {
        const struct gw_process *process = &model->processes[p];
        uint32_t most = process->visible_devices;
        bool is_first = process->op_count > 0;
        use.is_known = use.is_known && (!process->op_count || process->visible_devices);
        for (uint32_t q = 0; q < model->processes_count; q++) {
            const struct gw_process *other = &model->processes[q];
            if (q == p || !other->op_count || !same_text(other->host, process->host))
                continue;
            is_first = is_first && q > p;
            most = other->visible_devices > most ? other->visible_devices : most;
        }
        use.visible += is_first ? most : 0;
    }
    use.visible = use.visible > use.opened ? use.visible : use.opened;
    return use;
}

/* What the unused devices cost: the run replayed with the work of the others split evenly over all. */
static int judge_unused(struct gw_judge *judge, struct gw_verdict *verdict, const struct device_use *use,
                        const struct gw_device_work *work)
{
    struct gw_comm_plan plan = {0};
    int ret = gw_comm_plan_init(&plan, judge);
    if (ret == 0)
        ret = gw_device_work_scale(&plan, judge, work, (double)use->used / (double)use->visible);
    if (ret == 0)
        ret = gw_comm_plan_conclude(&plan, judge, verdict,
                                    "only %zu of %zu visible devices work in the analysed steps (opened: %zu); the run "
                                    "was replayed with the same work split evenly over all of them, and nothing "
                                    "communicated for it",
                                    use->used, use->visible, use->opened);
    gw_comm_plan_release(&plan);
    return ret;
}

int gw_judge_idle_device(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_device_work work = {0};
    int ret;
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    if ((ret = gw_device_work_create(judge, true, &work)) < 0)
        return ret;
    const struct device_use use = use_of(judge->model, &work);
    const size_t unused = use.visible - use.used;
    const double share = (double)unused / (double)(use.visible ? use.visible : 1);
    const double most = work.sum_ns / (double)(use.used ? use.used : 1) * share;
    if (unused && judge->model->run.ranks_absent) {
        ret = gw_verdict_unknown(verdict,
                                 "%zu of %zu visible devices work in what was recorded; some ranks of the job are not "
                                 "in the run, and what their devices do is not known: record all of them",
                                 use.used, use.visible);
    } else if (!use.is_known && !unused) {
        ret = gw_verdict_unknown(verdict,
                                 "%zu devices were opened and all work; whether others were visible is not "
                                 "recorded",
                                 use.opened);
    } else if (!use.used || most < judge->threshold_ns) {
        ret = gw_verdict_rule_out(verdict, use.used ? most : 0, "%zu of %zu visible devices work in the analysed steps",
                                  use.used, use.visible);
    } else {
        verdict->device = use.idle;
        verdict->process = use.idle == GW_NONE ? 0 : judge->model->devices[use.idle].process;
        ret = judge->replay ? judge_unused(judge, verdict, &use, &work)
                            : gw_verdict_confirm(verdict, judge, most,
                                                 "only %zu of %zu visible devices work in the analysed steps (opened: "
                                                 "%zu); the replay does not reproduce this run, and work split evenly "
                                                 "over all saves at most this",
                                                 use.used, use.visible, use.opened);
    }
    gw_device_work_release(&work);
    return ret;
}

/* ---- the same kernel at different speeds ---- */

/* The kernel of an analysed step that a fact launched, NULL when it launched none whose name is known. */
static const struct gw_op *named_kernel(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_op *op = fact->step != GW_NONE ? gw_fact_op(judge, fact) : NULL;
    return op && op->kind == GW_OP_KERNEL && op->name != GW_NONE ? op : NULL;
}

static uint64_t length_ns(const struct gw_op *op)
{
    return op->end_ns - op->start_ns;
}

/* Lengths of kernels by their name, as far as 32 bits hold them: those of name n end at ends[n], where those of n + 1
 * begin. */
struct lengths_by_name {
    size_t *ends;
    uint32_t *lengths_ns;
};

static int list_lengths(const struct gw_judge *judge, struct lengths_by_name *lists)
{
    size_t names = judge->model->names_count, count = 0;
    lists->ends = calloc(names + 1, sizeof *lists->ends);
    for (size_t i = 0; i < judge->facts_count && lists->ends; i++) {
        const struct gw_op *op = named_kernel(judge, &judge->facts[i]);
        if (op)
            lists->ends[op->name]++;
    }
    for (size_t n = 0; n < names && lists->ends; n++) { /* where each begins, until it is filled */
        size_t of_name = lists->ends[n];
        lists->ends[n] = count;
        count += of_name;
    }
    lists->lengths_ns = malloc((count + 1) * sizeof *lists->lengths_ns);
    if (!lists->ends || !lists->lengths_ns)
        return -ENOMEM;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_op *op = named_kernel(judge, &judge->facts[i]);
        if (op)
            lists->lengths_ns[lists->ends[op->name]++] =
                length_ns(op) < UINT32_MAX ? (uint32_t)length_ns(op) : UINT32_MAX;
    }
    return 0;
}

/* By name: the upper quartile of its kernels' lengths, infinite where 32 bits do not hold it (4 s). The caller frees;
 * NULL: no memory. */
static double *usual_lengths(const struct gw_judge *judge)
{
    struct lengths_by_name lists = {0};
    double *usual_ns = calloc(judge->model->names_count + 1, sizeof *usual_ns);
    if (!usual_ns || list_lengths(judge, &lists) < 0) {
        free(usual_ns);
        usual_ns = NULL;
    }
    for (size_t n = 0, from = 0; n < judge->model->names_count && usual_ns; n++) {
        const size_t count = lists.ends[n] - from;
        if (count) {
            const uint32_t quartile_ns = gw_at_place_u32(lists.lengths_ns + from, count, count * 3 / 4);
            usual_ns[n] = quartile_ns == UINT32_MAX ? INFINITY : (double)quartile_ns;
        }
        from = lists.ends[n];
    }
    free(lists.ends);
    free(lists.lengths_ns);
    return usual_ns;
}

/* Time of a step, in all, of kernels that are slower than is usual for their name. */
static int slower_than_usual(const struct gw_judge *judge, double *ret_ns)
{
    double slower = 0;
    double *usual_ns = usual_lengths(judge);
    if (!usual_ns)
        return -ENOMEM;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_op *op = named_kernel(judge, &judge->facts[i]);
        if (!op)
            continue;
        /* Above the upper quartile by more than half: one name can stand for several sizes of work. */
        const double ns = (double)length_ns(op), usual = usual_ns[op->name];
        slower += ns > 1.5 * usual ? ns - usual : 0;
    }
    free(usual_ns);
    *ret_ns = gw_a_step(judge, slower);
    return 0;
}

/* A device by the hardware it is. */
struct hardware {
    const char *host, *uuid;
    uint32_t device;
};

static int by_hardware(const void *left, const void *right)
{
    const struct hardware *a = left, *b = right;
    int order = strcmp(a->uuid, b->uuid);
    return order ? order : strcmp(a->host, b->host);
}

/* Whether other devices of the model are the same hardware, by device; the caller frees. NULL: no memory. */
static bool *find_twins(const struct gw_model *model)
{
    struct hardware *list = calloc(model->devices_count + 1, sizeof *list);
    bool *twins = calloc(model->devices_count + 1, sizeof *twins);
    size_t count = 0;
    for (uint32_t d = 0; d < model->devices_count && list; d++) {
        const char *host = model->processes[model->devices[d].process].host, *uuid = model->devices[d].uuid;
        if (host && uuid)
            list[count++] = (struct hardware){host, uuid, d};
    }
    if (list)
        qsort(list, count, sizeof *list, by_hardware);
    for (size_t i = 1; i < count && twins; i++) {
        if (by_hardware(&list[i - 1], &list[i]) == 0)
            twins[list[i - 1].device] = twins[list[i].device] = true;
    }
    free(list);
    if (!list) {
        free(twins);
        return NULL;
    }
    return twins;
}

/* For each device, when other processes of its host keep the same hardware busy. Returns how many devices are shared
 * so, or -ENOMEM. */
static int list_others(const struct gw_judge *judge, struct gw_beside *beside)
{
    const struct gw_model *model = judge->model;
    int shared = 0;
    bool *twins = find_twins(model);
    if (!twins)
        return -ENOMEM;
    for (uint32_t d = 0; d < model->devices_count && shared >= 0; d++) {
        const struct gw_device *device = &model->devices[d];
        size_t count = 0;
        if (!twins[d])
            continue;
        beside[d].list = calloc(model->ops_count + 1, sizeof *beside[d].list);
        if (!beside[d].list) {
            shared = -ENOMEM;
            break;
        }
        for (size_t i = 0; i < model->ops_count; i++) {
            const struct gw_op *op = &model->ops[i];
            if (op->stream == GW_NONE || !gw_op_is_busy(op))
                continue;
            const struct gw_device *other = &model->devices[model->streams[op->stream].device];
            if (other->process != device->process && same_text(other->uuid, device->uuid) &&
                same_text(model->processes[other->process].host, model->processes[device->process].host))
                beside[d].list[count++] = (struct gw_interval){op->start_ns, op->end_ns};
        }
        beside[d].count = gw_intervals_merge(beside[d].list, count);
        struct gw_interval *shrunk = realloc(beside[d].list, (beside[d].count + 1) * sizeof *shrunk);
        beside[d].list = shrunk ? shrunk : beside[d].list;
        shared += count > 0;
    }
    free(twins);
    return shared;
}

static int judge_alone(const struct gw_judge *judge, struct gw_verdict *verdict)
{
    double slower = 0;
    int ret = slower_than_usual(judge, &slower);
    if (ret < 0)
        return ret;
    if (slower < judge->threshold_ns)
        return gw_verdict_rule_out(verdict, slower,
                                   "kernels that are slower than usual for their name cost %.3f ms of a step in all",
                                   slower / 1e6);
    return gw_verdict_unknown(
        verdict,
        "kernels are at times slower than usual for their name, %.3f ms of a step in all; whether "
        "another process ran then needs a recording of that process too",
        slower / 1e6);
}

int gw_judge_shared_gpu(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm_plan plan = {0};
    struct gw_kernel_times times = {0};
    struct gw_beside *beside = NULL;
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    beside = gw_beside_create(judge);
    int shared = beside ? list_others(judge, beside) : -ENOMEM, ret = shared;
    if (shared == 0)
        ret = judge_alone(judge, verdict);
    if (shared <= 0 || (ret = gw_comm_plan_init(&plan, judge)) < 0 ||
        (ret = gw_kernel_times_compare(judge, beside, &plan, &times)) < 0)
        goto end;
    if (times.compared == 0)
        ret =
            gw_verdict_unknown(verdict, "several processes use the same GPU at the same time throughout, so that their "
                                        "kernels' times alone are not known");
    else
        ret = gw_comm_plan_conclude(
            &plan, judge, verdict,
            "%.1f kernels a step run while another process of this run keeps the GPU busy, %.1f of "
            "them longer than their like alone, by %.3f ms in all",
            gw_a_step(judge, times.compared), gw_a_step(judge, (double)plan.marked_count),
            gw_a_step(judge, times.slower_ns) / 1e6);
end:
    gw_comm_plan_release(&plan);
    gw_beside_destroy(beside, judge);
    return ret;
}
