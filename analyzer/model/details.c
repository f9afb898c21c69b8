#include "analyzer/model/details.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* A record whose arguments are taken, and what the handles in it mean. */
struct arguments {
    struct gw_builder *builder;
    const struct gw_record *record;
    uint32_t process, device; /* device: ordinal of that which carried the call's operation out, or GW_NONE */
};

static uint32_t stream_of(const struct arguments *from, uint64_t handle)
{
    return gw_builder_stream(from->builder, from->process, handle, from->device, from->record->time_ns);
}

static void take_launch(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words;
    const uint64_t grid = words[GW_ARG_launch_grid], block = words[GW_ARG_launch_block];
    *(struct gw_launch *)detail = (struct gw_launch){
        .name = gw_builder_name(from->builder, from->process, words[GW_ARG_launch_func], from->record->time_ns),
        .stream = stream_of(from, words[GW_ARG_launch_stream]),
        .grid = {(uint32_t)grid, (uint32_t)(grid >> 32) & 0xffffu, (uint32_t)(grid >> 48)},
        .block = {(uint32_t)block & 0xfffu, (uint32_t)(block >> 12) & 0xfffu, (uint32_t)(block >> 24) & 0xffu},
        .shared_bytes = (uint32_t)(block >> 32),
    };
}

static void take_copy(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words;
    const uint32_t how = (uint32_t)words[GW_ARG_copy_how];
    *(struct gw_copy *)detail = (struct gw_copy){
        .dst = words[GW_ARG_copy_dst],
        .src = words[GW_ARG_copy_src],
        .size_bytes = words[GW_ARG_copy_bytes],
        .hash = words[GW_ARG_copy_hash],
        .stream = stream_of(from, words[GW_ARG_copy_stream]),
        .direction = (uint8_t)how,
        .src_kind = (uint8_t)(how >> 8),
        .dst_kind = (uint8_t)(how >> 16),
        .blocking = how >> 24 & 1,
    };
}

static void take_memset(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words;
    *(struct gw_memset *)detail = (struct gw_memset){.dst = words[GW_ARG_memset_dst],
                                                     .size_bytes = words[GW_ARG_memset_bytes],
                                                     .stream = stream_of(from, words[GW_ARG_memset_stream])};
}

static void take_memory(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words;
    const uint32_t kind = (uint32_t)words[GW_ARG_memory_kind];
    const bool ordered = (kind & ~(uint32_t)GW_MEMORY_FREE) == GW_MEMORY_ASYNC;
    *(struct gw_memory *)detail =
        (struct gw_memory){.ptr = words[GW_ARG_memory_ptr],
                           .size_bytes = words[GW_ARG_memory_bytes],
                           .stream = ordered ? stream_of(from, words[GW_ARG_memory_stream]) : GW_NONE,
                           .kind = kind};
}

static void take_order(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words;
    const uint16_t what = (uint16_t)words[GW_ARG_order_what];
    const bool streamless = what == GW_ORDER_EVENT_CREATE || what == GW_ORDER_EVENT_DESTROY ||
                            what == GW_ORDER_EVENT_SYNC || what == GW_ORDER_EVENT_QUERY || what == GW_ORDER_DEVICE_SYNC;
    *(struct gw_order *)detail =
        (struct gw_order){.event = words[GW_ARG_order_event],
                          .stream = streamless ? GW_NONE : stream_of(from, words[GW_ARG_order_stream]),
                          .what = what,
                          .value = (uint16_t)words[GW_ARG_order_value]};
}

static void take_module(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words;
    *(struct gw_module *)detail = (struct gw_module){.handle = words[GW_ARG_module_handle],
                                                     .size_bytes = words[GW_ARG_module_bytes] & GW_IMAGE_BYTES_MASK,
                                                     .image = GW_IMAGE_KIND(words[GW_ARG_module_bytes]),
                                                     .hash = words[GW_ARG_module_hash]};
}

static void take_graph(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words;
    const bool has_stream = words[GW_ARG_graph_stream] || (GW_SITE_FLAGS(from->record->site) & GW_SITE_OP_INDEX);
    *(struct gw_graph *)detail =
        (struct gw_graph){.graph = words[GW_ARG_graph_graph],
                          .exec = words[GW_ARG_graph_exec],
                          .stream = has_stream ? stream_of(from, words[GW_ARG_graph_stream]) : GW_NONE,
                          .nodes = (uint32_t)words[GW_ARG_graph_nodes]};
}

static void take_collective(const struct arguments *from, void *detail)
{
    const uint64_t *words = from->record->words, what = words[GW_ARG_comm_what];
    *(struct gw_collective *)detail = (struct gw_collective){
        .size_bytes = words[GW_ARG_comm_count], /* elements, until collectives.c knows the communicator */
        .arrival_wait_ns = GW_TIME_UNKNOWN,
        .transfer_ns = GW_TIME_UNKNOWN,
        .communicator =
            gw_builder_communicator(from->builder, from->process, words[GW_ARG_comm_comm], from->record->time_ns),
        .op = GW_NONE,
        .stream = stream_of(from, words[GW_ARG_comm_stream]),
        .match = GW_NONE,
        .rank = (uint32_t)(what >> 32),
        .kind = (uint8_t)what,
        .type = (uint8_t)(what >> 8),
        .reduction = (uint16_t)(what >> 16),
        .send = words[GW_ARG_comm_send],
        .recv = words[GW_ARG_comm_recv],
    };
}

/* The kinds of details, by the type of the record they are in. */
static const struct sort {
    void (*take)(const struct arguments *from, void *detail); /* NULL: calls of this type have none */
    uint8_t kind;                                             /* enum gw_detail_kind */
    size_t array, count;                                      /* members of the model */
    size_t bytes;                                             /* of one */
    size_t told_bytes; /* of these, what is not padding; 0: none is shared, each is one of its kind */
} sorts[GW_RECORD_COUNT] = {
#define GW_DETAIL(record, function, detail_kind, name, told)                                                           \
    [GW_RECORD_##record] = {function,                                                                                  \
                            detail_kind,                                                                               \
                            offsetof(struct gw_model, name),                                                           \
                            offsetof(struct gw_model, name##_count),                                                   \
                            sizeof(*((struct gw_model *)NULL)->name),                                                  \
                            told}
    GW_DETAIL(launch, take_launch, GW_DETAIL_LAUNCH, launches, sizeof(struct gw_launch)),
    GW_DETAIL(copy, take_copy, GW_DETAIL_COPY, copies, sizeof(struct gw_copy)),
    GW_DETAIL(memset, take_memset, GW_DETAIL_MEMSET, memsets, offsetof(struct gw_memset, stream) + sizeof(uint32_t)),
    GW_DETAIL(memory, take_memory, GW_DETAIL_MEMORY, memories, sizeof(struct gw_memory)),
    GW_DETAIL(order, take_order, GW_DETAIL_ORDER, orders, sizeof(struct gw_order)),
    GW_DETAIL(module, take_module, GW_DETAIL_MODULE, modules, sizeof(struct gw_module)),
    GW_DETAIL(graph, take_graph, GW_DETAIL_GRAPH, graphs, sizeof(struct gw_graph)),
    GW_DETAIL(comm, take_collective, GW_DETAIL_COLLECTIVE, collectives, 0),
#undef GW_DETAIL
};

static void **array_of(struct gw_model *model, const struct sort *sort)
{
    return (void **)((char *)model + sort->array);
}

int gw_details_reserve(struct gw_model *model, const size_t counts[GW_RECORD_COUNT])
{
    for (size_t type = 0; type < GW_RECORD_COUNT; type++) {
        if (sorts[type].take && !(*array_of(model, &sorts[type]) = malloc((counts[type] + 1) * sorts[type].bytes))) {
            return -ENOMEM;
        }
    }
    return 0;
}

uint32_t gw_details_add(struct gw_details *details, struct gw_builder *builder, uint32_t process,
                        const struct gw_record *record, uint8_t *ret_kind)
{
    const struct sort *sort = &sorts[record->type];
    *ret_kind = sort->kind;
    if (!sort->take) {
        return GW_NONE;
    }
    const struct arguments from = {.builder = builder,
                                   .record = record,
                                   .process = process,
                                   .device = GW_SITE_FLAGS(record->site) & GW_SITE_OP_INDEX
                                                 ? gw_builder_op_device(builder, process, record)
                                                 : GW_NONE};
    char *all = *array_of(builder->model, sort);
    size_t *count = (size_t *)((char *)builder->model + sort->count);
    char *last = all + *count * sort->bytes;
    sort->take(&from, last);
    if (!sort->told_bytes) {
        return (uint32_t)(*count)++;
    }
    uint32_t *known = &details->shared[sort->kind][XXH3_64bits(last, sort->told_bytes) % GW_DETAILS_SHARED];
    if (*known >= *count || memcmp(all + *known * sort->bytes, last, sort->told_bytes) != 0) {
        *known = (uint32_t)(*count)++;
    }
    return *known;
}
