#include "shim/tracer/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>

#include "shim/api/text.h"
#include "shim/tracer/tracer.h"

#define PATH_KEPT 1024u

// Copies the driver's path. Not for ThreadSanitizer: the loader's lock, which is held, is unknown to it.
__attribute__((no_sanitize("thread"))) static int visit_driver(struct dl_phdr_info *info, size_t size, void *data)
{
    char *kept = data;
    size_t at = 0;

    (void)size;
    if (!info->dlpi_name || !gw_text_after(gw_text_file(info->dlpi_name), "libcuda.so"))
        return 0;
    for (; info->dlpi_name[at] && at + 1 < PATH_KEPT; at++)
        kept[at] = info->dlpi_name[at];
    kept[at] = '\0';
    return 1;
}

// The reference is kept: the tool's own thread may be inside the driver when the program closes it. Not taken within
// the visit: whoever opens or closes a library takes the loader's locks in the other order.
static void pin_driver(void)
{
    char path[PATH_KEPT];
    struct gw_section section;

    gw_section_begin(&section);
    if (dl_iterate_phdr(visit_driver, path))
        dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    gw_section_end(&section);
}

// Threads that come here at once store the same values; it is no race that ThreadSanitizer should report.
__attribute__((no_sanitize("thread"))) const struct gw_driver *gw_driver(void)
{
    static struct gw_driver driver;
    static int state; // 0 not looked for, 1 usable

    if (gw_tracer.child)
        return NULL;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == 1)
        return &driver;
    if (!gw_tracer.host->real(GW_FUNCTION_cuInit))
        return NULL;

#define GW_DRIVER_FIND(symbol, arguments) driver.symbol = (int(*) arguments)gw_tracer.host->real(GW_FUNCTION_##symbol);
    GW_DRIVER_FUNCTIONS(GW_DRIVER_FIND)
#undef GW_DRIVER_FIND
    if (!driver.cuCtxGetCurrent || !driver.cuCtxSetCurrent || !driver.cuCtxGetDevice || !driver.cuCtxPushCurrent_v2 ||
        !driver.cuCtxPopCurrent_v2 || !driver.cuDeviceGetAttribute)
        return NULL;
    pin_driver();
    __atomic_store_n(&state, 1, __ATOMIC_RELEASE);
    return &driver;
}
