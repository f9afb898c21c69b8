#include "analyzer/model/import/kineto.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <yajl/yajl_parse.h>

#include "analyzer/model/import/decimal.h"
#include "analyzer/model/import/kineto_event.h"
#include "analyzer/model/import/kineto_keys.h"

#define TOOL "a PyTorch profiler trace"

/* Which object of interest the parser is in. */
enum section { SECTION_NONE, SECTION_EVENTS, SECTION_DEVICES, SECTION_DISTRIBUTED };

struct device_properties {
    uint32_t input; /* of which trace; see gw_kineto_add_rank */
    uint32_t number, multiprocessors, major, minor;
    uint64_t memory_bytes;
    char *name;
};

struct gw_kineto {
    char *path;
    struct gw_error *error;
    yajl_handle parser;
    struct gw_assembly assembly;
    struct gw_kineto_labels labels;
    struct gw_kineto_event event;
    struct device_properties *devices;
    size_t devices_count;
    bool has_base_time, has_rank;
    int64_t base_time_ns;
    int32_t rank;
    uint32_t ranks; /* of the job; 0: not told */
    char *nccl_version;
    uint64_t fed_bytes; /* of the whole text, up to what is fed next */
    uint64_t begun_events;
    unsigned depth;        /* open objects and arrays */
    unsigned object_depth; /* depth inside an event, a device or the distributed object */
    uint8_t section, key;
    bool in_object, in_args; /* in_args: or in something within them */
    uint8_t array_key;       /* GW_KINETO_KEY_GRID or GW_KINETO_KEY_BLOCK while in that array */
    uint8_t array_at;
    bool has_events; /* a list of events was there */
    int status;
};

static int on_key(void *context, const unsigned char *text, size_t length)
{
    struct gw_kineto *self = context;
    static const enum gw_kineto_object objects[] = {[SECTION_EVENTS] = GW_KINETO_OF_EVENT,
                                                    [SECTION_DEVICES] = GW_KINETO_OF_DEVICE,
                                                    [SECTION_DISTRIBUTED] = GW_KINETO_OF_DISTRIBUTED};
    enum gw_kineto_object object = GW_KINETO_OBJECT_COUNT;
    if (self->section == SECTION_NONE) {
        object = self->depth == 1 ? GW_KINETO_OF_ROOT : object;
    } else if (self->depth == self->object_depth) {
        object = objects[self->section];
    } else if (self->in_args && self->depth == self->object_depth + 1) {
        object = GW_KINETO_OF_ARGS;
    }
    self->key = object == GW_KINETO_OBJECT_COUNT ? GW_KINETO_KEY_NONE
                                                 : (uint8_t)gw_kineto_key(object, (const char *)text, length);
    return 1;
}

static void begin_event(struct gw_kineto *self)
{
    struct gw_kineto_event *event = &self->event;
    event->phase = 0;
    event->category = GW_KINETO_OTHER;
    event->seen = 0;
    event->collective = event->type = GW_KINETO_UNNAMED;
    event->group = event->group_ranks = 0;
    event->name.length = event->args_name.length = 0;
    memset(event->numbers, 0, sizeof(event->numbers));
    memset(event->grid, 0, sizeof(event->grid));
    memset(event->block, 0, sizeof(event->block));
}

/* An object or array begins; the key before it, if any, is still set. */
static int on_open(struct gw_kineto *self, bool is_map)
{
    uint8_t key = self->key;
    self->key = GW_KINETO_KEY_NONE;
    self->depth++;
    if (self->section == SECTION_NONE) {
        bool is_bare_list = self->depth == 1 && !is_map;
        if (is_bare_list || (self->depth == 2 && !is_map && key == GW_KINETO_KEY_EVENTS)) {
            self->section = SECTION_EVENTS;
            self->has_events = true;
        } else if (self->depth == 2 && !is_map && key == GW_KINETO_KEY_DEVICES) {
            self->section = SECTION_DEVICES;
        } else if (self->depth == 2 && is_map && key == GW_KINETO_KEY_DISTRIBUTED) {
            self->section = SECTION_DISTRIBUTED;
        }
        if (self->section != SECTION_NONE) {
            self->object_depth = self->section == SECTION_DISTRIBUTED ? self->depth : self->depth + 1;
            self->in_object = self->section == SECTION_DISTRIBUTED;
        }
    } else if (!self->in_object && is_map && self->depth == self->object_depth) {
        self->in_object = true;
        if (self->section == SECTION_EVENTS) {
            begin_event(self);
            self->begun_events++;
        } else {
            if (GW_GROW(self->devices, self->devices_count)) {
                self->status = -ENOMEM;
                return 0;
            }
            self->devices[self->devices_count++] = (struct device_properties){.number = GW_NONE};
        }
    } else if (key == GW_KINETO_KEY_ARGS && is_map) {
        self->in_args = true;
    } else if (!is_map && (key == GW_KINETO_KEY_GRID || key == GW_KINETO_KEY_BLOCK)) {
        self->array_key = key;
        self->array_at = 0;
    }
    return 1;
}

static int on_close(void *context)
{
    struct gw_kineto *self = context;
    unsigned closed = self->depth--;
    self->key = GW_KINETO_KEY_NONE;
    self->array_key = GW_KINETO_KEY_NONE;
    if (self->section == SECTION_NONE) {
        return 1;
    }
    if (self->in_args && closed == self->object_depth + 1) {
        self->in_args = false;
    } else if (self->in_object && closed == self->object_depth) {
        self->in_object = false;
        if (self->section == SECTION_EVENTS) {
            self->status = gw_kineto_take(&self->assembly, &self->labels, &self->event);
        } else if (self->section == SECTION_DISTRIBUTED) {
            self->section = SECTION_NONE;
        }
    } else if (closed + 1 == self->object_depth) {
        self->section = SECTION_NONE;
    }
    return self->status == 0;
}

static int on_map(void *context)
{
    return on_open(context, true);
}

static int on_array(void *context)
{
    return on_open(context, false);
}

static void take_array_item(struct gw_kineto *self, const char *text, size_t length)
{
    int64_t value;
    uint32_t *items = self->array_key == GW_KINETO_KEY_GRID ? self->event.grid : self->event.block;
    if (self->array_at < 3 && gw_decimal_read(text, length, 0, &value)) {
        items[self->array_at] = (uint32_t)value;
    }
    self->array_at++;
}

static void take_device_number(struct gw_kineto *self, uint8_t key, int64_t value)
{
    struct device_properties *device = &self->devices[self->devices_count - 1];
    switch (key) {
    case GW_KINETO_KEY_DEVICE_ID:
        device->number = (uint32_t)value;
        break;
    case GW_KINETO_KEY_DEVICE_MEMORY:
        device->memory_bytes = (uint64_t)value;
        break;
    case GW_KINETO_KEY_DEVICE_MAJOR:
        device->major = (uint32_t)value;
        break;
    case GW_KINETO_KEY_DEVICE_MINOR:
        device->minor = (uint32_t)value;
        break;
    case GW_KINETO_KEY_DEVICE_SMS:
        device->multiprocessors = (uint32_t)value;
        break;
    default:
        break;
    }
}

static int on_number(void *context, const char *text, size_t length)
{
    struct gw_kineto *self = context;
    uint8_t key = self->key;
    int64_t value;
    self->key = GW_KINETO_KEY_NONE;
    if (self->array_key != GW_KINETO_KEY_NONE) {
        take_array_item(self, text, length);
        return 1;
    }
    bool is_time = key == GW_KINETO_KEY_NUMBER + GW_KINETO_TS || key == GW_KINETO_KEY_NUMBER + GW_KINETO_DUR;
    if (key == GW_KINETO_KEY_NONE || !gw_decimal_read(text, length, is_time ? 3 : 0, &value)) {
        return 1;
    }
    if (key >= GW_KINETO_KEY_NUMBER) {
        self->event.numbers[key - GW_KINETO_KEY_NUMBER] = value;
        self->event.seen |= 1u << (key - GW_KINETO_KEY_NUMBER);
    } else if (key == GW_KINETO_KEY_RANK) {
        self->rank = (int32_t)value;
        self->has_rank = true;
    } else if (key == GW_KINETO_KEY_WORLD_SIZE) {
        self->ranks = value > 0 && value <= GW_RANKS_MAX ? (uint32_t)value : 0;
    } else if (key == GW_KINETO_KEY_BASE_TIME) {
        self->base_time_ns = value;
        self->has_base_time = true;
    } else if (self->section == SECTION_DEVICES) {
        take_device_number(self, key, value);
    }
    return 1;
}

static int on_string(void *context, const unsigned char *bytes, size_t length)
{
    struct gw_kineto *self = context;
    const char *text = (const char *)bytes;
    uint8_t key = self->key;
    self->key = GW_KINETO_KEY_NONE;
    switch (key) {
    case GW_KINETO_KEY_PHASE:
        self->event.phase = length ? text[0] : 0;
        break;
    case GW_KINETO_KEY_CATEGORY:
        self->event.category = (uint8_t)gw_kineto_category(text, length);
        break;
    case GW_KINETO_KEY_NAME:
        self->status = gw_kineto_text_set(&self->event.name, text, length);
        break;
    case GW_KINETO_KEY_ARGS_NAME:
        self->status = gw_kineto_text_set(&self->event.args_name, text, length);
        break;
    case GW_KINETO_KEY_COLLECTIVE:
        self->event.collective = gw_kineto_collective(text, length);
        break;
    case GW_KINETO_KEY_TYPE:
        self->event.type = gw_kineto_type(text, length);
        break;
    case GW_KINETO_KEY_GROUP:
        self->event.group = XXH3_64bits(text, length);
        break;
    case GW_KINETO_KEY_GROUP_RANKS:
        self->event.group_ranks = XXH3_64bits(text, length);
        break;
    case GW_KINETO_KEY_NCCL_VERSION:
        free(self->nccl_version);
        self->nccl_version = strndup(text, length);
        self->status = self->nccl_version ? 0 : -ENOMEM;
        break;
    case GW_KINETO_KEY_DEVICE_NAME: {
        struct device_properties *device = &self->devices[self->devices_count - 1];
        free(device->name);
        device->name = strndup(text, length);
        self->status = device->name ? 0 : -ENOMEM;
        break;
    }
    default:
        break;
    }
    return self->status == 0;
}

static int on_other(void *context)
{
    ((struct gw_kineto *)context)->key = GW_KINETO_KEY_NONE;
    return 1;
}

static int on_boolean(void *context, int value)
{
    (void)value;
    return on_other(context);
}

int gw_kineto_create(const char *path, struct gw_error *error, struct gw_kineto **ret_kineto)
{
    static const yajl_callbacks callbacks = {.yajl_null = on_other,
                                             .yajl_boolean = on_boolean,
                                             .yajl_number = on_number,
                                             .yajl_string = on_string,
                                             .yajl_start_map = on_map,
                                             .yajl_map_key = on_key,
                                             .yajl_end_map = on_close,
                                             .yajl_start_array = on_array,
                                             .yajl_end_array = on_close};
    struct gw_kineto *self = calloc(1, sizeof(*self));
    if (!self) {
        return gw_error_set(error, -ENOMEM, "%s: no memory to read the trace", path);
    }
    self->error = error;
    self->rank = -1;
    self->path = strdup(path);
    self->parser = yajl_alloc(&callbacks, NULL, self);
    if (!self->path || !self->parser || gw_assembly_init(&self->assembly, GW_CORRELATION_TRACE)) {
        gw_kineto_destroy(self);
        return gw_error_set(error, -ENOMEM, "%s: no memory to read the trace", path);
    }
    *ret_kineto = self;
    return 0;
}

/* The library's words for what is wrong, without its line break and the quoted text, which need not be printable. */
static int say_parse_error(struct gw_kineto *self)
{
    unsigned char *words = yajl_get_error(self->parser, 0, NULL, 0);
    size_t length = words ? strcspn((const char *)words, "\n") : 0;
    gw_error_set(self->error, -EBADMSG,
                 "%s: no valid JSON near byte %llu (%.*s): the trace is damaged; export or copy it again", self->path,
                 (unsigned long long)self->fed_bytes + yajl_get_bytes_consumed(self->parser), (int)length,
                 words ? (const char *)words : "");
    yajl_free_error(self->parser, words);
    return -EBADMSG;
}

static int say_status(struct gw_kineto *self, int status)
{
    return status == -EFBIG ? gw_error_set(self->error, status, "%s: more events than a model can hold", self->path)
                            : gw_error_set(self->error, status, "%s: no memory to read the trace", self->path);
}

int gw_kineto_feed(struct gw_kineto *self, const void *bytes, size_t size)
{
    yajl_status parsed = yajl_parse(self->parser, bytes, size);
    if (parsed == yajl_status_client_canceled) {
        return say_status(self, self->status);
    }
    if (parsed != yajl_status_ok) {
        return say_parse_error(self);
    }
    self->fed_bytes += size;
    return 0;
}

int gw_kineto_create_part(const char *path, uint64_t begin, bool in_object, struct gw_error *error,
                          struct gw_kineto **ret_kineto)
{
    const char *before = in_object ? "{\"traceEvents\":[" : "[";
    struct gw_kineto *self = NULL;
    int status = gw_kineto_create(path, error, &self);
    status = status ? status : gw_kineto_feed(self, before, strlen(before));
    if (status) {
        gw_kineto_destroy(self);
        return status;
    }
    self->fed_bytes = begin;
    *ret_kineto = self;
    return 0;
}

int gw_kineto_feed_brace(struct gw_kineto *self, bool in_object, bool *ret_meets)
{
    uint64_t begun_events = self->begun_events;
    int status = gw_kineto_feed(self, "{", 1);
    *ret_meets = !status && self->begun_events > begun_events && self->depth == (in_object ? 3 : 2);
    return status;
}

static int join_devices(struct gw_kineto *earlier, struct gw_kineto *later, uint32_t input)
{
    for (size_t i = 0; i < later->devices_count; i++) {
        if (GW_GROW(earlier->devices, earlier->devices_count)) {
            return -ENOMEM;
        }
        earlier->devices[earlier->devices_count] = later->devices[i];
        earlier->devices[earlier->devices_count++].input = input;
        later->devices[i].name = NULL;
    }
    return 0;
}

#define SWAP(left, right)                                                                                              \
    do {                                                                                                               \
        __typeof__(left) kept = (left);                                                                                \
        (left) = (right);                                                                                              \
        (right) = kept;                                                                                                \
    } while (0)

int gw_kineto_join(struct gw_kineto *earlier, struct gw_kineto *later)
{
    int status = gw_assembly_append(&earlier->assembly, &later->assembly, 0, NULL);
    status = status ? status : gw_kineto_labels_append(&earlier->labels, &later->labels);
    status = status ? status : join_devices(earlier, later, 0);
    if (status) {
        return say_status(later, status);
    }
    SWAP(earlier->assembly, later->assembly);
    SWAP(earlier->labels, later->labels);
    SWAP(earlier->devices, later->devices);
    SWAP(earlier->devices_count, later->devices_count);
    if (!later->has_rank) {
        SWAP(earlier->rank, later->rank);
        SWAP(earlier->has_rank, later->has_rank);
    }
    if (!later->ranks) {
        SWAP(earlier->ranks, later->ranks);
    }
    if (!later->has_base_time) {
        SWAP(earlier->base_time_ns, later->base_time_ns);
        SWAP(earlier->has_base_time, later->has_base_time);
    }
    if (!later->nccl_version) {
        SWAP(earlier->nccl_version, later->nccl_version);
    }
    return 0;
}

/* Properties of those devices that were used: the list names every GPU of the host, most of them of other ranks. */
static int fill_devices(struct gw_kineto *self, struct gw_model *model)
{
    for (size_t d = 0; d < model->devices_count; d++) {
        struct gw_device *device = &model->devices[d];
        for (size_t i = 0; i < self->devices_count; i++) {
            const struct device_properties *properties = &self->devices[i];
            if (properties->number != device->number ||
                properties->input != model->processes[device->process].recording) {
                continue;
            }
            device->memory_bytes = properties->memory_bytes;
            device->multiprocessors = properties->multiprocessors;
            device->compute_capability = properties->major * 10 + properties->minor;
            device->name = properties->name ? strdup(properties->name) : NULL;
            if (properties->name && !device->name) {
                return -ENOMEM;
            }
            break;
        }
    }
    return 0;
}

static int fill_run(struct gw_kineto *self, const char *path, struct gw_model *model)
{
    struct gw_run_info *run = &model->run;
    const char *program = model->processes_count ? model->processes[0].exe : NULL;
    run->path = strdup(path);
    run->device_kind = strdup("gpu");
    run->gpu_timing = strdup("cupti");
    run->command = calloc(2, sizeof(*run->command));
    run->realtime_offset_ns = self->base_time_ns;
    if (!run->path || !run->device_kind || !run->gpu_timing || !run->command) {
        return -ENOMEM;
    }
    if (program && !(run->command[0] = strdup(program))) {
        return -ENOMEM;
    }
    if (self->nccl_version) {
        json_t *versions = json_pack("{s:s}", "nccl", self->nccl_version);
        run->versions_json = versions ? json_dumps(versions, JSON_COMPACT) : NULL;
        json_decref(versions);
        if (!run->versions_json) {
            return -ENOMEM;
        }
    }
    for (size_t p = 0; p < model->processes_count; p++) {
        if (model->processes[p].rank < 0)
            model->processes[p].rank = self->rank;
    }
    return fill_devices(self, model);
}

/* Where the processes' ranks are not told one by one, the trace's is theirs. */
static void spread_rank(struct gw_kineto *self)
{
    struct gw_model *model = self->assembly.builder.model;
    for (size_t p = 0; p < model->processes_count; p++) {
        if (model->processes[p].rank < 0) {
            model->processes[p].rank = self->rank;
        }
    }
    for (size_t i = 0; i < self->assembly.collectives_count; i++) {
        if (self->assembly.collectives[i].rank < 0) {
            self->assembly.collectives[i].rank = self->rank;
        }
    }
}

int gw_kineto_end(struct gw_kineto *self)
{
    yajl_status parsed = yajl_complete_parse(self->parser);
    if (parsed == yajl_status_client_canceled) {
        return say_status(self, self->status);
    }
    if (self->fed_bytes == 0) {
        return gw_error_set(self->error, -ENODATA, "%s: the file is empty: export the trace again", self->path);
    }
    if (parsed != yajl_status_ok) {
        return gw_error_set(
            self->error, -EBADMSG,
            "%s: the JSON ends in the middle, after %llu bytes: the trace was cut off; export or copy it again",
            self->path, (unsigned long long)self->fed_bytes);
    }
    if (!self->has_events) {
        return gw_error_set(self->error, -ENODATA, "%s: JSON without a list traceEvents: no PyTorch profiler trace",
                            self->path);
    }
    int status = gw_kineto_apply_labels(&self->assembly.builder, &self->labels);
    spread_rank(self);
    if (!status && self->assembly.builder.model->calls_count == 0 && self->assembly.ops_count == 0) {
        return gw_error_set(self->error, -ENODATA, "%s: %s", self->path,
                            gw_kineto_names_devices_of_xla(&self->labels)
                                ? "a trace of XLA's profiler (JAX, TensorFlow), which is not read: run the program "
                                  "with gpuwitness record, or make an Nsight Systems export of it"
                                : "no CUDA call and no GPU operation in the trace: profile with "
                                  "ProfilerActivity.CUDA");
    }
    return status ? say_status(self, status) : 0;
}

int32_t gw_kineto_rank(const struct gw_kineto *self)
{
    return self->rank;
}

int64_t gw_kineto_base_time_ns(const struct gw_kineto *self)
{
    return self->base_time_ns;
}

int gw_kineto_add_rank(struct gw_kineto *self, struct gw_kineto *other, uint32_t input,
                       const struct gw_clock_shift *shift)
{
    struct gw_model *model = self->assembly.builder.model;
    int status = gw_assembly_append(&self->assembly, &other->assembly, input, shift);
    status = status ? status : join_devices(self, other, input);
    for (size_t p = 0; p < model->processes_count && !status; p++) {
        struct gw_process *process = &model->processes[p];
        if (process->recording == input) {
            process->rank = process->rank < 0 ? other->rank : process->rank;
            process->ranks = other->ranks;
        } else if (process->recording == 0) {
            process->ranks = self->ranks;
        }
    }
    return status ? say_status(other, status) : 0;
}

int gw_kineto_build(struct gw_kineto *self, const char *path, struct gw_model **ret_model)
{
    struct gw_model *model = NULL;
    self->assembly.unseen |= GW_UNSEEN_LOADS; /* of the driver's functions it records launches only */
    int status = gw_assembly_finish(&self->assembly, TOOL, &model);
    status = status ? status : fill_run(self, path, model);
    if (status) {
        gw_model_destroy(model);
        return say_status(self, status);
    }
    *ret_model = model;
    return 0;
}

void gw_kineto_tell(struct gw_kineto *self, struct gw_error *error)
{
    self->error = error;
}

void gw_kineto_destroy(struct gw_kineto *self)
{
    if (!self) {
        return;
    }
    if (self->parser) {
        yajl_free(self->parser);
    }
    for (size_t i = 0; i < self->devices_count; i++) {
        free(self->devices[i].name);
    }
    free(self->devices);
    free(self->nccl_version);
    free(self->event.name.bytes);
    free(self->event.args_name.bytes);
    gw_kineto_labels_clear(&self->labels);
    gw_assembly_clear(&self->assembly);
    free(self->path);
    free(self);
}
