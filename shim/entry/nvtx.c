// Where NVTX meets the tool: NVTX_INJECTION64_PATH leads here, to the library that is preloaded anyway.
#include "shim/entry/shim.h"

#include <errno.h>

#define WAITING_MAX 16u

typedef const void *export_table_fn(uint32_t table);

static export_table_fn *waiting[WAITING_MAX];

static void attach(const struct gw_sink *sink, export_table_fn *export_table)
{
    if (sink->attach_nvtx)
        sink->attach_nvtx(export_table);
}

void gw_nvtx_attach_waiting(const struct gw_sink *sink)
{
    for (unsigned i = 0; i < WAITING_MAX; i++) {
        export_table_fn *export_table = __atomic_exchange_n(&waiting[i], NULL, __ATOMIC_SEQ_CST);

        if (export_table)
            attach(sink, export_table);
    }
}

GW_EXPORT int InitializeInjectionNvtx2(export_table_fn *export_table);

// A process that uses NVTX is one that uses CUDA, or is about to. Returns 0 for: leave NVTX without a tool.
int InitializeInjectionNvtx2(export_table_fn *export_table)
{
    int saved_errno = errno, attached = 0;

    if (gw_thread.busy)
        return 0;
    const struct gw_sink *sink = gw_load_tracer(&gw_thread);

    if (!gw_sink_is_loading(sink)) {
        attached = sink->attach_nvtx ? sink->attach_nvtx(export_table) : 0;
    } else {
        for (unsigned i = 0; i < WAITING_MAX && !attached; i++) {
            export_table_fn *none = NULL;

            attached = __atomic_compare_exchange_n(&waiting[i], &none, export_table, false, __ATOMIC_SEQ_CST,
                                                   __ATOMIC_RELAXED);
        }
        // The other thread may just have finished, and looked before this one was there.
        sink = __atomic_load_n(&gw_sink, __ATOMIC_SEQ_CST);
        if (!gw_sink_is_loading(sink))
            gw_nvtx_attach_waiting(sink);
    }
    errno = saved_errno;
    return attached;
}
