/* The runtime's descriptions of copies turned into the driver's and back. */
#include <string.h>

#include "copy.h"

CUmemorytype rt_source_type(enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyHostToDevice:
        return CU_MEMORYTYPE_HOST;
    case cudaMemcpyDeviceToHost:
    case cudaMemcpyDeviceToDevice:
        return CU_MEMORYTYPE_DEVICE;
    default:
        return CU_MEMORYTYPE_UNIFIED;
    }
}

CUmemorytype rt_target_type(enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDeviceToHost:
        return CU_MEMORYTYPE_HOST;
    case cudaMemcpyHostToDevice:
    case cudaMemcpyDeviceToDevice:
        return CU_MEMORYTYPE_DEVICE;
    default:
        return CU_MEMORYTYPE_UNIFIED;
    }
}

static size_t format_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    default:
        return 4;
    }
}

CUresult rt_array_element_bytes(CUarray array, size_t *ret_bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    CUresult result = DRV(cuArray3DGetDescriptor)(&descriptor, array);
    if (result == CUDA_SUCCESS)
        *ret_bytes = format_bytes(descriptor.Format) * descriptor.NumChannels;
    return result;
}

/* Bytes of the unit in which a copy between these ends counts: the arrays' element, else a byte. */
static CUresult copy_unit(CUarray source, CUarray target, size_t *ret_bytes)
{
    *ret_bytes = 1;
    if (source)
        return rt_array_element_bytes(source, ret_bytes);
    if (target)
        return rt_array_element_bytes(target, ret_bytes);
    return CUDA_SUCCESS;
}

CUresult rt_copy_3d_to_driver(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *ret_copy)
{
    CUarray source = (CUarray)params->srcArray;
    CUarray target = (CUarray)params->dstArray;
    size_t unit;
    CUresult result = copy_unit(source, target, &unit);
    if (result != CUDA_SUCCESS)
        return result;
    if ((!source && !params->srcPtr.ptr) || (!target && !params->dstPtr.ptr))
        return CUDA_ERROR_INVALID_VALUE;

    CUDA_MEMCPY3D copy = {
        .srcXInBytes = params->srcPos.x * (source ? unit : 1),
        .srcY = params->srcPos.y,
        .srcZ = params->srcPos.z,
        .dstXInBytes = params->dstPos.x * (target ? unit : 1),
        .dstY = params->dstPos.y,
        .dstZ = params->dstPos.z,
        .WidthInBytes = params->extent.width * unit,
        .Height = params->extent.height,
        .Depth = params->extent.depth,
    };
    if (source) {
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = source;
    } else {
        copy.srcMemoryType = rt_source_type(params->kind);
        copy.srcHost = params->srcPtr.ptr;
        copy.srcDevice = (CUdeviceptr)params->srcPtr.ptr;
        copy.srcPitch = params->srcPtr.pitch;
        copy.srcHeight = params->srcPtr.ysize;
    }
    if (target) {
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = target;
    } else {
        copy.dstMemoryType = rt_target_type(params->kind);
        copy.dstHost = params->dstPtr.ptr;
        copy.dstDevice = (CUdeviceptr)params->dstPtr.ptr;
        copy.dstPitch = params->dstPtr.pitch;
        copy.dstHeight = params->dstPtr.ysize;
    }
    *ret_copy = copy;
    return CUDA_SUCCESS;
}

static enum cudaMemcpyKind kind_of(CUmemorytype source, CUmemorytype target)
{
    if (source == CU_MEMORYTYPE_UNIFIED || target == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    if (source == CU_MEMORYTYPE_HOST)
        return target == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return target == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

CUresult rt_copy_3d_from_driver(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *ret_params)
{
    CUarray source = copy->srcMemoryType == CU_MEMORYTYPE_ARRAY ? copy->srcArray : NULL;
    CUarray target = copy->dstMemoryType == CU_MEMORYTYPE_ARRAY ? copy->dstArray : NULL;
    size_t unit;
    CUresult result = copy_unit(source, target, &unit);
    if (result != CUDA_SUCCESS)
        return result;

    struct cudaMemcpy3DParms params = {
        .srcArray = (cudaArray_t)source,
        .srcPos = {copy->srcXInBytes / (source ? unit : 1), copy->srcY, copy->srcZ},
        .dstArray = (cudaArray_t)target,
        .dstPos = {copy->dstXInBytes / (target ? unit : 1), copy->dstY, copy->dstZ},
        .extent = {copy->WidthInBytes / unit, copy->Height, copy->Depth},
        .kind = kind_of(copy->srcMemoryType, copy->dstMemoryType),
    };
    if (!source)
        params.srcPtr = (struct cudaPitchedPtr){
            .ptr = copy->srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)copy->srcHost : rt_pointer(copy->srcDevice),
            .pitch = copy->srcPitch,
            .xsize = copy->WidthInBytes,
            .ysize = copy->srcHeight,
        };
    if (!target)
        params.dstPtr = (struct cudaPitchedPtr){
            .ptr = copy->dstMemoryType == CU_MEMORYTYPE_HOST ? copy->dstHost : rt_pointer(copy->dstDevice),
            .pitch = copy->dstPitch,
            .xsize = copy->WidthInBytes,
            .ysize = copy->dstHeight,
        };
    *ret_params = params;
    return CUDA_SUCCESS;
}

CUresult rt_copy_3d_peer_to_driver(const struct cudaMemcpy3DPeerParms *params, CUDA_MEMCPY3D_PEER *ret_copy)
{
    const struct cudaMemcpy3DParms plain = {
        .srcArray = params->srcArray,
        .srcPos = params->srcPos,
        .srcPtr = params->srcPtr,
        .dstArray = params->dstArray,
        .dstPos = params->dstPos,
        .dstPtr = params->dstPtr,
        .extent = params->extent,
        .kind = cudaMemcpyDeviceToDevice,
    };
    CUDA_MEMCPY3D copy;
    CUcontext source, target;
    CUresult result = rt_copy_3d_to_driver(&plain, &copy);
    if (result == CUDA_SUCCESS)
        result = rt_primary_context(params->srcDevice, &source);
    if (result == CUDA_SUCCESS)
        result = rt_primary_context(params->dstDevice, &target);
    if (result != CUDA_SUCCESS)
        return result;
    *ret_copy = (CUDA_MEMCPY3D_PEER){
        .srcXInBytes = copy.srcXInBytes,
        .srcY = copy.srcY,
        .srcZ = copy.srcZ,
        .srcMemoryType = copy.srcMemoryType,
        .srcDevice = copy.srcDevice,
        .srcArray = copy.srcArray,
        .srcContext = source,
        .srcPitch = copy.srcPitch,
        .srcHeight = copy.srcHeight,
        .dstXInBytes = copy.dstXInBytes,
        .dstY = copy.dstY,
        .dstZ = copy.dstZ,
        .dstMemoryType = copy.dstMemoryType,
        .dstDevice = copy.dstDevice,
        .dstArray = copy.dstArray,
        .dstContext = target,
        .dstPitch = copy.dstPitch,
        .dstHeight = copy.dstHeight,
        .WidthInBytes = copy.WidthInBytes,
        .Height = copy.Height,
        .Depth = copy.Depth,
    };
    return CUDA_SUCCESS;
}

struct cudaMemcpy3DParms rt_copy_1d(void *target, const void *source, size_t count, enum cudaMemcpyKind kind)
{
    return (struct cudaMemcpy3DParms){
        .srcPtr = {(void *)source, count, count, 1},
        .dstPtr = {target, count, count, 1},
        .extent = {count, 1, 1},
        .kind = kind,
    };
}
