// What the records look like.
#include <string.h>

#include "tests/simgpu/cupti/profiler.h"

size_t record_size(CUpti_ActivityKind kind)
{
    switch ((int)kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(copy_record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return sizeof(peer_record);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(set_record);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(kernel_record);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        return sizeof(graph_record);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return sizeof(wait_record);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    default:
        return 0;
    }
}

// `fail cuptiCorrelationId NTH 1` gives a record an id that no call has.
static uint32_t correlation_of(const struct simgpu_operation *operation)
{
    const uint32_t nobody = 1u << 30;
    return (uint32_t)operation->correlation + (profiler_fault("cuptiCorrelationId") ? nobody : 0);
}

static void fill_kernel(kernel_record *kernel, const struct simgpu_operation *operation)
{
    kernel->start = operation->start_ns;
    kernel->end = kernel->completed = operation->end_ns;
    kernel->deviceId = operation->device;
    kernel->contextId = operation->device + 1;
    kernel->streamId = operation->stream;
    kernel->correlationId = correlation_of(operation);
    kernel->name = operation->name;
    kernel->graphNodeId = operation->graph_node;
    kernel->graphId = operation->graph;
    kernel->gridX = kernel->gridY = kernel->gridZ = kernel->blockX = kernel->blockY = kernel->blockZ = 1;
}

static void fill_copy(copy_record *copy, const struct simgpu_operation *operation)
{
    const uint8_t host =
        operation->is_pageable ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    copy->copyKind = operation->kind == SIMGPU_H2D   ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                     : operation->kind == SIMGPU_D2H ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH
                                                     : CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    copy->srcKind = operation->kind == SIMGPU_H2D ? host : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    copy->dstKind = operation->kind == SIMGPU_D2H ? host : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    copy->bytes = operation->bytes;
    copy->start = operation->start_ns;
    copy->end = operation->end_ns;
    copy->deviceId = operation->device;
    copy->contextId = operation->device + 1;
    copy->streamId = operation->stream;
    copy->correlationId = correlation_of(operation);
    copy->graphNodeId = operation->graph_node;
    copy->graphId = operation->graph;
}

static void fill_peer(peer_record *peer, const struct simgpu_operation *operation)
{
    peer->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    peer->srcKind = peer->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    peer->bytes = operation->bytes;
    peer->start = operation->start_ns;
    peer->end = operation->end_ns;
    peer->deviceId = peer->srcDeviceId = operation->device;
    peer->contextId = peer->srcContextId = operation->device + 1;
    peer->dstDeviceId = operation->peer;
    peer->dstContextId = operation->peer + 1;
    peer->streamId = operation->stream;
    peer->correlationId = correlation_of(operation);
    peer->graphNodeId = operation->graph_node;
    peer->graphId = operation->graph;
}

static void fill_set(set_record *set, const struct simgpu_operation *operation)
{
    set->bytes = operation->bytes;
    set->start = operation->start_ns;
    set->end = operation->end_ns;
    set->deviceId = operation->device;
    set->contextId = operation->device + 1;
    set->streamId = operation->stream;
    set->correlationId = correlation_of(operation);
    set->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    set->graphNodeId = operation->graph_node;
    set->graphId = operation->graph;
}

static void fill_graph(graph_record *graph, const struct simgpu_operation *operation)
{
    graph->start = operation->start_ns;
    graph->end = operation->end_ns;
    graph->deviceId = graph->endDeviceId = operation->device;
    graph->contextId = graph->endContextId = operation->device + 1;
    graph->streamId = operation->stream;
    graph->correlationId = correlation_of(operation);
    graph->graphId = operation->graph;
}

void record_operation(union record *record, const struct simgpu_operation *operation, CUpti_ActivityKind kind)
{
    memset(record, 0, sizeof *record);
    record->kind = kind;
    switch (operation->kind) {
    case SIMGPU_KERNEL:
        fill_kernel(&record->kernel, operation);
        break;
    case SIMGPU_MEMSET:
        fill_set(&record->set, operation);
        break;
    case SIMGPU_P2P:
        fill_peer(&record->peer, operation);
        break;
    case SIMGPU_GRAPH_END:
        fill_graph(&record->graph, operation);
        break;
    case SIMGPU_H2D:
    case SIMGPU_D2H:
    case SIMGPU_D2D:
        fill_copy(&record->copy, operation);
        break;
    }
}

// The record structs are packed, so their members are copied rather than pointed to.
#define CONVERT(member)                                                                                                \
    do {                                                                                                               \
        (member).start = is_complete ? clock_of((member).start) : 0;                                                   \
        (member).end = is_complete ? clock_of((member).end) : 0;                                                       \
    } while (0)

void record_convert(union record *record, bool is_complete)
{
    switch ((int)record->kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        CONVERT(record->copy);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        CONVERT(record->peer);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        CONVERT(record->set);
        break;
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        CONVERT(record->kernel);
        record->kernel.completed = record->kernel.end;
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
        CONVERT(record->graph);
        break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        CONVERT(record->wait);
        break;
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        CONVERT(record->api);
        break;
    default:
        break;
    }
}
