/*
 * Codes that travel in the events of shim/tracer/events.h: plain numbers shared by the traced process, the reader and
 * nothing else. Values are part of the trace format: append only.
 */
#ifndef GW_SHIM_API_CODES_H
#define GW_SHIM_API_CODES_H

#include <stdint.h>

/* What the events of a recording say, and how: raised when one loses a field, gets one that the reader needs, or means
 * something else, so that a reader can tell a recording that is not for it. */
#define GW_EVENT_FORMAT 2

/* site: pid << 32 | function << 16 | depth << 8 | flags */
#define GW_SITE(pid, function, depth, flags)                                                                           \
    ((uint64_t)(pid) << 32 | (uint64_t)(function) << 16 | (uint64_t)(depth) << 8 | (uint64_t)(flags))
#define GW_SITE_PID(site) ((uint32_t)((site) >> 32))
#define GW_SITE_FUNCTION(site) ((uint16_t)((site) >> 16))
#define GW_SITE_DEPTH(site) ((uint8_t)((site) >> 8))
#define GW_SITE_FLAGS(site) ((uint8_t)(site))

#define GW_SITE_OP_INDEX 0x3fu  /* this call enqueued the n-th device operation of its call id (1…63), 0: none */
#define GW_SITE_CAPTURED 0x40u  /* the operation went into a graph under capture instead of to the device */
#define GW_SITE_HAS_BEGIN 0x80u /* a call_begin event was written at entry */

/* call: tid << 42 | sequence within the thread, starting at 1 */
#define GW_CALL_ID(tid, sequence) ((uint64_t)(tid) << 42 | (uint64_t)(sequence))
#define GW_CALL_TID(call) ((uint32_t)((call) >> 42))

/* gpu_op.where: pid << 32 | device << 24 | kind << 16 | op index << 8 | flags */
#define GW_WHERE(pid, device, kind, index, flags)                                                                      \
    ((uint64_t)(pid) << 32 | (uint64_t)(device) << 24 | (uint64_t)(kind) << 16 | (uint64_t)(index) << 8 |              \
     (uint64_t)(flags))
#define GW_WHERE_PID(where) ((uint32_t)((where) >> 32))
#define GW_WHERE_DEVICE(where) ((uint8_t)((where) >> 24))
#define GW_WHERE_KIND(where) ((uint8_t)((where) >> 16))
#define GW_WHERE_OP_INDEX(where) ((uint8_t)((where) >> 8))
#define GW_WHERE_FLAGS(where) ((uint8_t)(where))
#define GW_GPU_OP_START_SHARED                                                                                         \
    0x01u /* start is the end of the operation before it on the stream, not a reading of its own */

/* gpu_node.where is the same, but its flags are enum gw_copy_direction for a copy. */

enum gw_gpu_op_kind {
    GW_GPU_OP_KERNEL = 0,
    GW_GPU_OP_MEMSET = 1,
    GW_GPU_OP_COPY = 2, /* direction and bytes are in the copy event */
    GW_GPU_OP_GRAPH = 3,
    GW_GPU_OP_HOST = 4 /* host function enqueued on a stream */
};

enum gw_copy_direction {
    GW_COPY_H2D = 0,
    GW_COPY_D2H = 1,
    GW_COPY_D2D = 2,
    GW_COPY_P2P = 3, /* between devices */
    GW_COPY_H2H = 4
};

enum gw_host_kind {
    GW_HOST_NOT = 0, /* device memory or array */
    GW_HOST_PAGEABLE = 1,
    GW_HOST_PINNED = 2,
    GW_HOST_MANAGED = 3,
    GW_HOST_UNKNOWN = 4
};

#define GW_COPY_HOW(direction, src_kind, dst_kind, blocking)                                                           \
    ((uint32_t)(direction) | (uint32_t)(src_kind) << 8 | (uint32_t)(dst_kind) << 16 | (uint32_t)(blocking) << 24)

enum gw_memory_kind {
    GW_MEMORY_DEVICE = 0,   /* cudaMalloc and its kin */
    GW_MEMORY_HOST = 1,     /* page-locked allocation */
    GW_MEMORY_REGISTER = 2, /* page-locking of existing memory */
    GW_MEMORY_MANAGED = 3,
    GW_MEMORY_ASYNC = 4, /* stream-ordered, from a pool */
    GW_MEMORY_ARRAY = 5,
    GW_MEMORY_POOL = 6,    /* pool creation, destruction, trimming */
    GW_MEMORY_VIRTUAL = 7, /* address reservation, physical handles, mapping */
    GW_MEMORY_FREE = 16,   /* added to the above for a release */
};

/* module.bytes: the image's size | enum gw_image_kind << 56 */
#define GW_IMAGE(bytes, kind) (((uint64_t)(bytes)&GW_IMAGE_BYTES_MASK) | (uint64_t)(kind) << 56)
#define GW_IMAGE_BYTES_MASK ((UINT64_C(1) << 56) - 1)
#define GW_IMAGE_KIND(word) ((uint8_t)((word) >> 56))

enum gw_image_kind {
    GW_IMAGE_UNKNOWN = 0,
    GW_IMAGE_CUBIN = 1,      /* code of one kind of device */
    GW_IMAGE_FAT_BINARY = 2, /* may hold PTX as well */
    GW_IMAGE_PTX = 3         /* the driver compiles it */
};

enum gw_order_kind {
    GW_ORDER_STREAM_CREATE = 0,
    GW_ORDER_STREAM_DESTROY = 1,
    GW_ORDER_STREAM_SYNC = 2,
    GW_ORDER_STREAM_QUERY = 3,
    GW_ORDER_STREAM_WAIT_EVENT = 4,
    GW_ORDER_EVENT_CREATE = 5,
    GW_ORDER_EVENT_DESTROY = 6,
    GW_ORDER_EVENT_RECORD = 7,
    GW_ORDER_EVENT_SYNC = 8,
    GW_ORDER_EVENT_QUERY = 9,
    GW_ORDER_DEVICE_SYNC = 10,
    GW_ORDER_HOST_FUNCTION = 11
};

/* What a call of NCCL does. */
enum gw_comm_kind {
    GW_COMM_ALL_REDUCE = 0,
    GW_COMM_REDUCE = 1,
    GW_COMM_REDUCE_SCATTER = 2,
    GW_COMM_BROADCAST = 3,
    GW_COMM_ALL_GATHER = 4,
    GW_COMM_ALL_TO_ALL = 5,
    GW_COMM_GATHER = 6,
    GW_COMM_SCATTER = 7,
    GW_COMM_SEND = 8,
    GW_COMM_RECV = 9,
    GW_COMM_KIND_COUNT
};

/* comm.what: enum gw_comm_kind | ncclDataType_t << 8 | ncclRedOp_t << 16 (0 where there is none) | root or peer << 32
 */
#define GW_COMM_WHAT(kind, type, reduction, rank)                                                                      \
    ((uint64_t)(kind) | (uint64_t)((type)&0xff) << 8 | (uint64_t)((reduction)&0xffff) << 16 |                          \
     (uint64_t)(uint32_t)(rank) << 32)

/* stream.flags */
#define GW_STREAM_NON_BLOCKING 0x1u
#define GW_STREAM_LEGACY 0x2u
#define GW_STREAM_PER_THREAD 0x4u

/* The thread an event is about, where it is no call's. */
#define GW_CALLER(pid, tid) ((uint64_t)(pid) << 32 | (uint64_t)(tid))
#define GW_CALLER_PID(where) ((uint32_t)((where) >> 32))
#define GW_CALLER_TID(where) ((uint32_t)(where))

/* counted: calls of a function (row of shim/api/functions.def), how many. */
#define GW_COUNTED_WHAT(function, count) ((uint64_t)(function) | (uint64_t)(count) << 32)
#define GW_COUNTED_FUNCTION(what) ((uint16_t)(what))
#define GW_COUNTED_COUNT(what) ((uint32_t)((what) >> 32))

/* nvtx and nvtx_name: what happened in which domain, counted from 1; 0 is the one without a name. level: ranges of that
 * domain which are open round this one in the thread. payload: nvtxPayloadType_t. */
#define GW_NVTX_WHAT(kind, level, payload, domain)                                                                     \
    ((uint64_t)(kind) | (uint64_t)(level) << 8 | (uint64_t)((payload)&0xff) << 16 | (uint64_t)(domain) << 32)
#define GW_NVTX_WHAT_KIND(what) ((uint8_t)(what))
#define GW_NVTX_WHAT_LEVEL(what) ((uint8_t)((what) >> 8))
#define GW_NVTX_WHAT_PAYLOAD(what) ((uint8_t)((what) >> 16))
#define GW_NVTX_WHAT_DOMAIN(what) ((uint32_t)((what) >> 32))
#define GW_NVTX_LEVEL_UNKNOWN 0xffu
/* nvtx.id: number of a range that was started | of the registered string that is its text << 32, 0 where there is none
 */
#define GW_NVTX_ID(range, string) ((uint64_t)(range) | (uint64_t)(string) << 32)
#define GW_NVTX_ID_RANGE(id) ((uint32_t)(id))
#define GW_NVTX_ID_STRING(id) ((uint32_t)((id) >> 32))
/* nvtx.tag: colour as ARGB | category << 32 */
#define GW_NVTX_TAG(color, category) ((uint64_t)(color) | (uint64_t)(category) << 32)
#define GW_NVTX_TAG_COLOR(tag) ((uint32_t)(tag))
#define GW_NVTX_TAG_CATEGORY(tag) ((uint32_t)((tag) >> 32))

enum gw_nvtx_kind {
    GW_NVTX_PUSH = 0,
    GW_NVTX_POP = 1,
    GW_NVTX_START = 2, /* a range that any thread may end, by its number */
    GW_NVTX_END = 3,
    GW_NVTX_MARK = 4
};

/* What nvtx_name.id is: */
enum gw_nvtx_name {
    GW_NVTX_NAME_DOMAIN = 0,
    GW_NVTX_NAME_STRING = 1, /* a registered string */
    GW_NVTX_NAME_CATEGORY = 2,
    GW_NVTX_NAME_THREAD = 3, /* thread id */
    GW_NVTX_NAME_DEVICE = 4, /* ordinal */
    GW_NVTX_NAME_CONTEXT = 5,
    GW_NVTX_NAME_STREAM = 6, /* handle */
    GW_NVTX_NAME_EVENT = 7
};

enum gw_timing_backend { GW_TIMING_OFF = 0, GW_TIMING_EVENTS = 1, GW_TIMING_CUPTI = 2 };

enum gw_coverage_kind {
    GW_COVERAGE_LIBRARY = 0, /* a CUDA or NCCL library seen; detail: path */
    GW_COVERAGE_ROUTE =
        1, /* by which road an API was first reached; name: API; detail: linked, dlsym, cuGetProcAddress, … */
    GW_COVERAGE_NOT_WRAPPED = 2, /* a name was looked up that has no wrapper; detail: version */
    GW_COVERAGE_DISABLED = 3,    /* a part of tracing turned itself off; detail: why */
    GW_COVERAGE_UNTIMED = 4,     /* device operations without times; name: count; detail: why */
    GW_COVERAGE_MISSED = 5,      /* calls that are not in the trace; name: count; detail: why */
    GW_COVERAGE_VERSION = 6,     /* name: library; detail: the version it states */
    GW_COVERAGE_ENDED = 7        /* the process leaves by exit() */
};

#endif
