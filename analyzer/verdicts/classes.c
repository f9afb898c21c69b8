#include "analyzer/verdicts/budget.h"

static const struct {
    const char *name, *words;
} classes[GW_CLASS_COUNT] = {
    [GW_CLASS_COMPUTE] = {"compute", "computing"},
    [GW_CLASS_COMM_WAIT] = {"comm_wait", "communication, waiting for a rank"},
    [GW_CLASS_COMM_TRANSFER] = {"comm_transfer", "communication, transferring"},
    [GW_CLASS_COMM_EXPOSED] = {"comm_exposed", "communication not hidden"},
    [GW_CLASS_COPY_H2D] = {"copy_h2d", "copying to the GPU"},
    [GW_CLASS_COPY_D2H] = {"copy_d2h", "copying to the host"},
    [GW_CLASS_COPY_D2D] = {"copy_d2d", "copying on the GPU"},
    [GW_CLASS_COPY_P2P] = {"copy_p2p", "copying between GPUs"},
    [GW_CLASS_IDLE_DEPENDENCY] = {"idle_dependency", "queued work waits for other work"},
    [GW_CLASS_IDLE_LATENCY] = {"idle_latency", "between queued operations"},
    [GW_CLASS_IDLE_LAUNCH] = {"idle_launch", "work being enqueued"},
    [GW_CLASS_IDLE_SYNC] = {"idle_sync", "host in a synchronisation"},
    [GW_CLASS_IDLE_ALLOC] = {"idle_alloc", "host allocates or frees memory"},
    [GW_CLASS_IDLE_COMPILE] = {"idle_compile", "host loads or compiles code"},
    [GW_CLASS_IDLE_COPY_CALL] = {"idle_copy_call", "host in a copy call"},
    [GW_CLASS_IDLE_GRAPH] = {"idle_graph", "host builds a graph"},
    [GW_CLASS_IDLE_API] = {"idle_api", "host in other CUDA calls"},
    [GW_CLASS_IDLE_HOST] = {"idle_host", "host busy outside CUDA"},
    [GW_CLASS_IDLE_BLOCKED] = {"idle_blocked", "host asleep outside CUDA"},
    [GW_CLASS_IDLE_UNKNOWN] = {"idle_unknown", "cause not seen"},
};

const char *gw_class_name(enum gw_class cls)
{
    return cls < GW_CLASS_COUNT ? classes[cls].name : "none";
}

const char *gw_class_words(enum gw_class cls)
{
    return cls < GW_CLASS_COUNT ? classes[cls].words : "none";
}
