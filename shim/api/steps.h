/*
 * How the recorder asks a traced process to count steps, and where that tells it of them: variables of its environment,
 * and a datagram socket in LTTNG_HOME. Each message is a JSON object with "pid" and
 *   window_begin_ns, steps_begin_ns or window_end_ns   recording began, the first of the steps asked for began, or
 *                                       recording ended then, on CLOCK_MONOTONIC
 *   slow_step, length_ns, median_ns, end_ns   a step's number and length, that of the steps before, and its end
 */
#ifndef GW_SHIM_API_STEPS_H
#define GW_SHIM_API_STEPS_H

#define GW_STEPS_MARK_VARIABLE "GPUWITNESS_STEP_MARK" /* extended regular expression */
#define GW_STEPS_RANGE_VARIABLE "GPUWITNESS_STEPS"    /* FIRST..LAST: record these only */
#define GW_STEPS_SLOW_VARIABLE                                                                                         \
    "GPUWITNESS_SLOW_STEP" /* FACTOR,QUIET_NS: tell of steps so much longer than the median */
#define GW_STEPS_SOCKET "gpuwitness-steps"

#endif
