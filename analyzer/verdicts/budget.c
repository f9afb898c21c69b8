#include "analyzer/verdicts/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/read/parallel.h"
#include "analyzer/verdicts/array.h"
#include "analyzer/verdicts/arrivals.h"
#include "analyzer/verdicts/device_steps.h"
#include "analyzer/verdicts/gaps.h"
#include "analyzer/verdicts/host.h"
#include "analyzer/verdicts/intervals.h"

/* A device's share of the work: its operations, when it was what, and where it cannot be told. */
struct device_time {
    uint32_t *ops; /* in order of enqueue, until the segments are made */
    size_t op_count;
    struct gw_segments segments;
    struct gw_interval *fog;
    size_t fog_count;
    struct gw_gaps gaps;
};

struct work {
    const struct gw_model *model;
    struct gw_host host;
    struct device_time *devices;
    uint64_t *arrived_ns; /* see gw_arrivals_create */
    uint64_t begin_ns, end_ns;
    uint64_t latency_ns;
    const struct gw_interval *steps; /* their times */
    bool steps_only;
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The whole time to be partitioned: the trace, and whatever reaches beyond it. */
static void find_extent(struct work *work)
{
    const struct gw_model *model = work->model;
    work->begin_ns = model->run.begin_ns;
    work->end_ns = model->run.end_ns;
    for (size_t i = 0; i < model->steps_count; i++) {
        work->begin_ns = min_u64(work->begin_ns, model->steps[i].begin_ns);
        work->end_ns = max_u64(work->end_ns, model->steps[i].end_ns);
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        if (!gw_op_is_busy(&model->ops[i]))
            continue;
        work->begin_ns = min_u64(work->begin_ns, model->ops[i].start_ns);
        work->end_ns = max_u64(work->end_ns, model->ops[i].end_ns);
    }
    work->end_ns = max_u64(work->begin_ns, work->end_ns);
}

static int group_ops(struct work *work)
{
    const struct gw_model *model = work->model;
    for (size_t s = 0; s < model->streams_count; s++)
        work->devices[model->streams[s].device].op_count += model->streams[s].op_count;
    for (size_t d = 0; d < model->devices_count; d++) {
        work->devices[d].ops = calloc(work->devices[d].op_count + 1, sizeof *work->devices[d].ops);
        if (!work->devices[d].ops)
            return -ENOMEM;
        work->devices[d].op_count = 0;
    }
    for (uint32_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].stream == GW_NONE)
            continue;
        struct device_time *device = &work->devices[model->streams[model->ops[i].stream].device];
        device->ops[device->op_count++] = i;
    }
    return 0;
}

/* Where an untimed operation of the stream may have run: after its enqueue and its predecessor, before its successor.
 */
static size_t untimed_windows(const struct work *work, const struct gw_stream *stream, struct gw_interval *windows)
{
    const struct gw_model *model = work->model;
    const uint32_t *ops = model->stream_ops + stream->op_first;
    uint64_t after = work->begin_ns, before = work->end_ns;
    size_t count = 0;
    for (uint32_t i = 0; i < stream->op_count; i++) {
        const struct gw_op *op = &model->ops[ops[i]];
        if (op->kind == GW_OP_HOST)
            continue;
        if (gw_op_is_busy(op)) {
            after = max_u64(after, op->end_ns);
            continue;
        }
        uint64_t enqueue = gw_op_enqueue_ns(model, op);
        windows[count++].begin_ns = enqueue == GW_TIME_UNKNOWN ? after : max_u64(after, enqueue);
    }
    size_t at = count;
    for (uint32_t i = stream->op_count; i-- > 0;) {
        const struct gw_op *op = &model->ops[ops[i]];
        if (op->kind == GW_OP_HOST)
            continue;
        if (gw_op_is_busy(op))
            before = min_u64(before, op->start_ns);
        else
            windows[--at].end_ns = before;
    }
    for (size_t i = 0; i < count; i++)
        windows[i].end_ns = max_u64(windows[i].begin_ns, windows[i].end_ns);
    return count;
}

/* The intervals of a device in which idleness cannot be told: lost events, untimed operations, timing off. */
static int find_fog(struct work *work, uint32_t device)
{
    const struct gw_model *model = work->model;
    struct device_time *time = &work->devices[device];
    time->fog = calloc(model->losses_count + time->op_count + 1, sizeof *time->fog);
    if (!time->fog)
        return -ENOMEM;
    size_t count = 0;
    if (model->timing == GW_TIMING_OFF)
        time->fog[count++] = (struct gw_interval){work->begin_ns, work->end_ns};
    for (size_t i = 0; i < model->losses_count; i++)
        time->fog[count++] = (struct gw_interval){model->losses[i].begin_ns, model->losses[i].end_ns};
    for (size_t s = 0; s < model->streams_count; s++) {
        if (model->streams[s].device == device)
            count += untimed_windows(work, &model->streams[s], time->fog + count);
    }
    time->fog_count = gw_intervals_merge(time->fog, count);
    return 0;
}

/* Lowest tenth of the time from the begin of a launch to the start of its kernel, where nothing else held it. A kernel
 * that met an idle device and yet started later than this waited for something: an event, another device. */
#define LATENCY_MOST_NS 50000u

static int measure_latency(const struct work *work, struct gw_budget *budget)
{
    const struct gw_model *model = work->model;
    uint64_t *samples = NULL;
    size_t count = 0, room = 0;
    budget->launch_latency_ns = GW_LAUNCH_LATENCY_ASSUMED_NS;
    for (size_t d = 0; d < model->devices_count; d++) {
        const struct gw_segments *segments = &work->devices[d].segments;
        for (size_t i = 0; i < segments->list_count; i++) {
            const struct gw_segment *segment = &segments->list[i];
            if (segment->cls != GW_CLASS_COUNT || segment->next_op == GW_NONE)
                continue;
            const struct gw_op *op = &model->ops[segment->next_op];
            uint64_t enqueue = gw_op_enqueue_ns(model, op);
            if ((op->kind != GW_OP_KERNEL && op->kind != GW_OP_MEMSET && op->kind != GW_OP_GRAPH) ||
                enqueue == GW_TIME_UNKNOWN || enqueue < segment->begin_ns || enqueue >= segment->end_ns ||
                segment->end_ns - enqueue > LATENCY_MOST_NS)
                continue;
            if (!GW_ARRAY_RESERVE(samples, count, &room)) {
                free(samples);
                return -ENOMEM;
            }
            samples[count++] = segment->end_ns - enqueue;
        }
    }
    if (count) {
        budget->launch_latency_ns = gw_at_place_u64(samples, count, count / 10);
        budget->launch_latency_measured = true;
    }
    free(samples);
    return 0;
}

static int find_gaps(void *user, size_t device)
{
    const struct work *work = user;
    struct device_time *time = &work->devices[device];
    return gw_gaps_append(&time->gaps, &work->host, (uint32_t)device, &time->segments, time->fog, time->fog_count,
                          work->latency_ns, work->steps_only ? work->steps : NULL);
}

static int attribute_idle(struct work *work, struct gw_budget *budget)
{
    size_t devices = work->model->devices_count;
    int ret = measure_latency(work, budget);
    work->latency_ns = budget->launch_latency_ns;
    return ret ? ret : gw_parallel_for(devices, find_gaps, work);
}

/* Moves the gaps of all devices into the list of the first, so that no more than one of the others is there twice. */
static int join_gaps(struct work *work, struct gw_budget *budget)
{
    size_t count = 0, devices = work->model->devices_count;
    for (size_t d = 0; d < devices; d++)
        count += work->devices[d].gaps.list_count;
    budget->gaps = reallocarray(devices ? work->devices[0].gaps.list : NULL, count + 1, sizeof *budget->gaps);
    if (!budget->gaps)
        return -ENOMEM;
    for (size_t d = 0; d < devices; d++) {
        struct gw_gaps *gaps = &work->devices[d].gaps;
        if (d && gaps->list_count)
            memcpy(budget->gaps + budget->gaps_count, gaps->list, gaps->list_count * sizeof *gaps->list);
        budget->gaps_count += gaps->list_count;
        free(d ? gaps->list : NULL);
        gaps->list = NULL;
    }
    return 0;
}

static uint64_t overlap(uint64_t begin_a, uint64_t end_a, uint64_t begin_b, uint64_t end_b)
{
    uint64_t from = max_u64(begin_a, begin_b), to = min_u64(end_a, end_b);
    return from < to ? to - from : 0;
}

/* First segment of a device that ends after t_ns. */
static size_t first_segment(const struct gw_segments *segments, uint64_t t_ns)
{
    const size_t low = GW_FIRST_NOT(0, segments->list_count, middle, segments->list[middle].end_ns <= t_ns);
    return low;
}

static size_t first_gap(const struct gw_gap *gaps, size_t count, uint64_t t_ns)
{
    const size_t low = GW_FIRST_NOT(0, count, middle, gaps[middle].end_ns <= t_ns);
    return low;
}

static void fill_cell(const struct work *work, struct gw_step_budget *cell)
{
    const struct gw_interval *step = &work->steps[cell->step];
    const struct device_time *time = &work->devices[cell->device];
    for (size_t i = first_segment(&time->segments, step->begin_ns);
         i < time->segments.list_count && time->segments.list[i].begin_ns < step->end_ns; i++) {
        const struct gw_segment *segment = &time->segments.list[i];
        if (segment->cls == GW_CLASS_COUNT)
            continue;
        cell->ns[segment->cls] += overlap(segment->begin_ns, segment->end_ns, step->begin_ns, step->end_ns);
        cell->opaque |= segment->opaque;
    }
    const struct gw_gap *gaps = time->gaps.list;
    for (size_t i = first_gap(gaps, time->gaps.list_count, step->begin_ns);
         i < time->gaps.list_count && gaps[i].begin_ns < step->end_ns; i++)
        cell->ns[gaps[i].cls] += overlap(gaps[i].begin_ns, gaps[i].end_ns, step->begin_ns, step->end_ns);
}

static int fill_cells(struct work *work, struct gw_budget *budget)
{
    const struct gw_model *model = work->model;
    size_t room = 0;
    for (uint32_t s = 0; s < model->steps_count; s++) {
        for (uint32_t d = 0; d < model->devices_count; d++) {
            if (model->devices[d].process != model->steps[s].process)
                continue;
            if (!GW_ARRAY_RESERVE(budget->cells, budget->cells_count, &room))
                return -ENOMEM;
            struct gw_step_budget *cell = &budget->cells[budget->cells_count++];
            *cell = (struct gw_step_budget){.step = s, .device = d, .unused = work->devices[d].op_count == 0};
            fill_cell(work, cell);
        }
    }
    return 0;
}

struct step_length {
    uint64_t ns;
    uint32_t step;
};

static int compare_lengths(const void *left, const void *right)
{
    const struct step_length *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->step < b->step ? -1 : a->step > b->step;
}

static int find_median_step(const struct gw_model *model, struct gw_budget *budget)
{
    struct step_length *lengths = calloc(model->steps_count + 1, sizeof *lengths);
    if (!lengths)
        return -ENOMEM;
    for (uint32_t s = 0; s < model->steps_count; s++) {
        if (!model->steps[s].warmup)
            lengths[budget->analysed_steps++] =
                (struct step_length){budget->times[s].end_ns - budget->times[s].begin_ns, s};
    }
    budget->median_step = GW_NONE;
    if (budget->analysed_steps) {
        qsort(lengths, budget->analysed_steps, sizeof *lengths, compare_lengths);
        budget->median_step = lengths[(budget->analysed_steps - 1) / 2].step;
    }
    free(lengths);
    return 0;
}

static void release_work(struct work *work)
{
    for (size_t d = 0; work->devices && d < work->model->devices_count; d++) {
        free(work->devices[d].ops);
        free(work->devices[d].segments.list);
        free(work->devices[d].fog);
        free(work->devices[d].gaps.list);
    }
    free(work->devices);
    free(work->arrived_ns);
    gw_host_release(&work->host);
}

static int find_times(void *user, size_t device)
{
    struct work *work = user;
    struct device_time *time = &work->devices[device];
    int ret = gw_segments_create(work->model, time->ops, time->op_count, work->arrived_ns, work->begin_ns, work->end_ns,
                                 &time->segments);
    free(time->ops);
    time->ops = NULL;
    return ret ? ret : find_fog(work, (uint32_t)device);
}

static int create(const struct gw_model *model, bool steps_only, struct gw_budget **ret_budget)
{
    struct work work = {.model = model, .steps_only = steps_only};
    struct gw_budget *budget = calloc(1, sizeof *budget);
    int ret = -ENOMEM;
    work.devices = calloc(model->devices_count + 1, sizeof *work.devices);
    if (!budget || !work.devices || !(budget->times = calloc(model->steps_count + 1, sizeof *budget->times)))
        goto end;
    gw_step_times(model, budget->times);
    work.steps = budget->times;
    if ((ret = gw_host_init(&work.host, model)) < 0 || (ret = gw_host_list_calls(&work.host)) < 0 ||
        (ret = group_ops(&work)) < 0 || (ret = gw_arrivals_create(model, &work.arrived_ns)) < 0)
        goto end;
    find_extent(&work);
    if ((ret = gw_parallel_for(model->devices_count, find_times, &work)) < 0 ||
        (ret = attribute_idle(&work, budget)) < 0 || (ret = fill_cells(&work, budget)) < 0 ||
        (ret = find_median_step(model, budget)) < 0 || (ret = join_gaps(&work, budget)) < 0)
        goto end;
    *ret_budget = budget;
    budget = NULL;
end:
    release_work(&work);
    gw_budget_destroy(budget);
    return ret;
}

int gw_budget_create(const struct gw_model *model, struct gw_budget **ret_budget)
{
    return create(model, false, ret_budget);
}

int gw_budget_create_of_steps(const struct gw_model *model, struct gw_budget **ret_budget)
{
    return create(model, true, ret_budget);
}

void gw_budget_destroy(struct gw_budget *budget)
{
    if (!budget)
        return;
    free(budget->times);
    free(budget->cells);
    free(budget->gaps);
    free(budget);
}
