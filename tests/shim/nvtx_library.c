// A library with a copy of NVTX of its own, as every library built with its headers has.
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) int nvtx_library_begin(const char *name);
__attribute__((visibility("default"))) int nvtx_library_end(void);

int nvtx_library_begin(const char *name)
{
    return nvtxRangePushA(name);
}

int nvtx_library_end(void)
{
    return nvtxRangePop();
}
