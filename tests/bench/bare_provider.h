#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gpuwitness

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/bare_provider.h"

#if !defined(GW_BENCH_BARE_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GW_BENCH_BARE_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

// The yardstick: three integers. Named after the tool's provider, so that the same recording takes it.
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, bare, LTTNG_UST_TP_ARGS(uint64_t, a, uint64_t, b, uint64_t, c),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, a, a)
                                                   lttng_ust_field_integer(uint64_t, b, b)
                                                       lttng_ust_field_integer(uint64_t, c, c)))

#endif

#include <lttng/tracepoint-event.h>
