#include "analyzer/model/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"

/* Rates are taken of about this many operations: more would cost time and change nothing. */
#define RATES_OF 1000000u

static const struct {
    const char *name, *words;
} groups[GW_COPY_GROUP_COUNT] = {
    [GW_COPIES_H2D_PAGEABLE] = {"h2d-pageable", "to the GPU, pageable"},
    [GW_COPIES_H2D_PINNED] = {"h2d-pinned", "to the GPU, page-locked"},
    [GW_COPIES_H2D_UNKNOWN] = {"h2d-unknown", "to the GPU, unknown memory"},
    [GW_COPIES_D2H_PAGEABLE] = {"d2h-pageable", "to the host, pageable"},
    [GW_COPIES_D2H_PINNED] = {"d2h-pinned", "to the host, page-locked"},
    [GW_COPIES_D2H_UNKNOWN] = {"d2h-unknown", "to the host, unknown memory"},
    [GW_COPIES_D2D] = {"d2d", "within a GPU"},
    [GW_COPIES_P2P] = {"p2p", "between GPUs"},
    [GW_COPIES_MEMSET] = {"memset", "memset"},
};

const char *gw_copy_group_name(enum gw_copy_group group)
{
    return groups[group].name;
}

const char *gw_copy_group_words(enum gw_copy_group group)
{
    return groups[group].words;
}

const char *gw_rate_source_name(enum gw_rate_source source)
{
    static const char *const names[] = {
        [GW_RATE_NONE] = "none",
        [GW_RATE_USUAL] = "usual page-locked",
        [GW_RATE_BEST] = "best of the run",
        [GW_RATE_ASSUMED] = "assumed",
    };
    return names[source];
}

static const struct gw_copy *copy_of(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_call *call = op->call < model->calls_count ? &model->calls[op->call] : NULL;
    return call && call->detail_kind == GW_DETAIL_COPY && call->detail < model->copies_count
               ? &model->copies[call->detail]
               : NULL;
}

/* base: the group of pageable memory, which those of page-locked and of unknown memory follow. */
static enum gw_copy_group group_of_host(const struct gw_copy *copy, enum gw_copy_group base)
{
    const uint8_t kind = !copy ? GW_HOST_UNKNOWN : base == GW_COPIES_H2D_PAGEABLE ? copy->src_kind : copy->dst_kind;
    switch ((enum gw_host_kind)kind) {
    case GW_HOST_PAGEABLE:
        return base;
    case GW_HOST_PINNED:
    case GW_HOST_MANAGED:
        return base + 1;
    case GW_HOST_NOT:
    case GW_HOST_UNKNOWN:
        break;
    }
    return base + 2;
}

enum gw_copy_group gw_copy_group(const struct gw_model *model, const struct gw_op *op)
{
    switch ((enum gw_op_kind)op->kind) {
    case GW_OP_H2D:
        return group_of_host(copy_of(model, op), GW_COPIES_H2D_PAGEABLE);
    case GW_OP_D2H:
        return group_of_host(copy_of(model, op), GW_COPIES_D2H_PAGEABLE);
    case GW_OP_D2D:
        return GW_COPIES_D2D;
    case GW_OP_P2P:
        return GW_COPIES_P2P;
    case GW_OP_MEMSET:
        return GW_COPIES_MEMSET;
    default:
        return GW_COPY_GROUP_COUNT;
    }
}

static bool is_timed(const struct gw_op *op)
{
    return !(op->flags & GW_OP_UNTIMED) && op->end_ns > op->start_ns;
}

double gw_copy_sum_gbps(const struct gw_copy_sum *sum)
{
    return sum->ns ? (double)sum->timed_bytes / (double)sum->ns : 0;
}

/* ---- rates ---- */

/* The list of rates a group's copies go into; -1: none. Managed memory moves when it is touched: its rates are no
 * link's. */
static int rated_as(const struct gw_model *model, const struct gw_op *op)
{
    if (op->size_bytes < GW_COPY_RATED_BYTES || !is_timed(op))
        return -1;
    const enum gw_copy_group group = gw_copy_group(model, op);
    const struct gw_copy *copy = copy_of(model, op);
    switch (group) {
    case GW_COPIES_H2D_PINNED:
        return copy->src_kind == GW_HOST_PINNED ? (int)group : -1;
    case GW_COPIES_D2H_PINNED:
        return copy->dst_kind == GW_HOST_PINNED ? (int)group : -1;
    case GW_COPIES_D2D:
    case GW_COPIES_P2P:
        return (int)group;
    default:
        return -1;
    }
}

/* Bytes a microsecond, as whole numbers. */
static uint64_t rate_of(const struct gw_op *op)
{
    return (uint64_t)op->size_bytes * 1000 / (op->end_ns - op->start_ns);
}

/* Goes through the operations that rates are taken of; lists NULL: counts them only. */
static void take_rates(const struct gw_model *model, size_t counts[GW_COPY_GROUP_COUNT], uint64_t *const *lists)
{
    uint32_t random = 1;
    memset(counts, 0, GW_COPY_GROUP_COUNT * sizeof *counts);
    for (size_t i = 0; i < model->ops_count; i = gw_next_sample(i, model->ops_count, RATES_OF, &random)) {
        const int group = rated_as(model, &model->ops[i]);
        if (group < 0)
            continue;
        if (lists)
            lists[group][counts[group]] = rate_of(&model->ops[i]);
        counts[group]++;
    }
}

int gw_copy_rates(const struct gw_model *model, struct gw_copy_rate ret_rates[GW_COPY_GROUP_COUNT])
{
    size_t counts[GW_COPY_GROUP_COUNT], all = 0;
    uint64_t *lists[GW_COPY_GROUP_COUNT];
    take_rates(model, counts, NULL);
    for (int g = 0; g < GW_COPY_GROUP_COUNT; g++)
        all += counts[g];
    uint64_t *values = malloc((all + 1) * sizeof *values);
    if (!values)
        return -ENOMEM;
    lists[0] = values;
    for (int g = 1; g < GW_COPY_GROUP_COUNT; g++)
        lists[g] = lists[g - 1] + counts[g - 1];
    take_rates(model, counts, lists);
    for (int g = 0; g < GW_COPY_GROUP_COUNT; g++) {
        struct gw_copy_rate rate = {0, GW_RATE_NONE};
        const bool to_gpu = g <= GW_COPIES_H2D_UNKNOWN;
        const int pinned = to_gpu ? GW_COPIES_H2D_PINNED : GW_COPIES_D2H_PINNED;
        if (g <= GW_COPIES_D2H_UNKNOWN)
            rate = counts[pinned]
                       ? (struct gw_copy_rate){(double)gw_upper_median_u64(lists[pinned], counts[pinned]) / 1e3,
                                               GW_RATE_USUAL}
                       : (struct gw_copy_rate){GW_PINNED_ASSUMED_GBPS, GW_RATE_ASSUMED};
        else if (counts[g])
            rate = (struct gw_copy_rate){
                (double)gw_at_place_u64(lists[g], counts[g], counts[g] - 1 - counts[g] / 10) / 1e3, GW_RATE_BEST};
        ret_rates[g] = rate;
    }
    free(values);
    return 0;
}

/* ---- exposed time ---- */

struct span {
    uint64_t begin_ns, end_ns;
    uint32_t device;
};

struct spans {
    struct span *list;
    size_t count, room;
};

static int by_begin(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int add_span(struct spans *spans, struct span span)
{
    if (spans->count == spans->room) {
        const size_t room = spans->room ? 2 * spans->room : 256;
        struct span *grown = reallocarray(spans->list, room, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        spans->list = grown;
        spans->room = room;
    }
    spans->list[spans->count++] = span;
    return 0;
}

/* Sorts and merges those of a device that touch. */
static void merge(struct spans *spans)
{
    size_t kept = 0;
    if (!spans->count)
        return;
    qsort(spans->list, spans->count, sizeof *spans->list, by_begin);
    for (size_t i = 1; i < spans->count; i++) {
        struct span *last = &spans->list[kept];
        const struct span *next = &spans->list[i];
        if (next->device != last->device || next->begin_ns > last->end_ns)
            spans->list[++kept] = *next;
        else if (next->end_ns > last->end_ns)
            last->end_ns = next->end_ns;
    }
    spans->count = kept + 1;
}

/* The first of the merged spans that ends after the begin of this one, on its device or a later one. */
static size_t first_after(const struct spans *spans, const struct span *span)
{
    const struct span *list = spans->list;
    return GW_FIRST_NOT(0, spans->count, s,
                        list[s].device < span->device ||
                            (list[s].device == span->device && list[s].end_ns <= span->begin_ns));
}

static struct span span_of(const struct gw_model *model, const struct gw_op *op)
{
    return (struct span){op->start_ns, op->end_ns, model->streams[op->stream].device};
}

static bool is_copy(const struct gw_op *op)
{
    return op->kind == GW_OP_H2D || op->kind == GW_OP_D2H || op->kind == GW_OP_D2D || op->kind == GW_OP_P2P;
}

/* What of the time of copies kernels, memsets and graph replays of the same device run in: there are few copies and
 * many kernels, so that only kernels beside copies are put in order. Returns 0 or -ENOMEM. */
static int find_hiding(const struct gw_model *model, struct spans *ret_hiding)
{
    struct spans copies = {0}, hiding = {0};
    int ret = 0;
    for (size_t i = 0; i < model->ops_count && ret == 0; i++) {
        const struct gw_op *op = &model->ops[i];
        if (is_copy(op) && is_timed(op) && op->stream != GW_NONE)
            ret = add_span(&copies, span_of(model, op));
    }
    merge(&copies);
    for (size_t i = 0; i < model->ops_count && ret == 0 && copies.count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (is_copy(op) || op->kind == GW_OP_HOST || !is_timed(op) || op->stream == GW_NONE)
            continue;
        const struct span span = span_of(model, op);
        for (size_t c = first_after(&copies, &span); c < copies.count && ret == 0; c++) {
            const struct span *copy = &copies.list[c];
            if (copy->device != span.device || copy->begin_ns >= span.end_ns)
                break;
            const uint64_t begin_ns = copy->begin_ns > span.begin_ns ? copy->begin_ns : span.begin_ns;
            const uint64_t end_ns = copy->end_ns < span.end_ns ? copy->end_ns : span.end_ns;
            ret = add_span(&hiding, (struct span){begin_ns, end_ns, span.device});
        }
    }
    merge(&hiding);
    free(copies.list);
    *ret_hiding = hiding;
    return ret;
}

static uint64_t exposed_ns(const struct spans *hiding, const struct span *span)
{
    uint64_t hidden_ns = 0;
    for (size_t i = first_after(hiding, span); i < hiding->count; i++) {
        const struct span *at = &hiding->list[i];
        if (at->device != span->device || at->begin_ns >= span->end_ns)
            break;
        const uint64_t begin_ns = at->begin_ns > span->begin_ns ? at->begin_ns : span->begin_ns;
        const uint64_t end_ns = at->end_ns < span->end_ns ? at->end_ns : span->end_ns;
        hidden_ns += end_ns - begin_ns;
    }
    return span->end_ns - span->begin_ns - hidden_ns;
}

/* ---- sums ---- */

/* Lists the devices that do anything, and the analysed steps of their processes. Returns by device its place, or NULL
 * without memory. */
static uint32_t *list_devices(const struct gw_model *model, struct gw_copies *copies)
{
    uint32_t *place_of = malloc((model->devices_count + 1) * sizeof *place_of);
    bool *used = calloc(model->devices_count + 1, sizeof *used);
    copies->devices = calloc(model->devices_count + 1, sizeof *copies->devices);
    if (!place_of || !used || !copies->devices) {
        free(place_of);
        free(used);
        return NULL;
    }
    for (size_t s = 0; s < model->steps_count; s++)
        copies->by_step |= !model->steps[s].warmup;
    for (size_t s = 0; s < model->streams_count; s++) {
        if (model->streams[s].op_count)
            used[model->streams[s].device] = true;
    }
    for (uint32_t d = 0; d < model->devices_count; d++) {
        uint32_t steps = 0;
        for (size_t s = 0; s < model->steps_count; s++)
            steps += !model->steps[s].warmup && model->steps[s].process == model->devices[d].process;
        place_of[d] = GW_NONE;
        if (!used[d] || (copies->by_step && !steps)) /* a process without steps has none to speak of */
            continue;
        place_of[d] = (uint32_t)copies->devices_count;
        copies->devices[copies->devices_count++] = (struct gw_device_copies){.device = d, .steps = steps};
    }
    free(used);
    return place_of;
}

/* By operation, whether it counts: all without steps. NULL without memory. */
static bool *mark_analysed(const struct gw_model *model, bool by_step)
{
    bool *analysed = calloc(model->ops_count + 1, sizeof *analysed);
    if (analysed && !by_step)
        memset(analysed, true, model->ops_count);
    for (size_t s = 0; analysed && by_step && s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        for (uint32_t i = 0; i < step->op_count && !step->warmup; i++)
            analysed[model->process_ops[step->first_op + i]] = true;
    }
    return analysed;
}

static struct gw_copy_sum *sum_of(const struct gw_model *model, struct gw_copies *copies, const uint32_t *place_of,
                                  const struct gw_op *op)
{
    const enum gw_copy_group group = gw_copy_group(model, op);
    const uint32_t place =
        group == GW_COPY_GROUP_COUNT || op->stream == GW_NONE ? GW_NONE : place_of[model->streams[op->stream].device];
    return place == GW_NONE ? NULL : &copies->devices[place].sums[group];
}

static void add(const struct gw_model *model, const struct gw_op *op, const struct spans *hiding,
                struct gw_copy_sum *sum)
{
    const struct gw_copy *copy = copy_of(model, op);
    sum->count++;
    sum->bytes += op->size_bytes;
    if (is_timed(op)) {
        const struct span span = span_of(model, op);
        sum->timed++;
        sum->timed_bytes += op->size_bytes;
        sum->ns += op->end_ns - op->start_ns;
        sum->exposed_ns += is_copy(op) ? exposed_ns(hiding, &span) : 0;
    }
    if ((op->kind == GW_OP_H2D || op->kind == GW_OP_D2H) && (!copy || !copy->hash)) {
        sum->unhashed++;
        sum->unhashed_bytes += op->size_bytes;
    }
}

int gw_copies_init(struct gw_copies *ret_copies, const struct gw_model *model)
{
    struct gw_copies copies = {0};
    struct spans hiding = {0};
    uint32_t *place_of = list_devices(model, &copies);
    bool *analysed = mark_analysed(model, copies.by_step);
    int ret = place_of && analysed ? gw_copy_rates(model, copies.rates) : -ENOMEM;
    if (ret == 0)
        ret = find_hiding(model, &hiding);
    if (ret == 0)
        ret = gw_copy_repeats(model, &copies.repeats, &copies.repeats_count);
    for (size_t i = 0; i < model->ops_count && ret == 0; i++) {
        struct gw_copy_sum *sum = analysed[i] ? sum_of(model, &copies, place_of, &model->ops[i]) : NULL;
        if (sum)
            add(model, &model->ops[i], &hiding, sum);
    }
    for (size_t i = 0; i < copies.repeats_count; i++) {
        const struct gw_repeat *repeat = &copies.repeats[i];
        const struct gw_op *op = &model->ops[repeat->second];
        struct gw_copy_sum *sum = analysed[repeat->second] ? sum_of(model, &copies, place_of, op) : NULL;
        if (!sum)
            continue;
        *(repeat->kind == GW_REPEAT_SAME ? &sum->same : &sum->back) += 1;
        *(repeat->kind == GW_REPEAT_SAME ? &sum->same_bytes : &sum->back_bytes) += op->size_bytes;
    }
    free(hiding.list);
    free(place_of);
    free(analysed);
    *ret_copies = copies;
    return ret;
}

void gw_copies_release(struct gw_copies *copies)
{
    free(copies->devices);
    free(copies->repeats);
}
