#include "analyzer/verdicts/comm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/array.h"
#include "analyzer/verdicts/arrivals.h"
#include "analyzer/verdicts/intervals.h"

/* A transfer tells the bandwidth from this many latencies on. */
#define LONG_TRANSFER 4.0
/* Devices with less than this share of the steps in common do not do the same work. */
#define LEAST_COVERED 0.5

/* The analysed step of the device's lane that the time lies in, or GW_NONE. */
static uint32_t analysed_step_at(const struct gw_judge *judge, uint32_t device, uint64_t t_ns)
{
    const struct gw_device *of = &judge->model->devices[device];
    uint32_t step = gw_lane_step_at(&judge->lane_steps, of->process, of->lane, t_ns);
    return step == GW_NONE || judge->model->steps[step].warmup ? GW_NONE : step;
}

static int list_ops(struct gw_comm *comm, const struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    comm->device_ops = calloc(model->ops_count + 1, sizeof *comm->device_ops);
    comm->device_first = calloc(model->devices_count + 2, sizeof *comm->device_first);
    comm->device_kernels = calloc(model->devices_count + 2, sizeof *comm->device_kernels);
    comm->op_step = malloc((model->ops_count + 1) * sizeof *comm->op_step);
    if (!comm->device_ops || !comm->device_first || !comm->device_kernels || !comm->op_step)
        return -ENOMEM;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        comm->op_step[i] = GW_NONE;
        if (op->stream == GW_NONE || op->outer_call == GW_NONE || !gw_op_is_busy(op))
            continue;
        uint32_t device = model->streams[op->stream].device;
        comm->op_step[i] = analysed_step_at(judge, device, model->calls[op->outer_call].begin_ns);
        comm->device_first[device + 2]++;
    }
    for (size_t d = 2; d < model->devices_count + 2; d++)
        comm->device_first[d] += comm->device_first[d - 1];
    for (uint32_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->stream != GW_NONE && op->outer_call != GW_NONE && gw_op_is_busy(op))
            comm->device_ops[comm->device_first[model->streams[op->stream].device + 1]++] = i;
    }
    return 0;
}

static int list_kernels(struct gw_comm *comm, const struct gw_model *model)
{
    uint64_t *arrived_ns = NULL;
    size_t room = 0;
    int ret = gw_arrivals_create(model, &arrived_ns);
    for (uint32_t d = 0; d < model->devices_count && ret == 0; d++) {
        comm->device_kernels[d] = (uint32_t)comm->kernels_count;
        for (uint32_t i = comm->device_first[d]; i < comm->device_first[d + 1]; i++) {
            uint32_t index = comm->device_ops[i];
            const struct gw_op *op = &model->ops[index];
            if (op->kind != GW_OP_COMM || comm->op_step[index] == GW_NONE)
                continue;
            if (!GW_ARRAY_RESERVE(comm->kernels, comm->kernels_count, &room)) {
                ret = -ENOMEM;
                break;
            }
            comm->kernels[comm->kernels_count++] =
                (struct gw_comm_kernel){.start_ns = op->start_ns,
                                        .end_ns = op->end_ns,
                                        .arrived_ns = arrived_ns ? arrived_ns[index] : GW_TIME_UNKNOWN,
                                        .op = index,
                                        .step = comm->op_step[index],
                                        .device = d,
                                        .collective = GW_NONE};
        }
    }
    comm->device_kernels[model->devices_count] = (uint32_t)comm->kernels_count;
    free(arrived_ns);
    return ret;
}

static void add_collectives(struct gw_comm *comm, const struct gw_model *model)
{
    for (uint32_t i = 0; comm->kernels && i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        uint32_t place = collective->op == GW_NONE ? GW_NONE : gw_comm_kernel_of(comm, model, collective->op);
        if (place == GW_NONE)
            continue;
        struct gw_comm_kernel *kernel = &comm->kernels[place];
        bool is_message = collective->kind == GW_COMM_SEND || collective->kind == GW_COMM_RECV;
        kernel->is_message = is_message && (!kernel->count || kernel->is_message);
        kernel->collective = kernel->count++ ? kernel->collective : i;
        kernel->size_bytes += collective->size_bytes;
        kernel->bus_bytes += gw_comm_bus_factor((enum gw_comm_kind)collective->kind,
                                                model->communicators[collective->communicator].size) *
                             (double)collective->size_bytes;
    }
}

uint64_t gw_comm_transfer_ns(const struct gw_comm_kernel *kernel)
{
    uint64_t from = kernel->arrived_ns == GW_TIME_UNKNOWN ? kernel->start_ns : kernel->arrived_ns;
    return kernel->end_ns > from ? kernel->end_ns - from : 0;
}

double gw_comm_expected_ns(const struct gw_comm *comm, const struct gw_comm_kernel *kernel, double gbps)
{
    return comm->latency_ns + kernel->bus_bytes / gbps;
}

/* First and last analysed step that has work of a device that takes part in exchanges; false: none has. */
static bool worked_steps(const struct gw_comm *comm, uint32_t device, uint32_t *ret_first, uint32_t *ret_last)
{
    bool any = false;
    if (comm->device_kernels[device] == comm->device_kernels[device + 1])
        return false;
    for (uint32_t i = comm->device_first[device]; i < comm->device_first[device + 1]; i++) {
        const uint32_t step = comm->op_step[comm->device_ops[i]];
        if (step == GW_NONE)
            continue;
        *ret_first = !any || step < *ret_first ? step : *ret_first;
        *ret_last = !any || step > *ret_last ? step : *ret_last;
        any = true;
    }
    return any;
}

/* Lanes of a process that share no exchanges with the one that begins its steps are some steps ahead of it, or behind:
 * of the first analysed steps or the last some devices have no work, and what takes all of them is not wholly in the
 * graph. Steps of a process follow each other in the model. */
static double covered_share(const struct gw_comm *comm, const struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    double covered = 0, all = 0;
    for (uint32_t from = 0, to; from < model->steps_count; from = to) {
        const uint32_t process = model->steps[from].process;
        uint32_t first = 0, last = GW_NONE, own_first = 0, own_last = 0;
        for (to = from; to < model->steps_count && model->steps[to].process == process;)
            to++;
        for (uint32_t d = judge->first_device[process]; d != GW_NONE; d = judge->next_device[d]) {
            if (!worked_steps(comm, d, &own_first, &own_last))
                continue;
            first = own_first > first ? own_first : first;
            last = own_last < last ? own_last : last;
        }
        for (uint32_t s = from; s < to; s++) {
            all += !model->steps[s].warmup;
            covered += !model->steps[s].warmup && s >= first && s <= last;
        }
    }
    return all > 0 ? fmax(covered / all, LEAST_COVERED) : 1;
}

static void measure(struct gw_comm *comm, const struct gw_judge *judge)
{
    for (size_t i = 0; i < comm->kernels_count; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        comm->unsized += kernel->collective == GW_NONE;
        comm->unmatched += kernel->arrived_ns == GW_TIME_UNKNOWN;
    }
    comm->latency_ns = gw_comm_latency_ns(comm->kernels, comm->kernels_count);
    for (size_t i = 0; i < comm->kernels_count; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        double transfer_ns = (double)gw_comm_transfer_ns(kernel);
        if (kernel->arrived_ns == GW_TIME_UNKNOWN || transfer_ns < LONG_TRANSFER * comm->latency_ns)
            continue;
        double gbps = kernel->bus_bytes / (transfer_ns - comm->latency_ns);
        comm->gbps = gbps > comm->gbps ? gbps : comm->gbps;
    }
    comm->covered = covered_share(comm, judge);
    comm->exposed_ns = judge->class_ns[GW_CLASS_COMM_EXPOSED] + judge->class_ns[GW_CLASS_COMM_WAIT] +
                       judge->class_ns[GW_CLASS_COMM_TRANSFER];
}

int gw_comm_create(const struct gw_judge *judge, struct gw_comm **ret_comm)
{
    const struct gw_model *model = judge->model;
    struct gw_comm *comm = calloc(1, sizeof *comm);
    int ret = comm ? list_ops(comm, judge) : -ENOMEM;
    if (ret == 0)
        ret = list_kernels(comm, model);
    if (ret < 0) {
        gw_comm_destroy(comm);
        return ret;
    }
    add_collectives(comm, model);
    measure(comm, judge);
    *ret_comm = comm;
    return 0;
}

void gw_comm_destroy(struct gw_comm *comm)
{
    if (!comm)
        return;
    free(comm->kernels);
    free(comm->device_kernels);
    free(comm->device_ops);
    free(comm->device_first);
    free(comm->op_step);
    free(comm);
}

uint32_t gw_comm_kernel_of(const struct gw_comm *comm, const struct gw_model *model, uint32_t op)
{
    if (model->ops[op].kind != GW_OP_COMM || model->ops[op].stream == GW_NONE)
        return GW_NONE;
    const uint32_t device = model->streams[model->ops[op].stream].device, end = comm->device_kernels[device + 1];
    const uint32_t low = GW_FIRST_NOT(comm->device_kernels[device], end, middle, comm->kernels[middle].op < op);
    return low < end && comm->kernels[low].op == op ? low : GW_NONE;
}

size_t gw_comm_same_step_until(const struct gw_comm *comm, size_t from)
{
    size_t to = from;
    while (to < comm->kernels_count && comm->kernels[to].step == comm->kernels[from].step &&
           comm->kernels[to].device == comm->kernels[from].device)
        to++;
    return to;
}

size_t gw_comm_place_after(const struct gw_comm *comm, uint32_t device, uint32_t op)
{
    const size_t low = GW_FIRST_NOT(comm->device_first[device], comm->device_first[device + 1], middle,
                                    comm->device_ops[middle] <= op);
    return low;
}

bool gw_comm_is_reduction(const struct gw_model *model, const struct gw_comm_kernel *kernel)
{
    if (kernel->collective == GW_NONE)
        return false;
    uint8_t kind = model->collectives[kernel->collective].kind;
    return kind == GW_COMM_ALL_REDUCE || kind == GW_COMM_REDUCE || kind == GW_COMM_REDUCE_SCATTER;
}

bool gw_comm_are_alike(const struct gw_model *model, uint32_t left, uint32_t right)
{
    const struct gw_collective *a = &model->collectives[left], *b = &model->collectives[right];
    return a->communicator == b->communicator && a->kind == b->kind && a->type == b->type &&
           a->reduction == b->reduction && a->stream == b->stream && a->rank == b->rank;
}

int gw_comm_ready(const struct gw_judge *judge, struct gw_verdict *verdict, unsigned needs)
{
    const struct gw_comm *comm = judge->comm;
    bool has_calls = false;
    for (size_t i = 0; i < judge->facts_count && !has_calls; i++)
        has_calls = judge->facts[i].cls == GW_CALL_COMM && judge->facts[i].step != GW_NONE;
    if (!judge->gpu_timed && has_calls)
        return gw_verdict_unknown(verdict, "there is communication, and what it costs needs GPU timing (record "
                                           "--gpu-timing=events)");
    if (!comm->kernels_count)
        return gw_verdict_rule_out(verdict, 0, "no communication in the analysed steps");
    if (needs & (GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS) && comm->unsized)
        return gw_verdict_unknown(verdict,
                                  "what %zu of %zu communication kernels carry out was not recorded; exposed "
                                  "communication is %.3f ms of a step",
                                  comm->unsized, comm->kernels_count, comm->exposed_ns / 1e6);
    if (needs & GW_COMM_NEEDS_RANKS && comm->unmatched)
        return gw_verdict_unknown(verdict,
                                  "of %zu of %zu communication kernels not all ranks are in the run: record every rank "
                                  "into one directory; exposed communication is %.3f ms of a step",
                                  comm->unmatched, comm->kernels_count, comm->exposed_ns / 1e6);
    return 1;
}
