/*
 * Judges of the devices of a run: work that is spread unevenly or not at all, and GPUs that are not the program's
 * alone.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/kernel_times.h"

/* A device that is busy for less than this share of a step is not used. */
/* Of what the busiest device works, not of a step: compilation may make the mean step long and all devices idle. */
#define USED_SHARE 0.01

static double union_ns(struct gw_interval *list, size_t count)
{
    double length = 0;
    count = gw_intervals_merge(list, count);
    for (size_t i = 0; i < count; i++)
        length += (double)(list[i].end_ns - list[i].begin_ns);
    return length;
}

/* Adds what of device_ops[from, to) keeps the device busy; communicates: collectives and messages too. */
static size_t add_busy(const struct gw_judge *judge, size_t from, size_t to, bool communicates,
                       struct gw_interval *list)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        const struct gw_op *op = &judge->model->ops[judge->comm->device_ops[i]];
        if (communicates || op->kind != GW_OP_COMM)
            list[count++] = (struct gw_interval){op->start_ns, op->end_ns};
    }
    return count;
}

/* Analysed collectives of the device in which all of its ranks take part, each in an analysed step: how many, and the
 * operations of the first and the last. by_match: analysed kernels of each exchange. */
static size_t common_collectives(const struct gw_judge *judge, uint32_t device, const uint32_t *by_match,
                                 uint32_t *ret_first, uint32_t *ret_last)
{
    const struct gw_comm *comm = judge->comm;
    size_t count = 0;
    for (uint32_t i = comm->device_kernels[device]; i < comm->device_kernels[device + 1]; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        if (kernel->is_message || kernel->collective == GW_NONE || kernel->arrived_ns == GW_TIME_UNKNOWN)
            continue;
        const struct gw_collective *collective = &judge->model->collectives[kernel->collective];
        if (by_match[collective->match] != collective->matched)
            continue;
        *ret_first = count++ ? *ret_first : kernel->op;
        *ret_last = kernel->op;
    }
    return count;
}

static double steps_of_process(const struct gw_model *model, uint32_t process)
{
    double steps = 0;
    for (size_t s = 0; s < model->steps_count; s++)
        steps += model->steps[s].process == process && !model->steps[s].warmup;
    return steps;
}

/* The median step's, by the operations that were enqueued in it. list and busy have room for those and for steps. */
static double busy_by_step(const struct gw_judge *judge, uint32_t device, bool communicates, struct gw_interval *list,
                           double *busy)
{
    const struct gw_comm *comm = judge->comm;
    size_t end = comm->device_first[device + 1], steps = 0;
    for (size_t from = comm->device_first[device], to; from < end; from = to) {
        uint32_t step = comm->op_step[comm->device_ops[from]];
        for (to = from; to < end && comm->op_step[comm->device_ops[to]] == step;)
            to++;
        if (step != GW_NONE && steps < judge->model->steps_count)
            busy[steps++] = union_ns(list, add_busy(judge, from, to, communicates, list));
    }
    return gw_upper_median(busy, steps);
}

/* Time that the work of a step keeps a device busy; communicates: collectives and messages too. Ranks are compared from
 * the first collective that all analysed steps have to the last one, since they do not begin their steps at the same
 * time; a device without collectives by its median step. Returns 0 or -ENOMEM. */
static int busy_of(const struct gw_judge *judge, uint32_t device, const uint32_t *by_match, bool communicates,
                   double *ret_ns)
{
    const struct gw_comm *comm = judge->comm;
    uint32_t first = 0, last = 0;
    size_t room = comm->device_first[device + 1] - comm->device_first[device];
    struct gw_interval *list = calloc(room + 1, sizeof *list);
    double *busy = calloc(judge->model->steps_count + 1, sizeof *busy);
    int ret = list && busy ? 0 : -ENOMEM;
    size_t count = common_collectives(judge, device, by_match, &first, &last);
    if (ret == 0 && count >= 2) {
        double steps = fmax(steps_of_process(judge->model, judge->model->devices[device].process), 1);
        double a_step = fmax(round((double)count / steps), 1);
        size_t from = gw_comm_place_after(comm, device, first), to = gw_comm_place_after(comm, device, last);
        *ret_ns = union_ns(list, add_busy(judge, from, to, communicates, list)) / (double)(count - 1) * a_step;
    } else if (ret == 0) {
        *ret_ns = busy_by_step(judge, device, communicates, list, busy);
    }
    free(list);
    free(busy);
    return ret;
}

/* The same for every device; the caller frees. NULL: no memory. */
static double *busy_by_device(const struct gw_judge *judge, bool communicates)
{
    const struct gw_model *model = judge->model;
    double *busy = calloc(model->devices_count + 1, sizeof *busy);
    uint32_t *by_match = calloc(model->collectives_count + 1, sizeof *by_match);
    int ret = busy && by_match ? 0 : -ENOMEM;
    for (size_t i = 0; ret == 0 && i < judge->comm->kernels_count; i++) {
        uint32_t first = judge->comm->kernels[i].collective;
        if (first != GW_NONE && model->collectives[first].match != GW_NONE)
            by_match[model->collectives[first].match]++;
    }
    for (uint32_t d = 0; ret == 0 && d < model->devices_count; d++)
        ret = busy_of(judge, d, by_match, communicates, &busy[d]);
    free(by_match);
    if (ret == 0)
        return busy;
    free(busy);
    return NULL;
}

/* What a device must work in a step to count as used; more than nothing. */
static double least_used(const struct gw_judge *judge, const double *busy)
{
    double most = 0;
    for (uint32_t d = 0; d < judge->model->devices_count; d++)
        most = fmax(most, busy[d]);
    return fmax(1, USED_SHARE * most);
}

/* What is replayed: the work of devices takes another time. */
struct resized {
    const double *share; /* by device: what its operations' times are multiplied by, 0: they stay */
    uint32_t evidence;   /* the device whose operations are occurrences, GW_NONE: all */
};

/* Communication takes what it takes. */
static int resize(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct resized *work)
{
    const struct gw_model *model = judge->model;
    for (size_t i = 0; i < judge->replay->ops_count; i++) {
        const struct gw_replay_op *entry = &judge->replay->ops[i];
        const struct gw_op *op = &model->ops[entry->op];
        const uint32_t device = op->stream == GW_NONE ? GW_NONE : model->streams[op->stream].device;
        if (device == GW_NONE || op->kind == GW_OP_COMM || work->share[device] <= 0)
            continue;
        plan->op_ns[entry->op] = (uint64_t)llround((double)entry->duration_ns * work->share[device]);
        if ((work->evidence == GW_NONE || work->evidence == device) && judge->comm->op_step[entry->op] != GW_NONE &&
            gw_comm_plan_mark(plan, entry->op) < 0)
            return -ENOMEM;
    }
    return 0;
}

int gw_judge_imbalance(struct gw_judge *judge, struct gw_verdict *verdict)
{
    size_t devices = judge->model->devices_count, used = 0;
    double most = 0, sum = 0, *busy = NULL, *share = NULL;
    uint32_t busiest = GW_NONE;
    struct gw_comm_plan plan = {0};
    int ret = -ENOMEM;
    if (devices < 2)
        return gw_verdict_rule_out(verdict, 0, "the run uses one device");
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    busy = busy_by_device(judge, false);
    share = calloc(devices, sizeof *share);
    if (!busy || !share || gw_comm_plan_init(&plan, judge) < 0)
        goto end;
    const double least = least_used(judge, busy);
    for (uint32_t d = 0; d < devices; d++) {
        if (busy[d] < least)
            continue;
        used++;
        sum += busy[d];
        busiest = busy[d] > most ? d : busiest;
        most = fmax(most, busy[d]);
    }
    const double mean = used ? sum / (double)used : 0, more = fmax(most - mean, 0);
    if (used < 2 || more < judge->threshold_ns) {
        ret = gw_verdict_rule_out(verdict, more,
                                  "the busiest of %zu working devices works %.3f ms a step more than their mean", used,
                                  more / 1e6);
        goto end;
    }
    verdict->device = busiest;
    verdict->process = judge->model->devices[busiest].process;
    if (!judge->replay) {
        ret = gw_verdict_confirm(verdict, judge, more,
                                 "the busiest of %zu working devices works %.3f ms a step, their mean is %.3f ms; the "
                                 "replay does not reproduce this run, and balanced work saves at most the difference",
                                 used, most / 1e6, mean / 1e6);
        goto end;
    }
    for (uint32_t d = 0; d < devices; d++)
        share[d] = busy[d] < least ? 0 : mean / busy[d];
    if ((ret = resize(&plan, judge, &(struct resized){share, busiest})) < 0)
        goto end;
    ret = gw_comm_plan_conclude(&plan, judge, verdict,
                                "the busiest of %zu working devices works %.3f ms a step, their mean is %.3f ms; with "
                                "the work of each as long as that mean the run was replayed",
                                used, most / 1e6, mean / 1e6);
end:
    gw_comm_plan_release(&plan);
    free(busy);
    free(share);
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

/* Whether an earlier device of the model is the same piece of hardware: seen by another process of the host. */
static bool is_again(const struct gw_model *model, uint32_t device, const double *busy, double least)
{
    const struct gw_device *this = &model->devices[device];
    for (uint32_t d = 0; d < device; d++) {
        const struct gw_device *other = &model->devices[d];
        if (other->process != this->process && same_text(other->uuid, this->uuid) &&
            same_text(model->processes[other->process].host, model->processes[this->process].host) &&
            (!busy || busy[d] >= least))
            return true;
    }
    return false;
}

static struct device_use use_of(const struct gw_judge *judge, const double *busy)
{
    const struct gw_model *model = judge->model;
    struct device_use use = {.is_known = true, .idle = GW_NONE};
    const double least = least_used(judge, busy);
    for (uint32_t d = 0; d < model->devices_count; d++) {
        use.opened += !is_again(model, d, NULL, 0);
        if (busy[d] >= least)
            use.used += !is_again(model, d, busy, least);
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
                        const double *busy)
{
    const size_t devices = judge->model->devices_count;
    const double least = least_used(judge, busy);
    struct gw_comm_plan plan = {0};
    double *share = calloc(devices + 1, sizeof *share);
    int ret = share ? gw_comm_plan_init(&plan, judge) : -ENOMEM;
    for (uint32_t d = 0; d < devices && ret == 0; d++)
        share[d] = busy[d] < least ? 0 : (double)use->used / (double)use->visible;
    if (ret == 0)
        ret = resize(&plan, judge, &(struct resized){share, GW_NONE});
    if (ret == 0)
        ret = gw_comm_plan_conclude(&plan, judge, verdict,
                                    "of %zu visible devices %zu were opened and %zu work in the analysed steps; with "
                                    "their work split evenly over all and nothing communicated for it the run was "
                                    "replayed",
                                    use->visible, use->opened, use->used);
    gw_comm_plan_release(&plan);
    free(share);
    return ret;
}

int gw_judge_idle_device(struct gw_judge *judge, struct gw_verdict *verdict)
{
    double sum = 0;
    int ret;
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    double *busy = busy_by_device(judge, true);
    if (!busy)
        return -ENOMEM;
    const struct device_use use = use_of(judge, busy);
    const double least = least_used(judge, busy);
    for (uint32_t d = 0; d < judge->model->devices_count; d++)
        sum += busy[d] >= least ? busy[d] : 0;
    const size_t unused = use.visible - use.used;
    const double share = (double)unused / (double)(use.visible ? use.visible : 1);
    const double most = sum / (double)(use.used ? use.used : 1) * share;
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
        ret = judge->replay ? judge_unused(judge, verdict, &use, busy)
                            : gw_verdict_confirm(verdict, judge, most,
                                                 "of %zu visible devices %zu were opened and %zu work in the analysed "
                                                 "steps; the replay does not reproduce this run, and work split evenly "
                                                 "over all saves at most this",
                                                 use.visible, use.opened, use.used);
    }
    free(busy);
    return ret;
}

/* ---- the same kernel at different speeds ---- */

/* The kernel of an analysed step that a fact launched, NULL when it launched none whose name is known. */
static const struct gw_op *named_kernel(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_op *op = fact->step != GW_NONE ? gw_fact_op(judge, fact) : NULL;
    return op && op->kind == GW_OP_KERNEL && op->name != GW_NONE ? op : NULL;
}

/* Lengths of kernels by their name: those of name n end at ends[n], where those of n + 1 begin. */
struct lengths_by_name {
    size_t *ends;
    uint64_t *lengths_ns;
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
            lists->lengths_ns[lists->ends[op->name]++] = op->end_ns - op->start_ns;
    }
    return 0;
}

/* Time of a step, in all, of kernels that are slower than is usual for their name. */
static int slower_than_usual(const struct gw_judge *judge, double *ret_ns)
{
    struct lengths_by_name lists = {0};
    double slower = 0;
    int ret = list_lengths(judge, &lists);
    for (size_t n = 0, from = 0; n < judge->model->names_count && ret == 0; n++) {
        uint64_t *lengths_ns = lists.lengths_ns + from;
        size_t count = lists.ends[n] - from;
        from = lists.ends[n];
        if (!count)
            continue;
        /* Above the upper quartile by more than half: one name can stand for several sizes of work. */
        double usual = (double)gw_at_place_u64(lengths_ns, count, count * 3 / 4);
        for (size_t i = 0; i < count; i++) {
            double ns = (double)lengths_ns[i];
            slower += ns > 1.5 * usual ? ns - usual : 0;
        }
    }
    free(lists.ends);
    free(lists.lengths_ns);
    if (ret == 0)
        *ret_ns = gw_a_step(judge, slower);
    return ret;
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
