/* Every function of the runtime that is not simulated: logged like any call, answers "not supported". Weak, so that a
 * simulated one of the same name wins. test_unsimulated.sh holds the list of those that remain. */
#include "runtime.h"

/* The version script leaves out the names that the library's version does not have. */
#define RT_STUB_RT_INT(function, name)                                                                                 \
    __attribute__((weak)) cudaError_t function(void) RT_SYMBOL(name);                                                  \
    __attribute__((weak)) cudaError_t function(void)                                                                   \
    {                                                                                                                  \
        RT_CALL_NAMED(RT_NOTHING, name, cudaErrorNotSupported);                                                        \
    }
/* Registration and what returns no status: all simulated. */
#define RT_STUB_RT_VOID(function, name)
#define RT_STUB_RT_PTR(function, name)
#define RT_STUB_RT_U64(function, name)
#define RT_STUB_RT_DESC(function, name)
/* Other libraries' functions. */
#define RT_STUB_DRV_INT(function, name)
#define RT_STUB_DRV_VOID(function, name)
#define RT_STUB_DRV_PTR(function, name)
#define RT_STUB_DRV_U64(function, name)
#define RT_STUB_NCCL_INT(function, name)
#define RT_STUB_NCCL_VOID(function, name)
#define RT_STUB_NCCL_PTR(function, name)
#define RT_STUB_NCCL_U64(function, name)
#define RT_STUB_CUPTI_INT(function, name)

#define GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait)                                           \
    RT_STUB_##api##_##ret(rt_stub_##symbol, #symbol)
#include "shim/api/functions.def"
#undef GW_FN
