/* The kernels of the scenarios, compiled by nvcc, as host functions for cudaLaunchKernel. Their argument is a duration
 * in nanoseconds. */
#ifndef GW_TESTS_SCENARIOS_KERNELS_H
#define GW_TESTS_SCENARIOS_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

/* By enum kernel, and TRIAL_KERNELS more. */
extern const void *const kernel_functions[];
extern const void *const trial_functions[];

#ifdef __cplusplus
}
#endif

#endif
