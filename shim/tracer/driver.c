#include "shim/tracer/driver.h"

#include <stdbool.h>

#include "shim/tracer/tracer.h"

const struct gw_driver *gw_driver(void)
{
    static struct gw_driver driver;
    static int state; // 0 not looked for, 1 usable

    if (gw_tracer.child)
        return NULL;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 1)
        return &driver;
    if (!gw_tracer.host->real(GW_FUNCTION_cuInit))
        return NULL;

        // Threads that come here at once store the same values.
#define GW_DRIVER_FIND(symbol, arguments) driver.symbol = (int(*) arguments)gw_tracer.host->real(GW_FUNCTION_##symbol);
    GW_DRIVER_FUNCTIONS(GW_DRIVER_FIND)
#undef GW_DRIVER_FIND
    if (!driver.cuCtxGetCurrent || !driver.cuCtxSetCurrent || !driver.cuCtxGetDevice || !driver.cuCtxPushCurrent_v2 ||
        !driver.cuCtxPopCurrent_v2 || !driver.cuDeviceGetAttribute)
        return NULL;
    __atomic_store_n(&state, 1, __ATOMIC_RELEASE);
    return &driver;
}
