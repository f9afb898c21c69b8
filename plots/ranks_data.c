#include "plots/ranks_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An exchange's longest wait is that of its first rank: what another rank waits less, it comes later. */
struct exchange {
    uint64_t most_wait_ns;
    uint32_t ranks;
    /* Number, for the last rank that asks for it: where ranks are threads of one process, the first ones may do so
     * before the one that the steps are found by begins its next. GW_NONE: in no step. */
    uint32_t step;
    bool repeated; /* a kernel carries it out that has carried out another: it comes late once */
};

void gw_ranks_data_clear(struct gw_ranks_data *data)
{
    free(data->rows);
    free(data->late_ns);
    free(data->warmup);
    memset(data, 0, sizeof(*data));
}

/* Messages between two ranks wait for each other by design of a pipeline; lateness is told by collectives of all. */
static bool compared(const struct gw_collective *collective)
{
    return collective->match != GW_NONE && collective->arrival_wait_ns != GW_TIME_UNKNOWN &&
           collective->kind != GW_COMM_SEND && collective->kind != GW_COMM_RECV;
}

static int compare_rows(const void *left, const void *right)
{
    const struct gw_rank_row *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->device < b->device ? -1 : a->device > b->device;
}

/* Rows of the devices that have a compared collective; the rank is that of the largest communicator. */
static void make_rows(const struct gw_model *model, struct gw_ranks_data *data)
{
    for (uint32_t device = 0; device < model->devices_count; device++) {
        struct gw_rank_row row = {.device = device, .rank = -1};
        uint32_t size = 1;
        for (size_t i = 0; i < model->communicators_count; i++)
            if (model->communicators[i].device == device && model->communicators[i].size > size) {
                size = model->communicators[i].size;
                row.rank = (int32_t)model->communicators[i].rank;
            }
        if (row.rank >= 0)
            data->rows[data->rows_count++] = row;
    }
    qsort(data->rows, data->rows_count, sizeof(*data->rows), compare_rows);
}

/* How many ranks each exchange has and how long its first one waits. leader_of_op: GW_NONE for each operation. */
static void find_exchanges(const struct gw_model *model, struct exchange *exchanges, uint32_t *leader_of_op,
                           struct gw_ranks_data *data)
{
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        struct exchange *exchange;
        uint32_t step;
        if (!compared(collective))
            continue;
        exchange = &exchanges[collective->match];
        step = gw_step_at(model, model->communicators[collective->communicator].process,
                          model->calls[collective->call].begin_ns);
        exchange->ranks++;
        exchange->step = step == GW_NONE ? GW_NONE : model->steps[step].number;
        if (collective->arrival_wait_ns > exchange->most_wait_ns)
            exchange->most_wait_ns = collective->arrival_wait_ns;
        data->exchanges += exchange->ranks == 2;
        if (collective->op == GW_NONE)
            continue;
        if (leader_of_op[collective->op] == GW_NONE)
            leader_of_op[collective->op] = collective->match;
        exchange->repeated |= leader_of_op[collective->op] != collective->match;
    }
}

static void fill(const struct gw_model *model, const struct exchange *exchanges, const uint32_t *row_of_device,
                 uint32_t *seen, uint32_t *last, struct gw_ranks_data *data)
{
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        uint32_t row = row_of_device[model->communicators[collective->communicator].device], column = 0;
        const struct exchange *exchange;
        float *cell;
        if (!compared(collective) || row == GW_NONE)
            continue;
        exchange = &exchanges[collective->match];
        if (data->by_step)
            column = exchange->step;
        if (exchange->ranks < 2 || exchange->repeated || column == GW_NONE)
            continue;
        seen[row]++;
        /* Where all come at the same instant, none is last. */
        last[row] += collective->arrival_wait_ns == 0 && exchange->most_wait_ns > 0;
        cell = &data->late_ns[row * data->steps + column];
        *cell = (isnan(*cell) ? 0.0f : *cell) + (float)(exchange->most_wait_ns - collective->arrival_wait_ns);
    }
}

static void sum_up(const uint32_t *seen, const uint32_t *last, struct gw_ranks_data *data)
{
    size_t kept = 0;

    for (size_t row = 0; row < data->rows_count; row++) {
        size_t steps = 0;
        float *cells = &data->late_ns[row * data->steps];
        if (seen[row] == 0)
            continue;
        data->rows[row].last_share = (double)last[row] / seen[row];
        for (size_t i = 0; i < data->steps; i++) {
            if (isnan(cells[i]) || data->warmup[i])
                continue;
            data->rows[row].late_ns += (double)cells[i];
            data->most_late_ns = fmax(data->most_late_ns, (double)cells[i]);
            steps++;
        }
        data->rows[row].late_ns /= steps ? (double)steps : 1.0;
        memmove(&data->late_ns[kept * data->steps], cells, data->steps * sizeof(*cells));
        data->rows[kept++] = data->rows[row];
    }
    data->rows_count = kept;
}

int gw_ranks_data_create(const struct gw_model *model, struct gw_ranks_data *data)
{
    struct exchange *exchanges = NULL;
    uint32_t *row_of_device = malloc((model->devices_count + 1) * sizeof(*row_of_device));
    uint32_t *leader_of_op = malloc((model->ops_count + 1) * sizeof(*leader_of_op));
    uint32_t *seen = calloc(model->devices_count + 1, sizeof(*seen)),
             *last = calloc(model->devices_count + 1, sizeof(*last));
    uint32_t matches = 0;
    int error = -ENOMEM;

    memset(data, 0, sizeof(*data));
    for (size_t i = 0; i < model->collectives_count; i++)
        if (compared(&model->collectives[i]) && model->collectives[i].match >= matches)
            matches = model->collectives[i].match + 1;
    exchanges = calloc(matches + 1, sizeof(*exchanges));
    data->rows = calloc(model->devices_count + 1, sizeof(*data->rows));
    if (!exchanges || !row_of_device || !leader_of_op || !seen || !last || !data->rows)
        goto end;
    memset(leader_of_op, 0xff, (model->ops_count + 1) * sizeof(*leader_of_op));
    find_exchanges(model, exchanges, leader_of_op, data);
    error = 0;
    if (data->exchanges == 0)
        goto end;
    make_rows(model, data);
    memset(row_of_device, 0xff, (model->devices_count + 1) * sizeof(*row_of_device));
    for (size_t i = 0; i < data->rows_count; i++)
        row_of_device[data->rows[i].device] = (uint32_t)i;
    data->by_step = model->steps_count > 0;
    data->steps = 1;
    for (size_t i = 0; i < model->steps_count; i++)
        if (model->steps[i].number >= data->steps)
            data->steps = model->steps[i].number + 1;
    data->late_ns = malloc((data->rows_count * data->steps + 1) * sizeof(*data->late_ns));
    data->warmup = calloc(data->steps, sizeof(*data->warmup));
    if (!data->late_ns || !data->warmup) {
        error = -ENOMEM;
        goto end;
    }
    for (size_t i = 0; i < data->rows_count * data->steps; i++)
        data->late_ns[i] = NAN;
    for (size_t i = 0; i < model->steps_count; i++)
        data->warmup[model->steps[i].number] |= model->steps[i].warmup;
    fill(model, exchanges, row_of_device, seen, last, data);
    sum_up(seen, last, data);
end:
    free(exchanges);
    free(row_of_device);
    free(leader_of_op);
    free(seen);
    free(last);
    return error;
}
