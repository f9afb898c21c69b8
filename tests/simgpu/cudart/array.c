/* Arrays, textures and surfaces. */
#include "runtime.h"

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    struct simgpu_call call;
    rt_begin(&call, "cudaCreateChannelDesc", __builtin_return_address(0), RT_NOTHING);
    rt_end(&call, cudaSuccess);
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

/* The driver's format and channel count of DESC. */
static cudaError_t format_of(const struct cudaChannelFormatDesc *desc, CUarray_format *ret_format,
                             unsigned *ret_channels)
{
    static const struct {
        enum cudaChannelFormatKind kind;
        int bits;
        CUarray_format format;
    } formats[] = {
        {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
        {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
        {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
        {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
        {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
        {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
        {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
        {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i].kind == desc->f && formats[i].bits == desc->x) {
            *ret_format = formats[i].format;
            *ret_channels = 1u + (desc->y != 0) + (desc->z != 0) + (desc->w != 0);
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidChannelDescriptor;
}

static struct cudaChannelFormatDesc desc_of(CUarray_format format, unsigned channels)
{
    int bits = 32;
    enum cudaChannelFormatKind kind = cudaChannelFormatKindUnsigned;
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
        bits = 8;
        break;
    case CU_AD_FORMAT_UNSIGNED_INT16:
        bits = 16;
        break;
    case CU_AD_FORMAT_SIGNED_INT8:
        bits = 8;
        kind = cudaChannelFormatKindSigned;
        break;
    case CU_AD_FORMAT_SIGNED_INT16:
        bits = 16;
        kind = cudaChannelFormatKindSigned;
        break;
    case CU_AD_FORMAT_SIGNED_INT32:
        kind = cudaChannelFormatKindSigned;
        break;
    case CU_AD_FORMAT_HALF:
        bits = 16;
        kind = cudaChannelFormatKindFloat;
        break;
    case CU_AD_FORMAT_FLOAT:
        kind = cudaChannelFormatKindFloat;
        break;
    default:
        break;
    }
    return (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                          channels > 3 ? bits : 0, kind};
}

static cudaError_t create_array(CUarray *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    cudaError_t result = format_of(desc, &descriptor.Format, &descriptor.NumChannels);
    if (result != cudaSuccess)
        return result;
    if (flags || extent.depth)
        return (cudaError_t)DRV(cuArray3DCreate)(array, &descriptor);
    CUDA_ARRAY_DESCRIPTOR flat = {extent.width, extent.height, descriptor.Format, descriptor.NumChannels};
    return (cudaError_t)DRV(cuArrayCreate)(array, &flat);
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                            unsigned int flags)
{
    struct cudaExtent extent = {width, height, 0};
    RT_CALL(RT_CONTEXT, cudaMallocArray,
            RT_REQUIRE(array && desc, create_array((CUarray *)array, desc, extent, flags)));
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaMalloc3DArray,
            RT_REQUIRE(array && desc, create_array((CUarray *)array, desc, extent, flags)));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    RT_CALL(RT_CONTEXT, cudaFreeArray, array ? DRV(cuArrayDestroy)((CUarray)array) : CUDA_SUCCESS);
}

static cudaError_t array_info(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned *flags,
                              CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    CUresult result = DRV(cuArray3DGetDescriptor)(&descriptor, array);
    if (result != CUDA_SUCCESS)
        return (cudaError_t)result;
    if (desc)
        *desc = desc_of(descriptor.Format, descriptor.NumChannels);
    if (extent)
        *extent = (struct cudaExtent){descriptor.Width, descriptor.Height, descriptor.Depth};
    if (flags)
        *flags = descriptor.Flags;
    return cudaSuccess;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array)
{
    RT_CALL(RT_CONTEXT, cudaArrayGetInfo, array_info(desc, extent, flags, (CUarray)array));
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    RT_CALL(RT_CONTEXT, cudaGetChannelDesc, RT_REQUIRE(desc, array_info(desc, NULL, NULL, (CUarray)array)));
}

cudaError_t cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray, unsigned int planeIdx)
{
    RT_CALL(RT_CONTEXT, cudaArrayGetPlane, DRV(cuArrayGetPlane)((CUarray *)pPlaneArray, (CUarray)hArray, planeIdx));
}

static cudaError_t create_mipmapped(CUmipmappedArray *array, const struct cudaChannelFormatDesc *desc,
                                    struct cudaExtent extent, unsigned levels, unsigned flags)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    cudaError_t result = format_of(desc, &descriptor.Format, &descriptor.NumChannels);
    if (result != cudaSuccess)
        return result;
    return (cudaError_t)DRV(cuMipmappedArrayCreate)(array, &descriptor, levels);
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned int numLevels, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaMallocMipmappedArray,
            RT_REQUIRE(mipmappedArray && desc,
                       create_mipmapped((CUmipmappedArray *)mipmappedArray, desc, extent, numLevels, flags)));
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *levelArray, cudaMipmappedArray_const_t mipmappedArray,
                                       unsigned int level)
{
    RT_CALL(RT_CONTEXT, cudaGetMipmappedArrayLevel,
            DRV(cuMipmappedArrayGetLevel)((CUarray *)levelArray, (CUmipmappedArray)mipmappedArray, level));
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    RT_CALL(RT_CONTEXT, cudaFreeMipmappedArray,
            mipmappedArray ? DRV(cuMipmappedArrayDestroy)((CUmipmappedArray)mipmappedArray) : CUDA_SUCCESS);
}

static cudaError_t resource_to_driver(const struct cudaResourceDesc *desc, CUDA_RESOURCE_DESC *ret_resource)
{
    CUDA_RESOURCE_DESC resource = {.resType = (CUresourcetype)desc->resType};
    cudaError_t result = cudaSuccess;
    switch (desc->resType) {
    case cudaResourceTypeArray:
        resource.res.array.hArray = (CUarray)desc->res.array.array;
        break;
    case cudaResourceTypeMipmappedArray:
        resource.res.mipmap.hMipmappedArray = (CUmipmappedArray)desc->res.mipmap.mipmap;
        break;
    case cudaResourceTypeLinear:
        resource.res.linear.devPtr = (CUdeviceptr)desc->res.linear.devPtr;
        resource.res.linear.sizeInBytes = desc->res.linear.sizeInBytes;
        result = format_of(&desc->res.linear.desc, &resource.res.linear.format, &resource.res.linear.numChannels);
        break;
    case cudaResourceTypePitch2D:
        resource.res.pitch2D.devPtr = (CUdeviceptr)desc->res.pitch2D.devPtr;
        resource.res.pitch2D.width = desc->res.pitch2D.width;
        resource.res.pitch2D.height = desc->res.pitch2D.height;
        resource.res.pitch2D.pitchInBytes = desc->res.pitch2D.pitchInBytes;
        result = format_of(&desc->res.pitch2D.desc, &resource.res.pitch2D.format, &resource.res.pitch2D.numChannels);
        break;
    default:
        result = cudaErrorInvalidValue;
        break;
    }
    if (result == cudaSuccess)
        *ret_resource = resource;
    return result;
}

/* Writes only the fields of RESOURCE's kind: 12's structure is shorter than 13's. */
static void resource_from_driver(const CUDA_RESOURCE_DESC *resource, struct cudaResourceDesc *desc)
{
    desc->resType = (enum cudaResourceType)resource->resType;
    switch (desc->resType) {
    case cudaResourceTypeArray:
        desc->res.array.array = (cudaArray_t)resource->res.array.hArray;
        break;
    case cudaResourceTypeMipmappedArray:
        desc->res.mipmap.mipmap = (cudaMipmappedArray_t)resource->res.mipmap.hMipmappedArray;
        break;
    case cudaResourceTypeLinear:
        desc->res.linear.devPtr = rt_pointer(resource->res.linear.devPtr);
        desc->res.linear.desc = desc_of(resource->res.linear.format, resource->res.linear.numChannels);
        desc->res.linear.sizeInBytes = resource->res.linear.sizeInBytes;
        break;
    default:
        desc->res.pitch2D.devPtr = rt_pointer(resource->res.pitch2D.devPtr);
        desc->res.pitch2D.desc = desc_of(resource->res.pitch2D.format, resource->res.pitch2D.numChannels);
        desc->res.pitch2D.width = resource->res.pitch2D.width;
        desc->res.pitch2D.height = resource->res.pitch2D.height;
        desc->res.pitch2D.pitchInBytes = resource->res.pitch2D.pitchInBytes;
        break;
    }
}

static cudaError_t create_texture(cudaTextureObject_t *object, const struct cudaResourceDesc *desc,
                                  const struct cudaTextureDesc *texture)
{
    CUDA_RESOURCE_DESC resource;
    cudaError_t result = resource_to_driver(desc, &resource);
    if (result != cudaSuccess)
        return result;
    CUDA_TEXTURE_DESC converted = {
        .filterMode = (CUfilter_mode)texture->filterMode,
        .flags = (texture->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
                 (texture->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) |
                 (texture->sRGB ? CU_TRSF_SRGB : 0u),
        .maxAnisotropy = texture->maxAnisotropy,
        .mipmapFilterMode = (CUfilter_mode)texture->mipmapFilterMode,
        .mipmapLevelBias = texture->mipmapLevelBias,
        .minMipmapLevelClamp = texture->minMipmapLevelClamp,
        .maxMipmapLevelClamp = texture->maxMipmapLevelClamp,
    };
    for (int i = 0; i < 3; i++)
        converted.addressMode[i] = (CUaddress_mode)texture->addressMode[i];
    for (int i = 0; i < 4; i++)
        converted.borderColor[i] = texture->borderColor[i];
    return (cudaError_t)DRV(cuTexObjectCreate)((CUtexObject *)object, &resource, &converted, NULL);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *pTexObject, const struct cudaResourceDesc *pResDesc,
                                    const struct cudaTextureDesc *pTexDesc,
                                    const struct cudaResourceViewDesc *pResViewDesc)
{
    (void)pResViewDesc; /* how texels are read, and nothing reads them here */
    RT_CALL(RT_CONTEXT, cudaCreateTextureObject,
            RT_REQUIRE(pTexObject && pResDesc && pTexDesc, create_texture(pTexObject, pResDesc, pTexDesc)));
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
    RT_CALL(RT_CONTEXT, cudaDestroyTextureObject, DRV(cuTexObjectDestroy)(texObject));
}

static cudaError_t texture_resource(struct cudaResourceDesc *desc, cudaTextureObject_t object)
{
    CUDA_RESOURCE_DESC resource;
    CUresult result = DRV(cuTexObjectGetResourceDesc)(&resource, object);
    if (result == CUDA_SUCCESS)
        resource_from_driver(&resource, desc);
    return (cudaError_t)result;
}

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc, cudaTextureObject_t texObject)
{
    RT_CALL(RT_CONTEXT, cudaGetTextureObjectResourceDesc, RT_REQUIRE(pResDesc, texture_resource(pResDesc, texObject)));
}

static cudaError_t create_surface(cudaSurfaceObject_t *object, const struct cudaResourceDesc *desc)
{
    CUDA_RESOURCE_DESC resource;
    cudaError_t result = resource_to_driver(desc, &resource);
    if (result == cudaSuccess)
        result = (cudaError_t)DRV(cuSurfObjectCreate)((CUsurfObject *)object, &resource);
    return result;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject, const struct cudaResourceDesc *pResDesc)
{
    RT_CALL(RT_CONTEXT, cudaCreateSurfaceObject,
            RT_REQUIRE(pSurfObject && pResDesc, create_surface(pSurfObject, pResDesc)));
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    RT_CALL(RT_CONTEXT, cudaDestroySurfaceObject, DRV(cuSurfObjectDestroy)(surfObject));
}

static cudaError_t surface_resource(struct cudaResourceDesc *desc, cudaSurfaceObject_t object)
{
    CUDA_RESOURCE_DESC resource;
    CUresult result = DRV(cuSurfObjectGetResourceDesc)(&resource, object);
    if (result == CUDA_SUCCESS)
        resource_from_driver(&resource, desc);
    return (cudaError_t)result;
}

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc, cudaSurfaceObject_t surfObject)
{
    RT_CALL(RT_CONTEXT, cudaGetSurfaceObjectResourceDesc, RT_REQUIRE(pResDesc, surface_resource(pResDesc, surfObject)));
}
