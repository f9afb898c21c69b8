/*
 * memory: what the program's calls have allocated on the devices over time, a panel for each process, and the
 * allocations by size.
 */
#include "plots/chart.h"
#include "plots/layouts.h"
#include "plots/memory_data.h"
#include "plots/timeline_data.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PANELS_MAX 8u
#define AXIS_WIDTH 86.0
#define ONE_HEIGHT 300.0
#define MANY_HEIGHT 130.0
#define SIZES_HEIGHT 170.0
#define LINE 24.0

static const uint32_t colours[GW_MEMORY_GROUP_COUNT] = {
    [GW_MEMORY_GROUP_DEVICE] = 0x4a78b5ff,  [GW_MEMORY_GROUP_POOL] = 0x1f9e8fff,
    [GW_MEMORY_GROUP_MANAGED] = 0xf0923aff, [GW_MEMORY_GROUP_PHYSICAL] = 0x9364b5ff,
    [GW_MEMORY_GROUP_HOST] = 0x8a93a1ff,
};

/* What is live where most is within a pixel. */
struct column {
    uint64_t bytes[GW_MEMORY_GROUP_HOST];
    uint64_t total_bytes;
};

static void fill_columns(const struct gw_memory_data *data, const struct gw_memory_process *process, uint64_t begin_ns,
                         uint64_t end_ns, struct column *columns, size_t count)
{
    struct column live = {.total_bytes = 0};
    double per_ns = (double)count / (double)(end_ns - begin_ns);
    size_t at = 0; /* columns before it are done */

    for (size_t i = 0; i < process->change_count; i++) {
        const struct gw_memory_change *change = &data->changes[process->change_first + i];
        size_t column;
        if (change->group == GW_MEMORY_GROUP_HOST)
            continue;
        column = change->t_ns <= begin_ns ? 0 : (size_t)((double)(change->t_ns - begin_ns) * per_ns);
        /* What was live when a pixel began counts for it too. */
        for (; at <= column && at < count; at++)
            columns[at] = live;
        live.bytes[change->group] += (uint64_t)change->bytes;
        live.total_bytes += (uint64_t)change->bytes;
        if (change->t_ns <= begin_ns)
            columns[0] = live;
        else if (column < count && live.total_bytes > columns[column].total_bytes)
            columns[column] = live;
    }
    for (; at < count; at++)
        columns[at] = live;
}

static void draw_columns(struct gw_page *page, const struct gw_chart *chart, const struct column *columns, size_t count)
{
    double width = chart->w / (double)count;

    for (size_t from = 0, to; from < count; from = to) {
        uint64_t below = 0;
        to = from + 1;
        while (to < count && !memcmp(&columns[to], &columns[from], sizeof(columns[0])))
            to++;
        for (uint32_t group = 0; group < GW_MEMORY_GROUP_HOST; group++) {
            uint64_t above = below + columns[from].bytes[group];
            double top = gw_chart_y(chart, (double)above);
            if (above > below)
                gw_scene_rect(page->scene, GW_FOR_BAR, chart->x + (double)from * width, top,
                              (double)(to - from) * width, gw_chart_y(chart, (double)below) - top, colours[group]);
            below = above;
        }
    }
}

static void describe_process(const struct gw_page *page, const struct gw_memory_process *process, char *text,
                             size_t size)
{
    const struct gw_model *model = page->source->model;
    char most[GW_UNIT_TEXT], left[GW_UNIT_TEXT], name[64] = "";
    uint64_t has_bytes = 0;
    uint32_t devices = 0;
    int at = 0;

    for (uint32_t i = 0; i < model->devices_count; i++) {
        if (model->devices[i].process != process->process)
            continue;
        devices++;
        has_bytes += model->devices[i].memory_bytes;
        gw_page_device_name(page, i, name, sizeof(name));
    }
    gw_format_bytes((double)process->most_bytes, most);
    gw_format_bytes((double)process->left_bytes, left);
    at = snprintf(text, size, "process %" PRIu32, model->processes[process->process].pid);
    if (model->processes[process->process].rank >= 0)
        at += snprintf(text + at, size - (size_t)at, "  ·  rank %" PRId32, model->processes[process->process].rank);
    if (devices == 1)
        at += snprintf(text + at, size - (size_t)at, "  ·  %s", name);
    else if (devices > 1)
        at += snprintf(text + at, size - (size_t)at, "  ·  its %" PRIu32 " devices together", devices);
    at += snprintf(text + at, size - (size_t)at, "  ·  at most %s", most);
    if (has_bytes) {
        gw_format_bytes((double)has_bytes, most);
        at += snprintf(text + at, size - (size_t)at, " of %s", most);
    }
    snprintf(text + at, size - (size_t)at, ", %s at the end", left);
}

static double draw_process(struct gw_page *page, const struct gw_memory_data *data,
                           const struct gw_memory_process *process, const struct gw_timeline_data *window,
                           struct gw_chart *chart, bool last)
{
    size_t count = (size_t)chart->w;
    struct column *columns = calloc(count, sizeof(*columns));
    char text[256];

    if (!columns) {
        page->scene->error = -ENOMEM;
        return chart->y;
    }
    describe_process(page, process, text, sizeof(text));
    gw_page_bold(page, GW_PAGE_MARGIN, chart->y, page->options->width - 2.0 * GW_PAGE_MARGIN, 22.0, GW_SIZE_SMALL,
                 GW_ALIGN_LEFT, text);
    chart->y += 32.0;
    chart->up = gw_axis_rounded(
        gw_axis_linear(GW_AXIS_BYTES, 0.0, fmax(1.0, (double)process->most_bytes), chart->h > 200.0 ? 6 : 3));
    gw_chart_draw_up(page, chart, AXIS_WIDTH);
    if (last)
        gw_chart_draw_across(page, chart, "since the begin of the trace; the height is the most within each pixel");
    fill_columns(data, process, window->begin_ns, window->end_ns, columns, count);
    draw_columns(page, chart, columns, count);
    free(columns);
    return chart->y + chart->h + (last ? GW_CHART_BELOW : 12.0);
}

static double draw_sizes(struct gw_page *page, const struct gw_memory_data *data, double y)
{
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + AXIS_WIDTH, .y = y + 34.0, .h = SIZES_HEIGHT};
    uint32_t first = GW_MEMORY_BINS, end = 0;
    uint64_t most = 0;
    char count[GW_UNIT_TEXT];
    double column;

    for (uint32_t bin = 0; bin < GW_MEMORY_BINS; bin++) {
        uint64_t sum = 0;
        for (uint32_t group = 0; group < GW_MEMORY_GROUP_COUNT; group++)
            sum += data->sums[group].by_size[bin];
        if (sum == 0)
            continue;
        first = bin < first ? bin : first;
        end = bin + 1;
        most = sum > most ? sum : most;
    }
    first -= first > 0;
    end += end < GW_MEMORY_BINS;
    while (end - first < 8) {
        end += end < GW_MEMORY_BINS;
        first -= first > 0;
    }
    gw_page_bold(page, GW_PAGE_MARGIN, y, page->options->width - 2.0 * GW_PAGE_MARGIN, 22.0, GW_SIZE_SMALL,
                 GW_ALIGN_LEFT, "allocations by size, the whole run");
    chart.w = page->options->width - GW_PAGE_MARGIN - chart.x;
    chart.up = gw_axis_rounded(gw_axis_linear(GW_AXIS_NUMBER, 0.0, (double)most * 1.12, 4));
    column = chart.w / (end - first);
    gw_chart_draw_up(page, &chart, AXIS_WIDTH);
    for (uint32_t bin = first; bin < end; bin++) {
        double x = chart.x + (bin - first) * column, below = 0.0;
        for (uint32_t group = 0; group < GW_MEMORY_GROUP_COUNT; group++) {
            double above = below + (double)data->sums[group].by_size[bin], top = gw_chart_y(&chart, above);
            if (above > below)
                gw_scene_rect(page->scene, GW_FOR_BAR, x + 4.0, top, column - 8.0, gw_chart_y(&chart, below) - top,
                              colours[group]);
            below = above;
        }
        if (below > 0.0) {
            gw_format_count((uint64_t)below, count);
            gw_page_text(page, x, gw_chart_y(&chart, below) - 18.0, column, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE,
                         count);
        }
    }
    for (uint32_t edge = first; edge <= end; edge++) {
        char text[GW_UNIT_TEXT];
        gw_format_bytes(exp2(2.0 * edge), text);
        gw_page_muted(page, fmin(chart.x + (edge - first) * column - 40.0, page->options->width - 82.0),
                      chart.y + chart.h + 4.0, 80.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE, text);
    }
    return chart.y + chart.h + 32.0;
}

static double draw_table(struct gw_page *page, const struct gw_memory_data *data, double y)
{
    static const char *const headings[] = {"allocations", "releases", "bytes in all", "most at once", "time in calls"};
    const double name_w = 230.0, w = 118.0;
    double x = GW_PAGE_MARGIN + name_w;

    for (uint32_t i = 0; i < 5; i++)
        gw_page_bold(page, x + i * w, y, w - 6.0, LINE, GW_SIZE_SMALL, GW_ALIGN_RIGHT, headings[i]);
    for (uint32_t group = 0; group < GW_MEMORY_GROUP_COUNT; group++) {
        const struct gw_memory_sum *sum = &data->sums[group];
        char cells[5][GW_UNIT_TEXT];
        if (sum->allocations == 0)
            continue;
        y += LINE;
        gw_format_count(sum->allocations, cells[0]);
        gw_format_count(sum->releases, cells[1]);
        gw_format_bytes((double)sum->bytes, cells[2]);
        gw_format_bytes((double)sum->most_bytes, cells[3]);
        gw_format_duration((double)sum->call_ns, cells[4]);
        gw_scene_rect(page->scene, GW_FOR_DECORATION, GW_PAGE_MARGIN, y + 6.0, 12.0, 12.0, colours[group]);
        gw_page_text(page, GW_PAGE_MARGIN + 20.0, y, name_w - 20.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT,
                     gw_memory_group_words(group));
        for (uint32_t i = 0; i < 5; i++)
            gw_page_text(page, x + i * w, y, w - 6.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, cells[i]);
    }
    return y + LINE;
}

static void write_note(const struct gw_memory_data *data, uint32_t left_out, char *text, size_t size)
{
    const struct {
        uint64_t count;
        const char *one, *many;
    } parts[] = {
        {left_out, "process with less memory is left out", "processes with less memory are left out"},
        {data->failed, "allocation failed", "allocations failed"},
        {data->unmatched, "release of memory whose allocation was not seen",
         "releases of memory whose allocation was not seen"},
        {data->unsized, "array, whose size is not known, is left out",
         "arrays, whose sizes are not known, are left out"},
    };

    snprintf(text, size,
             "what the driver itself takes (contexts, modules, the reserve of pools) makes no call and is not shown");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char count[GW_UNIT_TEXT], part[128];
        gw_format_count(parts[i].count, count);
        snprintf(part, sizeof(part), "%s %s", count, parts[i].count == 1 ? parts[i].one : parts[i].many);
        gw_page_add_part(text, size, parts[i].count ? part : NULL);
    }
}

static int compare_most(const void *left, const void *right)
{
    const struct gw_memory_process *a = left, *b = right;

    if (a->most_bytes != b->most_bytes)
        return a->most_bytes < b->most_bytes ? 1 : -1;
    return a->process < b->process ? -1 : a->process > b->process;
}

static int compare_processes(const void *left, const void *right)
{
    const struct gw_memory_process *a = left, *b = right;

    return a->process < b->process ? -1 : a->process > b->process;
}

void gw_layout_memory(struct gw_page *page)
{
    const struct gw_model *model = page->source->model;
    struct gw_timeline_data window;
    struct gw_memory_data data;
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + AXIS_WIDTH};
    char title[160] = "device memory over time", most[GW_UNIT_TEXT], note[512];
    uint32_t shown;
    double y;
    int error = gw_memory_data_create(model, &data);

    if (error) {
        page->scene->error = error;
        goto end;
    }
    if (!gw_timeline_window(page->source, page->options, GW_TIMELINE_WHOLE, &window) || data.changes_count == 0) {
        y = gw_page_title(page, title);
        y = gw_page_empty(page, y,
                          data.changes_count ? "There is nothing in the steps or the range asked for."
                                             : "No call that allocates memory was recorded in this run.");
        gw_page_finish(page, y, NULL);
        goto end;
    }
    /* The largest ones, in the order of processes. */
    qsort(data.processes, data.processes_count, sizeof(*data.processes), compare_most);
    shown = data.processes_count < PANELS_MAX ? data.processes_count : PANELS_MAX;
    gw_format_bytes((double)data.processes[0].most_bytes, most);
    snprintf(title, sizeof(title), "at most %s of device memory at once%s", most,
             data.processes_count > 1 ? " in one process" : "");
    qsort(data.processes, shown, sizeof(*data.processes), compare_processes);
    y = gw_page_title(page, title);
    chart.w = page->options->width - GW_PAGE_MARGIN - chart.x;
    chart.h = shown == 1 ? ONE_HEIGHT : MANY_HEIGHT;
    chart.across = gw_axis_linear(GW_AXIS_DURATION, (double)(window.begin_ns - model->run.begin_ns),
                                  (double)(window.end_ns - model->run.begin_ns), (unsigned int)(chart.w / 120.0));
    for (uint32_t i = 0; i < shown; i++) {
        chart.y = y;
        y = draw_process(page, &data, &data.processes[i], &window, &chart, i + 1 == shown);
    }
    y = draw_sizes(page, &data, y + 16.0);
    y = draw_table(page, &data, y + 8.0);
    write_note(&data, data.processes_count - shown, note, sizeof(note));
    gw_page_finish(page, y, note);
end:
    gw_memory_data_clear(&data);
}
