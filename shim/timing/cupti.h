/*
 * The parts of the `cupti` backend.
 *
 * A record of CUPTI names its call by a correlation id, which CUPTI also tells its subscriber at the entry of each
 * driver call: there, on the program's thread, the id is entered into a table beside our call id (cupti_table.c). That
 * takes one callback a call; external correlation ids would take two calls, and two records more for each operation,
 * because CUPTI writes them only together with a record of the driver call. Being the one subscriber is also how a tool
 * claims CUPTI. A thread of our own asks for finished buffers (cupti_drain.c), reads them (cupti_records.c) and puts
 * their times on CLOCK_MONOTONIC (cupti_clock.c).
 *
 * CUPTI serves one tool at a time, and profilers ask for it once. So before a function by which the program begins to
 * use it reaches CUPTI, what is complete is drained, the rest is thrown away and counted, and CUPTI is let go; the
 * `events` backend takes over for the rest of the run.
 */
#ifndef GW_SHIM_TIMING_CUPTI_H
#define GW_SHIM_TIMING_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/sink.h"

// CUPTI as far as it is used, with minimal prototypes; the numbers are those of its public headers.
enum { GW_CUPTI_SUCCESS = 0, GW_CUPTI_INVALID_PARAMETER = 1, GW_CUPTI_LIMIT_REACHED = 12, GW_CUPTI_INVALID_KIND = 21 };
enum { GW_CUPTI_DRIVER_API = 1, GW_CUPTI_ENTER = 0, GW_CUPTI_FLUSH_FORCED = 1 };
enum gw_cupti_kind {
    GW_CUPTI_MEMCPY = 1,
    GW_CUPTI_MEMSET = 2,
    GW_CUPTI_CONCURRENT_KERNEL = 10,
    GW_CUPTI_MEMCPY_PEER = 22,
};

struct gw_cupti_call { // CUpti_CallbackData
    int32_t site;
    const char *function;
    const void *parameters;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *carried;
    uint32_t correlation;
};

typedef void gw_cupti_callback(void *argument, int domain, uint32_t id, const struct gw_cupti_call *call);
typedef void gw_cupti_request(uint8_t **buffer, size_t *size, size_t *records_max);
typedef void gw_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

// symbol, argument list
#define GW_CUPTI_FUNCTIONS(F)                                                                                          \
    F(cuptiGetVersion, (uint32_t * version))                                                                           \
    F(cuptiGetResultString, (int result, const char **text))                                                           \
    F(cuptiSubscribe, (void **subscriber, gw_cupti_callback *callback, void *argument))                                \
    F(cuptiUnsubscribe, (void *subscriber))                                                                            \
    F(cuptiEnableCallback, (uint32_t enable, void *subscriber, int domain, uint32_t id))                               \
    F(cuptiGetCallbackName, (int domain, uint32_t id, const char **name))                                              \
    F(cuptiActivityRegisterCallbacks, (gw_cupti_request * request, gw_cupti_complete * complete))                      \
    F(cuptiActivityEnable, (int kind))                                                                                 \
    F(cuptiActivityDisable, (int kind))                                                                                \
    F(cuptiActivityFlushAll, (uint32_t flags))                                                                         \
    F(cuptiActivityGetNextRecord, (uint8_t * buffer, size_t valid, const uint8_t **record))                            \
    F(cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))                            \
    F(cuptiGetTimestamp, (uint64_t * timestamp))

struct gw_cupti {
#define GW_CUPTI_MEMBER(symbol, arguments) int(*symbol) arguments;
    GW_CUPTI_FUNCTIONS(GW_CUPTI_MEMBER)
#undef GW_CUPTI_MEMBER
    void *library, *subscriber;
};

// cupti.c: turns the kinds of activity off that it turned on.
void gw_cupti_disable(const struct gw_cupti *cupti);
// For windows of timing: turns kinds and callbacks off and on again. Returns 0 or CUPTI's error.
int gw_cupti_switch(const struct gw_cupti *cupti, bool on);

// cupti.c, for the thread: begins to give CUPTI up because it is of no use. Returns whether it is to be let go now;
// then gw_cupti_given_up follows.
bool gw_cupti_give_up(const char *why);
void gw_cupti_given_up(void);

// cupti_library.c: loads the library that suits the loaded runtime. Returns NULL, or why it cannot be used (static).
const char *gw_cupti_load(struct gw_cupti *cupti);

// cupti_table.c: from CUPTI's correlation ids to calls. The last GW_CUPTI_ENTRIES entered are known.
#define GW_CUPTI_ENTRIES 262144u
struct gw_cupti_entry {
    uint64_t call, where, stream;
    uint32_t correlation;
    uint16_t next; // of the same hash bucket: index + 1
    bool used, seen;
};
// Enters a call on the thread that makes it; any thread, at any time. Returns false when an entry that was never seen
// had to give way.
bool gw_cupti_enter(const struct gw_cupti_entry *entry);
// Copies the entry that a record of that id and kind (enum gw_gpu_op_kind) is of to *ret_entry, with `seen` as it was
// before, and marks it seen. Records of one id are to be asked for in order of their starts. Returns whether it is
// known.
bool gw_cupti_find(uint32_t correlation, uint8_t kind, struct gw_cupti_entry *ret_entry);
// Marks the latest entry of that id seen. Returns whether it was not.
bool gw_cupti_forget(uint32_t correlation);

// cupti_drain.c: the thread. Returns whether it was made; *cupti must stay as it is.
bool gw_cupti_drain_start(const struct gw_cupti *cupti);
// Takes what is complete, waiting for a while for what is not, and ends the thread; with let_go gives CUPTI back
// meanwhile. Says what went untimed. Returns false when it did not come to an end in time.
bool gw_cupti_drain_end(bool let_go);
void gw_cupti_ask(void); // looks at what there is now
// Of operations, by the program's threads: one was entered (false: an older one had to give way for it), one was not
// enqueued after all, one was enqueued when CUPTI was let go.
void gw_cupti_entered(uint32_t device, bool kept);
void gw_cupti_failed(void);
void gw_cupti_missed(void);

// cupti_clock.c, used by one thread at a time. Reads both clocks; returns 0 or CUPTI's error.
int gw_cupti_clock_read(const struct gw_cupti *cupti);
// A time on CUPTI's clock, on CLOCK_MONOTONIC, and how far it may be off.
uint64_t gw_cupti_clock_time(uint64_t timestamp, uint64_t *ret_error_ns);
// The latest pair of readings: the host's time and half the width of its reading.
void gw_cupti_clock_latest(uint64_t *ret_host_ns, uint64_t *ret_error_ns);

// cupti_records.c, used by one thread. Reads a buffer's records; returns 0 or CUPTI's error.
int gw_cupti_read_buffer(const struct gw_cupti *cupti, uint8_t *buffer, size_t valid);
// Emits the events of all that was read since.
struct gw_cupti_counts {
    uint64_t first;   // calls whose first record was read
    uint64_t untimed; // records without times
    uint64_t unread;  // records there was no memory for
    uint64_t foreign; // records of no call that was entered
    uint64_t skipped; // records of kinds that were not asked for, and cut ones
    uint32_t skipped_kind;
    uint64_t broken; // buffers that ended in a record that was not complete
};
void gw_cupti_emit(struct gw_cupti_counts *counts);

#endif
