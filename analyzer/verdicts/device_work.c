/*
 * How long the work of a step keeps each device busy.
 */
#include "analyzer/verdicts/device_work.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/intervals.h"

/* A device that is busy for less than this share is not used: of what the busiest device works, not of a step, since
 * compilation may make the mean step long and all devices idle. */
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

/* The same for every device. Returns 0 or -ENOMEM. */
static int list_busy(const struct gw_judge *judge, bool communicates, double *busy_ns)
{
    const struct gw_model *model = judge->model;
    uint32_t *by_match = calloc(model->collectives_count + 1, sizeof *by_match);
    int ret = by_match ? 0 : -ENOMEM;
    for (size_t i = 0; ret == 0 && i < judge->comm->kernels_count; i++) {
        uint32_t first = judge->comm->kernels[i].collective;
        if (first != GW_NONE && model->collectives[first].match != GW_NONE)
            by_match[model->collectives[first].match]++;
    }
    for (uint32_t d = 0; ret == 0 && d < model->devices_count; d++)
        ret = busy_of(judge, d, by_match, communicates, &busy_ns[d]);
    free(by_match);
    return ret;
}

/* busy_ns is there; list has room for that of each device. */
static void summarise(struct gw_device_work *work, size_t devices, double *list)
{
    for (uint32_t d = 0; d < devices; d++)
        work->most_ns = fmax(work->most_ns, work->busy_ns[d]);
    work->least_ns = fmax(1, USED_SHARE * work->most_ns);
    for (uint32_t d = 0; d < devices; d++) {
        if (work->busy_ns[d] < work->least_ns)
            continue;
        if (work->busiest == GW_NONE || work->busy_ns[d] > work->busy_ns[work->busiest])
            work->busiest = d;
        work->sum_ns += work->busy_ns[d];
        list[work->used++] = work->busy_ns[d];
    }
    if (!work->used)
        return;
    qsort(list, work->used, sizeof *list, gw_by_double);
    work->mean_ns = work->sum_ns / (double)work->used;
    work->median_ns = list[(work->used - 1) / 2];
}

int gw_device_work_create(const struct gw_judge *judge, bool communicates, struct gw_device_work *ret_work)
{
    const size_t devices = judge->model->devices_count;
    struct gw_device_work work = {.busiest = GW_NONE};
    double *list = calloc(devices + 1, sizeof *list);
    int ret = list && (work.busy_ns = calloc(devices + 1, sizeof *work.busy_ns)) ? 0 : -ENOMEM;
    if (ret == 0)
        ret = list_busy(judge, communicates, work.busy_ns);
    if (ret == 0)
        summarise(&work, devices, list);
    free(list);
    if (ret == 0)
        *ret_work = work;
    else
        gw_device_work_release(&work);
    return ret;
}

void gw_device_work_release(struct gw_device_work *work)
{
    free(work->busy_ns);
}

bool gw_device_works(const struct gw_device_work *work, uint32_t device)
{
    return work->busy_ns[device] >= work->least_ns;
}

/* What is replayed: the work of devices takes another time. */
struct resized {
    const struct gw_device_work *work;
    double factor, to_ns; /* each operation so many times as long; instead, when not 0, all of a device so long */
    uint32_t evidence;    /* the device whose operations are occurrences, GW_NONE: all */
};

static int resize(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct resized *resized)
{
    const struct gw_model *model = judge->model;
    for (size_t i = 0; i < judge->replay->ops_count; i++) {
        const struct gw_replay_op *entry = &judge->replay->ops[i];
        const struct gw_op *op = &model->ops[entry->op];
        const uint32_t device = op->stream == GW_NONE ? GW_NONE : model->streams[op->stream].device;
        if (device == GW_NONE || op->kind == GW_OP_COMM || !gw_device_works(resized->work, device))
            continue;
        const double factor = resized->to_ns > 0 ? resized->to_ns / resized->work->busy_ns[device] : resized->factor;
        plan->op_ns[entry->op] = (uint64_t)llround((double)entry->duration_ns * factor);
        if ((resized->evidence == GW_NONE || resized->evidence == device) &&
            judge->comm->op_step[entry->op] != GW_NONE && gw_comm_plan_mark(plan, entry->op) < 0)
            return -ENOMEM;
    }
    return 0;
}

int gw_device_work_scale(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_device_work *work,
                         double factor)
{
    return resize(plan, judge, &(struct resized){work, factor, 0, GW_NONE});
}

int gw_device_work_balance(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct gw_device_work *work)
{
    return resize(plan, judge, &(struct resized){work, 0, work->mean_ns, work->busiest});
}
