// Arrays and mipmapped arrays.
#include "tests/simgpu/driver/array.h"

#include "tests/simgpu/driver/internal.h"

#define MAX_LEVELS 32u

struct CUmipmappedArray_st {
    enum magic magic;
    struct CUarray_st *levels[MAX_LEVELS];
    unsigned count;
};

static size_t format_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static CUresult create_3d(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    struct range *range;
    if (!ret_array || !descriptor || !descriptor->Width)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t format = format_bytes(descriptor->Format);
    if (!format)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (descriptor->NumChannels != 1 && descriptor->NumChannels != 2 && descriptor->NumChannels != 4)
        return CUDA_ERROR_INVALID_VALUE;
    const size_t element = format * descriptor->NumChannels, rows = descriptor->Height ? descriptor->Height : 1;
    const size_t slices = descriptor->Depth ? descriptor->Depth : 1, pitch = descriptor->Width * element;
    spend_ns(CONFIG(malloc_ns));
    const CUresult result = device_memory_take(context_current()->device, pitch * rows * slices, &range);
    if (result)
        return result;
    struct CUarray_st *array = object_new(MAGIC_ARRAY, sizeof *array);
    array->descriptor = *descriptor;
    array->device = range->device;
    array->base = range->base;
    array->range_id = range->id;
    array->pitch = pitch;
    array->rows = rows;
    array->slices = slices;
    *ret_array = array;
    return CUDA_SUCCESS;
}

static CUresult create(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
    if (!descriptor)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR full = {.Width = descriptor->Width,
                                          .Height = descriptor->Height,
                                          .Format = descriptor->Format,
                                          .NumChannels = descriptor->NumChannels};
    return create_3d(ret_array, &full);
}

static void array_delete(struct CUarray_st *array)
{
    device_memory_give_id(array->base, array->range_id);
    object_free(array, sizeof *array);
}

static CUresult destroy(CUarray array)
{
    if (!IS(array, MAGIC_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    if (array->belongs_to_mipmap)
        return CUDA_ERROR_INVALID_HANDLE;
    device_wait(array->device);
    spend_ns(CONFIG(free_ns));
    if (!IS(array, MAGIC_ARRAY))
        return CUDA_ERROR_INVALID_HANDLE;
    array_delete(array);
    return CUDA_SUCCESS;
}

static CUresult describe_3d(CUDA_ARRAY3D_DESCRIPTOR *ret_descriptor, CUarray array)
{
    if (!IS(array, MAGIC_ARRAY) || !ret_descriptor)
        return IS(array, MAGIC_ARRAY) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    *ret_descriptor = array->descriptor;
    return CUDA_SUCCESS;
}

static CUresult describe(CUDA_ARRAY_DESCRIPTOR *ret_descriptor, CUarray array)
{
    CUDA_ARRAY3D_DESCRIPTOR full;
    const CUresult result = describe_3d(&full, array);
    if (result || !ret_descriptor)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_descriptor = (CUDA_ARRAY_DESCRIPTOR){
        .Width = full.Width, .Height = full.Height, .Format = full.Format, .NumChannels = full.NumChannels};
    return CUDA_SUCCESS;
}

static CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *ret_requirements, size_t size_bytes)
{
    if (!ret_requirements)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_requirements = (CUDA_ARRAY_MEMORY_REQUIREMENTS){.size = size_bytes, .alignment = 512};
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT | UNSAFE, cuArrayCreate_v2, (CUarray * pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray),
      create(pHandle, pAllocateArray))
ENTRY(NEED_CONTEXT | UNSAFE, cuArray3DCreate_v2, (CUarray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray),
      create_3d(pHandle, pAllocateArray))
ENTRY(NEED_CONTEXT | UNSAFE, cuArrayDestroy, (CUarray hArray), destroy(hArray))
ENTRY(NEED_CONTEXT, cuArrayGetDescriptor_v2, (CUDA_ARRAY_DESCRIPTOR * pArrayDescriptor, CUarray hArray),
      describe(pArrayDescriptor, hArray))
ENTRY(NEED_CONTEXT, cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * pArrayDescriptor, CUarray hArray),
      describe_3d(pArrayDescriptor, hArray))
ENTRY(NEED_CONTEXT, cuArrayGetMemoryRequirements,
      (CUDA_ARRAY_MEMORY_REQUIREMENTS * memoryRequirements, CUarray array, CUdevice device),
      ((void)device, IS(array, MAGIC_ARRAY)
                         ? requirements(memoryRequirements, array->pitch * array->rows * array->slices)
                         : CUDA_ERROR_INVALID_HANDLE))

static CUresult mipmap_destroy(CUmipmappedArray mipmap)
{
    if (!IS(mipmap, MAGIC_MIPMAP))
        return CUDA_ERROR_INVALID_HANDLE;
    device_wait(context_current()->device);
    spend_ns(CONFIG(free_ns));
    for (unsigned i = 0; i < mipmap->count; i++)
        array_delete(mipmap->levels[i]);
    object_free(mipmap, sizeof *mipmap);
    return CUDA_SUCCESS;
}

static size_t halved(size_t size, unsigned level)
{
    return !size || size >> level ? size >> level : 1;
}

static CUresult mipmap_create(CUmipmappedArray *ret_mipmap, const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned levels)
{
    if (!ret_mipmap || !descriptor || !levels || levels > MAX_LEVELS)
        return CUDA_ERROR_INVALID_VALUE;
    struct CUmipmappedArray_st *mipmap = object_new(MAGIC_MIPMAP, sizeof *mipmap);
    for (unsigned i = 0; i < levels; i++) {
        CUDA_ARRAY3D_DESCRIPTOR level = *descriptor;
        level.Width = halved(level.Width, i);
        level.Height = halved(level.Height, i);
        if (!(level.Flags & CUDA_ARRAY3D_LAYERED))
            level.Depth = halved(level.Depth, i);
        const CUresult result = create_3d(&mipmap->levels[i], &level);
        if (result) {
            mipmap_destroy(mipmap);
            return result;
        }
        mipmap->levels[i]->belongs_to_mipmap = true;
        mipmap->count++;
    }
    *ret_mipmap = mipmap;
    return CUDA_SUCCESS;
}

static CUresult mipmap_level(CUarray *ret_array, CUmipmappedArray mipmap, unsigned level)
{
    if (!IS(mipmap, MAGIC_MIPMAP))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_array || level >= mipmap->count)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_array = mipmap->levels[level];
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT | UNSAFE, cuMipmappedArrayCreate,
      (CUmipmappedArray * pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc, unsigned numMipmapLevels),
      mipmap_create(pHandle, pMipmappedArrayDesc, numMipmapLevels))
ENTRY(NEED_CONTEXT | UNSAFE, cuMipmappedArrayDestroy, (CUmipmappedArray hMipmappedArray),
      mipmap_destroy(hMipmappedArray))
ENTRY(NEED_CONTEXT, cuMipmappedArrayGetLevel, (CUarray * pLevelArray, CUmipmappedArray hMipmappedArray, unsigned level),
      mipmap_level(pLevelArray, hMipmappedArray, level))
