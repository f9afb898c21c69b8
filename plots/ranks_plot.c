/*
 * ranks: how late each rank comes to its collectives in each step, as a map of colours, and on average beside it.
 */
#include "plots/chart.h"
#include "plots/layouts.h"
#include "plots/ranks_data.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LABEL_WIDTH 96.0
#define SIDE_WIDTH 400.0
#define SIDE_BAR 170.0
#define MAP_HEIGHT 460.0
#define ROW_MOST 30.0
#define ROW_LEAST 3.0
#define LABELLED_ROW 15.0 /* lower ones are named every so many */
#define LEAST_COLUMN 2.0
#define SCALE_WIDTH 320.0
#define SCALE_PARTS 64u

/* Small differences are seen beside large ones: the colour goes with the square root. */
static uint32_t colour_of(const struct gw_page *page, const struct gw_ranks_data *data, double late_ns)
{
    double part = data->most_late_ns > 0.0 ? sqrt(fmin(1.0, late_ns / data->most_late_ns)) : 0.0;

    return gw_colour_of_heat(page->theme, part);
}

/* The latest of a block of rows and steps, negative when there is none. */
static double latest(const struct gw_ranks_data *data, size_t row, size_t row_end, size_t step, size_t step_end)
{
    double most = -1.0;

    for (size_t i = row; i < row_end; i++)
        for (size_t k = step; k < step_end; k++)
            if (!isnan(data->late_ns[i * data->steps + k]))
                most = fmax(most, (double)data->late_ns[i * data->steps + k]);
    return most;
}

struct grid {
    double x, y, w, h, row_height;
    size_t rows, columns; /* as drawn: at most those of the data */
};

static void draw_map(struct gw_page *page, const struct gw_ranks_data *data, const struct grid *grid)
{
    double width = grid->w / (double)grid->columns, gap = width > 6.0 ? 1.0 : 0.0;

    gw_scene_rect(page->scene, GW_FOR_ROW, grid->x, grid->y, grid->w, grid->h, page->theme->panel);
    for (size_t row = 0; row < grid->rows; row++)
        for (size_t column = 0; column < grid->columns; column++) {
            double late_ns =
                latest(data, row * data->rows_count / grid->rows, (row + 1) * data->rows_count / grid->rows,
                       column * data->steps / grid->columns, (column + 1) * data->steps / grid->columns);
            if (late_ns >= 0.0)
                gw_scene_rect(page->scene, GW_FOR_BAR, grid->x + (double)column * width,
                              grid->y + (double)row * grid->row_height, width - gap,
                              grid->row_height - (grid->row_height > 8.0 ? 1.0 : 0.0), colour_of(page, data, late_ns));
        }
}

static void draw_steps(struct gw_page *page, const struct gw_ranks_data *data, const struct grid *grid)
{
    struct gw_axis axis =
        gw_axis_linear(GW_AXIS_NUMBER, 0.0, (double)data->steps - 0.5, (unsigned int)(grid->w / 80.0) + 1);
    size_t warmup = 0;
    double bottom = grid->y + grid->h;
    char text[GW_UNIT_TEXT];

    while (warmup < data->steps && data->warmup[warmup])
        warmup++;
    if (warmup) {
        double x = grid->x + (double)warmup / (double)data->steps * grid->w;
        gw_scene_line(page->scene, x, grid->y, x, bottom, 1.0, page->theme->muted);
        gw_page_muted(page, fmax(grid->x, x - 66.0), grid->y - 19.0, fmax(60.0, fmin(60.0, x - grid->x)), 16.0,
                      GW_SIZE_SMALL, x - grid->x > 66.0 ? GW_ALIGN_RIGHT : GW_ALIGN_LEFT, "warm-up");
    }
    for (unsigned int i = 0; i < gw_axis_ticks(&axis); i++) {
        double step = gw_axis_tick(&axis, i);
        gw_axis_label(&axis, step, text);
        gw_page_muted(page, grid->x + (step + 0.5) / (double)data->steps * grid->w - 30.0, bottom + 4.0, 60.0, 18.0,
                      GW_SIZE_SMALL, GW_ALIGN_CENTRE, text);
    }
    gw_page_muted(page, grid->x, bottom + 23.0, grid->w, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE,
                  grid->columns < data->steps || grid->rows < data->rows_count
                      ? "step (a cell is the latest of several)"
                      : "step");
}

/* Names and means of the ranks, as many as there is room for. */
static void draw_sides(struct gw_page *page, const struct gw_ranks_data *data, const struct grid *grid)
{
    size_t every = (size_t)ceil(LABELLED_ROW * (double)data->rows_count / grid->h);
    double x = grid->x + grid->w + 20.0, most_ns = 0.0, height = grid->h / (double)data->rows_count;
    char text[96], length[GW_UNIT_TEXT];

    every = every ? every : 1;
    for (size_t i = 0; i < data->rows_count; i++)
        most_ns = fmax(most_ns, data->rows[i].late_ns);
    gw_page_muted(page, x, grid->y - 20.0, SIDE_WIDTH - 20.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_LEFT,
                  "behind the first rank in a mean step");
    for (size_t i = 0; i < data->rows_count; i++) {
        const struct gw_rank_row *row = &data->rows[i];
        double y = grid->y + (double)i * height, w = most_ns > 0.0 ? row->late_ns / most_ns * SIDE_BAR : 0.0;
        if (w > 0.0)
            gw_scene_rect(page->scene, GW_FOR_BAR, x, y + height * 0.15, fmax(0.5, w), height * 0.7,
                          page->theme->accent);
        if (i % every)
            continue;
        snprintf(text, sizeof(text), "rank %" PRId32, row->rank);
        gw_page_text(page, GW_PAGE_MARGIN, y + (fmin(height, LABELLED_ROW) - LABELLED_ROW) / 2.0, LABEL_WIDTH - 10.0,
                     fmax(height, LABELLED_ROW), GW_SIZE_SMALL, GW_ALIGN_RIGHT, text);
        gw_format_duration(row->late_ns, length);
        snprintf(text, sizeof(text), "%s, last in %.0f %%", length, row->last_share * 100.0);
        gw_page_text(page, x + SIDE_BAR + 10.0, y + (fmin(height, LABELLED_ROW) - LABELLED_ROW) / 2.0,
                     SIDE_WIDTH - SIDE_BAR - 30.0, fmax(height, LABELLED_ROW), GW_SIZE_SMALL, GW_ALIGN_LEFT, text);
    }
}

static double draw_scale(struct gw_page *page, const struct gw_ranks_data *data, double y)
{
    double x = GW_PAGE_MARGIN + LABEL_WIDTH, part = SCALE_WIDTH / SCALE_PARTS;
    char text[GW_UNIT_TEXT];

    gw_page_bold(page, GW_PAGE_MARGIN, y - 2.0, LABEL_WIDTH - 10.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_LEFT, "late by");
    for (unsigned int i = 0; i < SCALE_PARTS; i++)
        gw_scene_rect(page->scene, GW_FOR_DECORATION, x + i * part, y, part + 0.5, 14.0,
                      gw_colour_of_heat(page->theme, (i + 0.5) / SCALE_PARTS));
    for (unsigned int i = 0; i <= 4; i++) {
        gw_format_duration(data->most_late_ns * i * i / 16.0, text);
        gw_page_muted(page, x + SCALE_WIDTH * i / 4.0 - 36.0, y + 16.0, 72.0, 18.0, GW_SIZE_SMALL, GW_ALIGN_CENTRE,
                      text);
    }
    return y + 38.0;
}

/* A rank stands out when it is later than each other one by this factor. */
#define STANDS_OUT 1.2

static void write_title(const struct gw_ranks_data *data, char *text, size_t size)
{
    const struct gw_rank_row *latest_row = &data->rows[0];
    double next_ns = 0.0;
    char length[GW_UNIT_TEXT];

    for (size_t i = 1; i < data->rows_count; i++)
        if (data->rows[i].late_ns > latest_row->late_ns)
            latest_row = &data->rows[i];
    for (size_t i = 0; i < data->rows_count; i++)
        if (&data->rows[i] != latest_row)
            next_ns = fmax(next_ns, data->rows[i].late_ns);
    gw_format_duration(latest_row->late_ns, length);
    if (latest_row->late_ns < STANDS_OUT * next_ns)
        snprintf(text, size, "no rank stands out: the latest is %s behind the first in a mean step", length);
    else
        snprintf(text, size, "rank %" PRId32 " is latest, %s behind the first in a mean step, and last in %.0f %%",
                 latest_row->rank, length, latest_row->last_share * 100.0);
}

void gw_layout_ranks(struct gw_page *page)
{
    const struct gw_model *model = page->source->model;
    struct gw_ranks_data data;
    struct grid grid;
    char title[160] = "how late ranks come to their collectives", note[160], count[GW_UNIT_TEXT];
    double y;
    int error = gw_ranks_data_create(model, &data);

    if (error) {
        page->scene->error = error;
        goto end;
    }
    if (data.rows_count == 0) {
        y = gw_page_title(page, title);
        y = gw_page_empty(page, y,
                          model->collectives_count
                              ? "No collective has known times on several ranks, so none can be said to be late."
                              : "No collective of NCCL was recorded in this run.");
        gw_page_finish(page, y, NULL);
        goto end;
    }
    write_title(&data, title, sizeof(title));
    y = gw_page_title(page, title);
    grid.x = GW_PAGE_MARGIN + LABEL_WIDTH;
    grid.y = y + 26.0;
    grid.w = page->options->width - GW_PAGE_MARGIN - grid.x - SIDE_WIDTH;
    grid.row_height = fmax(ROW_LEAST, fmin(ROW_MOST, MAP_HEIGHT / (double)data.rows_count));
    grid.rows = (size_t)fmin((double)data.rows_count, MAP_HEIGHT / grid.row_height);
    grid.h = grid.row_height * (double)grid.rows;
    grid.columns = (size_t)fmin((double)data.steps, grid.w / LEAST_COLUMN);
    draw_map(page, &data, &grid);
    if (data.by_step)
        draw_steps(page, &data, &grid);
    draw_sides(page, &data, &grid);
    y = draw_scale(page, &data, grid.y + grid.h + GW_CHART_BELOW + 10.0);
    gw_format_count(data.exchanges, count);
    snprintf(note, sizeof(note), "%s collectives; the first rank of each counts as in time%s", count,
             data.by_step ? "" : "; no repeating step was found, so the whole run is one column");
    gw_page_finish(page, y, note);
end:
    gw_ranks_data_clear(&data);
}
