/* Events of provider gpuwitness for testing the recorder alone; the tracer's own are in shim/tracer/events.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gpuwitness
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/session/ticker_events.h"

#if !defined(GW_TESTS_SESSION_TICKER_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GW_TESTS_SESSION_TICKER_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, tick, LTTNG_UST_TP_ARGS(unsigned long, number),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned long, number, number)))

LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, torn, LTTNG_UST_TP_ARGS(const char *, bytes),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_array(char, bytes, bytes, 16)))

#endif

#include <lttng/tracepoint-event.h>
