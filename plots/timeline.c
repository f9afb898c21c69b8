/*
 * timeline: the median step with its neighbours, or what --steps or --range ask for.
 */
#include "plots/layouts.h"
#include "plots/timeline_panel.h"

#include <inttypes.h>
#include <stdio.h>

static void describe_window(const struct gw_page *page, const struct gw_timeline_data *data, char *text, size_t size)
{
    const struct gw_model *model = page->source->model;
    uint32_t median = page->source->budget->median_step;
    char length[GW_UNIT_TEXT];

    if (!page->options->have_range && !page->options->have_steps && median < model->steps_count) {
        const struct gw_interval *time = &page->source->budget->times[median];
        gw_format_duration((double)(time->end_ns - time->begin_ns), length);
        snprintf(text, size, "the median step takes %s", length);
        return;
    }
    gw_format_duration((double)(data->end_ns - data->begin_ns), length);
    if (page->options->have_steps && !page->options->have_range)
        snprintf(text, size, "steps %" PRIu32 " to %" PRIu32 ", %s", page->options->first_step,
                 page->options->last_step, length);
    else if (page->options->have_range)
        snprintf(text, size, "%s of the run", length);
    else
        snprintf(text, size, "the whole run, %s (no repeating step was found)", length);
}

void gw_layout_timeline(struct gw_page *page)
{
    const struct gw_model *model = page->source->model;
    struct gw_timeline_data data;
    char text[160] = "timeline", note[256] = "";
    double y;
    int error;

    if (!gw_timeline_window(page->source, page->options, 1, &data)) {
        y = gw_page_title(page, text);
        y = gw_page_empty(page, y,
                          model->calls_count ? "There is nothing in the steps or the range asked for."
                                             : "No CUDA call was recorded in this run.");
        gw_page_finish(page, y, NULL);
        return;
    }
    error = gw_timeline_fill(page->source, &data);
    if (error) {
        page->scene->error = error;
        goto end;
    }
    describe_window(page, &data, text, sizeof(text));
    y = gw_page_title(page, text);
    if (data.rows_count == 0) {
        y = gw_page_empty(page, y,
                          model->calls_count ? "No CUDA call and no GPU operation lies in this range."
                                             : "No CUDA call was recorded in this run.");
    } else {
        y = gw_timeline_panel(page, &data, y);
        y = gw_timeline_legend(page, &data, y);
    }
    snprintf(text, sizeof(text), "%" PRIu32 " devices that compute less are left out", data.devices_dropped);
    gw_page_add_part(note, sizeof(note), data.devices_dropped ? text : NULL);
    snprintf(text, sizeof(text), "%" PRIu32 " threads and streams with less to show are left out", data.rows_dropped);
    gw_page_add_part(note, sizeof(note), data.rows_dropped ? text : NULL);
    gw_page_finish(page, y, note);
end:
    gw_timeline_data_clear(&data);
}
