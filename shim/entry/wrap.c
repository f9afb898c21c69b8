// The wrappers: one a row of functions.def.
#include "shim/entry/shim.h"

#include "shim/api/signatures.h"

__thread struct gw_thread gw_thread;

#pragma GCC poison malloc calloc realloc free printf fprintf snprintf puts abort exit

#define IS_LOOKUP(function)                                                                                            \
    ((function) == GW_FUNCTION_cuGetProcAddress || (function) == GW_FUNCTION_cuGetProcAddress_v2 ||                    \
     (function) == GW_FUNCTION_cudaGetDriverEntryPoint || (function) == GW_FUNCTION_cudaGetDriverEntryPoint_ptsz ||    \
     (function) == GW_FUNCTION_cudaGetDriverEntryPointByVersion ||                                                     \
     (function) == GW_FUNCTION_cudaGetDriverEntryPointByVersion_ptsz)

static inline const struct gw_sink *recording_sink(unsigned function)
{
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);

    if (__builtin_expect(__atomic_load_n(sink->recording, __ATOMIC_RELAXED), 1))
        return sink;
    return sink->watched && sink->watched[function] ? sink : NULL;
}

#define REAL(symbol, api) gw_real_linked(GW_FUNCTION_##symbol, GW_API_##api, __builtin_return_address(0))

// Where a real function is absent. `status` is the API's, for functions that return one.
#define MISSING_INT(function) gw_missing_status(function)
#define MISSING_U64(function) 0
#define MISSING_PTR(function) NULL
#define MISSING_DESC(function)                                                                                         \
    (struct gw_bytes20)                                                                                                \
    {                                                                                                                  \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

#define TYPE_INT int32_t
#define TYPE_U64 uint64_t
#define TYPE_PTR void *
#define TYPE_DESC struct gw_bytes20
#define STATUS_INT(value) (value)
#define STATUS_U64(value) 0
#define STATUS_PTR(value) 0
#define STATUS_DESC(value) 0

#define WRAP_VALUE(symbol, ret, sig, api)                                                                              \
    GW_EXPORT TYPE_##ret symbol(GW_PARAMS_##sig);                                                                      \
    GW_EXPORT TYPE_##ret symbol(GW_PARAMS_##sig)                                                                       \
    {                                                                                                                  \
        TYPE_##ret (*real)(GW_PARAMS_##sig) = (TYPE_##ret(*)(GW_PARAMS_##sig))REAL(symbol, api);                       \
        const struct gw_sink *sink = recording_sink(GW_FUNCTION_##symbol);                                             \
        struct gw_call call;                                                                                           \
                                                                                                                       \
        if (!real)                                                                                                     \
            return MISSING_##ret(GW_FUNCTION_##symbol);                                                                \
        if (!sink && !IS_LOOKUP(GW_FUNCTION_##symbol))                                                                 \
            return real(GW_ARGS_##sig);                                                                                \
                                                                                                                       \
        const uint64_t words[] = {GW_WORDS_##sig};                                                                     \
        bool recorded = sink && sink->begin(&gw_thread, &call, GW_FUNCTION_##symbol, words);                           \
                                                                                                                       \
        if (!recorded && !IS_LOOKUP(GW_FUNCTION_##symbol))                                                             \
            return real(GW_ARGS_##sig);                                                                                \
        TYPE_##ret result = real(GW_ARGS_##sig);                                                                       \
        if (IS_LOOKUP(GW_FUNCTION_##symbol))                                                                           \
            gw_lookup_answer(GW_FUNCTION_##symbol, words, STATUS_##ret(result));                                       \
        if (recorded)                                                                                                  \
            sink->end(&gw_thread, &call, words, STATUS_##ret(result));                                                 \
        return result;                                                                                                 \
    }

// Registration is never recorded and has no wrapper, so that it leads where it does without the shim. The compiler
// makes a jump of the last call in what exit calls, which is that of __cudaUnregisterFatBinary: a wrapper would see
// libc as its caller and, of two runtimes, choose the first.
#define UNWRAPPED(symbol, ret, sig, api)

#define WRAP_NOTHING(symbol, sig, api)                                                                                 \
    GW_EXPORT void symbol(GW_PARAMS_##sig);                                                                            \
    GW_EXPORT void symbol(GW_PARAMS_##sig)                                                                             \
    {                                                                                                                  \
        void (*real)(GW_PARAMS_##sig) = (void (*)(GW_PARAMS_##sig))REAL(symbol, api);                                  \
                                                                                                                       \
        if (real)                                                                                                      \
            real(GW_ARGS_##sig);                                                                                       \
    }

#define WRAP_INT_NONE WRAP_VALUE
#define WRAP_INT_LAUNCH WRAP_VALUE
#define WRAP_INT_COPY WRAP_VALUE
#define WRAP_INT_MEMSET WRAP_VALUE
#define WRAP_INT_MEMORY WRAP_VALUE
#define WRAP_INT_ORDER WRAP_VALUE
#define WRAP_INT_MODULE WRAP_VALUE
#define WRAP_INT_GRAPH WRAP_VALUE
#define WRAP_INT_COMM WRAP_VALUE
#define WRAP_U64_NONE WRAP_VALUE
#define WRAP_PTR_NONE WRAP_VALUE
#define WRAP_DESC_NONE WRAP_VALUE
#define WRAP_INT_REGISTER UNWRAPPED
#define WRAP_PTR_REGISTER UNWRAPPED
#define WRAP_VOID_REGISTER UNWRAPPED
// The only function with a wrapper that returns nothing is NCCL's resetting of its debug level.
#define WRAP_VOID_NONE(symbol, ret, sig, api) WRAP_NOTHING(symbol, sig, api)

#define GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait) WRAP_##ret##_##kind(symbol, ret, sig, api)
#include "shim/api/functions.def"
#undef GW_FN

#define WRAPPER_NONE(symbol) (void *)symbol
#define WRAPPER_LAUNCH(symbol) (void *)symbol
#define WRAPPER_COPY(symbol) (void *)symbol
#define WRAPPER_MEMSET(symbol) (void *)symbol
#define WRAPPER_MEMORY(symbol) (void *)symbol
#define WRAPPER_ORDER(symbol) (void *)symbol
#define WRAPPER_MODULE(symbol) (void *)symbol
#define WRAPPER_GRAPH(symbol) (void *)symbol
#define WRAPPER_COMM(symbol) (void *)symbol
#define WRAPPER_REGISTER(symbol) NULL

static void *const wrappers[GW_FUNCTION_COUNT] = {
#define GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait) WRAPPER_##kind(symbol),
#include "shim/api/functions.def"
#undef GW_FN
};

void *gw_wrapper(unsigned function)
{
    return wrappers[function] ? wrappers[function] : gw_real(function);
}
