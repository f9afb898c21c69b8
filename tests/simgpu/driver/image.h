// Modules and libraries: names of kernels and globals, made known by the image where it can be read, else by use.
#ifndef GW_SIMGPU_IMAGE_H
#define GW_SIMGPU_IMAGE_H

#include "tests/simgpu/driver/work.h"

struct global {
    const char *name; // interned
    CUdeviceptr address;
    size_t size;
    uint64_t range_id;
    struct global *next;
};

struct image {
    struct CUctx_st *context;  // whose memory its globals take
    const char **kernel_names; // interned; what the image lists
    size_t kernel_count;
    bool lists_kernels; // the image could be read: other names do not exist
    struct CUfunc_st *functions;
    struct global *globals;
};

struct CUmod_st {
    enum magic magic;
    struct CUctx_st *context;
    struct image image;
    struct CUlib_st *library; // whose module it is, or NULL
    struct CUmod_st *next;    // of the context
};

struct CUlib_st {
    enum magic magic;
    struct CUmod_st module;
};

// Reads what names it can from `data` (PTX text, cubin, fat binary or its wrapper). CUDA_ERROR_INVALID_IMAGE for what
// is none of these.
CUresult image_read(struct image *image, const void *data);
void image_clear(struct image *image);
CUresult image_function(struct image *image, const char *name, struct CUfunc_st **ret_function);
CUresult image_global(struct image *image, const char *name, CUdeviceptr *ret_address, size_t *ret_size);

#endif
