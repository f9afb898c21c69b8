// What stands behind a cusolverDnHandle_t, and what its functions launch.
#ifndef GW_SIMGPU_SOLVER_SOLVER_H
#define GW_SIMGPU_SOLVER_SOLVER_H

#include <cusolverDn.h>
#include <stdbool.h>

#include "tests/simgpu/stand_in_kernel.h"

#define UNUSED __attribute__((unused))

struct cusolverDnContext {
    cudaStream_t stream;
};

// A function's work: `name` is its kernel's, where the real library launches several.
struct solve {
    const char *name;
    cudaDataType type;
    double flops;    // of real numbers; complex ones take four times as many
    double elements; // read and written
    double batch;    // problems of that size
    int *info;       // on the device, one each: all of them are well, since nothing is computed
};

// Bytes of an element; 0: no such type.
size_t element_bytes(cudaDataType type);

// Launches it on the handle's stream, then clears its infos.
cusolverStatus_t handle_solve(cusolverDnHandle_t handle, const struct solve *solve);

// Elements of the work area of a function whose larger dimension is `size`: a block of columns, as blocked algorithms
// take.
int64_t work_elements(int64_t size);

// Operations of LAPACK's algorithms, as its working note 41 and the users' guide count them.
double potrf_flops(double n);
double getrf_flops(double m, double n);
double geqrf_flops(double m, double n);
double orgqr_flops(double m, double n, double k);
double eigen_flops(double n, bool vectors); // of a symmetric matrix
double svd_flops(double m, double n, bool vectors);

#endif
