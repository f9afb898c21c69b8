// Notes for the tracer, and what is answered where no library has a function.
#include "shim/entry/shim.h"

#include <string.h>

struct gw_notes gw_notes;

void gw_note_route(unsigned api, enum gw_route route)
{
    uint32_t bit = 1u << (api * 3 + route);

    if (!(__atomic_fetch_or(&gw_notes.routes, bit, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_add(&gw_notes.changes, 1, __ATOMIC_RELEASE);
}

void gw_note_passed(const char *name, unsigned version)
{
    const uint32_t room = sizeof(gw_notes.passed) / sizeof(gw_notes.passed[0]);
    uint32_t count = __atomic_load_n(&gw_notes.passed_count, __ATOMIC_RELAXED);

    for (uint32_t i = 0; i < count && i < room; i++)
        if (__atomic_load_n(&gw_notes.passed[i].written, __ATOMIC_ACQUIRE) && gw_notes.passed[i].version == version &&
            strncmp(gw_notes.passed[i].name, name, sizeof(gw_notes.passed[i].name) - 1) == 0)
            return;

    uint32_t index = __atomic_fetch_add(&gw_notes.passed_count, 1, __ATOMIC_RELAXED);

    if (index >= room)
        return;
    strncpy(gw_notes.passed[index].name, name, sizeof(gw_notes.passed[index].name) - 1);
    gw_notes.passed[index].version = version;
    __atomic_store_n(&gw_notes.passed[index].written, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&gw_notes.changes, 1, __ATOMIC_RELEASE);
}

void gw_note_missed(void)
{
    __atomic_fetch_add(&gw_notes.missed, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&gw_notes.changes, 1, __ATOMIC_RELEASE);
}

int32_t gw_missing_status(unsigned function)
{
    const struct gw_function *row = gw_function_row(function);

    // A program that holds a weak reference to cuInit or cudaGetDeviceCount finds the wrapper where it would have found
    // nothing; these answers send it down its road for machines without a GPU.
    if (function == GW_FUNCTION_cuInit)
        return 100; // CUDA_ERROR_NO_DEVICE
    if (function == GW_FUNCTION_cudaGetDeviceCount)
        return 35; // cudaErrorInsufficientDriver
    if (row->api == GW_API_CUPTI)
        return 15;                            // CUPTI_ERROR_NOT_INITIALIZED
    return row->api == GW_API_NCCL ? 2 : 500; // ncclSystemError; CUDA_ERROR_NOT_FOUND, cudaErrorSymbolNotFound
}
