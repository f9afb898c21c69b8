#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "analyzer/model/builder.h"

/* A record of what stays: rare, so they are collected and sorted by time over all streams. */
struct context_event {
    uint64_t time_ns;
    const struct gw_record_stream *stream;
    uint64_t words[GW_RECORD_WORDS_MAX];
    uint8_t type;
};

int gw_grow(void **array, size_t count, size_t item_bytes)
{
    if (count & (count - 1)) {
        return 0;
    }
    void *grown = realloc(*array, (count ? count * 2 : 1) * item_bytes);
    if (!grown) {
        return -ENOMEM;
    }
    *array = grown;
    return 0;
}

uint32_t gw_builder_process(struct gw_builder *builder, size_t input, uint32_t pid)
{
    const uint32_t *known = gw_map_find(&builder->processes, pid, input);
    struct gw_model *model = builder->model;
    if (known) {
        return *known;
    }
    uint32_t index = (uint32_t)model->processes_count;
    if (GW_GROW(model->processes, model->processes_count) || GW_GROW(builder->origins, model->processes_count) ||
        gw_map_insert(&builder->processes, pid, input, index)) {
        return GW_NONE;
    }
    builder->origins[index] = (struct gw_origin){.input = input};
    model->processes[model->processes_count++] =
        (struct gw_process){.pid = pid, .first_ns = GW_TIME_UNKNOWN, .rank = -1, .recording = (uint32_t)input};
    return index;
}

uint32_t gw_builder_thread(struct gw_builder *builder, size_t input, uint32_t pid, uint32_t tid)
{
    uint32_t process = gw_builder_process(builder, input, pid);
    const uint32_t *known = gw_map_find(&builder->threads, tid, process);
    struct gw_model *model = builder->model;
    if (known || process == GW_NONE) {
        return known ? *known : GW_NONE;
    }
    uint32_t index = (uint32_t)model->threads_count;
    uint32_t *same_tid = gw_map_find(&builder->tids, tid, input);
    if (GW_GROW(model->threads, model->threads_count) || gw_map_insert(&builder->threads, tid, process, index) ||
        (!same_tid && gw_map_insert(&builder->tids, tid, input, index))) {
        return GW_NONE;
    }
    if (same_tid) {
        *same_tid = index;
    }
    model->threads[model->threads_count++] = (struct gw_thread){.process = process, .tid = tid};
    return index;
}

uint32_t gw_builder_device(struct gw_builder *builder, uint32_t process, uint32_t number)
{
    const uint32_t *known = gw_map_find(&builder->devices, number, process);
    struct gw_model *model = builder->model;
    if (known) {
        return *known;
    }
    uint32_t index = (uint32_t)model->devices_count;
    if (GW_GROW(model->devices, model->devices_count) || gw_map_insert(&builder->devices, number, process, index)) {
        return GW_NONE;
    }
    model->devices[model->devices_count++] = (struct gw_device){.process = process, .number = number};
    return index;
}

static int add_version(struct gw_builder *builder, struct gw_map *map, uint64_t handle, uint32_t process,
                       struct gw_version version)
{
    uint32_t *newest = gw_map_find(map, handle, process);
    uint32_t index = (uint32_t)builder->versions_count;
    version.older = newest ? *newest : GW_NONE;
    if (GW_GROW(builder->versions, builder->versions_count)) {
        return -ENOMEM;
    }
    builder->versions[builder->versions_count++] = version;
    if (newest) {
        *newest = index;
        return 0;
    }
    return gw_map_insert(map, handle, process, index);
}

uint32_t gw_builder_add_stream(struct gw_builder *builder, uint32_t device, uint32_t number, uint64_t handle,
                               uint32_t flags)
{
    struct gw_model *model = builder->model;
    const uint32_t *known = gw_map_find(&builder->stream_keys, number, device);
    if (known) {
        return *known;
    }
    uint32_t index = (uint32_t)model->streams_count;
    if (GW_GROW(model->streams, model->streams_count) || gw_map_insert(&builder->stream_keys, number, device, index)) {
        return GW_NONE;
    }
    model->streams[model->streams_count++] =
        (struct gw_stream){.device = device, .number = number, .flags = flags, .handle = handle};
    return index;
}

static uint32_t unannounced_stream(struct gw_builder *builder, uint32_t process, uint64_t handle, uint32_t number)
{
    uint32_t ordinal = number;
    const struct gw_model *model = builder->model;
    for (size_t i = 0; i < model->devices_count && ordinal == GW_NONE; i++) {
        if (model->devices[i].process == process) {
            ordinal = model->devices[i].number;
        }
    }
    uint32_t device = gw_builder_device(builder, process, ordinal == GW_NONE ? 0 : ordinal);
    uint32_t stream_number = 0;
    if (device == GW_NONE ||
        (!gw_map_find(&builder->numbers_taken, device, 0) && gw_map_insert(&builder->numbers_taken, device, 0, 0))) {
        return GW_NONE;
    }
    if (handle) {
        uint32_t *taken = gw_map_find(&builder->numbers_taken, device, 0);
        while (gw_map_find(&builder->stream_keys, ++*taken, device)) {
        }
        stream_number = *taken;
    }
    uint32_t stream = gw_builder_add_stream(builder, device, stream_number, handle, handle ? 0 : GW_STREAM_LEGACY);
    struct gw_version version = {.value = stream, .device = device};
    return stream == GW_NONE || add_version(builder, &builder->handles, handle, process, version) ? GW_NONE : stream;
}

uint32_t gw_builder_stream(struct gw_builder *builder, uint32_t process, uint64_t handle, uint32_t number,
                           uint64_t time_ns)
{
    const uint32_t *newest = gw_map_find(&builder->handles, handle, process);
    uint32_t found = GW_NONE;
    for (uint32_t i = newest ? *newest : GW_NONE; i != GW_NONE; i = builder->versions[i].older) {
        const struct gw_version *version = &builder->versions[i];
        if (number != GW_NONE && builder->model->devices[version->device].number != number) {
            continue;
        }
        found = version->value; /* the oldest one serves uses before it was announced */
        if (version->since_ns <= time_ns) {
            break;
        }
    }
    return found != GW_NONE ? found : unannounced_stream(builder, process, handle, number);
}

uint32_t gw_builder_name(const struct gw_builder *builder, uint32_t process, uint64_t handle, uint64_t time_ns)
{
    const uint32_t *newest = gw_map_find(&builder->functions, handle, process);
    uint32_t found = GW_NONE;
    for (uint32_t i = newest ? *newest : GW_NONE; i != GW_NONE; i = builder->versions[i].older) {
        found = builder->versions[i].value;
        if (builder->versions[i].since_ns <= time_ns) {
            break;
        }
    }
    return found;
}

int gw_builder_intern(struct gw_builder *builder, const char *text, uint32_t *ret_name)
{
    struct gw_model *model = builder->model;
    uint64_t hash = XXH3_64bits(text, strlen(text));
    const uint32_t *known = gw_map_find(&builder->names, hash, 0);
    if (known && strcmp(model->names[*known], text) == 0) {
        *ret_name = *known;
        return 0;
    }
    char *copy = strdup(text);
    if (!copy || GW_GROW(model->names, model->names_count) || GW_GROW(model->name_kinds, model->names_count) ||
        (!known && gw_map_insert(&builder->names, hash, 0, (uint32_t)model->names_count))) {
        free(copy);
        return -ENOMEM;
    }
    *ret_name = (uint32_t)model->names_count;
    model->name_kinds[model->names_count] = gw_comm_kernel_library(copy) ? GW_OP_COMM : GW_OP_KERNEL;
    model->names[model->names_count++] = copy;
    return 0;
}

/* An empty string means the shim did not know. */
static int set_text(char **text, const struct gw_record_stream *stream, uint64_t offset)
{
    const char *value = stream->texts + offset;
    free(*text);
    *text = *value ? strdup(value) : NULL;
    return *value && !*text ? -ENOMEM : 0;
}

static int take_process(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    uint32_t index = gw_builder_process(builder, input, (uint32_t)event->words[GW_ARG_process_pid]);
    if (index == GW_NONE) {
        return -ENOMEM;
    }
    struct gw_process *process = &builder->model->processes[index];
    process->ppid = (uint32_t)event->words[GW_ARG_process_ppid];
    if (set_text(&process->exe, event->stream, event->words[GW_ARG_process_exe]) ||
        set_text(&process->command, event->stream, event->words[GW_ARG_process_command]) ||
        set_text(&process->host, event->stream, event->words[GW_ARG_process_host]) ||
        set_text(&process->environment, event->stream, event->words[GW_ARG_process_environment])) {
        return -ENOMEM;
    }
    builder->origins[index].since_ns = event->time_ns;
    gw_take_rank(process);
    return 0;
}

static int take_thread(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    uint32_t index = gw_builder_thread(builder, input, (uint32_t)event->words[GW_ARG_thread_pid],
                                       (uint32_t)event->words[GW_ARG_thread_tid]);
    return index == GW_NONE
               ? -ENOMEM
               : set_text(&builder->model->threads[index].name, event->stream, event->words[GW_ARG_thread_name]);
}

static int take_device(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    uint32_t process = gw_builder_process(builder, input, (uint32_t)event->words[GW_ARG_device_pid]);
    uint32_t index = process == GW_NONE
                         ? GW_NONE
                         : gw_builder_device(builder, process, (uint32_t)event->words[GW_ARG_device_device]);
    if (index == GW_NONE) {
        return -ENOMEM;
    }
    struct gw_device *device = &builder->model->devices[index];
    device->memory_bytes = event->words[GW_ARG_device_memory_bytes];
    device->multiprocessors = (uint32_t)event->words[GW_ARG_device_shape];
    device->compute_capability = (uint32_t)(event->words[GW_ARG_device_shape] >> 32) & 0xffffu;
    builder->model->processes[process].visible_devices = (uint32_t)(event->words[GW_ARG_device_shape] >> 48);
    return set_text(&device->name, event->stream, event->words[GW_ARG_device_name]) ||
                   set_text(&device->uuid, event->stream, event->words[GW_ARG_device_uuid]) ||
                   set_text(&device->pci, event->stream, event->words[GW_ARG_device_pci])
               ? -ENOMEM
               : 0;
}

static int take_stream(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    uint32_t process = gw_builder_process(builder, input, (uint32_t)event->words[GW_ARG_stream_pid]);
    uint32_t device = process == GW_NONE
                          ? GW_NONE
                          : gw_builder_device(builder, process, (uint32_t)event->words[GW_ARG_stream_device]);
    if (device == GW_NONE) {
        return -ENOMEM;
    }
    uint64_t handle = event->words[GW_ARG_stream_stream];
    uint32_t stream = gw_builder_add_stream(builder, device, (uint32_t)event->words[GW_ARG_stream_number], handle,
                                            (uint32_t)event->words[GW_ARG_stream_flags]);
    struct gw_version version = {.since_ns = event->time_ns, .value = stream, .device = device};
    return stream == GW_NONE ? -ENOMEM : add_version(builder, &builder->handles, handle, process, version);
}

static int take_function(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    uint32_t process = gw_builder_process(builder, input, (uint32_t)event->words[GW_ARG_function_pid]);
    struct gw_version version = {.since_ns = event->time_ns};
    if (process == GW_NONE ||
        gw_builder_intern(builder, event->stream->texts + event->words[GW_ARG_function_name], &version.value)) {
        return -ENOMEM;
    }
    return add_version(builder, &builder->functions, event->words[GW_ARG_function_func], process, version);
}

static int add_communicator(struct gw_builder *builder, uint64_t handle, uint64_t time_ns,
                            const struct gw_communicator *communicator)
{
    struct gw_model *model = builder->model;
    struct gw_version version = {.since_ns = time_ns, .value = (uint32_t)model->communicators_count};
    if (GW_GROW(model->communicators, model->communicators_count)) {
        return -ENOMEM;
    }
    model->communicators[model->communicators_count++] = *communicator;
    return add_version(builder, &builder->communicators, handle, communicator->process, version);
}

static int take_communicator(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    uint32_t process = gw_builder_process(builder, input, (uint32_t)event->words[GW_ARG_communicator_pid]);
    uint32_t device = process == GW_NONE
                          ? GW_NONE
                          : gw_builder_device(builder, process, (uint32_t)event->words[GW_ARG_communicator_device]);
    if (device == GW_NONE) {
        return -ENOMEM;
    }
    const struct gw_communicator communicator = {.id = event->words[GW_ARG_communicator_id],
                                                 .parent = event->words[GW_ARG_communicator_parent],
                                                 .process = process,
                                                 .rank = (uint32_t)event->words[GW_ARG_communicator_where],
                                                 .size = (uint32_t)(event->words[GW_ARG_communicator_where] >> 32),
                                                 .device = device};
    return add_communicator(builder, event->words[GW_ARG_communicator_comm], event->time_ns, &communicator);
}

uint32_t gw_builder_communicator(struct gw_builder *builder, uint32_t process, uint64_t handle, uint64_t time_ns)
{
    const uint32_t *newest = gw_map_find(&builder->communicators, handle, process);
    uint32_t found = GW_NONE;
    for (uint32_t i = newest ? *newest : GW_NONE; i != GW_NONE; i = builder->versions[i].older) {
        found = builder->versions[i].value;
        if (builder->versions[i].since_ns <= time_ns) {
            break;
        }
    }
    if (found != GW_NONE) {
        return found;
    }
    /* Made before the recording began: alone with its handle, which no other rank shares. */
    const uint32_t device = gw_builder_device(builder, process, 0);
    const uint64_t alone[] = {handle, process};
    const struct gw_communicator unknown = {
        .id = XXH3_64bits(alone, sizeof(alone)), .process = process, .device = device};
    return device == GW_NONE || add_communicator(builder, handle, 0, &unknown)
               ? GW_NONE
               : (uint32_t)builder->model->communicators_count - 1;
}

static int take_coverage(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    struct gw_model *model = builder->model;
    const uint32_t kind = (uint32_t)event->words[GW_ARG_coverage_kind];
    struct gw_coverage coverage = {
        .process = gw_builder_process(builder, input, (uint32_t)event->words[GW_ARG_coverage_pid]),
        .kind = kind,
        .name = strdup(event->stream->texts + event->words[GW_ARG_coverage_name]),
        .detail = strdup(event->stream->texts + event->words[GW_ARG_coverage_detail]),
    };
    if (coverage.process == GW_NONE || !coverage.name || !coverage.detail ||
        GW_GROW(model->coverages, model->coverages_count)) {
        free(coverage.name);
        free(coverage.detail);
        return -ENOMEM;
    }
    model->processes[coverage.process].ended = model->processes[coverage.process].ended || kind == GW_COVERAGE_ENDED;
    model->coverages[model->coverages_count++] = coverage;
    return 0;
}

static int take(struct gw_builder *builder, size_t input, const struct context_event *event)
{
    switch (event->type) {
    case GW_RECORD_process:
        return take_process(builder, input, event);
    case GW_RECORD_thread:
        return take_thread(builder, input, event);
    case GW_RECORD_device:
        return take_device(builder, input, event);
    case GW_RECORD_stream:
        return take_stream(builder, input, event);
    case GW_RECORD_function:
        return take_function(builder, input, event);
    case GW_RECORD_communicator:
        return take_communicator(builder, input, event);
    default:
        return take_coverage(builder, input, event);
    }
}

static bool is_context(uint8_t type)
{
    return type == GW_RECORD_process || type == GW_RECORD_thread || type == GW_RECORD_device ||
           type == GW_RECORD_stream || type == GW_RECORD_function || type == GW_RECORD_coverage ||
           type == GW_RECORD_communicator;
}

static int collect(const struct gw_builder *builder, size_t input, struct context_event **ret_events, size_t *ret_count)
{
    struct context_event *events = NULL;
    size_t count = 0;
    for (size_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        for (size_t i = 0; i < source->others_count && source->input == input; i++) {
            struct gw_record record;
            gw_builder_record(builder, source->others[i], &record);
            if (!is_context(record.type)) {
                continue;
            }
            if (GW_GROW(events, count)) {
                free(events);
                return -ENOMEM;
            }
            events[count] =
                (struct context_event){.time_ns = record.time_ns, .stream = source->stream, .type = record.type};
            memcpy(events[count++].words, record.words, sizeof(record.words));
        }
    }
    *ret_events = events;
    *ret_count = count;
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct context_event *a = left, *b = right;
    return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

int gw_build_context(struct gw_builder *builder)
{
    int status = 0;
    for (size_t input = 0; input < builder->input_count && !status; input++) {
        struct context_event *events = NULL;
        size_t count = 0;
        status = collect(builder, input, &events, &count);
        if (!status && count) {
            qsort(events, count, sizeof(*events), by_time);
        }
        for (size_t i = 0; i < count && !status; i++) {
            status = take(builder, input, &events[i]);
        }
        free(events);
    }
    return status;
}

void gw_builder_clear(struct gw_builder *builder)
{
    struct gw_map *const maps[] = {&builder->processes, &builder->threads,       &builder->tids,
                                   &builder->devices,   &builder->stream_keys,   &builder->handles,
                                   &builder->functions, &builder->names,         &builder->timings,
                                   &builder->nodes,     &builder->communicators, &builder->numbers_taken};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        gw_map_clear(maps[i]);
    }
    free(builder->origins);
    free(builder->versions);
    free(builder->node_links);
    gw_sources_clear(builder);
    free(builder->blocks);
    free(builder->function_ids);
}
