#include "analyzer/verdicts/kernel_times.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernels of one name and shape are compared from this many of each sort on. */
#define SAMPLES_LEAST 5u
/* Beside something they must be this much longer; alone they must vary less. */
#define SLOWED 1.05
/* Share of a kernel's time that must be overlapped to count. */
#define OVERLAP_SHARE 0.1

struct shape {
    uint32_t name, grid[3], block[3], shared_bytes;
};

struct timed_kernel {
    struct shape shape;
    double ns;
    uint32_t op;
    bool beside;
};

static int compare_timed(const void *left, const void *right)
{
    const struct timed_kernel *a = left, *b = right;
    int order = memcmp(&a->shape, &b->shape, sizeof a->shape);
    if (order)
        return order;
    if (a->beside != b->beside)
        return a->beside < b->beside ? -1 : 1;
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static uint64_t overlap_ns(const struct gw_beside *beside, const struct gw_op *op)
{
    size_t low = 0, high = beside->count;
    uint64_t overlap = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (beside->list[middle].end_ns <= op->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < beside->count && beside->list[low].begin_ns < op->end_ns; low++) {
        const struct gw_interval *interval = &beside->list[low];
        uint64_t from = interval->begin_ns > op->start_ns ? interval->begin_ns : op->start_ns;
        uint64_t to = interval->end_ns < op->end_ns ? interval->end_ns : op->end_ns;
        overlap += to > from ? to - from : 0;
    }
    return overlap;
}

/* Kernels that are overlapped well or not at all; the caller frees. NULL: no memory. */
static struct timed_kernel *list_kernels(const struct gw_judge *judge, const struct gw_beside *beside,
                                         size_t *ret_count)
{
    const struct gw_model *model = judge->model;
    struct timed_kernel *list = calloc(model->ops_count + 1, sizeof *list);
    size_t count = 0;
    for (uint32_t i = 0; list && i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (judge->comm->op_step[i] == GW_NONE || op->kind != GW_OP_KERNEL || op->name == GW_NONE ||
            model->calls[op->call].detail_kind != GW_DETAIL_LAUNCH || model->calls[op->call].detail == GW_NONE)
            continue;
        const struct gw_launch *launch = &model->launches[model->calls[op->call].detail];
        uint64_t overlap = overlap_ns(&beside[model->streams[op->stream].device], op);
        double length = (double)(op->end_ns - op->start_ns);
        if (overlap && (double)overlap < OVERLAP_SHARE * length)
            continue;
        struct timed_kernel *kernel = &list[count++];
        kernel->shape.name = op->name;
        kernel->shape.shared_bytes = launch->shared_bytes;
        memcpy(kernel->shape.grid, launch->grid, sizeof launch->grid);
        memcpy(kernel->shape.block, launch->block, sizeof launch->block);
        kernel->ns = length;
        kernel->op = i;
        kernel->beside = overlap > 0;
    }
    *ret_count = count;
    return list;
}

int gw_kernel_times_compare(const struct gw_judge *judge, const struct gw_beside *beside, struct gw_comm_plan *plan,
                            struct gw_kernel_times *ret_times)
{
    struct gw_kernel_times times = {0};
    size_t count = 0;
    int ret = 0;
    struct timed_kernel *list = list_kernels(judge, beside, &count);
    if (!list)
        return -ENOMEM;
    qsort(list, count, sizeof *list, compare_timed);
    for (size_t from = 0, to; from < count && ret == 0; from = to) {
        size_t alone = 0;
        for (to = from; to < count && !memcmp(&list[to].shape, &list[from].shape, sizeof list->shape); to++)
            alone += !list[to].beside;
        size_t beside_count = to - from - alone;
        if (alone < SAMPLES_LEAST || beside_count < SAMPLES_LEAST)
            continue;
        double usual = list[from + alone / 2].ns;
        times.compared += (double)beside_count;
        /* One name and shape can stand for several amounts of work: then the times alone differ as well. */
        if (list[from + alone * 9 / 10].ns > SLOWED * usual ||
            list[from + alone + beside_count / 4].ns < SLOWED * usual)
            continue;
        for (size_t i = from + alone; i < to && ret == 0; i++) {
            times.slower_ns += fmax(list[i].ns - usual, 0);
            plan->op_ns[list[i].op] = (uint64_t)usual;
            ret = gw_comm_plan_mark(plan, list[i].op);
        }
    }
    free(list);
    if (ret == 0)
        *ret_times = times;
    return ret;
}

struct gw_beside *gw_beside_create(const struct gw_judge *judge)
{
    return calloc(judge->model->devices_count + 1, sizeof(struct gw_beside));
}

void gw_beside_destroy(struct gw_beside *beside, const struct gw_judge *judge)
{
    for (size_t d = 0; beside && d < judge->model->devices_count; d++)
        free(beside[d].list);
    free(beside);
}
