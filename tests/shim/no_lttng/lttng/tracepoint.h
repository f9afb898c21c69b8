/*
 * In the place of LTTng's headers where ThreadSanitizer watches the tracer: it knows nothing of the locks inside
 * LTTng's libraries, which are not built for it. Events go nowhere, but their arguments are evaluated; recording is
 * always on.
 */
#ifndef GW_TESTS_NO_LTTNG_TRACEPOINT_H
#define GW_TESTS_NO_LTTNG_TRACEPOINT_H

#define LTTNG_UST_TRACEPOINT_EVENT(provider, name, arguments, fields)
#define lttng_ust_tracepoint(provider, name, ...) no_lttng_event(#name, __VA_ARGS__)
#define lttng_ust_tracepoint_enabled(provider, name) 1

struct no_lttng_tracepoint {
    int state;
};

extern const struct no_lttng_tracepoint lttng_ust_tracepoint_gpuwitness___call;
void no_lttng_event(const char *name, ...);

#endif
