// CUPTI's clock: nanoseconds since 1970, as documented for Linux, and two parts in a million faster than the
// simulation's, so that a client which took the two for the same, or fitted them once, is wrong.
#include <stddef.h>

#include "tests/simgpu/cupti/profiler.h"
#include "tests/simgpu/engine/clock.h"

#define EPOCH_NS 1750000000000000000u
#define NS_A_NS_FASTER 500000u

static CUpti_TimestampCallbackFunc client_clock;

static uint64_t own_clock(uint64_t monotonic_ns)
{
    return EPOCH_NS + monotonic_ns + monotonic_ns / NS_A_NS_FASTER;
}

uint64_t clock_of(uint64_t monotonic_ns)
{
    const CUpti_TimestampCallbackFunc client = __atomic_load_n(&client_clock, __ATOMIC_ACQUIRE);
    if (!client)
        return own_clock(monotonic_ns);
    const uint64_t now_ns = clock_now_ns();
    return client() - (now_ns - monotonic_ns);
}

static CUptiResult get_timestamp(uint64_t *timestamp)
{
    if (!timestamp)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = client_clock ? client_clock() : own_clock(clock_now_ns());
    return CUPTI_SUCCESS;
}

static CUptiResult register_clock(CUpti_TimestampCallbackFunc function)
{
    if (!function)
        return CUPTI_ERROR_INVALID_PARAMETER;
    __atomic_store_n(&client_clock, function, __ATOMIC_RELEASE);
    return CUPTI_SUCCESS;
}

ENTRY(cuptiGetTimestamp, (uint64_t * timestamp), get_timestamp(timestamp))
ENTRY(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc funcTimestamp),
      register_clock(funcTimestamp))
