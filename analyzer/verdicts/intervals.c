#include "analyzer/verdicts/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/radix.h"
#include "analyzer/verdicts/array.h"

/* Operations whose edges are sorted at a time: what is sorted stays in the cache. */
#define PART_OPS ((size_t)1 << 13)

/* What happens at one instant, in the order in which it counts: what ends makes room for what starts. */
enum edge_kind { EDGE_END = 0, EDGE_POINT, EDGE_START };

struct edge {
    uint64_t t_ns;
    uint32_t op;
    uint8_t kind, lane;
};

/* Classes a busy operation can have, in order of precedence, with graphs apart so that opacity shows. */
enum lane {
    LANE_COMPUTE = 0,
    LANE_GRAPH,
    LANE_TRANSFER,
    LANE_COMM,
    LANE_WAIT,
    LANE_H2D,
    LANE_D2H,
    LANE_D2D,
    LANE_P2P,
    LANE_COUNT
};

static const uint8_t lane_class[LANE_COUNT] = {GW_CLASS_COMPUTE,      GW_CLASS_COMPUTE,   GW_CLASS_COMM_TRANSFER,
                                               GW_CLASS_COMM_EXPOSED, GW_CLASS_COMM_WAIT, GW_CLASS_COPY_H2D,
                                               GW_CLASS_COPY_D2H,     GW_CLASS_COPY_D2D,  GW_CLASS_COPY_P2P};

static enum lane op_lane(const struct gw_op *op)
{
    switch ((enum gw_op_kind)op->kind) {
    case GW_OP_H2D:
        return LANE_H2D;
    case GW_OP_D2H:
        return LANE_D2H;
    case GW_OP_D2D:
        return LANE_D2D;
    case GW_OP_P2P:
        return LANE_P2P;
    case GW_OP_COMM:
        return LANE_COMM;
    case GW_OP_GRAPH:
        return LANE_GRAPH;
    case GW_OP_KERNEL:
    case GW_OP_MEMSET:
    case GW_OP_HOST:
    case GW_OP_KIND_COUNT:
        break;
    }
    return LANE_COMPUTE;
}

enum gw_class gw_op_class(const struct gw_op *op)
{
    return (enum gw_class)lane_class[op_lane(op)];
}

/* Of edges at one time. */
static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static bool append(struct gw_segments *segments, struct gw_segment segment)
{
    if (segment.begin_ns >= segment.end_ns)
        return true;
    struct gw_segment *last = segments->list_count ? &segments->list[segments->list_count - 1] : NULL;
    if (last && last->cls == segment.cls && last->opaque == segment.opaque && last->cls != GW_CLASS_COUNT) {
        last->end_ns = segment.end_ns;
        return true;
    }
    if (!GW_ARRAY_RESERVE(segments->list, segments->list_count, &segments->room))
        return false;
    segments->list[segments->list_count++] = segment;
    return true;
}

static uint64_t clamp(uint64_t t, uint64_t low, uint64_t high)
{
    return t < low ? low : t > high ? high : t;
}

/* Edges of operations as they come, near the order of their times; they leave in it. */
struct edges {
    GW_ARRAY(struct edge, list); /* those that have not left */
    size_t room;
    struct gw_sort_item *items; /* scratch of sorting, and the sorted edges */
    struct edge *sorted;
    size_t sorted_room;
};

static bool add_edges(struct edges *edges, uint32_t op, enum lane lane, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < 2; i++) {
        if (!GW_ARRAY_RESERVE(edges->list, edges->list_count, &edges->room))
            return false;
        edges->list[edges->list_count++] =
            i ? (struct edge){end, op, EDGE_END, (uint8_t)lane} : (struct edge){start, op, EDGE_START, (uint8_t)lane};
    }
    return true;
}

/* Adds those of a busy operation that touches [begin_ns, end_ns); false: no memory. */
static bool add_op(struct edges *edges, const struct gw_model *model, uint32_t index, const uint64_t *arrived_ns,
                   uint64_t begin_ns, uint64_t end_ns)
{
    const struct gw_op *op = &model->ops[index];
    if (!gw_op_is_busy(op) || op->end_ns < begin_ns || op->start_ns >= end_ns)
        return true;
    uint64_t start = clamp(op->start_ns, begin_ns, end_ns), end = clamp(op->end_ns, begin_ns, end_ns);
    if (start == end) {
        if (!GW_ARRAY_RESERVE(edges->list, edges->list_count, &edges->room))
            return false;
        edges->list[edges->list_count++] = (struct edge){start, index, EDGE_POINT, 0};
        return true;
    }
    if (!arrived_ns || arrived_ns[index] == GW_TIME_UNKNOWN)
        return add_edges(edges, index, op_lane(op), start, end);
    uint64_t arrived = clamp(arrived_ns[index], start, end);
    return (start == arrived || add_edges(edges, index, LANE_WAIT, start, arrived)) &&
           (arrived == end || add_edges(edges, index, LANE_TRANSFER, arrived, end));
}

static bool is_ripe(const struct edge *edge, const uint64_t *until_ns)
{
    return !until_ns || edge->t_ns < *until_ns;
}

/* Takes out the edges before *until_ns, NULL: all, in order of time, then kind, then operation, into edges->sorted;
 * *ret_count: how many. Returns 0 or -ENOMEM. */
static int take_sorted(struct edges *edges, const uint64_t *until_ns, size_t *ret_count)
{
    size_t count = 0, kept = 0;
    if (edges->sorted_room < edges->list_count) {
        free(edges->items);
        free(edges->sorted);
        edges->sorted_room = edges->list_count;
        edges->items = malloc(edges->sorted_room * sizeof *edges->items);
        edges->sorted = malloc(edges->sorted_room * sizeof *edges->sorted);
    }
    if (edges->sorted_room && (!edges->items || !edges->sorted))
        return -ENOMEM;
    for (size_t i = 0; i < edges->list_count; i++) {
        if (is_ripe(&edges->list[i], until_ns))
            edges->items[count++] = (struct gw_sort_item){.key = edges->list[i].t_ns, .value = (uint32_t)i};
    }
    if (gw_radix_sort(edges->items, count) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        edges->sorted[i] = edges->list[edges->items[i].value];
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && edges->sorted[to].t_ns == edges->sorted[from].t_ns;)
            to++;
        if (to - from > 1)
            qsort(edges->sorted + from, to - from, sizeof *edges->sorted, compare_edges);
    }
    for (size_t i = 0; i < edges->list_count; i++) {
        if (!is_ripe(&edges->list[i], until_ns))
            edges->list[kept++] = edges->list[i];
    }
    edges->list_count = kept;
    *ret_count = count;
    return 0;
}

/* The device's state while edges pass in order. */
struct sweep {
    struct gw_segments segments;
    uint64_t since_ns;
    size_t active[LANE_COUNT];
};

/* From the edge before to `now_ns`, which `edge` ends; NULL: the end. false: no memory. */
static bool pass(struct sweep *sweep, const struct edge *edge, uint64_t now_ns)
{
    size_t lane = 0;
    while (lane < LANE_COUNT && !sweep->active[lane])
        lane++;
    struct gw_segment segment = {sweep->since_ns, now_ns, GW_NONE, GW_CLASS_COUNT, false};
    if (lane < LANE_COUNT) {
        segment.cls = lane_class[lane];
        segment.opaque = lane == LANE_GRAPH;
    } else if (edge) {
        segment.next_op = edge->op;
    }
    if (!append(&sweep->segments, segment))
        return false;
    sweep->since_ns = now_ns;
    if (edge && edge->kind == EDGE_START)
        sweep->active[edge->lane]++;
    else if (edge && edge->kind == EDGE_END)
        sweep->active[edge->lane]--;
    return true;
}

/* By part of the operations: the earliest start of those in later parts. NULL: no memory. */
static uint64_t *find_later_starts(const struct gw_model *model, const uint32_t *ops, size_t count)
{
    size_t parts = count / PART_OPS + 1;
    uint64_t *later = malloc(parts * sizeof *later), earliest = UINT64_MAX;
    for (size_t i = count; i-- > 0 && later;) {
        if (i % PART_OPS == PART_OPS - 1 || i == count - 1)
            later[i / PART_OPS] = earliest;
        const struct gw_op *op = &model->ops[ops[i]];
        if (gw_op_is_busy(op) && op->start_ns < earliest)
            earliest = op->start_ns;
    }
    return later;
}

int gw_segments_create(const struct gw_model *model, const uint32_t *ops, size_t count, const uint64_t *arrived_ns,
                       uint64_t begin_ns, uint64_t end_ns, struct gw_segments *ret_segments)
{
    struct sweep sweep = {.since_ns = begin_ns};
    struct edges edges = {0};
    int ret = -ENOMEM;
    uint64_t *later_ns = find_later_starts(model, ops, count);
    if (!later_ns)
        goto end;
    for (size_t first = 0; first < count; first += PART_OPS) {
        size_t until = first + PART_OPS < count ? first + PART_OPS : count, sorted = 0;
        for (size_t i = first; i < until; i++) {
            if (!add_op(&edges, model, ops[i], arrived_ns, begin_ns, end_ns))
                goto end;
        }
        const uint64_t later = later_ns[first / PART_OPS], ripe_ns = later > begin_ns ? later : begin_ns;
        if ((ret = take_sorted(&edges, until == count ? NULL : &ripe_ns, &sorted)) < 0)
            goto end;
        ret = -ENOMEM;
        for (size_t i = 0; i < sorted; i++) {
            if (!pass(&sweep, &edges.sorted[i], edges.sorted[i].t_ns))
                goto end;
        }
    }
    if (!pass(&sweep, NULL, end_ns))
        goto end;
    *ret_segments = sweep.segments;
    sweep.segments.list = NULL;
    ret = 0;
end:
    free(sweep.segments.list);
    free(edges.list);
    free(edges.items);
    free(edges.sorted);
    free(later_ns);
    return ret;
}

static int compare_intervals(const void *left, const void *right)
{
    const struct gw_interval *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

size_t gw_intervals_merge(struct gw_interval *intervals, size_t count)
{
    if (!count)
        return 0;
    size_t kept = 0, sorted = 1;
    while (sorted < count && intervals[sorted - 1].begin_ns <= intervals[sorted].begin_ns)
        sorted++;
    if (sorted < count)
        qsort(intervals, count, sizeof *intervals, compare_intervals);
    for (size_t i = 1; i < count; i++) {
        if (intervals[i].begin_ns > intervals[kept].end_ns)
            intervals[++kept] = intervals[i];
        else if (intervals[i].end_ns > intervals[kept].end_ns)
            intervals[kept].end_ns = intervals[i].end_ns;
    }
    return kept + 1;
}
