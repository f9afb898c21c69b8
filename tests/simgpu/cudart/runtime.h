/* What every entry point of the simulated runtime is made of: begin, the work, end. */
#ifndef SIMGPU_CUDART_RUNTIME_H
#define SIMGPU_CUDART_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

#include "driver.h"

/* Each file is compiled once a library: RT_MAJOR is 12 or 13. */
#ifndef RT_MAJOR
#error "RT_MAJOR must be the major version of the library being built"
#endif
/* What cudaRuntimeGetVersion answers: the newest minor version whose ABI is laid out here. */
#define RT_VERSION (RT_MAJOR >= 13 ? 13000 : 12080)

/* Symbol names as the headers mangle them. Functions whose signature differs between the two major versions have a C
 * name of their own, and RT_SYMBOL gives them the exported one, so that either library builds with either toolkit. */
#define RT_STRING_(text) #text
#define RT_STRING(text) RT_STRING_(text)
#if RT_PER_THREAD
#define RT_SUFFIX_PTSZ "_ptsz"
#else
#define RT_SUFFIX_PTSZ ""
#endif
#define RT_SYMBOL(name) __asm__(name)
/* The exported name of a function which 13 made the only one and 12 has beside an older signature. */
#if RT_MAJOR >= 13
#define RT_NAME_V2(name) name
#else
#define RT_NAME_V2(name) name "_v2"
#endif

/* How much of the runtime a call brings up before it does its work. */
enum rt_need {
    RT_NOTHING, /* not even a driver */
    RT_DRIVER,  /* a driver, initialised */
    RT_CONTEXT, /* a current context: the program's own, else the primary one of the thread's device */
};

/* Brings the runtime up to NEED. Returns cudaSuccess, or why it cannot be. For what compiled code calls behind the
 * program's back, which is no API call: those entry points are not logged, as tools do not see them either. */
cudaError_t rt_prepare(enum rt_need need);

/* Whether this is the child of a process that had used the runtime before it forked: CUDA cannot be used in it. */
bool rt_forked(void);

/* Enters the entry point NAME called from CALLER. Returns cudaSuccess, or why the call cannot be made (an injected
 * fault included). Every rt_begin has an rt_end, whatever it returned. */
cudaError_t rt_begin(struct simgpu_call *call, const char *name, const void *caller, enum rt_need need);

/* Leaves it: logs RESULT, remembers it as the thread's last error, returns it. */
cudaError_t rt_end(struct simgpu_call *call, cudaError_t result);

/* After CUDA_ERROR_INVALID_CONTEXT: makes the primary context of the thread's device current if none is. Returns true
 * when it did, so that the call is worth a second try. */
bool rt_rebind(void);

/* A whole entry point: RT_CALL(need, function, expression of CUresult or cudaError_t). The expression is evaluated
 * again when the program had taken the thread's context away. */
#define RT_CALL_NAMED(need, name, expression)                                                                          \
    do {                                                                                                               \
        struct simgpu_call rt_call;                                                                                    \
        cudaError_t rt_result = rt_begin(&rt_call, name, __builtin_return_address(0), need);                           \
        if (rt_result == cudaSuccess) {                                                                                \
            do {                                                                                                       \
                rt_result = (cudaError_t)(expression);                                                                 \
            } while (rt_result == cudaErrorDeviceUninitialized && (need) == RT_CONTEXT && rt_rebind());                \
        }                                                                                                              \
        return rt_end(&rt_call, rt_result);                                                                            \
    } while (0)
#define RT_CALL(need, function, expression) RT_CALL_NAMED(need, RT_STRING(function), expression)

/* An argument that must not be NULL. */
#define RT_REQUIRE(pointer, expression) ((pointer) ? (CUresult)(expression) : CUDA_ERROR_INVALID_VALUE)

/* The calling thread's last error; reading it does not clear it. */
cudaError_t rt_last_error(void);
/* Clears it, except (unless EVEN_STICKY) when it says that the context is broken. */
void rt_clear_error(bool even_sticky);

/* The device the thread's next call works on: that of the current context, else the one chosen with cudaSetDevice (0 by
 * default). */
int rt_device(void);
/* Chooses DEVICE for the thread and makes its primary context current. */
cudaError_t rt_set_device(int device);
/* Chooses DEVICE without touching a context. */
void rt_choose_device(int device);
/* The primary context of DEVICE, retained by the runtime until rt_reset_device. */
CUresult rt_primary_context(int device, CUcontext *ret_context);
/* Resets the primary context of DEVICE; each thread binds again at its next call. */
CUresult rt_reset_device(int device);

#define RT_DEVICES_MAX 64

#endif
