// The LTTng provider, defined here and nowhere else.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "shim/tracer/events.h"
