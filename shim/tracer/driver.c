#include "shim/tracer/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "shim/tracer/tracer.h"

static int pin_driver(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size, (void)data;
    if (!slash || strncmp(slash + 1, "libcuda.so", sizeof("libcuda.so") - 1) != 0)
        return 0;
    // The reference is kept: the tool's own thread may be inside the driver when the program closes it.
    dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return 1;
}

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
    dl_iterate_phdr(pin_driver, NULL);
    __atomic_store_n(&state, 1, __ATOMIC_RELEASE);
    return &driver;
}
