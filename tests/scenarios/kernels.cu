#include "tests/scenarios/kernels.h"
#include "tests/scenarios/scenario.h"

static __device__ inline unsigned long long device_ns()
{
    unsigned long long value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
    return value;
}

static __device__ inline void spin(unsigned long long duration_ns)
{
    unsigned long long begin_ns = device_ns();
    while (device_ns() - begin_ns < duration_ns)
        ;
}

#define SPINNING(name)                                                                                                 \
    __global__ void name##_spin_ns(unsigned long long duration_ns)                                                     \
    {                                                                                                                  \
        spin(duration_ns);                                                                                             \
    }

SPINNING(forward)
SPINNING(backward)
SPINNING(weight_gradient)
SPINNING(optimizer)
SPINNING(elementwise)
SPINNING(norm)
SPINNING(attention)
SPINNING(gate)
SPINNING(reduce)
SPINNING(evaluate)

template <int number> __global__ void trial_spin_ns(unsigned long long duration_ns)
{
    spin(duration_ns);
}

#define FUNCTION(name) reinterpret_cast<const void *>(name##_spin_ns)
const void *const kernel_functions[KERNELS_COUNT] = {
    FUNCTION(forward),     FUNCTION(backward), FUNCTION(weight_gradient), FUNCTION(optimizer),
    FUNCTION(elementwise), FUNCTION(norm),     FUNCTION(attention),       FUNCTION(gate),
    FUNCTION(reduce),      FUNCTION(evaluate)};

#define TRIAL(number) reinterpret_cast<const void *>(trial_spin_ns<number>)
#define SIX_TRIALS(number)                                                                                             \
    TRIAL(number), TRIAL(number + 1), TRIAL(number + 2), TRIAL(number + 3), TRIAL(number + 4), TRIAL(number + 5)
const void *const trial_functions[TRIAL_KERNELS] = {SIX_TRIALS(0), SIX_TRIALS(6), SIX_TRIALS(12), SIX_TRIALS(18)};
