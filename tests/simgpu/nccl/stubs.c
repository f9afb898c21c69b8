// Every function of NCCL that is not simulated: logged like any call, answers "invalid usage", NCCL having no better
// word. Weak, so that a simulated one of the same name wins; test_unsimulated.sh holds the list of those that remain.
#include "tests/simgpu/call.h"

#define EXPORT_WEAK __attribute__((weak, visibility("default")))
#define INVALID_USAGE 5 // nccl.h would declare the functions with their arguments

int entry_begin(struct simgpu_call *call, const char *name, const void *caller);
int entry_end(struct simgpu_call *call, int result);

#define STUB_NCCL_INT(symbol)                                                                                          \
    int symbol(void);                                                                                                  \
    EXPORT_WEAK int symbol(void)                                                                                       \
    {                                                                                                                  \
        struct simgpu_call call;                                                                                       \
        const int injected = entry_begin(&call, #symbol, __builtin_return_address(0));                                 \
        return entry_end(&call, injected ? injected : INVALID_USAGE);                                                  \
    }
// All simulated.
#define STUB_NCCL_VOID(symbol)
#define STUB_NCCL_PTR(symbol)
#define STUB_NCCL_U64(symbol)
// Other libraries' functions.
#define STUB_CUPTI_INT(symbol)
#define STUB_DRV_INT(symbol)
#define STUB_DRV_VOID(symbol)
#define STUB_DRV_PTR(symbol)
#define STUB_DRV_U64(symbol)
#define STUB_RT_INT(symbol)
#define STUB_RT_VOID(symbol)
#define STUB_RT_PTR(symbol)
#define STUB_RT_U64(symbol)
#define STUB_RT_DESC(symbol)

#define GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait) STUB_##api##_##ret(symbol)
#include "shim/api/functions.def"
#undef GW_FN

#define X(symbol) STUB_NCCL_INT(symbol)
#include "tests/simgpu/nccl/later.def"
#undef X
