#include "tests/simgpu/driver/work.h"

#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/array.h"
#include "tests/simgpu/driver/internal.h"
#include "tests/simgpu/driver/ranges.h"
#include "tests/simgpu/engine/clock.h"
#include "tests/simgpu/engine/external.h"

// A copy from pageable memory up to this size is staged at once; of a larger one the call returns when its last piece
// is; as documented.
#define STAGED_BYTES 65536u
#define MAX_THREADS 1024u
#define MAX_SHARED_BYTES (227u << 10)

enum place { PAGEABLE, PINNED, ON_DEVICE };

// One side of a copy.
struct side {
    char *base;
    size_t pitch, slice;
    enum place place;
    struct device *device;
};

CUresult work_kernel(struct work *work, CUfunction function, const unsigned grid[3], const unsigned block[3],
                     unsigned shared_bytes, void **parameters, void **extra)
{
    static const unsigned max_grid[3] = {2147483647, 65535, 65535}, max_block[3] = {1024, 1024, 64};
    if (!IS(function, MAGIC_FUNCTION))
        return CUDA_ERROR_INVALID_HANDLE;
    if (parameters && extra)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 3; i++) {
        if (!grid[i] || grid[i] > max_grid[i] || !block[i] || block[i] > max_block[i])
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (block[0] * block[1] * block[2] > MAX_THREADS)
        return CUDA_ERROR_INVALID_VALUE;
    if (shared_bytes > MAX_SHARED_BYTES ||
        (shared_bytes > 48u << 10 && shared_bytes > (unsigned)function->max_dynamic_shared_bytes))
        return CUDA_ERROR_INVALID_VALUE;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_KERNEL,
                          .kernel = {.function = function,
                                     .grid = {grid[0], grid[1], grid[2]},
                                     .block = {block[0], block[1], block[2]},
                                     .shared_bytes = shared_bytes,
                                     .context = context_current()}};
    if (sim_thread.next_kernel) {
        work->kernel.external = *sim_thread.next_kernel;
        sim_thread.next_kernel = NULL;
    }
    work->kernel.library_ns = sim_thread.next_kernel_ns;
    sim_thread.next_kernel_ns = 0;
    if (function->is_spin) {
        const void *first = parameters ? parameters[0] : NULL;
        for (void **item = extra; item && item[0] != CU_LAUNCH_PARAM_END; item += 2) {
            if (item[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
                first = item[1];
        }
        if (!first)
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(&work->kernel.spin_ns, first, sizeof work->kernel.spin_ns);
    }
    return CUDA_SUCCESS;
}

static CUresult find_side(struct side *side, CUmemorytype type, const void *address, size_t extent_bytes)
{
    const struct range *range = range_find(address);
    side->base = (char *)address;
    side->device = context_current() ? context_current()->device : NULL;
    if (!range) {
        if (type == CU_MEMORYTYPE_DEVICE || !address)
            return CUDA_ERROR_INVALID_VALUE;
        side->place = PAGEABLE;
        return CUDA_SUCCESS;
    }
    const bool on_device = range->kind != RANGE_HOST && range->kind != RANGE_REGISTERED;
    if (on_device && extent_bytes > range->base + range->size - (uintptr_t)address)
        return CUDA_ERROR_INVALID_VALUE;
    side->place = on_device ? ON_DEVICE : PINNED;
    if (range->kind == RANGE_DEVICE || range->kind == RANGE_MAPPED)
        side->device = range->device;
    return CUDA_SUCCESS;
}

static size_t extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

static void set_kind(struct copy_work *copy, const struct side *to, const struct side *from)
{
    copy->is_pageable = to->place == PAGEABLE || from->place == PAGEABLE;
    if (to->place == ON_DEVICE && from->place == ON_DEVICE) {
        copy->kind = to->device == from->device ? OP_D2D : OP_P2P;
        copy->device = from->device;
        copy->peer = to->device;
    } else if (to->place == ON_DEVICE) {
        copy->kind = OP_H2D;
        copy->device = to->device;
    } else if (from->place == ON_DEVICE) {
        copy->kind = OP_D2H;
        copy->device = from->device;
    } else {
        copy->kind = OP_MARKER;
        copy->device = from->device;
    }
}

CUresult work_copy_1d(struct work *work, CUdeviceptr to, CUmemorytype to_type, CUdeviceptr from, CUmemorytype from_type,
                      size_t size_bytes)
{
    struct side to_side, from_side;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    struct copy_work *copy = &work->copy;
    CUresult result;
    if (size_bytes) {
        if ((result = find_side(&to_side, to_type, (void *)to, size_bytes)) ||
            (result = find_side(&from_side, from_type, (void *)from, size_bytes)))
            return result;
        set_kind(copy, &to_side, &from_side);
    } else {
        copy->device = context_current()->device;
    }
    copy->context = context_current();
    copy->parameters = (CUDA_MEMCPY3D){.srcMemoryType = from_type,
                                       .srcHost = (void *)from,
                                       .srcDevice = from,
                                       .dstMemoryType = to_type,
                                       .dstHost = (void *)to,
                                       .dstDevice = to,
                                       .WidthInBytes = size_bytes,
                                       .Height = 1,
                                       .Depth = 1};
    copy->box = (struct effect){.type = EFFECT_COPY,
                                .to = (char *)to,
                                .from = (char *)from,
                                .width_bytes = size_bytes,
                                .height = 1,
                                .depth = 1};
    return CUDA_SUCCESS;
}

struct side_parameters {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
};

static CUresult find_box_side(struct side *side, const struct side_parameters *given, size_t width, size_t height,
                              size_t depth)
{
    if (given->type == CU_MEMORYTYPE_ARRAY) {
        const struct CUarray_st *array = given->array;
        if (!IS(array, MAGIC_ARRAY))
            return CUDA_ERROR_INVALID_HANDLE;
        if (given->x + width > array->pitch || given->y + height > array->rows || given->z + depth > array->slices)
            return CUDA_ERROR_INVALID_VALUE;
        side->pitch = array->pitch;
        side->slice = array->pitch * array->rows;
        side->place = ON_DEVICE;
        side->device = array->device;
        side->base = (char *)array->base + given->z * side->slice + given->y * side->pitch + given->x;
        return CUDA_SUCCESS;
    }
    if (given->type != CU_MEMORYTYPE_HOST && given->type != CU_MEMORYTYPE_DEVICE &&
        given->type != CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    side->pitch = given->pitch ? given->pitch : given->x + width;
    if (side->pitch < given->x + width)
        return CUDA_ERROR_INVALID_VALUE;
    side->slice = side->pitch * (given->height ? given->height : given->y + height);
    const char *base = given->type == CU_MEMORYTYPE_HOST ? given->host : (const char *)given->device;
    if (!base)
        return CUDA_ERROR_INVALID_VALUE;
    base += given->z * side->slice + given->y * side->pitch + given->x;
    return find_side(side, given->type, base, extent(width, height, depth, side->pitch, side->slice));
}

CUresult work_copy(struct work *work, const CUDA_MEMCPY3D *given)
{
    struct side to, from;
    const size_t width = given->WidthInBytes, height = given->Height, depth = given->Depth;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    struct copy_work *copy = &work->copy;
    copy->parameters = *given;
    copy->context = context_current();
    copy->device = context_current()->device;
    copy->box = (struct effect){.type = EFFECT_COPY, .depth = 1};
    if (!width || !height || !depth)
        return CUDA_SUCCESS;
    const struct side_parameters to_given = {given->dstMemoryType, given->dstHost,     given->dstDevice,
                                             given->dstArray,      given->dstXInBytes, given->dstY,
                                             given->dstZ,          given->dstPitch,    given->dstHeight};
    const struct side_parameters from_given = {given->srcMemoryType, given->srcHost,     given->srcDevice,
                                               given->srcArray,      given->srcXInBytes, given->srcY,
                                               given->srcZ,          given->srcPitch,    given->srcHeight};
    CUresult result;
    if ((result = find_box_side(&to, &to_given, width, height, depth)) ||
        (result = find_box_side(&from, &from_given, width, height, depth)))
        return result;
    set_kind(copy, &to, &from);
    copy->box = (struct effect){.type = EFFECT_COPY,
                                .to = to.base,
                                .to_pitch = to.pitch,
                                .to_slice = to.slice,
                                .from = from.base,
                                .from_pitch = from.pitch,
                                .from_slice = from.slice,
                                .width_bytes = width,
                                .height = height,
                                .depth = depth};
    return CUDA_SUCCESS;
}

CUresult work_set(struct work *work, const CUDA_MEMSET_NODE_PARAMS *given)
{
    struct side side;
    const size_t size = given->elementSize;
    if ((size != 1 && size != 2 && size != 4) || given->dst % size)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t width = given->width * size, height = given->height;
    if (height > 1 && given->pitch < width)
        return CUDA_ERROR_INVALID_VALUE;
    *work = (struct work){.type = CU_GRAPH_NODE_TYPE_MEMSET, .set = {.parameters = *given}};
    work->set.context = context_current();
    work->set.device = context_current()->device;
    if (!width || !height)
        return CUDA_SUCCESS;
    const CUresult result =
        find_side(&side, CU_MEMORYTYPE_DEVICE, (void *)given->dst, extent(width, height, 1, given->pitch, 0));
    if (!result)
        work->set.device = side.device;
    return result;
}

static double gbps_of(const struct copy_work *copy)
{
    switch (copy->kind) {
    case OP_H2D:
        return copy->is_pageable ? CONFIG(h2d_pageable_gbps) : CONFIG(h2d_pinned_gbps);
    case OP_D2H:
        return copy->is_pageable ? CONFIG(d2h_pageable_gbps) : CONFIG(d2h_pinned_gbps);
    case OP_P2P: {
        const double link = config_get()->link_gbps[copy->device->index][copy->peer->index];
        return link > 0 ? link : CONFIG(p2p_gbps);
    }
    default:
        return CONFIG(d2d_gbps);
    }
}

static void plan_copy(struct op *op, const struct copy_work *copy)
{
    static const enum op_engine engines[] = {
        [OP_H2D] = ENGINE_H2D, [OP_D2H] = ENGINE_D2H, [OP_D2D] = ENGINE_D2D, [OP_P2P] = ENGINE_D2D};
    op->device = copy->device;
    op->effect = copy->box;
    op->bytes = copy->box.width_bytes * copy->box.height * copy->box.depth;
    if (copy->kind == OP_MARKER)
        return;
    op->is_pageable = copy->is_pageable;
    op->peer = copy->peer ? copy->peer->index : 0;
    op->engine = engines[copy->kind];
    op->units = 1;
    op->duration_ns = (uint64_t)(CONFIG(copy_latency_ns) + (double)op->bytes / gbps_of(copy));
}

static void plan_set(struct op *op, const struct set_work *set)
{
    const CUDA_MEMSET_NODE_PARAMS *given = &set->parameters;
    op->device = set->device;
    op->bytes = given->width * given->elementSize * given->height;
    op->effect = (struct effect){.type = EFFECT_FILL,
                                 .to = (char *)given->dst,
                                 .to_pitch = given->pitch,
                                 .width_bytes = given->width * given->elementSize,
                                 .height = given->height,
                                 .depth = 1,
                                 .value = given->value,
                                 .value_bytes = given->elementSize};
    op->duration_ns = (uint64_t)(1000 + (double)op->bytes / CONFIG(memset_gbps));
}

static void plan_kernel(struct op *op, const struct kernel_work *kernel)
{
    const struct CUfunc_st *function = kernel->function;
    const unsigned threads = kernel->block[0] * kernel->block[1] * kernel->block[2];
    const double blocks = (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2], sms = CONFIG(sms);
    const double at_once = 2048 / threads > 32 ? 32 : 2048 / threads; // blocks of one multiprocessor
    const double needed_sms = (double)(uint64_t)((blocks + at_once - 1) / at_once);
    const double waves = (double)(uint64_t)((blocks + at_once * sms - 1) / (at_once * sms));
    double duration_ns = CONFIG(kernel_base_ns) + waves * CONFIG(kernel_wave_ns);
    if (function->is_spin)
        duration_ns = (double)kernel->spin_ns;
    else if (function->fixed_ns >= 0)
        duration_ns = function->fixed_ns;
    else if (kernel->library_ns)
        duration_ns = (double)kernel->library_ns;
    op->name = function->name;
    if (kernel->external.submit) {
        external_attach(op, &kernel->external);
        return;
    }
    op->engine = ENGINE_COMPUTE;
    op->units = needed_sms < sms ? (unsigned)needed_sms : (unsigned)sms;
    op->duration_ns = (uint64_t)(duration_ns * op->device->slowdown);
}

struct op *work_op(const struct work *work, struct device *device, unsigned stream)
{
    enum op_kind kind = OP_MARKER;
    if (work->type == CU_GRAPH_NODE_TYPE_KERNEL)
        kind = OP_KERNEL;
    else if (work->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        kind = work->copy.kind;
    else if (work->type == CU_GRAPH_NODE_TYPE_MEMSET)
        kind = OP_MEMSET;
    else if (work->type == CU_GRAPH_NODE_TYPE_HOST)
        kind = OP_HOST;
    struct op *op = op_create(kind, device, stream);
    if (kind == OP_KERNEL)
        plan_kernel(op, &work->kernel);
    else if (work->type == CU_GRAPH_NODE_TYPE_MEMCPY)
        plan_copy(op, &work->copy);
    else if (kind == OP_MEMSET)
        plan_set(op, &work->set);
    return op;
}

void work_commit(const struct work *work, struct op *op)
{
    if (work->type == CU_GRAPH_NODE_TYPE_HOST)
        op_commit_host(op, work->host.function, work->host.argument);
    else
        op_commit(op);
}

CUresult work_submit(const struct work *work, struct CUstream_st *stream, struct op **ret_op)
{
    if (stream->capture) {
        *ret_op = NULL;
        return capture_add(stream, work);
    }
    if (stream->kind == STREAM_LEGACY) {
        const CUresult result = capture_forbids_legacy(stream->context);
        if (result)
            return result;
    }
    struct op *op = work_op(work, stream->context->device, stream->number);
    const bool is_staged =
        work->type == CU_GRAPH_NODE_TYPE_MEMCPY && op->kind == OP_H2D && work->copy.is_pageable && op->bytes;
    if (is_staged && op->bytes <= STAGED_BYTES) {
        // The caller may reuse its memory as soon as the call returns.
        char *staging = malloc(op->bytes);
        if (!staging)
            abort();
        for (size_t z = 0; z < op->effect.depth; z++) {
            for (size_t y = 0; y < op->effect.height; y++)
                memcpy(staging + (z * op->effect.height + y) * op->effect.width_bytes,
                       op->effect.from + z * op->effect.from_slice + y * op->effect.from_pitch, op->effect.width_bytes);
        }
        op->effect.from = op->effect.release = staging;
        op->effect.from_pitch = op->effect.width_bytes;
        op->effect.from_slice = op->effect.width_bytes * op->effect.height;
        op->submit_ns = clock_now_ns();
    }
    stream_order(stream, op);
    if (is_staged && op->bytes > STAGED_BYTES)
        op_commit_staged(op, (uint64_t)CONFIG(copy_latency_ns));
    else
        work_commit(work, op);
    *ret_op = op;
    return CUDA_SUCCESS;
}

CUresult work_enqueue(const struct work *work, struct CUstream_st *stream)
{
    struct op *op;
    const CUresult result = work_submit(work, stream, &op);
    if (!result)
        op_unref(op);
    return result;
}
