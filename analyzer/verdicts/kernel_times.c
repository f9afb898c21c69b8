#include "analyzer/verdicts/kernel_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/map.h"
#include "analyzer/model/radix.h"
#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/array.h"

/* Kernels of one name and shape are compared from this many of each sort on. */
#define SAMPLES_LEAST 5u
/* Beside something they must be this much longer; alone they must vary less. */
#define SLOWED 1.05
/* Share of a kernel's time that must be overlapped to count. */
#define OVERLAP_SHARE 0.1

struct shape {
    uint32_t name, grid[3], block[3], shared_bytes;
};

/* The kernels of one shape that are compared: `first` … of the list, alone before beside. */
struct group {
    struct shape shape;
    size_t alone, beside, first;
};

struct groups {
    GW_ARRAY(struct group, list);
    size_t room;
    struct gw_map places; /* hash of a shape, how many others have it → group */
};

/* A kernel to compare: its group, and whether it ran beside something. */
struct timed_kernel {
    uint32_t op, group : 31, beside : 1;
};

static uint64_t hash_of(const struct shape *shape)
{
    uint32_t words[sizeof *shape / sizeof(uint32_t)];
    uint64_t hash = 0;
    memcpy(words, shape, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) /* FNV-1a, by words */
        hash = (hash ^ words[i]) * 0x100000001b3ull;
    return hash;
}

/* Index of the shape's group, made when it is new; GW_NONE: no memory. */
static uint32_t group_of(struct groups *groups, const struct shape *shape)
{
    uint64_t hash = hash_of(shape), others = 0;
    const uint32_t *place;
    while ((place = gw_map_find(&groups->places, hash, others)) &&
           memcmp(&groups->list[*place].shape, shape, sizeof *shape) != 0)
        others++;
    if (place)
        return *place;
    if (!GW_ARRAY_RESERVE(groups->list, groups->list_count, &groups->room) ||
        gw_map_insert(&groups->places, hash, others, (uint32_t)groups->list_count) < 0)
        return GW_NONE;
    groups->list[groups->list_count] = (struct group){.shape = *shape};
    return (uint32_t)groups->list_count++;
}

static uint64_t overlap_ns(const struct gw_beside *beside, const struct gw_op *op)
{
    uint64_t overlap = 0;
    size_t low = GW_FIRST_NOT(0, beside->count, middle, beside->list[middle].end_ns <= op->start_ns);
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
                                         struct groups *groups, size_t *ret_count)
{
    const struct gw_model *model = judge->model;
    struct timed_kernel *list = malloc((model->ops_count + 1) * sizeof *list);
    size_t count = 0;
    for (uint32_t i = 0; list && i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (judge->comm->op_step[i] == GW_NONE || op->kind != GW_OP_KERNEL || op->name == GW_NONE ||
            model->calls[op->call].detail_kind != GW_DETAIL_LAUNCH || model->calls[op->call].detail == GW_NONE)
            continue;
        const struct gw_launch *launch = &model->launches[model->calls[op->call].detail];
        uint64_t overlap = overlap_ns(&beside[model->streams[op->stream].device], op);
        if (overlap && (double)overlap < OVERLAP_SHARE * (double)(op->end_ns - op->start_ns))
            continue;
        struct shape shape = {.name = op->name, .shared_bytes = launch->shared_bytes};
        memcpy(shape.grid, launch->grid, sizeof launch->grid);
        memcpy(shape.block, launch->block, sizeof launch->block);
        uint32_t group = group_of(groups, &shape);
        if (group == GW_NONE) {
            free(list);
            return NULL;
        }
        *(overlap ? &groups->list[group].beside : &groups->list[group].alone) += 1;
        list[count++] = (struct timed_kernel){.op = i, .group = group & 0x7fffffffu, .beside = overlap > 0};
    }
    *ret_count = count;
    return list;
}

/* The kernels of the groups that have enough of each sort, group by group, those alone first, each by length; the
 * caller frees. NULL: no memory. */
static struct gw_sort_item *sort_kernels(const struct gw_judge *judge, struct groups *groups,
                                         const struct timed_kernel *list, size_t count)
{
    size_t total = 0;
    struct gw_sort_item *sorted = NULL;
    for (size_t g = 0; g < groups->list_count; g++) {
        struct group *group = &groups->list[g];
        group->first = total;
        if (group->alone < SAMPLES_LEAST || group->beside < SAMPLES_LEAST)
            group->alone = group->beside = 0;
        total += group->alone + group->beside;
    }
    size_t *next = calloc(2 * groups->list_count + 1, sizeof *next);
    sorted = malloc((total + 1) * sizeof *sorted);
    bool whole = next && sorted;
    for (size_t i = 0; i < count && whole; i++) {
        const struct group *group = &groups->list[list[i].group];
        const struct gw_op *op = &judge->model->ops[list[i].op];
        if (!group->alone)
            continue;
        size_t at = group->first + (list[i].beside ? group->alone : 0) + next[2 * list[i].group + list[i].beside]++;
        sorted[at] = (struct gw_sort_item){.key = op->end_ns - op->start_ns, .value = list[i].op};
    }
    for (size_t g = 0; g < groups->list_count && whole; g++) {
        const struct group *group = &groups->list[g];
        whole = gw_radix_sort(sorted + group->first, group->alone) == 0 &&
                gw_radix_sort(sorted + group->first + group->alone, group->beside) == 0;
    }
    free(next);
    if (whole)
        return sorted;
    free(sorted);
    return NULL;
}

int gw_kernel_times_compare(const struct gw_judge *judge, const struct gw_beside *beside, struct gw_comm_plan *plan,
                            struct gw_kernel_times *ret_times)
{
    struct gw_kernel_times times = {0};
    struct groups groups = {0};
    size_t count = 0;
    int ret = -ENOMEM;
    struct gw_sort_item *sorted = NULL;
    struct timed_kernel *list = list_kernels(judge, beside, &groups, &count);
    if (!list || !(sorted = sort_kernels(judge, &groups, list, count)))
        goto end;
    ret = 0;
    for (size_t g = 0; g < groups.list_count && ret == 0; g++) {
        const struct group *group = &groups.list[g];
        const struct gw_sort_item *alone = sorted + group->first, *slowed = alone + group->alone;
        if (!group->alone)
            continue;
        const uint64_t usual_ns = alone[group->alone / 2].key, long_ns = alone[group->alone * 9 / 10].key,
                       middle_ns = slowed[group->beside / 2].key; /* of those alone, and of the others */
        const double usual = (double)usual_ns;
        times.compared += (double)group->beside;
        /* One name and shape can stand for several amounts of work: then the times alone differ as well. Some of those
         * beside are not slowed: communication that waits for a rank takes nothing from them. */
        if ((double)long_ns > SLOWED * usual || (double)middle_ns < SLOWED * usual)
            continue;
        for (size_t i = 0; i < group->beside && ret == 0; i++) {
            if ((double)slowed[i].key < SLOWED * usual)
                continue;
            times.slower_ns += (double)slowed[i].key - usual;
            plan->op_ns[slowed[i].value] = usual_ns;
            ret = gw_comm_plan_mark(plan, slowed[i].value);
        }
    }
    if (ret == 0)
        *ret_times = times;
end:
    free(sorted);
    free(list);
    free(groups.list);
    gw_map_clear(&groups.places);
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
