/*
 * The table of functions.def, compiled in: names and properties of a function id, and ids of a name. Everything is
 * constant data: no call here allocates, locks or fails otherwise than stated, so they may be used anywhere, in signal
 * handlers too.
 */
#ifndef GW_SHIM_API_FUNCTIONS_H
#define GW_SHIM_API_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum gw_function_id {
#define GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait) GW_FUNCTION_##symbol,
#include "shim/api/functions.def"
#undef GW_FN
    GW_FUNCTION_COUNT,
    GW_FUNCTION_NONE = 0xffff // no such function
};

enum gw_api { GW_API_DRV = 0, GW_API_RT = 1, GW_API_NCCL = 2, GW_API_CUPTI = 3, GW_API_COUNT };

enum gw_stream_mode { GW_STREAM_MODE_LEGACY = 0, GW_STREAM_MODE_PER_THREAD = 1 };

enum gw_return { GW_RETURN_INT, GW_RETURN_U64, GW_RETURN_PTR, GW_RETURN_VOID, GW_RETURN_DESC };

enum gw_function_kind {
    GW_KIND_NONE,
    GW_KIND_LAUNCH,
    GW_KIND_COPY,
    GW_KIND_MEMSET,
    GW_KIND_MEMORY,
    GW_KIND_ORDER,
    GW_KIND_MODULE,
    GW_KIND_GRAPH,
    GW_KIND_REGISTER,
    GW_KIND_COMM
};

enum gw_wait { GW_WAIT_QUICK = 0, GW_WAIT_BLOCKS = 1, GW_WAIT_ASKS = 2 };

// One row of the table. The strings are static.
struct gw_function {
    const char *symbol;
    const char *base;
    uint32_t version; // as CUDA_VERSION: 12030 is 12.3
    uint8_t api;
    uint8_t stream_mode;
    uint8_t returns;
    uint8_t kind;
    uint8_t wait;
};

// The row of a function id, or NULL when there is none.
const struct gw_function *gw_function_row(unsigned id);

// The exported name of a function id, or "?" when there is none.
const char *gw_function_name(unsigned id);

// The id of an exported name, or GW_FUNCTION_NONE.
unsigned gw_function_find(const char *symbol);

// The id that cuGetProcAddress answers for a base name: the newest row that is not newer than `version`, of the stream
// mode asked for where there is such a row, of the legacy mode otherwise. GW_FUNCTION_NONE when there is none.
unsigned gw_function_lookup(const char *base, unsigned version, bool per_thread);

// The first id of a base name, or GW_FUNCTION_NONE; the following ids with the same base belong to it too.
unsigned gw_function_first(const char *base);

#endif
