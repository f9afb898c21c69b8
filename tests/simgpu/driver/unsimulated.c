// Every driver function that no other file defines: a weak one that says it is not supported. The table is the one of
// all functions; test_unsimulated holds the list of those that stay weak.
#include "tests/simgpu/call.h"

#define NOT_SUPPORTED 801 // CUDA_ERROR_NOT_SUPPORTED; cuda.h would declare the functions with their arguments

#define GW_FN(api, symbol, base, version, mode, ret, sig, kind, wait) GW_FN_##api(symbol)
#define GW_FN_RT(symbol)
#define GW_FN_NCCL(symbol)
#define GW_FN_CUPTI(symbol)
#define GW_FN_DRV(symbol)                                                                                              \
    int symbol(void);                                                                                                  \
    __attribute__((weak, visibility("default"))) int symbol(void)                                                      \
    {                                                                                                                  \
        struct simgpu_call call;                                                                                       \
        const int injected = simgpu_call_begin(&call, #symbol, __builtin_return_address(0));                           \
        simgpu_call_end(&call, injected ? injected : NOT_SUPPORTED);                                                   \
        return injected ? injected : NOT_SUPPORTED;                                                                    \
    }
#include "shim/api/functions.def"
