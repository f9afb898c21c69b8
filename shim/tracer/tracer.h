/*
 * The tracer: everything behind a wrapper. Loaded into the process at its first CUDA or NCCL call, so it may use LTTng.
 *
 * Rules
 *  1. CUDA calls of the tool's own go through gw_driver and stand in this library only. None may change what the
 * program sees: no runtime call (last error), the current context is put back, nothing touches a capturing stream.
 *  2. begin_call and end_call (tracer.c) keep errno, allocate nothing and take no lock on their usual path.
 *  3. The library is compiled without sibling calls, so that a CUDA call of its own has a return address in it.
 */
#ifndef GW_SHIM_TRACER_TRACER_H
#define GW_SHIM_TRACER_TRACER_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/sink.h"
#include "shim/tracer/clock.h"
#include "shim/typed/typed.h"

struct gw_timing_ops;

enum gw_hash_mode { GW_HASH_OFF, GW_HASH_SAMPLE, GW_HASH_FULL };

// What a call means beyond its arguments.
enum gw_action {
    GW_ACTION_NONE = 0,
    GW_ACTION_STREAM_CREATE,
    GW_ACTION_STREAM_DESTROY,
    GW_ACTION_CAPTURE_BEGIN,
    GW_ACTION_CAPTURE_END,
    GW_ACTION_CONTEXT_NEW,
    GW_ACTION_CONTEXT_RETAIN,
    GW_ACTION_CONTEXT_END,
    GW_ACTION_NAMED_FUNCTION,     // (out function, owner, name)
    GW_ACTION_FUNCTION_OF_KERNEL, // (out function, kernel)
    GW_ACTION_ENUMERATE_FUNCTIONS,
    GW_ACTION_ENUMERATE_KERNELS,
    GW_ACTION_COMM_INIT_RANK,     // (out communicator, ranks, unique id of 16 words, rank)
    GW_ACTION_COMM_INIT_SCALABLE, // (out communicator, ranks, rank, ids, their addresses)
    GW_ACTION_COMM_INIT_ALL,      // (out communicators, count)
    GW_ACTION_COMM_SPLIT,         // (communicator, color, key, out communicator)
    GW_ACTION_COMM_SHRINK,        // (communicator, excluded, count, out communicator)
    GW_ACTION_GROUP_START,
    GW_ACTION_GROUP_END,
    GW_ACTION_CUPTI_CLAIM, // the program begins to use CUPTI
};

struct gw_info {
    const struct gw_form *form;
    uint8_t blocks;
    uint8_t action;
    uint8_t driver_op; // 1 + enum gw_gpu_op_kind for a driver function that enqueues an operation
    uint8_t is_driver;
    uint8_t per_thread;
    uint8_t asks; // 1 + its place in a tally (tally.c) if it only asks for what is known
};

struct gw_tracer {
    const struct gw_host *host;
    const struct gw_timing_ops *timing; // NULL: no times on the device
    uint64_t gap_threshold_ns;
    uint64_t base_ns, base_ticks; // one pair of readings of the clock and the cycle counter
    uint32_t pid;
    uint32_t generation; // grows in each forked child
    int32_t captures;    // stream captures begun and not ended
    uint64_t streamless; // operations whose stream could not be told: they have no times
    uint32_t suppressed; // calls that were not recorded, because a signal handler made them within the tool
    enum gw_hash_mode hash;
    bool child; // forked from a process that used CUDA: CUDA does not work here, the tool does not call it
    struct gw_info info[GW_FUNCTION_COUNT];
};
extern struct gw_tracer gw_tracer;

// Part of the tool's work in which the thread is not to be cancelled, and errno may change: what waits, allocates,
// calls CUDA or writes an event. (A full buffer is handed over by write, where a thread that is cancelled would end
// within LTTng.)
struct gw_section {
    int saved_errno, cancel_state;
};

static inline void gw_section_begin(struct gw_section *section)
{
    section->saved_errno = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &section->cancel_state);
}

static inline void gw_section_end(const struct gw_section *section)
{
    pthread_setcancelstate(section->cancel_state, NULL);
    errno = section->saved_errno;
}

// thread.c: first call of a thread (or of its copy in a forked child); time outside CUDA before a call; end of a long
// call.
void gw_thread_enter(struct gw_thread *thread);
void gw_thread_gap(struct gw_thread *thread, uint64_t now_ns);
void gw_thread_read_cpu(struct gw_thread *thread, uint64_t now_ns);

// own_time.c. Once at the start; the time since begin_ns, at least 1, without what reading the clock takes; a measured
// call's sum.
#define GW_OWN_TIME_EVERY 61u // a prime, so that it does not keep step with the program
void gw_own_time_init(void);
uint32_t gw_own_time_since(uint64_t begin_ns);
void gw_own_time_add(uint32_t own_ns);

// process.c: the process event and what was seen of libraries and routes.
void gw_process_enter(void);
void gw_process_notes(struct gw_thread *thread);
void gw_process_suppressed(void);
void gw_coverage(enum gw_coverage_kind kind, const char *name, const char *detail);
void gw_nccl_version(int version); // emits what ncclGetVersion says

// communicators.c: after a call that made communicators of NCCL, or a group's start or end: emits what is known of
// them.
void gw_communicators_made(struct gw_thread *thread, enum gw_action action, const uint64_t *words, int32_t result);

// write.c: writes the event of a call that begins and can block; of a call that ended.
void gw_write_begin(struct gw_thread *thread, const struct gw_call *call);
void gw_write_call(struct gw_thread *thread, const struct gw_call *call, const uint64_t *words, int32_t result);

// host_memory.c: what kind of memory a pointer is; the hash of host bytes, 0 when none is to be taken.
enum gw_host_kind gw_host_kind_of(uint64_t pointer);
uint64_t gw_hash_bytes(const void *bytes, uint64_t size);
uint64_t gw_hash_host(uint64_t pointer, uint64_t size, enum gw_host_kind kind);

// The sink's recording: as the session says; or, in a forked child, at the first call whatever it says.
void gw_tracer_record_as_told(void);
void gw_tracer_record_first_call(void);

// fork.c. Whether this process may write events: a forked child can from its first call on, which wakes it.
void gw_fork_init(void);
bool gw_fork_wake(void);
bool gw_fork_is_awake(void);

// descriptors.c: whether LTTng takes that number for its own; and when the program puts another descriptor there.
bool gw_descriptor_is_lttngs(int fd);
bool gw_descriptor_displace(int old, int fd);
bool gw_descriptor_is_taken(int fd); // by the program
int gw_descriptor_close(int fd, int (*close_fd)(int fd));

// Of liblttng-ust-common, whose public headers do not have them; its library liblttng-ust-fd uses them the same way.
int lttng_ust_safe_close_fd(int fd, int (*close_fd)(int fd));
void lttng_ust_lock_fd_tracker(void);
void lttng_ust_unlock_fd_tracker(void);

#endif
