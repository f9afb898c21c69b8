/* Copies: the runtime's descriptions turned into the driver's. */
#ifndef SIMGPU_CUDART_COPY_H
#define SIMGPU_CUDART_COPY_H

#include "runtime.h"

/* Bytes of an element of ARRAY. */
CUresult rt_array_element_bytes(CUarray array, size_t *ret_bytes);

/* A 3D copy. In the runtime's description, widths and x positions count elements as soon as an array takes part. */
CUresult rt_copy_3d_to_driver(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *ret_copy);
CUresult rt_copy_3d_from_driver(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *ret_params);
CUresult rt_copy_3d_peer_to_driver(const struct cudaMemcpy3DPeerParms *params, CUDA_MEMCPY3D_PEER *ret_copy);

/* The memory types at both ends of a copy of KIND. */
CUmemorytype rt_source_type(enum cudaMemcpyKind kind);
CUmemorytype rt_target_type(enum cudaMemcpyKind kind);

/* A 1D copy as the 3D one of a single row, which is what graph nodes hold. */
struct cudaMemcpy3DParms rt_copy_1d(void *target, const void *source, size_t count, enum cudaMemcpyKind kind);

#endif
