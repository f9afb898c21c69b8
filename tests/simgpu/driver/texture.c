// Texture and surface objects: handles that remember what they were made of. No kernel reads them.
#include <stdlib.h>

#include "tests/simgpu/driver/internal.h"

struct view {
    unsigned long long handle;
    bool is_surface;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC range;
    struct view *next;
};

static struct view *views;
static unsigned long long last_handle;

static CUresult create(unsigned long long *ret_handle, const CUDA_RESOURCE_DESC *resource,
                       const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *range, bool is_surface)
{
    if (!ret_handle || !resource || (!is_surface && !texture) || (unsigned)resource->resType > CU_RESOURCE_TYPE_PITCH2D)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_surface && resource->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    if (resource->resType == CU_RESOURCE_TYPE_ARRAY && !IS(resource->res.array.hArray, MAGIC_ARRAY))
        return CUDA_ERROR_INVALID_VALUE;
    struct view *view = calloc(1, sizeof *view);
    if (!view)
        return CUDA_ERROR_OUT_OF_MEMORY;
    view->handle = ++last_handle;
    view->is_surface = is_surface;
    view->resource = *resource;
    if (texture)
        view->texture = *texture;
    if (range)
        view->range = *range;
    view->next = views;
    views = view;
    *ret_handle = view->handle;
    return CUDA_SUCCESS;
}

static struct view **find(unsigned long long handle, bool is_surface)
{
    struct view **place = &views;
    while (*place && ((*place)->handle != handle || (*place)->is_surface != is_surface))
        place = &(*place)->next;
    return place;
}

static CUresult destroy(unsigned long long handle, bool is_surface)
{
    struct view **place = find(handle, is_surface), *view = *place;
    if (!view)
        return CUDA_ERROR_INVALID_VALUE;
    *place = view->next;
    free(view);
    return CUDA_SUCCESS;
}

#define GIVE(ret, handle, is_surface, member)                                                                          \
    ((ret) && *find(handle, is_surface) ? (*(ret) = (*find(handle, is_surface))->member, CUDA_SUCCESS)                 \
                                        : CUDA_ERROR_INVALID_VALUE)

ENTRY(NEED_CONTEXT, cuTexObjectCreate,
      (CUtexObject * pTexObject, const CUDA_RESOURCE_DESC *pResDesc, const CUDA_TEXTURE_DESC *pTexDesc,
       const CUDA_RESOURCE_VIEW_DESC *pResViewDesc),
      create(pTexObject, pResDesc, pTexDesc, pResViewDesc, false))
ENTRY(NEED_CONTEXT, cuTexObjectDestroy, (CUtexObject texObject), destroy(texObject, false))
ENTRY(NEED_CONTEXT, cuTexObjectGetResourceDesc, (CUDA_RESOURCE_DESC * pResDesc, CUtexObject texObject),
      GIVE(pResDesc, texObject, false, resource))
ENTRY(NEED_CONTEXT, cuTexObjectGetTextureDesc, (CUDA_TEXTURE_DESC * pTexDesc, CUtexObject texObject),
      GIVE(pTexDesc, texObject, false, texture))
ENTRY(NEED_CONTEXT, cuTexObjectGetResourceViewDesc, (CUDA_RESOURCE_VIEW_DESC * pResViewDesc, CUtexObject texObject),
      GIVE(pResViewDesc, texObject, false, range))
ENTRY(NEED_CONTEXT, cuSurfObjectCreate, (CUsurfObject * pSurfObject, const CUDA_RESOURCE_DESC *pResDesc),
      create(pSurfObject, pResDesc, NULL, NULL, true))
ENTRY(NEED_CONTEXT, cuSurfObjectDestroy, (CUsurfObject surfObject), destroy(surfObject, true))
ENTRY(NEED_CONTEXT, cuSurfObjectGetResourceDesc, (CUDA_RESOURCE_DESC * pResDesc, CUsurfObject surfObject),
      GIVE(pResDesc, surfObject, true, resource))
