#include "plots/timeline_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/verdicts/arrivals.h"
#include "plots/devices.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static int add_span(struct gw_timeline_data *data, struct gw_lane *lane, uint64_t begin_ns, uint64_t end_ns,
                    uint32_t key, uint32_t ref)
{
    if (end_ns <= data->begin_ns || begin_ns >= data->end_ns || end_ns <= begin_ns)
        return 0;
    if (lane->spans_count == lane->spans_capacity) {
        size_t capacity = lane->spans_capacity ? lane->spans_capacity * 2 : 64;
        struct gw_span *spans;
        if (capacity > GW_TIMELINE_SPANS_MAX)
            return -E2BIG;
        spans = realloc(lane->spans, capacity * sizeof(*spans));
        if (!spans)
            return -ENOMEM;
        lane->spans = spans;
        lane->spans_capacity = capacity;
    }
    lane->spans[lane->spans_count++] = (struct gw_span){begin_ns, end_ns, key, ref};
    return 0;
}

static uint64_t covered_ns(const struct gw_lane *lane)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < lane->spans_count; i++)
        sum_ns += lane->spans[i].end_ns - lane->spans[i].begin_ns;
    return sum_ns;
}

static void clear_row(struct gw_timeline_row *row)
{
    for (uint32_t i = 0; i < GW_TIMELINE_LANES; i++)
        free(row->lanes[i].spans);
    free(row->outside.spans);
}

void gw_timeline_data_clear(struct gw_timeline_data *data)
{
    for (uint32_t i = 0; i < data->rows_count; i++)
        clear_row(&data->rows[i]);
    free(data->rows);
    free(data->links);
    free(data->arrived_ns);
    free(data->collective_of_op);
    free(data->kernel_slot);
    free(data->kernels);
    memset(data, 0, sizeof(*data));
}

static uint32_t find_step(const struct gw_model *model, uint32_t process, uint32_t number)
{
    for (uint32_t i = 0; i < model->steps_count; i++)
        if (model->steps[i].process == process && model->steps[i].number == number)
            return i;
    return GW_NONE;
}

/* Whether step `other` follows or precedes `step` without a hole and is as representative: not warm-up. */
static bool is_neighbour(const struct gw_model *model, uint32_t step, uint32_t other)
{
    const struct gw_step *one = &model->steps[step], *two;

    if (other >= model->steps_count)
        return false;
    two = &model->steps[other];
    return two->process == one->process && !two->warmup &&
           (other < step ? two->end_ns == one->begin_ns : one->end_ns == two->begin_ns);
}

bool gw_timeline_window(const struct gw_plot_source *source, const struct gw_plot_options *options, uint32_t neighbours,
                        struct gw_timeline_data *data)
{
    const struct gw_model *model = source->model;
    uint32_t median = source->budget->median_step, first, last;

    memset(data, 0, sizeof(*data));
    data->begin_ns = model->run.begin_ns;
    data->end_ns = model->run.end_ns;
    data->process = median < model->steps_count ? model->steps[median].process : model->steps_count ? 0 : GW_NONE;
    if (options->have_range) {
        data->begin_ns = model->run.begin_ns + options->range_begin_ns;
        data->end_ns = model->run.begin_ns + options->range_end_ns;
    } else if (data->process != GW_NONE &&
               (options->have_steps || (median < model->steps_count && neighbours != GW_TIMELINE_WHOLE))) {
        first = last = median;
        if (options->have_steps) {
            first = find_step(model, data->process, options->first_step);
            last = find_step(model, data->process, options->last_step);
            if (first == GW_NONE || last == GW_NONE || last < first)
                return false;
        } else {
            for (uint32_t i = 0; i < 2 * neighbours; i++) {
                /* Both sides in turn; where one has ended, the other gives more. */
                bool before = is_neighbour(model, first, first - 1), after = is_neighbour(model, last, last + 1);
                if (before && (i % 2 == 0 || !after))
                    first--;
                else if (after)
                    last++;
            }
        }
        data->begin_ns = source->budget->times[first].begin_ns;
        data->end_ns = source->budget->times[last].end_ns;
    } else if (options->have_steps) {
        return false;
    }
    if (data->end_ns <= data->begin_ns)
        return false;
    for (uint32_t i = 0; i < model->steps_count; i++) {
        const struct gw_interval *time = &source->budget->times[i];
        if (model->steps[i].process != data->process || time->end_ns <= data->begin_ns ||
            time->begin_ns >= data->end_ns)
            continue;
        if (data->step_end == 0)
            data->step_first = i;
        data->step_end = i + 1;
    }
    return true;
}

static int compare_totals(const void *left, const void *right)
{
    const struct gw_kernel_total *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* A kernel's colour comes from its name, so that it is the same in every picture, unless a longer running kernel of
 * this picture has that colour already. */
static int choose_colours(const struct gw_model *model, struct gw_timeline_data *data)
{
    bool taken[GW_KERNEL_COLOURS] = {false};
    struct gw_kernel_total *totals = calloc(model->names_count + 1, sizeof(*totals));
    uint32_t count = 0;

    data->kernel_slot = calloc(model->names_count + 1, 1);
    if (!totals || !data->kernel_slot) {
        free(totals);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i <= model->names_count; i++)
        totals[i].name = i;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind == GW_OP_KERNEL && !(op->flags & GW_OP_UNTIMED) && op->end_ns > data->begin_ns &&
            op->start_ns < data->end_ns)
            totals[op->name < model->names_count ? op->name : model->names_count].total_ns += op->end_ns - op->start_ns;
    }
    qsort(totals, model->names_count + 1, sizeof(*totals), compare_totals);
    while (count <= model->names_count && totals[count].total_ns > 0) {
        uint32_t name = totals[count].name;
        uint32_t slot = 0;
        if (name < model->names_count)
            slot = (uint32_t)(XXH3_64bits(model->names[name], strlen(model->names[name])) % GW_KERNEL_COLOURS);
        for (uint32_t i = 0; count < GW_KERNEL_COLOURS && i < GW_KERNEL_COLOURS && taken[slot]; i++)
            slot = (slot + 1) % GW_KERNEL_COLOURS;
        taken[slot] = true;
        data->kernel_slot[name] = (uint8_t)slot;
        count++;
    }
    data->kernels = totals;
    data->kernels_count = count;
    return 0;
}

/* Each fills the row after the last one; keep_row decides on it. */
static int fill_thread(const struct gw_plot_source *source, struct gw_timeline_data *data, uint32_t thread)
{
    struct gw_timeline_row *row = &data->rows[data->rows_count];
    const struct gw_model *model = source->model;
    const struct gw_thread *found = &model->threads[thread];
    int error = 0;

    *row = (struct gw_timeline_row){
        .kind = GW_ROW_THREAD, .process = found->process, .device = GW_NONE, .index = thread, .lanes_count = 1};
    for (uint32_t i = 0; i < found->call_count && !error; i++) {
        uint32_t index = model->thread_calls[found->call_first + i];
        const struct gw_call *call = &model->calls[index];
        uint32_t lane = call->depth > 0 ? call->depth - 1u : 0;
        size_t before;
        if (lane >= GW_TIMELINE_LANES)
            continue;
        before = row->lanes[lane].spans_count;
        error = add_span(data, &row->lanes[lane], call->begin_ns, call->end_ns,
                         GW_PAINT_KEY(GW_PAINT_CALL, gw_call_class(call->function)), index);
        if (row->lanes[lane].spans_count > before && lane >= row->lanes_count)
            row->lanes_count = lane + 1;
    }
    for (uint32_t i = 0; i < model->thread_gaps_count && !error; i++) {
        const struct gw_thread_gap *gap = &model->thread_gaps[i];
        bool on_cpu = gap->cpu_ns * 2 >= gap->end_ns - gap->begin_ns;
        if (gap->thread == thread)
            error = add_span(data, &row->outside, gap->begin_ns, gap->end_ns,
                             GW_PAINT_KEY(GW_PAINT_OUTSIDE, on_cpu ? GW_OUTSIDE_ON_CPU : GW_OUTSIDE_OFF_CPU), i);
    }
    return error;
}

static int fill_stream(const struct gw_plot_source *source, struct gw_timeline_data *data, uint32_t stream)
{
    struct gw_timeline_row *row = &data->rows[data->rows_count];
    const struct gw_model *model = source->model;
    const struct gw_stream *found = &model->streams[stream];
    int error = 0;

    *row = (struct gw_timeline_row){.kind = GW_ROW_STREAM,
                                    .process = model->devices[found->device].process,
                                    .device = found->device,
                                    .index = stream,
                                    .lanes_count = 1};
    for (uint32_t i = 0; i < found->op_count && !error; i++) {
        uint32_t index = model->stream_ops[found->op_first + i];
        const struct gw_op *op = &model->ops[index];
        uint32_t name = op->name < model->names_count ? op->name : (uint32_t)model->names_count;
        uint32_t key = op->kind == GW_OP_KERNEL ? GW_PAINT_KEY(GW_PAINT_KERNEL, data->kernel_slot[name])
                                                : GW_PAINT_KEY(GW_PAINT_OP, op->kind);
        if (op->flags & GW_OP_UNTIMED)
            continue;
        if (op->kind == GW_OP_COMM && data->arrived_ns && data->arrived_ns[index] <= op->end_ns) {
            error = add_span(data, &row->lanes[0], op->start_ns, data->arrived_ns[index],
                             GW_PAINT_KEY(GW_PAINT_COMM, GW_COMM_WAITS), index);
            error = error ? error
                          : add_span(data, &row->lanes[0], data->arrived_ns[index], op->end_ns,
                                     GW_PAINT_KEY(GW_PAINT_COMM, GW_COMM_TRANSFERS), index);
        } else {
            error = add_span(data, &row->lanes[0], op->start_ns, op->end_ns, key, index);
        }
    }
    return error;
}

static int fill_gaps(const struct gw_plot_source *source, struct gw_timeline_data *data, uint32_t device)
{
    struct gw_timeline_row *row = &data->rows[data->rows_count];
    const struct gw_budget *budget = source->budget;
    int error = 0;

    *row = (struct gw_timeline_row){.kind = GW_ROW_GAPS,
                                    .process = source->model->devices[device].process,
                                    .device = device,
                                    .index = device,
                                    .lanes_count = 1};
    for (uint32_t i = 0; i < budget->gaps_count && !error; i++) {
        const struct gw_gap *gap = &budget->gaps[i];
        if (gap->device == device)
            error = add_span(data, &row->lanes[0], gap->begin_ns, gap->end_ns, GW_PAINT_KEY(GW_PAINT_GAP, gap->cls), i);
    }
    return error;
}

/* Keeps the row after the last one when it shows something, releases it when it does not. */
static bool keep_row(struct gw_timeline_data *data)
{
    struct gw_timeline_row *row = &data->rows[data->rows_count];
    size_t shown = 0;

    for (uint32_t i = 0; i < GW_TIMELINE_LANES; i++)
        shown += row->lanes[i].spans_count;
    if (shown)
        data->rows_count++;
    else
        clear_row(row);
    return shown > 0;
}

struct device_busy {
    uint32_t device;
    uint64_t compute_ns;
};

static int compare_busy(const void *left, const void *right)
{
    const struct device_busy *a = left, *b = right;

    if (a->compute_ns != b->compute_ns)
        return a->compute_ns < b->compute_ns ? 1 : -1;
    return a->device < b->device ? -1 : a->device > b->device;
}

/* Marks the devices that are shown: all that fit, else those that compute most in the window, among which is the one
 * that the others wait for. */
static int choose_devices(const struct gw_model *model, struct gw_timeline_data *data, bool *shown)
{
    struct device_busy *busy = calloc(model->devices_count + 1, sizeof(*busy));

    if (!busy)
        return -ENOMEM;
    for (uint32_t i = 0; i < model->devices_count; i++)
        busy[i].device = i;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind == GW_OP_KERNEL && !(op->flags & GW_OP_UNTIMED) && op->end_ns > data->begin_ns &&
            op->start_ns < data->end_ns)
            busy[model->streams[op->stream].device].compute_ns += op->end_ns - op->start_ns;
    }
    qsort(busy, model->devices_count, sizeof(*busy), compare_busy);
    for (uint32_t i = 0; i < model->devices_count; i++) {
        shown[busy[i].device] = i < GW_TIMELINE_DEVICES_MAX || busy[i].compute_ns == 0;
        data->devices_dropped += !shown[busy[i].device];
    }
    free(busy);
    return 0;
}

static bool shows_process(const struct gw_model *model, const bool *shown, uint32_t process)
{
    bool has = false;

    for (uint32_t i = 0; i < model->devices_count; i++) {
        if (model->devices[i].process == process && shown[i])
            return true;
        has |= model->devices[i].process == process;
    }
    return !has;
}

/* In order of ranks; what has none stands before them, in its own order. */
struct ranked {
    int32_t rank;
    uint32_t index;
};

static int compare_ranks(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Of processes without ranks, the one whose steps are marked comes first. */
static void order_by_rank(const struct gw_model *model, const struct gw_timeline_data *data, struct ranked *processes,
                          struct ranked *devices)
{
    for (uint32_t i = 0; i < model->processes_count; i++) {
        int32_t rank = model->processes[i].rank;
        processes[i] = (struct ranked){rank < 0 && i == data->process ? INT32_MIN : rank, i};
    }
    for (uint32_t i = 0; i < model->devices_count; i++)
        devices[i] = (struct ranked){gw_device_rank(model, i), i};
    qsort(processes, model->processes_count, sizeof(*processes), compare_ranks);
    qsort(devices, model->devices_count, sizeof(*devices), compare_ranks);
}

static int fill_process(const struct gw_plot_source *source, struct gw_timeline_data *data, const bool *shown,
                        const struct ranked *devices, uint32_t process)
{
    const struct gw_model *model = source->model;
    int error;

    if (!shows_process(model, shown, process))
        return 0;
    for (uint32_t i = 0; i < model->threads_count; i++) {
        if (model->threads[i].process != process)
            continue;
        error = fill_thread(source, data, i);
        keep_row(data);
        if (error)
            return error;
    }
    for (uint32_t k = 0; k < model->devices_count; k++) {
        uint32_t device = devices[k].index;
        bool used = false;
        if (model->devices[device].process != process || !shown[device])
            continue;
        for (uint32_t i = 0; i < model->streams_count; i++) {
            if (model->streams[i].device != device)
                continue;
            error = fill_stream(source, data, i);
            used |= keep_row(data);
            if (error)
                return error;
        }
        /* Without times a device would look idle all the time. */
        if (model->timing == GW_TIMING_OFF || !(used || model->devices_count == 1))
            continue;
        error = fill_gaps(source, data, device);
        keep_row(data);
        if (error)
            return error;
    }
    return 0;
}

/* Drops the rows of a kind with the least to show until there are at most `most`. */
static void drop_rows(struct gw_timeline_data *data, enum gw_row_kind kind, uint32_t most)
{
    for (;;) {
        uint32_t least = GW_NONE, count = 0;
        uint64_t least_ns = UINT64_MAX;
        for (uint32_t i = 0; i < data->rows_count; i++) {
            uint64_t ns = covered_ns(&data->rows[i].lanes[0]);
            if (data->rows[i].kind != kind)
                continue;
            count++;
            if (ns < least_ns) {
                least = i;
                least_ns = ns;
            }
        }
        if (count <= most)
            return;
        clear_row(&data->rows[least]);
        memmove(&data->rows[least], &data->rows[least + 1], (data->rows_count - least - 1) * sizeof(data->rows[0]));
        data->rows_count--;
        data->rows_dropped++;
    }
}

static uint32_t thread_row(const struct gw_timeline_data *data, uint32_t thread)
{
    for (uint32_t i = 0; i < data->rows_count; i++)
        if (data->rows[i].kind == GW_ROW_THREAD && data->rows[i].index == thread)
            return i;
    return GW_NONE;
}

static int fill_links(const struct gw_model *model, struct gw_timeline_data *data)
{
    struct gw_link *links = calloc(GW_TIMELINE_LINKS_MAX, sizeof(*links));
    uint32_t count = 0;

    if (!links)
        return -ENOMEM;
    for (uint32_t to = 0; to < data->rows_count; to++) {
        const struct gw_lane *lane = &data->rows[to].lanes[0];
        for (size_t i = 0; data->rows[to].kind == GW_ROW_STREAM && i < lane->spans_count; i++) {
            const struct gw_op *op = &model->ops[lane->spans[i].ref];
            uint32_t call = op->outer_call != GW_NONE ? op->outer_call : op->call;
            uint32_t from = call < model->calls_count ? thread_row(data, model->calls[call].thread) : GW_NONE;
            if (i > 0 && lane->spans[i - 1].ref == lane->spans[i].ref)
                continue; /* the rest of a collective that waits */
            /* A call that waits for its operation ends after it: the line starts where the operation was asked for. */
            if (from == GW_NONE || model->calls[call].begin_ns < data->begin_ns || op->start_ns < data->begin_ns)
                continue;
            if (count == GW_TIMELINE_LINKS_MAX) {
                free(links);
                return 0;
            }
            links[count++] = (struct gw_link){from, to, model->calls[call].begin_ns, op->start_ns};
        }
    }
    data->links = links;
    data->links_count = count;
    return 0;
}

/* Which collective each operation carries out, and when all ranks had arrived in it. */
static int find_collectives(const struct gw_model *model, struct gw_timeline_data *data)
{
    int error = gw_arrivals_create(model, &data->arrived_ns);

    if (error || model->collectives_count == 0)
        return error;
    data->collective_of_op = malloc((model->ops_count + 1) * sizeof(*data->collective_of_op));
    if (!data->collective_of_op)
        return -ENOMEM;
    memset(data->collective_of_op, 0xff, (model->ops_count + 1) * sizeof(*data->collective_of_op));
    for (uint32_t i = (uint32_t)model->collectives_count; i-- > 0;)
        if (model->collectives[i].op != GW_NONE)
            data->collective_of_op[model->collectives[i].op] = i;
    return 0;
}

int gw_timeline_fill(const struct gw_plot_source *source, struct gw_timeline_data *data)
{
    const struct gw_model *model = source->model;
    int error;

    bool *shown = calloc(model->devices_count + 1, sizeof(*shown));
    struct ranked *processes = calloc(model->processes_count + 1, sizeof(*processes));
    struct ranked *devices = calloc(model->devices_count + 1, sizeof(*devices));

    data->rows = calloc(model->threads_count + model->streams_count + model->devices_count + 1, sizeof(*data->rows));
    error = shown && processes && devices && data->rows ? choose_colours(model, data) : -ENOMEM;
    if (!error)
        error = find_collectives(model, data);
    if (!error)
        error = choose_devices(model, data, shown);
    if (!error)
        order_by_rank(model, data, processes, devices);
    for (uint32_t i = 0; i < model->processes_count && !error; i++)
        error = fill_process(source, data, shown, devices, processes[i].index);
    free(shown);
    free(processes);
    free(devices);
    if (error)
        return error;
    drop_rows(data, GW_ROW_THREAD, GW_TIMELINE_THREADS_MAX);
    drop_rows(data, GW_ROW_STREAM, GW_TIMELINE_STREAMS_MAX);
    drop_rows(data, GW_ROW_GAPS, GW_TIMELINE_DEVICES_MAX);
    return fill_links(model, data);
}
