// Reads records and emits their events.
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shim/timing/cupti.h"
#include "shim/timing/cupti_layouts.h"
#include "shim/tracer/events.h"
#include "shim/tracer/tracer.h"

#define NAMES 4096u

// What a record says, whatever its kind.
struct operation {
    uint64_t start, end, node, bytes;
    const char *name;
    uint32_t correlation;
    uint8_t kind, direction;
};

static uint8_t direction_of(uint8_t copy_kind)
{
    enum { HTOD = 1, DTOH, HTOA, ATOH, HTOH = 9, PTOP = 10 };

    switch (copy_kind) {
    case HTOD:
    case HTOA:
        return GW_COPY_H2D;
    case DTOH:
    case ATOH:
        return GW_COPY_D2H;
    case HTOH:
        return GW_COPY_H2H;
    case PTOP:
        return GW_COPY_P2P;
    default:
        return GW_COPY_D2D;
    }
}

// Copies out what lies within the buffer's `left` bytes. Returns false for other kinds and cut records.
static bool read_record(const uint8_t *bytes, size_t left, struct operation *op)
{
    union {
        uint32_t kind;
        struct gw_cupti_kernel kernel;
        struct gw_cupti_copy copy;
        struct gw_cupti_peer peer;
        struct gw_cupti_set set;
    } record = {0};

    memcpy(&record, bytes, left < sizeof(record) ? left : sizeof(record));
    switch (record.kind) {
    case GW_CUPTI_CONCURRENT_KERNEL:
        *op = (struct operation){.start = record.kernel.start,
                                 .end = record.kernel.end,
                                 .node = record.kernel.node,
                                 .name = record.kernel.name,
                                 .correlation = record.kernel.correlation,
                                 .kind = GW_GPU_OP_KERNEL};
        return left >= sizeof(record.kernel);
    case GW_CUPTI_MEMCPY:
        *op = (struct operation){.start = record.copy.start,
                                 .end = record.copy.end,
                                 .node = record.copy.node,
                                 .bytes = record.copy.bytes,
                                 .correlation = record.copy.correlation,
                                 .kind = GW_GPU_OP_COPY,
                                 .direction = direction_of(record.copy.copy_kind)};
        return left >= sizeof(record.copy);
    case GW_CUPTI_MEMCPY_PEER:
        *op = (struct operation){.start = record.peer.start,
                                 .end = record.peer.end,
                                 .node = record.peer.node,
                                 .bytes = record.peer.bytes,
                                 .correlation = record.peer.correlation,
                                 .kind = GW_GPU_OP_COPY,
                                 .direction = direction_of(record.peer.copy_kind)};
        return left >= sizeof(record.peer);
    case GW_CUPTI_MEMSET:
        *op = (struct operation){.start = record.set.start,
                                 .end = record.set.end,
                                 .node = record.set.node,
                                 .bytes = record.set.bytes,
                                 .correlation = record.set.correlation,
                                 .kind = GW_GPU_OP_MEMSET};
        return left >= sizeof(record.set);
    default:
        return false;
    }
}

// The handle that stands for a kernel known by its name alone; its name is emitted when it is first seen.
static uint64_t handle_of_name(const char *name)
{
    static uint64_t known[NAMES];
    uint64_t handle = XXH3_64bits(name, strlen(name)) | 1;

    for (unsigned tries = 0; tries < 8; tries++) {
        uint64_t *place = &known[(handle + tries) % NAMES];

        if (*place == handle)
            return handle;
        if (!*place) {
            *place = handle;
            break;
        }
    }
    lttng_ust_tracepoint(gpuwitness, function, gw_tracer.pid, handle, name);
    return handle;
}

static void emit(const struct gw_cupti_entry *entry, const struct operation *op)
{
    uint64_t start_error_ns, end_error_ns;
    uint64_t start_ns = gw_cupti_clock_time(op->start, &start_error_ns);
    uint64_t end_ns = gw_cupti_clock_time(op->end, &end_error_ns);
    uint64_t error_ns = start_error_ns > end_error_ns ? start_error_ns : end_error_ns;
    uint32_t error = error_ns < UINT32_MAX ? (uint32_t)error_ns : UINT32_MAX;

    end_ns = end_ns < start_ns ? start_ns : end_ns;
    if (GW_WHERE_KIND(entry->where) != GW_GPU_OP_GRAPH) {
        lttng_ust_tracepoint(gpuwitness, gpu_op, entry->call, entry->where, entry->stream, start_ns, end_ns, error);
        return;
    }
    uint64_t where = GW_WHERE(GW_WHERE_PID(entry->where), GW_WHERE_DEVICE(entry->where), op->kind,
                              GW_WHERE_OP_INDEX(entry->where), op->direction);
    uint64_t what = op->kind != GW_GPU_OP_KERNEL ? op->bytes : op->name ? handle_of_name(op->name) : 0;

    lttng_ust_tracepoint(gpuwitness, gpu_node, entry->call, where, entry->stream, start_ns, end_ns, error, op->node,
                         what);
}

// What was read and not emitted yet. Bounded by what the buffers hold.
static struct operation *operations;
static size_t operation_count, operation_capacity, unread, skipped, broken;
static uint32_t skipped_kind; // of the first of them

static void keep(const struct operation *op)
{
    if (operation_count == operation_capacity) {
        size_t capacity = operation_capacity ? 2 * operation_capacity : 4096;
        struct operation *grown = realloc(operations, capacity * sizeof(*grown));

        if (!grown) {
            unread++;
            return;
        }
        operations = grown;
        operation_capacity = capacity;
    }
    operations[operation_count++] = *op;
}

int gw_cupti_read_buffer(const struct gw_cupti *cupti, uint8_t *buffer, size_t valid)
{
    const uint8_t *record = NULL;
    struct operation op;
    int error;

    while ((error = cupti->cuptiActivityGetNextRecord(buffer, valid, &record)) == GW_CUPTI_SUCCESS)
        if (read_record(record, (size_t)(buffer + valid - record), &op))
            keep(&op);
        else if (skipped++ == 0)
            memcpy(&skipped_kind, record, sizeof(skipped_kind));
    broken += error == GW_CUPTI_INVALID_KIND;
    return error == GW_CUPTI_LIMIT_REACHED || error == GW_CUPTI_INVALID_KIND ? GW_CUPTI_SUCCESS : error;
}

static int by_start(const void *left, const void *right)
{
    const struct operation *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

void gw_cupti_emit(struct gw_cupti_counts *counts)
{
    struct gw_cupti_entry entry;

    if (operation_count > 1)
        qsort(operations, operation_count, sizeof(*operations), by_start);
    for (size_t i = 0; i < operation_count; i++) {
        const struct operation *op = &operations[i];

        if (!gw_cupti_find(op->correlation, op->kind, &entry)) {
            counts->foreign++;
            continue;
        }
        counts->first += !entry.seen;
        // Without memory on the device CUPTI leaves the times 0.
        if (op->start && op->end)
            emit(&entry, op);
        else
            counts->untimed++;
    }
    counts->unread = unread;
    counts->skipped = skipped;
    counts->skipped_kind = skipped_kind;
    counts->broken = broken;
    operation_count = 0;
}
