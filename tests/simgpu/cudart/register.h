/* What compiled programs register at start-up: fat binaries, kernels and variables. Nothing of it touches the driver
 * until it is used. */
#ifndef SIMGPU_CUDART_REGISTER_H
#define SIMGPU_CUDART_REGISTER_H

#include "runtime.h"

/* The driver's kernel behind FUNCTION: the address of a registered host stub, or a cudaKernel_t. Loads its library and
 * finds the kernel on first use. Returns cudaErrorInvalidDeviceFunction for an unknown one. */
cudaError_t rt_kernel(const void *function, CUkernel *ret_kernel);

/* The host stub of KERNEL, or KERNEL itself when it came from a library. */
void *rt_kernel_symbol(CUkernel kernel);

/* Makes a cudaKernel_t of a library known, so that it can be passed where a host stub can. */
cudaError_t rt_kernel_adopt(CUkernel kernel);

/* Address and size, in the current context, of a registered variable. Returns cudaErrorInvalidSymbol for an unknown
 * one. */
cudaError_t rt_variable(const void *symbol, CUdeviceptr *ret_address, size_t *ret_size_bytes);

/* The address OFFSET bytes into a registered variable that has room for COUNT more. Returns cudaErrorInvalidValue when
 * it has not. */
cudaError_t rt_variable_range(const void *symbol, size_t count, size_t offset, void **ret_address);

/* A launch configuration as the driver has it; borrows the attributes. */
CUlaunchConfig rt_launch_config(const cudaLaunchConfig_t *config);

#endif
