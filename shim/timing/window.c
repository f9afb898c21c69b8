#include "shim/timing/window.h"

#include <stdlib.h>

#include "shim/tracer/tracer.h"

static uint64_t on_ns, period_ns; // period 0: always on

void gw_window_init(const char *text)
{
    char *end = NULL;
    unsigned long long on = text ? strtoull(text, &end, 10) : 0;
    unsigned long long period = end && *end == '/' ? strtoull(end + 1, &end, 10) : 0;

    if (!end || *end || on == 0 || on >= period)
        return;
    on_ns = on;
    period_ns = period;
}

bool gw_window_is_set(void)
{
    return period_ns != 0;
}

bool gw_window_at(uint64_t now_ns, uint64_t *ret_change_ns)
{
    if (!period_ns) {
        *ret_change_ns = UINT64_MAX;
        return true;
    }
    uint64_t phase_ns = now_ns % period_ns;

    *ret_change_ns = (phase_ns < on_ns ? on_ns : period_ns) - phase_ns;
    return phase_ns < on_ns;
}

bool gw_window_is_on(void)
{
    uint64_t change_ns;

    return !period_ns || gw_window_at(gw_now_ns(), &change_ns);
}
