/*
 * Packets of a Perfetto trace, written one by one. Internal to analyzer/export; perfetto.proto lists the fields.
 */
#ifndef GW_ANALYZER_EXPORT_PERFETTO_WRITER_H
#define GW_ANALYZER_EXPORT_PERFETTO_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzer/export/names.h"
#include "analyzer/export/output.h"

/* What an event belongs to; shown as its category. */
enum gw_perfetto_category {
    GW_PERFETTO_CALL = 1,
    GW_PERFETTO_OP,
    GW_PERFETTO_STEP,
    GW_PERFETTO_IDLE,
    GW_PERFETTO_RANGE,
    GW_PERFETTO_COLLECTIVE,
    GW_PERFETTO_COMPILER,
    GW_PERFETTO_CATEGORY_END
};

/* Arguments that events carry, by interned name. */
enum gw_perfetto_argument {
    GW_PERFETTO_BYTES = 1,
    GW_PERFETTO_ERROR_NS,
    GW_PERFETTO_GRID,
    GW_PERFETTO_BLOCK,
    GW_PERFETTO_KERNEL,
    GW_PERFETTO_RESULT,
    GW_PERFETTO_WAITED_IN,
    GW_PERFETTO_COMMUNICATOR,
    GW_PERFETTO_SEQUENCE,
    GW_PERFETTO_RANKS,
    GW_PERFETTO_GROUPED,
    GW_PERFETTO_RANGE_CATEGORY,
    GW_PERFETTO_PAYLOAD,
    GW_PERFETTO_ARGUMENT_END
};

struct gw_perfetto {
    struct gw_output *output;
    uint8_t *packed; /* the packet being written */
    size_t room;
};

struct gw_perfetto_value {
    enum gw_perfetto_argument argument;
    const char *text;  /* NULL: iid, or number */
    uint64_t text_iid; /* an interned text; 0: number */
    uint64_t number;
    const struct gw_payload *payload; /* instead of number; NULL: none */
};

#define GW_PERFETTO_VALUES_MAX 5

struct gw_perfetto_slice {
    uint64_t track;
    uint64_t name_iid;
    const char *name; /* instead of name_iid when that is 0 */
    enum gw_perfetto_category category;
    uint64_t flow; /* 0: none */
    bool flow_ends;
    struct gw_perfetto_value values[GW_PERFETTO_VALUES_MAX];
    unsigned value_count;
};

/* Every function below records failures in output->status (-ENOMEM or that of writing). */

/* The first packet: clocks, and the names of categories and arguments. Times are CLOCK_MONOTONIC. */
void gw_perfetto_start(struct gw_perfetto *self, struct gw_output *output, uint64_t monotonic_ns, uint64_t realtime_ns);
void gw_perfetto_release(struct gw_perfetto *self);

/* Interns a name of events, or a text that arguments have as value; iids of the two are independent. */
void gw_perfetto_intern(struct gw_perfetto *self, uint64_t iid, const char *name);
void gw_perfetto_intern_value(struct gw_perfetto *self, uint64_t iid, const char *text);

/* Tracks; parent 0: none. Texts are copied. */
void gw_perfetto_process_track(struct gw_perfetto *self, uint64_t uuid, uint32_t pid, const char *name);
void gw_perfetto_thread_track(struct gw_perfetto *self, uint64_t uuid, uint64_t parent, uint32_t pid, uint32_t tid,
                              const char *name);
void gw_perfetto_track(struct gw_perfetto *self, uint64_t uuid, uint64_t parent, const char *name);

void gw_perfetto_begin(struct gw_perfetto *self, const struct gw_perfetto_slice *slice, uint64_t time_ns);
void gw_perfetto_end(struct gw_perfetto *self, uint64_t track, uint64_t time_ns);

#endif
