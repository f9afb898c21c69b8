// cuGetProcAddress: functions by name, CUDA version and default stream, from the table of all driver functions.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/driver.h"

typedef void function_type(void);

#define GW_FN(api, symbol, base, version, mode, ret, sig, kind, wait) GW_FN_##api(symbol)
#define GW_FN_DRV(symbol) extern function_type symbol##_address __asm__(#symbol);
#define GW_FN_RT(symbol)
#define GW_FN_NCCL(symbol)
#define GW_FN_CUPTI(symbol)
#include "shim/api/functions.def"
#undef GW_FN
#undef GW_FN_DRV

enum mode { LEGACY, PER_THREAD };

static struct row {
    const char *base;
    int version;
    enum mode mode;
    function_type *address;
} rows[] = {
#define GW_FN(api, symbol, base, version, mode, ret, sig, kind, wait) GW_FN_##api(symbol, base, version, mode)
#define GW_FN_DRV(symbol, base, version, mode) {#base, version, mode, symbol##_address},
#undef GW_FN_RT
#undef GW_FN_NCCL
#undef GW_FN_CUPTI
#define GW_FN_RT(symbol, base, version, mode)
#define GW_FN_NCCL(symbol, base, version, mode)
#define GW_FN_CUPTI(symbol, base, version, mode)
#include "shim/api/functions.def"
};

#define ROW_COUNT (sizeof rows / sizeof *rows)

// By name; of one name, the one to prefer last.
static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    const int order = strcmp(left->base, right->base);
    if (order)
        return order;
    return left->mode != right->mode ? (int)left->mode - (int)right->mode : left->version - right->version;
}

static CUresult look_up(const char *base, void **ret_function, int version, uint64_t flags,
                        CUdriverProcAddressQueryResult *ret_status)
{
    static bool is_sorted;
    if (!ret_function || !base || version < 0 || (flags & ~(uint64_t)3))
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_sorted)
        qsort(rows, ROW_COUNT, sizeof *rows, compare_rows);
    is_sorted = true;
    size_t low = 0, high = ROW_COUNT;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (strcmp(rows[middle].base, base) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const enum mode mode = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? PER_THREAD : LEGACY;
    const struct row *best = NULL;
    bool is_known = false;
    for (size_t i = low; i < ROW_COUNT && strcmp(rows[i].base, base) == 0; i++) {
        // Version 0: not found this way, only exported.
        is_known |= rows[i].version != 0;
        // Functions that take no stream have one form, for both modes.
        if (rows[i].version && rows[i].version <= version && rows[i].mode <= mode)
            best = &rows[i];
    }
    *ret_function = best ? (void *)best->address : NULL;
    if (ret_status)
        *ret_status = best       ? CU_GET_PROC_ADDRESS_SUCCESS
                      : is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return best ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

ENTRY(NEED_NOTHING, cuGetProcAddress, (const char *symbol, void **pfn, int driverVersion, cuuint64_t flags),
      look_up(symbol, pfn, driverVersion, flags, NULL))
ENTRY(NEED_NOTHING, cuGetProcAddress_v2,
      (const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags, CUdriverProcAddressQueryResult *symbolStatus),
      look_up(symbol, pfn, cudaVersion, flags, symbolStatus))
