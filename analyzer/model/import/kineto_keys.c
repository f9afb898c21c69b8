#include "analyzer/model/import/kineto_keys.h"

#include <stdint.h>
#include <string.h>

#include "analyzer/model/import/kineto_event.h"

struct key_name {
    const char *text;
    uint8_t length, key;
};
#define KEY(text, key)                                                                                                 \
    {                                                                                                                  \
        text, sizeof(text) - 1, key                                                                                    \
    }
#define NUMBER(text, field) KEY(text, GW_KINETO_KEY_NUMBER + GW_KINETO_##field)

static const struct key_name root_keys[] = {
    KEY("traceEvents", GW_KINETO_KEY_EVENTS), KEY("deviceProperties", GW_KINETO_KEY_DEVICES),
    KEY("distributedInfo", GW_KINETO_KEY_DISTRIBUTED), KEY("baseTimeNanoseconds", GW_KINETO_KEY_BASE_TIME)};
static const struct key_name event_keys[] = {KEY("ph", GW_KINETO_KEY_PHASE),
                                             KEY("cat", GW_KINETO_KEY_CATEGORY),
                                             KEY("name", GW_KINETO_KEY_NAME),
                                             NUMBER("pid", PID),
                                             NUMBER("tid", TID),
                                             NUMBER("ts", TS),
                                             NUMBER("dur", DUR),
                                             KEY("args", GW_KINETO_KEY_ARGS)};
static const struct key_name args_keys[] = {NUMBER("device", DEVICE),
                                            NUMBER("stream", STREAM),
                                            NUMBER("correlation", CORRELATION),
                                            NUMBER("bytes", BYTES),
                                            NUMBER("shared memory", SHARED),
                                            NUMBER("graph node id", GRAPH_NODE),
                                            KEY("grid", GW_KINETO_KEY_GRID),
                                            KEY("block", GW_KINETO_KEY_BLOCK),
                                            KEY("name", GW_KINETO_KEY_ARGS_NAME),
                                            KEY("Collective name", GW_KINETO_KEY_COLLECTIVE),
                                            KEY("dtype", GW_KINETO_KEY_TYPE),
                                            KEY("Process Group Name", GW_KINETO_KEY_GROUP),
                                            KEY("Process Group Ranks", GW_KINETO_KEY_GROUP_RANKS),
                                            NUMBER("In msg nelems", ELEMENTS_IN),
                                            NUMBER("Out msg nelems", ELEMENTS_OUT),
                                            NUMBER("Group size", GROUP_SIZE),
                                            NUMBER("Rank", GROUP_RANK),
                                            NUMBER("Src Rank", FROM),
                                            NUMBER("Dst Rank", TO),
                                            NUMBER("rank", RANK),
                                            NUMBER("ranks", RANKS)};
static const struct key_name distributed_keys[] = {KEY("rank", GW_KINETO_KEY_RANK),
                                                   KEY("world_size", GW_KINETO_KEY_WORLD_SIZE),
                                                   KEY("nccl_version", GW_KINETO_KEY_NCCL_VERSION)};
static const struct key_name device_keys[] = {KEY("id", GW_KINETO_KEY_DEVICE_ID),
                                              KEY("name", GW_KINETO_KEY_DEVICE_NAME),
                                              KEY("totalGlobalMem", GW_KINETO_KEY_DEVICE_MEMORY),
                                              KEY("computeMajor", GW_KINETO_KEY_DEVICE_MAJOR),
                                              KEY("computeMinor", GW_KINETO_KEY_DEVICE_MINOR),
                                              KEY("numSms", GW_KINETO_KEY_DEVICE_SMS)};

#define LIST(names)                                                                                                    \
    {                                                                                                                  \
        names, sizeof(names) / sizeof((names)[0])                                                                      \
    }

unsigned gw_kineto_key(enum gw_kineto_object object, const char *text, size_t length)
{
    static const struct {
        const struct key_name *names;
        size_t count;
    } lists[GW_KINETO_OBJECT_COUNT] = {[GW_KINETO_OF_ROOT] = LIST(root_keys),
                                       [GW_KINETO_OF_EVENT] = LIST(event_keys),
                                       [GW_KINETO_OF_ARGS] = LIST(args_keys),
                                       [GW_KINETO_OF_DEVICE] = LIST(device_keys),
                                       [GW_KINETO_OF_DISTRIBUTED] = LIST(distributed_keys)};
    const struct key_name *names = lists[object].names;
    for (size_t i = 0; i < lists[object].count; i++) {
        if (names[i].length == length && names[i].text[0] == text[0] && memcmp(names[i].text, text, length) == 0) {
            return names[i].key;
        }
    }
    return GW_KINETO_KEY_NONE;
}
