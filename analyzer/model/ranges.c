#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"

/* What the program said through NVTX, to be put in order of time over all streams. */
struct said {
    uint64_t time_ns;
    const struct gw_record_stream *stream;
    uint64_t words[GW_RECORD_WORDS_MAX];
    size_t place; /* as read: events of one time and stream keep their order */
    uint8_t type;
};

enum item_state { ITEM_OPEN, ITEM_TAKEN };

struct item {
    struct gw_range range;
    uint32_t below; /* the one it is nested in, GW_NONE: none */
    uint8_t level;
    uint8_t state;
};

struct ranges {
    struct gw_builder *builder;
    size_t input;
    struct item *items;
    size_t items_count;
    struct gw_map tops;       /* thread, domain → innermost item that is open */
    struct gw_map started;    /* process, number → item */
    struct gw_map domains;    /* process, domain → name */
    struct gw_map strings;    /* process, registered string → name */
    struct gw_map categories; /* CATEGORY_PLACE, the program's number → name */
};

#define CATEGORY_PLACE(process, domain) ((uint64_t)(process) << 32 | (domain))

static int by_thread_and_begin(const void *left, const void *right)
{
    const struct gw_range *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

void gw_builder_sort_ranges(struct gw_model *model)
{
    if (model->ranges_count) {
        qsort(model->ranges, model->ranges_count, sizeof(*model->ranges), by_thread_and_begin);
    }
}

static int collect(const struct gw_builder *builder, size_t input, struct said **ret_said, size_t *ret_count,
                   uint64_t *ret_last_ns)
{
    struct said *said = NULL;
    size_t count = 0;
    uint64_t last_ns = 0;
    for (size_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        const struct gw_record_stream *stream = source->stream;
        if (source->input != input) {
            continue;
        }
        last_ns = stream->last_ns > last_ns ? stream->last_ns : last_ns;
        bool any = stream->counts[GW_RECORD_nvtx] || stream->counts[GW_RECORD_nvtx_name];
        for (size_t i = 0; i < source->others_count && any; i++) {
            struct gw_record record;
            gw_builder_record(builder, source->others[i], &record);
            if (record.type != GW_RECORD_nvtx && record.type != GW_RECORD_nvtx_name) {
                continue;
            }
            if (GW_GROW(said, count)) {
                free(said);
                return -ENOMEM;
            }
            said[count] =
                (struct said){.time_ns = record.time_ns, .stream = stream, .place = count, .type = record.type};
            memcpy(said[count++].words, record.words, sizeof(said->words));
        }
    }
    *ret_said = said;
    *ret_count = count;
    *ret_last_ns = last_ns;
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct said *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static int set(struct gw_map *map, uint64_t a, uint64_t b, uint32_t value)
{
    uint32_t *known = gw_map_find(map, a, b);
    if (!known) {
        return gw_map_insert(map, a, b, value);
    }
    *known = value;
    return 0;
}

static uint32_t get(const struct gw_map *map, uint64_t a, uint64_t b)
{
    const uint32_t *known = gw_map_find(map, a, b);
    return known ? *known : GW_NONE;
}

static int name_thread(struct ranges *self, uint32_t pid, uint32_t tid, const char *name)
{
    uint32_t thread = gw_builder_thread(self->builder, self->input, pid, tid);
    char *copy = strdup(name);
    if (thread == GW_NONE || !copy) {
        free(copy);
        return -ENOMEM;
    }
    free(self->builder->model->threads[thread].name);
    self->builder->model->threads[thread].name = copy;
    return 0;
}

/* Of streams that have the handle, the one that was made last: a handle may come again. */
static void name_stream(struct gw_model *model, uint32_t process, uint64_t handle, uint32_t name)
{
    for (size_t i = model->streams_count; i-- > 0;) {
        struct gw_stream *stream = &model->streams[i];
        if (stream->handle == handle && model->devices[stream->device].process == process) {
            stream->label = name + 1;
            return;
        }
    }
}

static void name_device(struct gw_model *model, uint32_t process, uint64_t number, uint32_t name)
{
    for (size_t i = 0; i < model->devices_count; i++) {
        struct gw_device *device = &model->devices[i];
        if (device->process == process && device->number == number) {
            device->label = name + 1;
        }
    }
}

static int take_name(struct ranges *self, const struct said *said)
{
    uint64_t where = said->words[GW_ARG_nvtx_name_where], id = said->words[GW_ARG_nvtx_name_id];
    const char *text = said->stream->texts + said->words[GW_ARG_nvtx_name_text];
    uint64_t what = said->words[GW_ARG_nvtx_name_what];
    uint8_t kind = GW_NVTX_WHAT_KIND(what);
    uint32_t process = gw_builder_process(self->builder, self->input, GW_CALLER_PID(where)), name;
    if (process == GW_NONE) {
        return -ENOMEM;
    }
    if (kind == GW_NVTX_NAME_THREAD) {
        return name_thread(self, GW_CALLER_PID(where), (uint32_t)id, text);
    }
    int status = gw_builder_intern(self->builder, text, &name);
    if (status) {
        return status;
    }
    switch ((enum gw_nvtx_name)kind) {
    case GW_NVTX_NAME_DOMAIN:
        return set(&self->domains, process, id, name);
    case GW_NVTX_NAME_STRING:
        return set(&self->strings, process, id, name);
    case GW_NVTX_NAME_CATEGORY:
        return set(&self->categories, CATEGORY_PLACE(process, GW_NVTX_WHAT_DOMAIN(what)), id, name);
    case GW_NVTX_NAME_DEVICE:
        name_device(self->builder->model, process, id, name);
        return 0;
    case GW_NVTX_NAME_STREAM:
        name_stream(self->builder->model, process, id, name);
        return 0;
    default:
        return 0;
    }
}

static int find_name(struct ranges *self, uint32_t process, const struct said *said, uint32_t *ret_name)
{
    const char *text = said->stream->texts + said->words[GW_ARG_nvtx_text];
    uint32_t string = GW_NVTX_ID_STRING(said->words[GW_ARG_nvtx_id]), known = get(&self->strings, process, string);
    char number[48];
    if (string && known != GW_NONE) {
        *ret_name = known;
        return 0;
    }
    if (string) { /* its registration was lost */
        snprintf(number, sizeof(number), "registered string %u", string);
        text = number;
    }
    return gw_builder_intern(self->builder, *text ? text : "(unnamed)", ret_name);
}

static int add(struct gw_model *model, const struct gw_range *range)
{
    if (GW_GROW(model->ranges, model->ranges_count)) {
        return -ENOMEM;
    }
    model->ranges[model->ranges_count++] = *range;
    return 0;
}

static int close_item(struct ranges *self, uint32_t index, uint64_t end_ns)
{
    struct item *item = &self->items[index];
    item->state = ITEM_TAKEN;
    item->range.end_ns = end_ns;
    return add(self->builder->model, &item->range);
}

/* The innermost open range of fewer than `levels` ranges round it. What lies above ended without our seeing it: it is
 * let go. */
static uint32_t let_go(struct ranges *self, uint32_t top, unsigned levels)
{
    while (top != GW_NONE && self->items[top].level >= levels) {
        self->items[top].state = ITEM_TAKEN;
        top = self->items[top].below;
    }
    return top;
}

static int open_item(struct ranges *self, const struct item *item, uint32_t *ret_index)
{
    if (self->items_count >= GW_NONE) {
        return -EFBIG;
    }
    if (GW_GROW(self->items, self->items_count)) {
        return -ENOMEM;
    }
    *ret_index = (uint32_t)self->items_count;
    self->items[self->items_count++] = *item;
    return 0;
}

static int begin_or_mark(struct ranges *self, const struct said *said, uint32_t thread, uint32_t process)
{
    uint64_t what = said->words[GW_ARG_nvtx_what], tag = said->words[GW_ARG_nvtx_tag];
    uint32_t domain = GW_NVTX_WHAT_DOMAIN(what), index = GW_NONE;
    uint8_t kind = GW_NVTX_WHAT_KIND(what), level = GW_NVTX_WHAT_LEVEL(what);
    struct item item = {.range = {.begin_ns = said->time_ns,
                                  .end_ns = said->time_ns,
                                  .thread = thread,
                                  .domain = domain ? get(&self->domains, process, domain) : GW_NONE,
                                  .category = GW_NVTX_TAG_CATEGORY(tag),
                                  .color = GW_NVTX_TAG_COLOR(tag),
                                  .payload = said->words[GW_ARG_nvtx_value],
                                  .payload_type = GW_NVTX_WHAT_PAYLOAD(what),
                                  .kind = kind == GW_NVTX_MARK    ? GW_RANGE_MARK
                                          : kind == GW_NVTX_START ? GW_RANGE_FREE
                                                                  : GW_RANGE_NESTED},
                        .below = GW_NONE,
                        .level = level};
    uint32_t category =
        item.range.category ? get(&self->categories, CATEGORY_PLACE(process, domain), item.range.category) : GW_NONE;
    item.range.category_name = category == GW_NONE ? 0 : category + 1;
    int status = find_name(self, process, said, &item.range.name);
    if (status || kind == GW_NVTX_MARK) {
        return status ? status : add(self->builder->model, &item.range);
    }
    if (kind == GW_NVTX_PUSH) {
        item.below = get(&self->tops, thread, domain);
        item.below = level != GW_NVTX_LEVEL_UNKNOWN ? let_go(self, item.below, level) : item.below;
    }
    status = open_item(self, &item, &index);
    if (status) {
        return status;
    }
    return kind == GW_NVTX_PUSH ? set(&self->tops, thread, domain, index)
                                : set(&self->started, process, GW_NVTX_ID_RANGE(said->words[GW_ARG_nvtx_id]), index);
}

static int pop(struct ranges *self, const struct said *said, uint32_t thread)
{
    uint64_t what = said->words[GW_ARG_nvtx_what];
    uint32_t domain = GW_NVTX_WHAT_DOMAIN(what), *top = gw_map_find(&self->tops, thread, domain);
    uint8_t level = GW_NVTX_WHAT_LEVEL(what);
    if (!top) {
        return 0;
    }
    *top = level != GW_NVTX_LEVEL_UNKNOWN ? let_go(self, *top, level + 1u) : *top;
    /* A range that was pushed unseen has no begin. */
    if (*top == GW_NONE || (level != GW_NVTX_LEVEL_UNKNOWN && self->items[*top].level != level)) {
        return 0;
    }
    uint32_t index = *top;
    *top = self->items[index].below;
    return close_item(self, index, said->time_ns);
}

static int take(struct ranges *self, const struct said *said)
{
    if (said->type == GW_RECORD_nvtx_name) {
        return take_name(self, said);
    }
    uint64_t where = said->words[GW_ARG_nvtx_where];
    uint8_t kind = GW_NVTX_WHAT_KIND(said->words[GW_ARG_nvtx_what]);
    uint32_t thread = gw_builder_thread(self->builder, self->input, GW_CALLER_PID(where), GW_CALLER_TID(where));
    if (thread == GW_NONE) {
        return -ENOMEM;
    }
    uint32_t process = self->builder->model->threads[thread].process;
    if (kind == GW_NVTX_PUSH || kind == GW_NVTX_START || kind == GW_NVTX_MARK) {
        return begin_or_mark(self, said, thread, process);
    }
    if (kind == GW_NVTX_POP) {
        return pop(self, said, thread);
    }
    uint32_t index = get(&self->started, process, GW_NVTX_ID_RANGE(said->words[GW_ARG_nvtx_id]));
    return index != GW_NONE && self->items[index].state == ITEM_OPEN ? close_item(self, index, said->time_ns) : 0;
}

/* Ranges of one recording; those that were open at its end, end with it. */
static int build_input(struct ranges *self)
{
    struct said *said = NULL;
    size_t count = 0, before = self->items_count;
    uint64_t last_ns = 0;
    int status = collect(self->builder, self->input, &said, &count, &last_ns);
    if (!status && count) {
        qsort(said, count, sizeof(*said), by_time);
    }
    for (size_t i = 0; i < count && !status; i++) {
        status = take(self, &said[i]);
    }
    for (size_t i = before; i < self->items_count && !status; i++) {
        if (self->items[i].state == ITEM_OPEN) {
            status = close_item(self, (uint32_t)i, last_ns);
        }
    }
    free(said);
    return status;
}

int gw_build_ranges(struct gw_builder *builder)
{
    struct ranges self = {.builder = builder};
    int status = 0;
    for (; self.input < builder->input_count && !status; self.input++) {
        status = build_input(&self);
    }
    gw_builder_sort_ranges(builder->model);
    free(self.items);
    gw_map_clear(&self.tops);
    gw_map_clear(&self.started);
    gw_map_clear(&self.domains);
    gw_map_clear(&self.strings);
    gw_map_clear(&self.categories);
    return status;
}
