#include "analyzer/model/import/kineto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "analyzer/model/import/decimal.h"
#include "analyzer/model/import/kineto_event.h"

#define TOOL "a PyTorch profiler trace"

/* Which object of interest the parser is in. */
enum section { SECTION_NONE, SECTION_EVENTS, SECTION_DEVICES, SECTION_DISTRIBUTED };

/* What the value that follows a key is. */
enum key {
    KEY_NONE,
    KEY_EVENTS,
    KEY_DEVICES,
    KEY_DISTRIBUTED,
    KEY_BASE_TIME,
    KEY_PHASE,
    KEY_CATEGORY,
    KEY_NAME,
    KEY_ARGS,
    KEY_ARGS_NAME,
    KEY_GRID,
    KEY_BLOCK,
    KEY_RANK,
    KEY_NCCL_VERSION,
    KEY_DEVICE_ID,
    KEY_DEVICE_NAME,
    KEY_DEVICE_MEMORY,
    KEY_DEVICE_MAJOR,
    KEY_DEVICE_MINOR,
    KEY_DEVICE_SMS,
    KEY_NUMBER /* + enum gw_kineto_field */
};

struct key_name {
    const char *text;
    uint8_t length, key;
};
#define KEY(text, key) {text, sizeof(text) - 1, key}
#define NUMBER(text, field) KEY(text, KEY_NUMBER + GW_KINETO_##field)

static const struct key_name root_keys[] = {KEY("traceEvents", KEY_EVENTS), KEY("deviceProperties", KEY_DEVICES),
                                            KEY("distributedInfo", KEY_DISTRIBUTED),
                                            KEY("baseTimeNanoseconds", KEY_BASE_TIME)};
static const struct key_name event_keys[] = {KEY("ph", KEY_PHASE), KEY("cat", KEY_CATEGORY), KEY("name", KEY_NAME),
                                             NUMBER("pid", PID),   NUMBER("tid", TID),       NUMBER("ts", TS),
                                             NUMBER("dur", DUR),   KEY("args", KEY_ARGS)};
static const struct key_name args_keys[] = {NUMBER("device", DEVICE),
                                            NUMBER("stream", STREAM),
                                            NUMBER("correlation", CORRELATION),
                                            NUMBER("bytes", BYTES),
                                            NUMBER("shared memory", SHARED),
                                            NUMBER("graph node id", GRAPH_NODE),
                                            KEY("grid", KEY_GRID),
                                            KEY("block", KEY_BLOCK),
                                            KEY("name", KEY_ARGS_NAME)};
static const struct key_name distributed_keys[] = {KEY("rank", KEY_RANK), KEY("nccl_version", KEY_NCCL_VERSION)};
static const struct key_name device_keys[] = {KEY("id", KEY_DEVICE_ID),
                                              KEY("name", KEY_DEVICE_NAME),
                                              KEY("totalGlobalMem", KEY_DEVICE_MEMORY),
                                              KEY("computeMajor", KEY_DEVICE_MAJOR),
                                              KEY("computeMinor", KEY_DEVICE_MINOR),
                                              KEY("numSms", KEY_DEVICE_SMS)};

struct device_properties {
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
    int64_t base_time_ns;
    int32_t rank;
    char *nccl_version;
    uint64_t fed_bytes;
    unsigned depth;       /* open objects and arrays */
    unsigned event_depth; /* depth inside an event, a device or the distributed object; 0: in none */
    uint8_t section, key;
    uint8_t array_key; /* KEY_GRID or KEY_BLOCK while in that array */
    uint8_t array_at;
    bool has_events; /* a list of events was there */
    int status;
};

static uint8_t find_key(const struct key_name *names, size_t count, const unsigned char *text, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].length == length && memcmp(names[i].text, text, length) == 0) {
            return names[i].key;
        }
    }
    return KEY_NONE;
}
#define FIND_KEY(names, text, length) find_key(names, sizeof(names) / sizeof((names)[0]), text, length)

static int on_key(void *context, const unsigned char *text, size_t length)
{
    struct gw_kineto *self = context;
    self->key = KEY_NONE;
    if (self->depth == 1 && self->section == SECTION_NONE) {
        self->key = FIND_KEY(root_keys, text, length);
    } else if (self->section == SECTION_EVENTS && self->depth == self->event_depth) {
        self->key = FIND_KEY(event_keys, text, length);
    } else if (self->section == SECTION_EVENTS && self->array_key == KEY_ARGS && self->depth == self->event_depth + 1) {
        self->key = FIND_KEY(args_keys, text, length);
    } else if (self->section == SECTION_DEVICES && self->depth == self->event_depth) {
        self->key = FIND_KEY(device_keys, text, length);
    } else if (self->section == SECTION_DISTRIBUTED && self->depth == self->event_depth) {
        self->key = FIND_KEY(distributed_keys, text, length);
    }
    return 1;
}
