#include "plots/budget_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gw_budget_data_clear(struct gw_budget_data *data)
{
    free(data->rows);
    memset(data, 0, sizeof(*data));
}

static bool same_communicator(const struct gw_model *model, uint32_t left, uint32_t right)
{
    for (size_t i = 0; i < model->communicators_count; i++) {
        if (model->communicators[i].process != left)
            continue;
        for (size_t k = 0; k < model->communicators_count; k++)
            if (model->communicators[k].process == right && model->communicators[k].id == model->communicators[i].id)
                return true;
    }
    return false;
}

/* Whether two processes make the same steps: they talk to each other, or run the same command. */
static bool same_program(const struct gw_model *model, uint32_t left, uint32_t right)
{
    const char *a = model->processes[left].command, *b = model->processes[right].command;

    return left == right || (a && b && !strcmp(a, b)) || same_communicator(model, left, right);
}

/* Which processes are shown: those of the median step's program, all where there is no median step. */
static void choose_processes(const struct gw_plot_source *source, bool *shown, struct gw_budget_data *data)
{
    const struct gw_model *model = source->model;
    uint32_t median = source->budget->median_step, last = GW_NONE;

    for (uint32_t i = 0; i < model->processes_count; i++)
        shown[i] = median >= model->steps_count || same_program(model, model->steps[median].process, i);
    for (size_t i = 0; i < model->steps_count; i++) {
        data->other_processes += model->steps[i].process != last && !shown[model->steps[i].process];
        last = model->steps[i].process;
    }
}

static void add_cell(struct gw_budget_row *row, const struct gw_step_budget *cell)
{
    for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++)
        row->ns[cls] += (double)cell->ns[cls];
}

static void divide(struct gw_budget_row *row, uint32_t count)
{
    for (uint32_t cls = 0; cls < GW_CLASS_COUNT && count; cls++) {
        row->ns[cls] /= count;
        row->total_ns += row->ns[cls];
    }
}

/* Sums up the cells; counts: of each row, then of the median step. */
static void fill(const struct gw_plot_source *source, const bool *shown, bool *devices, uint32_t *counts,
                 struct gw_budget_data *data)
{
    const struct gw_model *model = source->model;
    const struct gw_budget *budget = source->budget;
    uint32_t *median_count = &counts[data->rows_count];
    size_t analysed = 0;

    for (size_t i = 0; i < budget->cells_count; i++) {
        const struct gw_step_budget *cell = &budget->cells[i];
        const struct gw_step *step = &model->steps[cell->step];
        if (!shown[step->process] || cell->unused)
            continue;
        data->rows[step->number].warmup |= step->warmup;
        add_cell(&data->rows[step->number], cell);
        counts[step->number]++;
        devices[cell->device] = true;
        if (cell->step == budget->median_step) {
            add_cell(&data->median, cell);
            (*median_count)++;
        }
        for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++)
            data->used[cls] |= cell->ns[cls] > 0;
    }
    divide(&data->median, *median_count);
    for (size_t i = 0; i < data->rows_count; i++) {
        divide(&data->rows[i], counts[i]);
        analysed += counts[i] && !data->rows[i].warmup;
    }
    for (size_t i = 0; i < data->rows_count; i++)
        for (uint32_t cls = 0; cls < GW_CLASS_COUNT && counts[i] && !data->rows[i].warmup; cls++) {
            data->mean.ns[cls] += data->rows[i].ns[cls] / (double)analysed;
            data->mean.total_ns += data->rows[i].ns[cls] / (double)analysed;
        }
}

int gw_budget_data_create(const struct gw_plot_source *source, struct gw_budget_data *data)
{
    const struct gw_model *model = source->model;
    const struct gw_budget *budget = source->budget;
    bool *shown = calloc(model->processes_count + 1, sizeof(*shown));
    bool *devices = calloc(model->devices_count + 1, sizeof(*devices));
    uint32_t *counts = NULL;
    int error = -ENOMEM;

    memset(data, 0, sizeof(*data));
    data->median_number = GW_NONE;
    if (!shown || !devices)
        goto end;
    choose_processes(source, shown, data);
    for (size_t i = 0; i < budget->cells_count; i++) {
        const struct gw_step *step = &model->steps[budget->cells[i].step];
        if (shown[step->process] && step->number + 1u > data->rows_count)
            data->rows_count = step->number + 1u;
    }
    data->rows = calloc(data->rows_count + 1, sizeof(*data->rows));
    counts = calloc(data->rows_count + 1, sizeof(*counts));
    if (!data->rows || !counts) {
        data->rows_count = 0;
        goto end;
    }
    fill(source, shown, devices, counts, data);
    for (size_t i = 0; i < model->devices_count; i++)
        data->devices += devices[i];
    if (data->rows_count && budget->median_step < model->steps_count)
        data->median_number = model->steps[budget->median_step].number;
    error = 0;
end:
    free(shown);
    free(devices);
    free(counts);
    return error;
}
