/* The keys of a Kineto trace that are looked at, by the object in which they stand. */
#ifndef GW_ANALYZER_MODEL_IMPORT_KINETO_KEYS_H
#define GW_ANALYZER_MODEL_IMPORT_KINETO_KEYS_H

#include <stddef.h>

/* What the value that follows a key is. */
enum gw_kineto_key {
    GW_KINETO_KEY_NONE,
    GW_KINETO_KEY_EVENTS,
    GW_KINETO_KEY_DEVICES,
    GW_KINETO_KEY_DISTRIBUTED,
    GW_KINETO_KEY_BASE_TIME,
    GW_KINETO_KEY_PHASE,
    GW_KINETO_KEY_CATEGORY,
    GW_KINETO_KEY_NAME,
    GW_KINETO_KEY_ARGS,
    GW_KINETO_KEY_ARGS_NAME,
    GW_KINETO_KEY_COLLECTIVE,
    GW_KINETO_KEY_TYPE,
    GW_KINETO_KEY_GROUP,
    GW_KINETO_KEY_GRID,
    GW_KINETO_KEY_BLOCK,
    GW_KINETO_KEY_GROUP_RANKS,
    GW_KINETO_KEY_RANK,
    GW_KINETO_KEY_WORLD_SIZE,
    GW_KINETO_KEY_NCCL_VERSION,
    GW_KINETO_KEY_DEVICE_ID,
    GW_KINETO_KEY_DEVICE_NAME,
    GW_KINETO_KEY_DEVICE_MEMORY,
    GW_KINETO_KEY_DEVICE_MAJOR,
    GW_KINETO_KEY_DEVICE_MINOR,
    GW_KINETO_KEY_DEVICE_SMS,
    GW_KINETO_KEY_NUMBER /* + enum gw_kineto_field: that number of an event */
};

enum gw_kineto_object {
    GW_KINETO_OF_ROOT,
    GW_KINETO_OF_EVENT,
    GW_KINETO_OF_ARGS, /* of an event */
    GW_KINETO_OF_DEVICE,
    GW_KINETO_OF_DISTRIBUTED,
    GW_KINETO_OBJECT_COUNT
};

/* An enum gw_kineto_key, GW_KINETO_KEY_NONE for every other text. */
unsigned gw_kineto_key(enum gw_kineto_object object, const char *text, size_t length);

#endif
