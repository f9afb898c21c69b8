/* One LTTng session of our private daemon. Every wait in here is bounded. */
#ifndef GW_KEEPER_TRACING_H
#define GW_KEEPER_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_tracing;

struct gw_tracing_settings {
    const char *trace_path, *buffers_path;
    uint64_t subbuffer_bytes;
    unsigned subbuffers;
    /*
     * The events about processes, threads, devices, streams and kernels, which the program announces once, get a small
     * channel of their own, so that they are kept when the other events are paused or thrown away.
     */
    bool context_apart;
    bool ring; /* new events overwrite old ones; nothing is written but by gw_tracing_snapshot and at the end */
};

struct gw_tracing_end {
    uint64_t events_discarded, packets_lost;
    bool drained; /* false: the daemons had to be ended before everything was on disk */
};

/*
 * Makes the session: per-user buffers of `subbuffers` × `subbuffer_bytes` in `buffers_path`, events gpuwitness:*, trace
 * below `trace_path`, and starts it. On failure writes one line to `ret_error` and returns -EIO.
 */
int gw_tracing_start(const struct gw_tracing_settings *settings, struct gw_tracing **ret_tracing, char *ret_error,
                     size_t error_size);

/* Turns all events but those about the program's context on or off. Only with context_apart. Returns 0 or -EIO. */
int gw_tracing_record(struct gw_tracing *tracing, bool on);

/* Writes what the ring holds below `path`. Returns 0 or -EIO. */
int gw_tracing_snapshot(struct gw_tracing *tracing, const char *path);

/* Begins a new chunk and waits until the last one lies complete in trace_path/archives. Returns 0 or -EIO. */
int gw_tracing_rotate(struct gw_tracing *tracing);

/* Stops tracing, waits until the consumer has written everything, counts what was lost. Takes `tracing`. */
void gw_tracing_stop(struct gw_tracing *tracing, struct gw_tracing_end *ret_end);

#endif
