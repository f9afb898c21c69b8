// Says that the process leaves by exit(): one that was killed does not.
#include <stdio.h>

#include "shim/tracer/tally.h"

__attribute__((destructor)) static void say_exit(void)
{
    uint64_t streamless = __atomic_load_n(&gw_tracer.streamless, __ATOMIC_RELAXED);
    char number[24];

    // A forked child that called no CUDA function is none of ours.
    if (!gw_fork_is_awake())
        return;
    if (streamless) {
        snprintf(number, sizeof(number), "%llu", (unsigned long long)streamless);
        gw_coverage(GW_COVERAGE_UNTIMED, number, "their stream or context could not be told");
    }
    gw_tally_close();
    gw_process_suppressed();
    gw_coverage(GW_COVERAGE_ENDED, "", "");
}
