#include "plots/budget_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gw_budget_data_clear(struct gw_budget_data *data)
{
    free(data->rows);
    memset(data, 0, sizeof(*data));
}

int gw_budget_data_create(const struct gw_plot_source *source, struct gw_budget_data *data)
{
    const struct gw_model *model = source->model;
    const struct gw_budget *budget = source->budget;
    uint32_t *cells = NULL;
    bool *devices = NULL;
    size_t analysed = 0;

    memset(data, 0, sizeof(*data));
    data->median_number = GW_NONE;
    for (size_t i = 0; i < budget->cells_count; i++)
        if (model->steps[budget->cells[i].step].number + 1u > data->rows_count)
            data->rows_count = model->steps[budget->cells[i].step].number + 1u;
    if (data->rows_count == 0)
        return 0;
    data->rows = calloc(data->rows_count, sizeof(*data->rows));
    cells = calloc(data->rows_count, sizeof(*cells));
    devices = calloc(model->devices_count, sizeof(*devices));
    if (!data->rows || !cells || !devices) {
        free(cells);
        free(devices);
        data->rows_count = 0;
        return -ENOMEM;
    }
    for (size_t i = 0; i < budget->cells_count; i++) {
        const struct gw_step_budget *cell = &budget->cells[i];
        const struct gw_step *step = &model->steps[cell->step];
        struct gw_budget_row *row = &data->rows[step->number];
        row->warmup |= step->warmup;
        cells[step->number]++;
        for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++) {
            row->ns[cls] += (double)cell->ns[cls];
            data->used[cls] |= cell->ns[cls] > 0;
        }
        devices[cell->device] = true;
    }
    for (size_t i = 0; i < data->rows_count; i++)
        for (uint32_t cls = 0; cls < GW_CLASS_COUNT && cells[i]; cls++) {
            data->rows[i].ns[cls] /= cells[i];
            data->rows[i].total_ns += data->rows[i].ns[cls];
        }
    for (size_t i = 0; i < data->rows_count; i++)
        analysed += cells[i] && !data->rows[i].warmup;
    for (size_t i = 0; i < data->rows_count; i++)
        for (uint32_t cls = 0; cls < GW_CLASS_COUNT && cells[i] && !data->rows[i].warmup; cls++) {
            data->mean.ns[cls] += data->rows[i].ns[cls] / (double)analysed;
            data->mean.total_ns += data->rows[i].ns[cls] / (double)analysed;
        }
    for (size_t i = 0; i < model->devices_count; i++)
        data->devices += devices[i];
    if (budget->median_step < model->steps_count) {
        data->median_number = model->steps[budget->median_step].number;
        data->median = data->rows[data->median_number];
    }
    free(cells);
    free(devices);
    return 0;
}
