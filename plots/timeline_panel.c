#include "plots/timeline_panel.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plots/chart.h"
#include "plots/devices.h"
#include "plots/kernel_names.h"
#include "plots/timeline_labels.h"

#define LABEL_WIDTH 164.0
#define STEP_HEIGHT 26.0
#define LANE_HEIGHT 26.0
#define NESTED_HEIGHT 15.0
#define GAPS_HEIGHT 38.0 /* two lines: why and how long */
#define ROW_GAP 5.0
#define CAPTION_HEIGHT 26.0
#define AXIS_HEIGHT 26.0
#define TICK_PX 120.0
#define LEAST_ALPHA 0.35 /* of pixels that are hardly covered: seen, but lighter than covered ones */
#define STEP_LINES_MAX 200u
#define ARROW 5.0

static double row_height(const struct gw_timeline_row *row)
{
    return row->kind == GW_ROW_GAPS ? GAPS_HEIGHT : LANE_HEIGHT + (row->lanes_count - 1) * NESTED_HEIGHT;
}

static uint32_t colour_of_key(const struct gw_page *page, uint32_t key)
{
    uint32_t value = GW_PAINT_VALUE(key);

    switch (GW_PAINT_OF(key)) {
    case GW_PAINT_CALL:
        return gw_colour_of_call(value);
    case GW_PAINT_OUTSIDE:
        return value == GW_OUTSIDE_ON_CPU ? page->theme->on_cpu : page->theme->off_cpu;
    case GW_PAINT_OP:
        return gw_colour_of_op(value);
    case GW_PAINT_COMM:
        return gw_colour_of_class(value == GW_COMM_WAITS ? GW_CLASS_COMM_WAIT : GW_CLASS_COMM_TRANSFER);
    case GW_PAINT_KERNEL:
        return gw_colour_of_kernel(value);
    case GW_PAINT_GAP:
        return gw_colour_of_class(value);
    }
    return page->theme->muted;
}

static bool hatched_key(uint32_t key)
{
    return key == GW_PAINT_KEY(GW_PAINT_GAP, GW_CLASS_IDLE_UNKNOWN);
}

/* Why on one line and how long on the next; fewer words and smaller letters where the bar is narrow. */
static void draw_gap_label(struct gw_page *page, const struct gw_bar *bar, double y)
{
    const struct gw_gap *gap = &page->source->budget->gaps[bar->ref];
    const char *const words[] = {gw_class_words(gap->cls), gw_short_words_of_class(gap->cls)};
    const double sizes[] = {GW_SIZE_SMALL, 10.0};
    struct gw_text_style style = {.colour = gw_colour_of_text_on(gw_colour_of_class(gap->cls)),
                                  .align = GW_ALIGN_CENTRE,
                                  .purpose = GW_FOR_BAR_LABEL};
    double room = bar->w - 4.0, half = GAPS_HEIGHT / 2.0;
    char length[GW_UNIT_TEXT];

    gw_format_duration((double)(gap->end_ns - gap->begin_ns), length);
    for (size_t i = 0; i < 4; i++) {
        const char *why = words[i % 2];
        style.size = sizes[i / 2];
        if (gw_page_text_width(page, length, style.size, false) > room ||
            gw_page_text_width(page, why, style.size, false) > room)
            continue;
        gw_scene_text(page->scene, bar->x + 2.0, y + 2.0, room, half - 2.0, &style, why);
        gw_scene_text(page->scene, bar->x + 2.0, y + half, room, half - 2.0, &style, length);
        return;
    }
    if (gw_page_text_width(page, length, style.size, false) <= room)
        gw_scene_text(page->scene, bar->x + 2.0, y, room, GAPS_HEIGHT, &style, length);
}

/* Draws the bars of a lane; those cut by the window's edge keep their own length in the label. */
static void draw_lane(struct gw_page *page, const struct gw_timeline_data *data, const struct gw_scale *scale,
                      const struct gw_timeline_row *row, const struct gw_lane *lane, double y, double h, double size)
{
    struct gw_bar *bars;
    size_t count;
    int error = gw_lod_bars(scale, lane->spans, lane->spans_count, &bars, &count);

    if (error) {
        page->scene->error = error;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t colour = colour_of_key(page, bars[i].key);
        struct gw_bar_labels labels;
        int chosen = 0;
        if (bars[i].ref == GW_LOD_AGGREGATE) {
            double alpha = LEAST_ALPHA + (1.0 - LEAST_ALPHA) * bars[i].fraction;
            gw_scene_rect(page->scene, GW_FOR_BAR, bars[i].x, y, bars[i].w, h, gw_colour_faded(colour, alpha));
            continue;
        }
        /* A hair of background between neighbours keeps equal colours apart. */
        bars[i].w -= bars[i].w > 4.0 ? 0.8 : 0.0;
        if (bars[i].w < 24.0 || row->kind == GW_ROW_GAPS) {
            gw_page_bar(page, bars[i].x, y, bars[i].w, h, colour, hatched_key(bars[i].key), NULL, size, 0.0);
            if (row->kind == GW_ROW_GAPS)
                draw_gap_label(page, &bars[i], y);
            continue;
        }
        gw_timeline_label(page->source->model, data, row, &bars[i], &labels);
        while (chosen + 1 < labels.count &&
               gw_page_text_width(page, labels.text[chosen], size, false) > bars[i].w - 10.0)
            chosen++;
        gw_page_bar(page, bars[i].x, y, bars[i].w, h, colour, hatched_key(bars[i].key), labels.text[chosen], size,
                    labels.least_px);
    }
    free(bars);
}

static void draw_outside(struct gw_page *page, const struct gw_scale *scale, const struct gw_timeline_row *row,
                         double y)
{
    const struct gw_thread_gap *gaps = page->source->model->thread_gaps;
    struct gw_bar *bars;
    size_t count;
    int error = gw_lod_bars(scale, row->outside.spans, row->outside.spans_count, &bars, &count);

    if (error) {
        page->scene->error = error;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t colour = colour_of_key(page, bars[i].key);
        char length[GW_UNIT_TEXT], label[64];
        double size = GW_SIZE_SMALL;
        struct gw_text_style style = {size, page->theme->text, GW_ALIGN_CENTRE, false, GW_FOR_BAR_LABEL, false};
        gw_scene_rect(page->scene, GW_FOR_DECORATION, bars[i].x, y, bars[i].w, LANE_HEIGHT,
                      gw_colour_faded(colour, bars[i].fraction));
        if (bars[i].ref == GW_LOD_AGGREGATE)
            continue;
        gw_format_duration((double)(gaps[bars[i].ref].end_ns - gaps[bars[i].ref].begin_ns), length);
        snprintf(label, sizeof(label), "%s  %s",
                 GW_PAINT_VALUE(bars[i].key) == GW_OUTSIDE_ON_CPU ? "on CPU" : "off CPU", length);
        if (gw_page_text_width(page, label, size, false) > bars[i].w - 8.0)
            snprintf(label, sizeof(label), "%s", length);
        if (gw_page_text_width(page, label, size, false) <= bars[i].w - 8.0)
            gw_scene_text(page->scene, bars[i].x + 4.0, y, bars[i].w - 8.0, LANE_HEIGHT, &style, label);
    }
    free(bars);
}

static void draw_steps(struct gw_page *page, const struct gw_timeline_data *data, const struct gw_scale *scale,
                       double y, double bottom)
{
    const struct gw_model *model = page->source->model;
    uint32_t shown = data->step_end - data->step_first;
    char of[64] = "steps";

    if (model->processes_count > 1 && model->processes[data->process].rank >= 0)
        snprintf(of, sizeof(of), "steps of rank %" PRId32, model->processes[data->process].rank);
    else if (model->processes_count > 1)
        snprintf(of, sizeof(of), "steps of process %" PRIu32, model->processes[data->process].pid);
    gw_page_muted(page, GW_PAGE_MARGIN, y, LABEL_WIDTH - 10.0, STEP_HEIGHT, GW_SIZE_SMALL, GW_ALIGN_LEFT, of);
    for (uint32_t i = data->step_first; i < data->step_end; i++) {
        const struct gw_step *step = &model->steps[i];
        const struct gw_interval *time = &page->source->budget->times[i];
        bool median = i == page->source->budget->median_step;
        double left = fmax(scale->x, gw_scale_x(scale, time->begin_ns));
        double right = fmin(scale->x + scale->width, gw_scale_x(scale, time->end_ns));
        char length[GW_UNIT_TEXT], label[96];
        struct gw_text_style style = {
            GW_SIZE_TEXT, median ? 0xffffffff : page->theme->text, GW_ALIGN_CENTRE, median, GW_FOR_BAR_LABEL, false};
        if (step->process != data->process)
            continue;
        gw_scene_rect(page->scene, GW_FOR_DECORATION, left, y, fmax(0.5, right - left - 1.0), STEP_HEIGHT - 4.0,
                      median ? 0x3d5a80ff : page->theme->grid);
        if (shown <= STEP_LINES_MAX && left > scale->x)
            gw_scene_line(page->scene, left - 0.5, y, left - 0.5, bottom, 1.0,
                          gw_colour_faded(page->theme->muted, 0.6));
        gw_format_duration((double)(time->end_ns - time->begin_ns), length);
        snprintf(label, sizeof(label), "step %" PRIu32 "%s  ·  %s", step->number,
                 median         ? " (median)"
                 : step->warmup ? " (warm-up)"
                                : "",
                 length);
        if (gw_page_text_width(page, label, style.size, style.bold) > right - left - 9.0)
            snprintf(label, sizeof(label), "%" PRIu32, step->number);
        if (gw_page_text_width(page, label, style.size, style.bold) <= right - left - 9.0)
            gw_scene_text(page->scene, left + 4.0, y, right - left - 9.0, STEP_HEIGHT - 4.0, &style, label);
    }
}

static void draw_axis(struct gw_page *page, const struct gw_scale *scale, double top, double bottom)
{
    uint64_t origin_ns = page->source->model->run.begin_ns;
    double from = (double)scale->begin_ns - (double)origin_ns, to = (double)scale->end_ns - (double)origin_ns;
    struct gw_axis axis = gw_axis_linear(GW_AXIS_DURATION, from, to, (unsigned int)(scale->width / TICK_PX));
    char label[GW_UNIT_TEXT];

    gw_page_muted(page, GW_PAGE_MARGIN, bottom, LABEL_WIDTH - 10.0, AXIS_HEIGHT, GW_SIZE_SMALL, GW_ALIGN_LEFT,
                  "since begin of trace");
    for (unsigned int i = 0; i < gw_axis_ticks(&axis); i++) {
        double tick = gw_axis_tick(&axis, i), x = scale->x + (tick - from) / (to - from) * scale->width, w;
        gw_scene_line(page->scene, x, top, x, bottom + 4.0, 1.0, page->theme->grid);
        gw_axis_label(&axis, tick, label);
        w = gw_page_text_width(page, label, GW_SIZE_SMALL, false);
        if (x + w / 2.0 <= page->options->width - GW_PAGE_MARGIN + 6.0 &&
            x - w / 2.0 > GW_PAGE_MARGIN + LABEL_WIDTH - 8.0)
            gw_page_muted(page, x - w / 2.0, bottom + 4.0, w, AXIS_HEIGHT - 4.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE, label);
    }
}

static void label_row(struct gw_page *page, const struct gw_timeline_row *row, double y)
{
    const struct gw_model *model = page->source->model;
    struct gw_text_style style = {.colour = page->theme->text, .purpose = GW_FOR_TEXT, .cut_middle = true};
    double w = LABEL_WIDTH - 12.0;
    char text[128], tid[16];

    switch (row->kind) {
    case GW_ROW_THREAD: {
        const struct gw_thread *thread = &model->threads[row->index];
        snprintf(tid, sizeof(tid), "%" PRIu32, thread->tid);
        /* Imported traces have the number in the name already. */
        if (thread->name && strstr(thread->name, tid))
            snprintf(text, sizeof(text), "%s", thread->name);
        else
            snprintf(text, sizeof(text), "%s %s", thread->name && *thread->name ? thread->name : "thread", tid);
        break;
    }
    case GW_ROW_STREAM: {
        const struct gw_stream *stream = &model->streams[row->index];
        if (stream->flags & GW_STREAM_LEGACY)
            snprintf(text, sizeof(text), "default stream");
        else
            gw_stream_words(model, stream, text, sizeof(text));
        break;
    }
    case GW_ROW_GAPS:
        snprintf(text, sizeof(text), "GPU idle because");
        break;
    }
    style.size =
        gw_page_text_width(page, text, GW_SIZE_TEXT - 0.5, false) > w ? GW_SIZE_SMALL - 0.5 : GW_SIZE_TEXT - 0.5;
    gw_scene_text(page->scene, GW_PAGE_MARGIN, y, w, row->kind == GW_ROW_GAPS ? GAPS_HEIGHT : LANE_HEIGHT, &style,
                  text);
}

/* Heading above the rows of a process's threads or of a device. */
static void caption(const struct gw_page *page, const struct gw_timeline_row *row, char *text, size_t size)
{
    const struct gw_model *model = page->source->model;
    const struct gw_process *process = &model->processes[row->process];
    int32_t rank = row->device == GW_NONE ? process->rank : gw_device_rank(model, row->device);
    int at;

    if (row->kind == GW_ROW_THREAD) {
        at = snprintf(text, size, "host threads that call CUDA  ·  process %" PRIu32, process->pid);
    } else {
        char name[64];
        gw_page_device_name(page, row->device, name, sizeof(name));
        at = snprintf(text, size, "%s", name);
        if (gw_page_device_model(model, row->device) && at > 0 && (size_t)at < size)
            at += snprintf(text + at, size - (size_t)at, "  ·  %s", gw_page_device_model(model, row->device));
        if (model->processes_count > 1 && at > 0 && (size_t)at < size)
            at += snprintf(text + at, size - (size_t)at, "  ·  process %" PRIu32, process->pid);
    }
    if (rank >= 0 && at > 0 && (size_t)at < size)
        snprintf(text + at, size - (size_t)at, "  ·  rank %" PRId32, rank);
}

static bool begins_group(const struct gw_timeline_data *data, uint32_t row)
{
    return row == 0 || data->rows[row].process != data->rows[row - 1].process ||
           data->rows[row].device != data->rows[row - 1].device;
}

/* An arrow from the call to its operation. */
static void draw_link(struct gw_page *page, const struct gw_timeline_data *data, const struct gw_scale *scale,
                      const double *tops, const struct gw_link *link)
{
    double from_x = gw_scale_x(scale, link->from_ns);
    double from_y = tops[link->from_row] + row_height(&data->rows[link->from_row]);
    double to_x = fmin(gw_scale_x(scale, link->to_ns), scale->x + scale->width), to_y = tops[link->to_row];
    double length = hypot(to_x - from_x, to_y - from_y), along_x = (to_x - from_x) / length,
           along_y = (to_y - from_y) / length;

    gw_scene_line(page->scene, from_x, from_y, to_x, to_y, 0.8, page->theme->link);
    for (int side = -1; side <= 1; side += 2)
        gw_scene_line(page->scene, to_x - ARROW * along_x - side * ARROW / 2.0 * along_y,
                      to_y - ARROW * along_y + side * ARROW / 2.0 * along_x, to_x, to_y, 0.8, page->theme->link);
}

double gw_timeline_panel(struct gw_page *page, const struct gw_timeline_data *data, double y)
{
    struct gw_scale scale = {data->begin_ns, data->end_ns, GW_PAGE_MARGIN + LABEL_WIDTH,
                             page->options->width - 2.0 * GW_PAGE_MARGIN - LABEL_WIDTH};
    double *tops = calloc(data->rows_count + 1, sizeof(*tops));
    double at = y, top;

    if (!tops) {
        page->scene->error = -ENOMEM;
        return y;
    }
    if (data->step_end > data->step_first)
        at += STEP_HEIGHT;
    top = at;
    for (uint32_t i = 0; i < data->rows_count; i++) {
        if (begins_group(data, i))
            at += CAPTION_HEIGHT;
        tops[i] = at;
        gw_scene_rect(page->scene, GW_FOR_ROW, scale.x, at, scale.width, row_height(&data->rows[i]), page->theme->row);
        at += row_height(&data->rows[i]) + ROW_GAP;
    }
    draw_axis(page, &scale, top, at);
    if (data->step_end > data->step_first)
        draw_steps(page, data, &scale, y, at);
    for (uint32_t i = 0; i < data->rows_count; i++) {
        const struct gw_timeline_row *row = &data->rows[i];
        char text[256];
        if (begins_group(data, i)) {
            caption(page, row, text, sizeof(text));
            gw_page_bold(page, GW_PAGE_MARGIN, tops[i] - CAPTION_HEIGHT + 3.0,
                         page->options->width - 2.0 * GW_PAGE_MARGIN, CAPTION_HEIGHT - 4.0, GW_SIZE_SMALL,
                         GW_ALIGN_LEFT, text);
        }
        label_row(page, row, tops[i]);
        draw_outside(page, &scale, row, tops[i]);
    }
    for (uint32_t i = 0; i < data->links_count; i++)
        draw_link(page, data, &scale, tops, &data->links[i]);
    for (uint32_t i = 0; i < data->rows_count; i++) {
        double lane_y = tops[i];
        for (uint32_t lane = 0; lane < data->rows[i].lanes_count; lane++) {
            double h = data->rows[i].kind == GW_ROW_GAPS ? GAPS_HEIGHT : lane == 0 ? LANE_HEIGHT : NESTED_HEIGHT;
            draw_lane(page, data, &scale, &data->rows[i], &data->rows[i].lanes[lane], lane_y, lane == 0 ? h : h - 1.0,
                      lane == 0 ? GW_SIZE_SMALL : 10.0);
            lane_y += lane == 0 ? h + 1.0 : h;
        }
    }
    free(tops);
    return at + AXIS_HEIGHT + 6.0;
}

/* Which values of a paint appear in the rows. */
static void find_used(const struct gw_timeline_data *data, enum gw_paint paint, bool *used, size_t size)
{
    for (uint32_t i = 0; i < data->rows_count; i++) {
        const struct gw_timeline_row *row = &data->rows[i];
        for (uint32_t lane = 0; lane <= GW_TIMELINE_LANES; lane++) {
            const struct gw_lane *found = lane < GW_TIMELINE_LANES ? &row->lanes[lane] : &row->outside;
            for (size_t k = 0; k < found->spans_count; k++)
                if (GW_PAINT_OF(found->spans[k].key) == paint && GW_PAINT_VALUE(found->spans[k].key) < size)
                    used[GW_PAINT_VALUE(found->spans[k].key)] = true;
        }
    }
}

static double device_legend(struct gw_page *page, const struct gw_timeline_data *data, double x, double y, double w)
{
    const struct gw_model *model = page->source->model;
    struct gw_legend_entry entries[GW_KERNEL_COLOURS + GW_OP_KIND_COUNT + 3];
    uint32_t indices[GW_KERNEL_COLOURS], kernels = 0;
    char *names[GW_KERNEL_COLOURS], more[64];
    bool used[GW_OP_KIND_COUNT] = {false}, comm[2] = {false};
    size_t count = 0;

    for (; kernels < data->kernels_count && kernels < GW_KERNEL_COLOURS; kernels++)
        indices[kernels] = data->kernels[kernels].name;
    if (gw_kernel_labels(model, indices, kernels, names) != 0) {
        page->scene->error = -ENOMEM;
        return y;
    }
    for (uint32_t i = 0; i < kernels; i++)
        entries[count++] =
            (struct gw_legend_entry){gw_colour_of_kernel(data->kernel_slot[indices[i]]), names[i], false};
    find_used(data, GW_PAINT_OP, used, GW_OP_KIND_COUNT);
    for (uint32_t i = 0; i < GW_OP_KIND_COUNT; i++)
        if (used[i])
            entries[count++] = (struct gw_legend_entry){gw_colour_of_op(i), gw_words_of_op(i), false};
    find_used(data, GW_PAINT_COMM, comm, 2);
    if (comm[GW_COMM_WAITS])
        entries[count++] =
            (struct gw_legend_entry){gw_colour_of_class(GW_CLASS_COMM_WAIT), gw_class_words(GW_CLASS_COMM_WAIT), false};
    if (comm[GW_COMM_TRANSFERS])
        entries[count++] = (struct gw_legend_entry){gw_colour_of_class(GW_CLASS_COMM_TRANSFER),
                                                    gw_class_words(GW_CLASS_COMM_TRANSFER), false};
    if (data->kernels_count > GW_KERNEL_COLOURS) {
        snprintf(more, sizeof(more), "and %" PRIu32 " other kernels", data->kernels_count - GW_KERNEL_COLOURS);
        entries[count++] = (struct gw_legend_entry){page->theme->grid, more, false};
    }
    y = gw_page_legend(page, x, y, w, "on the GPU", entries, count);
    for (uint32_t i = 0; i < kernels; i++)
        free(names[i]);
    return y;
}

double gw_timeline_legend(struct gw_page *page, const struct gw_timeline_data *data, double y)
{
    double x = GW_PAGE_MARGIN, w = page->options->width - 2.0 * GW_PAGE_MARGIN;
    struct gw_legend_entry entries[GW_CLASS_COUNT + GW_CALL_COMM + 3];
    bool calls[GW_CALL_COMM + 1] = {false}, outside[2] = {false}, gaps[GW_CLASS_COUNT] = {false};
    size_t count = 0;

    find_used(data, GW_PAINT_CALL, calls, GW_CALL_COMM + 1);
    find_used(data, GW_PAINT_OUTSIDE, outside, 2);
    find_used(data, GW_PAINT_GAP, gaps, GW_CLASS_COUNT);
    for (uint32_t i = 0; i <= GW_CALL_COMM; i++)
        if (calls[i])
            entries[count++] = (struct gw_legend_entry){gw_colour_of_call(i), gw_words_of_call(i), false};
    if (outside[GW_OUTSIDE_ON_CPU])
        entries[count++] = (struct gw_legend_entry){page->theme->on_cpu, "outside CUDA, on CPU", false};
    if (outside[GW_OUTSIDE_OFF_CPU])
        entries[count++] = (struct gw_legend_entry){page->theme->off_cpu, "outside CUDA, off CPU", false};
    y = gw_page_legend(page, x, y, w, "host", entries, count);
    y = device_legend(page, data, x, y, w);
    count = 0;
    for (uint32_t i = 0; i < GW_CLASS_COUNT; i++)
        if (gaps[i])
            entries[count++] =
                (struct gw_legend_entry){gw_colour_of_class(i), gw_class_words(i), i == GW_CLASS_IDLE_UNKNOWN};
    return gw_page_legend(page, x, y, w, "GPU idle", entries, count);
}
