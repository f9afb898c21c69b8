// What both libraries say of themselves.
#ifndef GW_SIMGPU_BLAS_VERSION_H
#define GW_SIMGPU_BLAS_VERSION_H

#include <cublas_api.h>

// The newest that frameworks of today ask for (JAX refuses older ones than it was built with).
#define BLAS_MAJOR 13
#define BLAS_MINOR 10
#define BLAS_PATCH 0
#define BLAS_VERSION (BLAS_MAJOR * 10000 + BLAS_MINOR * 100 + BLAS_PATCH)

cublasStatus_t library_property(libraryPropertyType type, int *ret_value);
const char *status_name(cublasStatus_t status);

#endif
