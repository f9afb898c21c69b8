/*
 * Between the two halves of what enters a traced process: libgpuwitness-shim.so (preloaded; wrappers and look-up, no
 * dependency but libc) and libgpuwitness-tracer.so (loaded at the first CUDA or NCCL call; everything else).
 * Both come from one build, so the version is only there to refuse a mixed installation.
 */
#ifndef GW_SHIM_SINK_H
#define GW_SHIM_SINK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_SINK_VERSION 12u
#define GW_WORDS_MAX 40u // the longest list of words a wrapper hands over

// How a program reached an API; bit api * 3 + route of gw_notes.routes.
enum gw_route { GW_ROUTE_LINKED = 0, GW_ROUTE_DLSYM = 1, GW_ROUTE_PROC_ADDRESS = 2 };

// A note's version when the name was not wrapped because its wrapper leads to another library already.
#define GW_NOTE_SECOND_LIBRARY UINT32_MAX
// … when it is a library's, opened with RTLD_DEEPBIND.
#define GW_NOTE_DEEP_BINDING (UINT32_MAX - 1)

struct gw_note {
    char name[80];
    uint32_t version;
    uint32_t written; // 1 once the others are
};

// What the shim saw and the tracer reports as coverage. `changes` grows with every addition.
struct gw_notes {
    uint32_t changes;
    uint32_t routes;
    uint32_t missed; // calls that ended before the tracer was loaded
    uint32_t
        passed_count; // names looked up that have no wrapper: passed[0 … min(count, 64)), as far as they are written
    struct gw_note passed[64];
};

struct gw_stream;
struct gw_call;
struct gw_tally;

// A thread's clock; see shim/tracer/clock.h.
struct gw_clock {
    uint64_t ns, ticks;           // the last pair of readings of the clock and the cycle counter
    uint64_t limit_ticks;         // how long it may be gone on from
    uint64_t rate;                // ns a tick << 32; 0: not known yet
    uint64_t rate_ns, rate_ticks; // the pair from which the rate will be taken, …
    uint64_t rate_took_ticks;     // … and how far its readings lay apart
};

// State of one thread. Lies in the shim's static thread-local storage, zeroed at thread start; its contents are the
// tracer's.
struct gw_thread {
    uint32_t tid;
    uint32_t generation; // of the process when tid was read; another one means fork
    uint64_t sequence;   // of the last call id
    uint64_t call;       // current call id
    uint64_t last_begin_ns;
    struct gw_clock clock;
    uint64_t last_ticks; // cycle counter at the end of the last call at depth 1
    uint64_t cpu_ns;     // thread CPU time at the last reading, taken at cpu_at_ns
    uint64_t cpu_at_ns;
    uint32_t switches_voluntary, switches_forced, faults_minor, faults_major;
    uint8_t busy;    // inside the tool: calls made now are passed through
    uint8_t depth;   // of nested calls of the program
    uint8_t typed;   // a nested call wrote the typed event of this call id
    uint8_t written; // an event refers to this call id
    uint8_t op_index;
    uint8_t comm_groups; // of NCCL, begun and not ended
    uint8_t own_time;    // calls since the last one whose cost was measured
    uint32_t notes_seen;
    uint8_t nvtx_levels[16]; // open ranges of NVTX's domains
    struct {
        uint64_t handle;
        const struct gw_stream *stream;
    } streams[4]; // the streams used last
    uint32_t streams_generation;
    uint64_t context;        // whose default streams the cache above names
    struct gw_tally *tally;  // what it counts instead of recording, or NULL
    struct gw_call *leaving; // one whose cost is measured, until CUPTI tells its end; NULL: none
    struct gw_call *timed;   // the driver's call in progress that is to be timed; NULL: none
    sigset_t fork_signals;
    bool fork_locked; // this thread forks, and holds LTTng's locks for it
};

// One call in progress, on the wrapper's stack.
struct gw_call {
    uint64_t begin_ns;
    uint64_t left_ns; // of one whose cost is measured: when CUPTI told its end; 0: it did not
    void *op;         // the timing backend's, or NULL
    const struct gw_stream *stream;
    uint32_t own_ns; // what the tool's part took so far, if this call is one that is measured; else 0
    uint16_t function;
    uint8_t flags; // GW_SITE_*
    uint8_t depth;
    uint8_t early;     // entered while the tracer was being loaded; only for the shim's use
    uint8_t unwritten; // begun outside the steps to record: no event
};

// What the shim offers to the tracer.
struct gw_host {
    uint32_t version;
    const char *functions_mark; // GW_FUNCTIONS_MARK of functions_mark.h
    // The real function of a row of functions.def, or NULL when no loaded library has it.
    void *(*real)(unsigned function);
    struct gw_thread *(*thread)(void);
    const struct gw_notes *notes;
};

// What the tracer offers to the shim.
struct gw_sink {
    const int *recording; // 0: wrappers do nothing, …
    // … but for the functions (by row of functions.def) for which this is 1: they change what the tracer has to know
    // when recording goes on: streams, contexts, captures, names. NULL: there are none.
    const uint8_t *watched;
    // Enters a call. Returns false when it is not to be recorded: `end` must then not be called. Preserves errno.
    bool (*begin)(struct gw_thread *thread, struct gw_call *call, unsigned function, const uint64_t *words);
    // Leaves it. result is what the function returned, 0 when that is no status. Preserves errno.
    void (*end)(struct gw_thread *thread, struct gw_call *call, const uint64_t *words, int32_t result);
    // Leaves a call that the shim entered before the tracer was there: its function, depth and begin_ns are set.
    // Preserves errno.
    void (*end_early)(struct gw_thread *thread, struct gw_call *call, const uint64_t *words, int32_t result);
    // A copy of NVTX in the program wants a tool: see shim/tracer/nvtx.h. Returns what InitializeInjectionNvtx2 does.
    int (*attach_nvtx)(const void *(*export_table)(uint32_t table));
    // The program closes a descriptor: calls close_fd, but for a descriptor of the tracer's own fails with EBADF, as if
    // it were not open.
    int (*close)(int fd, int (*close_fd)(int fd));
    // The program puts a copy of `old`, which is open, where fd is. Returns false when the tracer cannot give that up.
    bool (*displace)(int old, int fd);
};

// The tracer's only exported function. Returns NULL when it cannot work; nothing then remains but the loaded library.
#define GW_TRACER_START "gw_tracer_start"
typedef const struct gw_sink *gw_tracer_start_fn(const struct gw_host *host);

#endif
