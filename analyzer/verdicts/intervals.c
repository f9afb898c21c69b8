#include "analyzer/verdicts/intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/radix.h"
#include "analyzer/verdicts/array.h"

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

bool gw_op_is_busy(const struct gw_op *op)
{
    return op->kind != GW_OP_HOST && !(op->flags & GW_OP_UNTIMED) && op->start_ns != GW_TIME_UNKNOWN &&
           op->end_ns != GW_TIME_UNKNOWN && op->end_ns >= op->start_ns;
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

/* Sorts by time, then kind, then operation, into an array the caller frees. NULL: no memory. */
static struct edge *sort_edges(const struct edge *edges, size_t count)
{
    struct gw_sort_item *items = malloc((count + 1) * sizeof *items);
    struct edge *sorted = malloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count && items; i++)
        items[i] = (struct gw_sort_item){.key = edges[i].t_ns, .value = (uint32_t)i};
    if (!items || !sorted || gw_radix_sort(items, count) < 0) {
        free(sorted);
        free(items);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = edges[items[i].value];
    free(items);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && sorted[to].t_ns == sorted[from].t_ns;)
            to++;
        if (to - from > 1)
            qsort(sorted + from, to - from, sizeof *sorted, compare_edges);
    }
    return sorted;
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

static void add_edges(struct edge *edges, size_t *used, uint32_t op, enum lane lane, uint64_t start, uint64_t end)
{
    edges[(*used)++] = (struct edge){start, op, EDGE_START, (uint8_t)lane};
    edges[(*used)++] = (struct edge){end, op, EDGE_END, (uint8_t)lane};
}

/* Edges of the busy operations that touch [begin_ns, end_ns), sorted. */
static struct edge *collect_edges(const struct gw_model *model, const uint32_t *ops, size_t count,
                                  const uint64_t *arrived_ns, uint64_t begin_ns, uint64_t end_ns, size_t *ret_count)
{
    struct edge *edges = calloc(count ? 4 * count : 1, sizeof *edges);
    if (!edges)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gw_op *op = &model->ops[ops[i]];
        if (!gw_op_is_busy(op) || op->end_ns < begin_ns || op->start_ns >= end_ns)
            continue;
        uint64_t start = clamp(op->start_ns, begin_ns, end_ns), end = clamp(op->end_ns, begin_ns, end_ns);
        if (start == end) {
            edges[used++] = (struct edge){start, ops[i], EDGE_POINT, 0};
            continue;
        }
        if (!arrived_ns || arrived_ns[ops[i]] == GW_TIME_UNKNOWN) {
            add_edges(edges, &used, ops[i], op_lane(op), start, end);
            continue;
        }
        uint64_t arrived = clamp(arrived_ns[ops[i]], start, end);
        if (start < arrived)
            add_edges(edges, &used, ops[i], LANE_WAIT, start, arrived);
        if (arrived < end)
            add_edges(edges, &used, ops[i], LANE_TRANSFER, arrived, end);
    }
    struct edge *sorted = sort_edges(edges, used);
    free(edges);
    *ret_count = used;
    return sorted;
}

int gw_segments_create(const struct gw_model *model, const uint32_t *ops, size_t count, const uint64_t *arrived_ns,
                       uint64_t begin_ns, uint64_t end_ns, struct gw_segments *ret_segments)
{
    struct gw_segments segments = {0};
    size_t edge_count = 0, active[LANE_COUNT] = {0};
    int ret = -ENOMEM;
    struct edge *edges = collect_edges(model, ops, count, arrived_ns, begin_ns, end_ns, &edge_count);
    if (!edges)
        goto end;

    uint64_t since = begin_ns;
    for (size_t i = 0; i <= edge_count; i++) {
        const struct edge *edge = i < edge_count ? &edges[i] : NULL;
        uint64_t now = edge ? edge->t_ns : end_ns;
        size_t lane = 0;
        while (lane < LANE_COUNT && !active[lane])
            lane++;
        struct gw_segment segment = {since, now, GW_NONE, GW_CLASS_COUNT, false};
        if (lane < LANE_COUNT) {
            segment.cls = lane_class[lane];
            segment.opaque = lane == LANE_GRAPH;
        } else if (edge) {
            segment.next_op = edge->op;
        }
        if (!append(&segments, segment))
            goto end;
        since = now;
        if (edge && edge->kind == EDGE_START)
            active[edge->lane]++;
        else if (edge && edge->kind == EDGE_END)
            active[edge->lane]--;
    }
    *ret_segments = segments;
    segments.list = NULL;
    ret = 0;
end:
    free(segments.list);
    free(edges);
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
    qsort(intervals, count, sizeof *intervals, compare_intervals);
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) {
        if (intervals[i].begin_ns > intervals[kept].end_ns)
            intervals[++kept] = intervals[i];
        else if (intervals[i].end_ns > intervals[kept].end_ns)
            intervals[kept].end_ns = intervals[i].end_ns;
    }
    return kept + 1;
}
