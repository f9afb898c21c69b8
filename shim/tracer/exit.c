// Says that the process leaves by exit(): one that was killed does not.
#include "shim/tracer/tracer.h"

__attribute__((destructor)) static void say_exit(void)
{
    // A forked child that called no CUDA function is none of ours.
    if (gw_fork_is_awake())
        gw_coverage(GW_COVERAGE_ENDED, "", "");
}
