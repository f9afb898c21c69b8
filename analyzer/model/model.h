/*
 * The model of a run: plain structs with typed indices, filled by gw_model_build() (build.h) and read by verdicts,
 * exports and plots. Nothing here knows LTTng or Babeltrace.
 *
 * All times are nanoseconds on CLOCK_MONOTONIC of the traced host. Arrays are owned by the model and freed with it. An
 * index that points nowhere is GW_NONE.
 *
 * Memory: 36 bytes a call with its place in thread_calls, 56 bytes an operation with its places in two lists, 16–64
 * bytes of arguments for each call whose like was not seen shortly before.
 */
#ifndef GW_ANALYZER_MODEL_MODEL_H
#define GW_ANALYZER_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/codes.h"
#include "shim/api/kernel_name.h"

#define GW_NONE UINT32_MAX
#define GW_TIME_UNKNOWN UINT64_MAX

/* What a call does, as far as budget and verdicts care; derived from its function. */
enum gw_call_class {
    GW_CALL_OTHER = 0, /* anything else: idle_api */
    GW_CALL_LAUNCH,
    GW_CALL_COPY,
    GW_CALL_MEMSET,
    GW_CALL_SYNC,    /* waits for the device: device, context, stream, event synchronise */
    GW_CALL_ALLOC,   /* allocation, release, pools, page-locking */
    GW_CALL_COMPILE, /* module and library load, link, function look-up that loads */
    GW_CALL_GRAPH,   /* capture, instantiate, update */
    GW_CALL_GRAPH_LAUNCH,
    GW_CALL_ORDER, /* event record, stream wait, stream and event creation, queries */
    GW_CALL_COMM
};

struct gw_process {
    uint32_t pid, ppid;
    char *exe, *command, *host, *environment; /* environment: NAME=VALUE lines; NULL when unknown */
    uint64_t first_ns, last_ns;               /* of its events */
    int32_t rank;                             /* from the environment, -1 when there is none */
    uint32_t visible_devices;                 /* how many it could have used; 0: not known */
    uint32_t ranks;                           /* of its job, likewise; 0 when not known */
    uint32_t recording;                       /* index */
    bool ended;                               /* it said that it leaves by exit() */
    uint32_t op_first, op_count;              /* into gw_model.process_ops: its operations in order of enqueue */
    double own_ns_per_call;                   /* what the tool's own code took of a call, measured; 0: not known */
};

struct gw_thread {
    uint32_t process; /* index */
    uint32_t tid;
    uint32_t lane; /* see gw_device */
    char *name;
    uint32_t call_first, call_count; /* into gw_model.thread_calls: its calls in order of begin */
};

struct gw_device {
    uint32_t process;
    uint32_t number; /* ordinal as the process sees it */
    uint32_t label;  /* what the program calls it: index into names + 1; 0: nothing */
    /* Threads that dispatch to the same devices, and these, are one lane, numbered from 0 within the process: only
     * communication, and threads that hand over, order what lies in different ones. */
    uint32_t lane;
    char *name, *uuid, *pci;
    uint64_t memory_bytes;
    uint32_t multiprocessors, compute_capability;
    /* Within these of what is said 99.9 % of its kernels begin and end, and half of them; 0 when not timed. */
    uint64_t timing_floor_ns, timing_half_ns;
    uint64_t clock_error_ns;
};

struct gw_stream {
    uint32_t device; /* index */
    uint32_t number; /* 0: legacy default stream */
    uint32_t flags;  /* GW_STREAM_* */
    uint32_t label;  /* what the program calls it: index into names + 1; 0: nothing */
    uint64_t handle;
    uint32_t op_first, op_count; /* into gw_model.stream_ops: its operations in order of enqueue */
};

/* flags of a call */
#define GW_CALL_NO_END 0x1u   /* never returned: end_ns is the end of the trace */
#define GW_CALL_CAPTURED 0x2u /* went into a graph under capture */
#define GW_CALL_NO_BEGIN 0x4u /* the event of its entry was lost; begin_ns is right all the same */
#define GW_CALL_END_LOST 0x8u /* its end was lost: end_ns is the begin of the thread's next call */

struct gw_call {
    uint64_t begin_ns, end_ns;
    uint32_t thread;
    uint32_t detail; /* index into the array its detail_kind names, or GW_NONE; calls that are alike share one */
    int32_t result;
    uint16_t function;                  /* row of shim/api/functions.def */
    uint8_t depth : 7;                  /* 1 outermost */
    bool holds_part : 1;                /* the driver's part of it is no call of its own, see gw_model_options */
    uint8_t flags : 4, detail_kind : 4; /* enum gw_detail_kind */
};

enum gw_detail_kind {
    GW_DETAIL_NONE = 0,
    GW_DETAIL_LAUNCH,
    GW_DETAIL_COPY,
    GW_DETAIL_MEMSET,
    GW_DETAIL_MEMORY,
    GW_DETAIL_ORDER,
    GW_DETAIL_MODULE,
    GW_DETAIL_GRAPH,
    GW_DETAIL_COLLECTIVE
};

struct gw_launch {
    uint32_t name;   /* index into names, GW_NONE when unknown */
    uint32_t stream; /* index into streams, or GW_NONE */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
};

struct gw_copy {
    uint64_t dst, src, size_bytes, hash; /* hash 0: not taken */
    uint32_t stream;
    uint8_t direction;          /* enum gw_copy_direction */
    uint8_t src_kind, dst_kind; /* enum gw_host_kind */
    bool blocking;
};

struct gw_memset {
    uint64_t dst, size_bytes;
    uint32_t stream;
};

struct gw_memory {
    uint64_t ptr, size_bytes;
    uint32_t stream;
    uint32_t kind; /* enum gw_memory_kind, + GW_MEMORY_FREE */
};

struct gw_order {
    uint64_t event;
    uint32_t stream;
    uint16_t what; /* enum gw_order_kind */
    uint16_t value;
};

struct gw_module {
    uint64_t handle, size_bytes, hash;
    uint64_t image; /* enum gw_image_kind */
};

struct gw_graph {
    uint64_t graph, exec;
    uint32_t stream;
    uint32_t nodes;
};

/* One rank of a communicator of NCCL. */
struct gw_communicator {
    uint64_t id, parent; /* the same for all its ranks; of the communicator it was split from, 0: none */
    uint32_t process;
    uint32_t rank, size; /* size: ranks, 0 where they are not known */
    uint32_t device;     /* index */
};

/* A collective, send or receive as one rank asked for it. Those of one communicator, kind of exchange (all collectives;
 * messages from a rank to another) and sequence are one exchange: `match` numbers exchanges. The times are known where
 * all of its ranks are in the run and timed; else GW_TIME_UNKNOWN. */
struct gw_collective {
    uint64_t size_bytes;      /* as nccl-tests count: of the whole vector */
    uint64_t arrival_wait_ns; /* from its start to the latest start of the exchange */
    uint64_t transfer_ns;     /* from there to its end */
    uint64_t send, recv;      /* buffers, equal in place; 0: none, or not recorded */
    uint32_t communicator;    /* index */
    uint32_t call;            /* index */
    uint32_t op;              /* index of the operation that carries it out, which several may share; or GW_NONE */
    uint32_t stream;          /* index */
    uint32_t sequence;        /* within the communicator, or the messages from the one rank to the other, from 0 */
    uint32_t match;           /* equal for the ranks of one exchange; GW_NONE: the call failed, or was captured */
    uint32_t matched;         /* how many of them are in the run */
    uint32_t rank;            /* root or peer, 0 where there is none */
    uint8_t kind;             /* enum gw_comm_kind */
    uint8_t type;             /* ncclDataType_t */
    uint16_t reduction;       /* ncclRedOp_t */
    bool is_captured; /* into a graph: each launch of it has one more of these, with the call that launched it */
};

enum gw_op_kind {
    GW_OP_KERNEL = 0,
    GW_OP_MEMSET,
    GW_OP_H2D,
    GW_OP_D2H,
    GW_OP_D2D,
    GW_OP_P2P,
    GW_OP_COMM,  /* communication kernel, by name or by NCCL call */
    GW_OP_GRAPH, /* a graph replay without node times: opaque busy block */
    GW_OP_HOST,  /* host function in a stream: orders, never busy */
    GW_OP_KIND_COUNT
};

#define GW_OP_UNTIMED 0x1u      /* start_ns and end_ns are GW_TIME_UNKNOWN */
#define GW_OP_START_SHARED 0x2u /* start is bounded by the predecessor's end, not measured on its own */
#define GW_OP_NO_CALL 0x4u      /* the call that enqueued it was lost */

struct gw_op {
    uint64_t start_ns, end_ns;
    uint64_t size_bytes : 48;     /* copies and memsets */
    uint64_t kind : 8, flags : 8; /* enum gw_op_kind, GW_OP_* */
    uint32_t stream;
    uint32_t call;       /* index of the innermost call that enqueued it, or GW_NONE */
    uint32_t outer_call; /* index of its depth-1 call, or GW_NONE */
    uint32_t name;       /* kernels: index into names */
    uint32_t graph_node; /* GW_NONE outside graphs */
    uint32_t error_ns;   /* half width of the interval each end lies in */
};
_Static_assert(sizeof(struct gw_op) == 48, "there are many operations");

/* Bytes as an operation holds them: the most it can where a damaged trace tells more. */
static inline uint64_t gw_op_size(uint64_t size_bytes)
{
    return size_bytes < (1ull << 48) ? size_bytes : (1ull << 48) - 1;
}

/* Calls of a function that only asks for what is known at once, which a thread made in [begin, end): they are in no
 * list of calls, the time of those at depth 1 counts as the thread's own. */
struct gw_counted {
    uint64_t begin_ns, end_ns, total_ns;
    uint32_t thread, count;
    uint16_t function;
};

/* A thread was outside CUDA in [begin, end) and used cpu_ns of CPU time then. Switches and faults may be those of the
 * call before it. Ordered by begin within a thread. */
struct gw_thread_gap {
    uint64_t begin_ns, end_ns, cpu_ns;
    uint32_t thread;
    uint32_t voluntary_switches, involuntary_switches, minor_faults, major_faults;
};

/* The program or its framework named what a thread did in [begin, end): NVTX ranges, annotations of a profiler. Ranges
 * of a thread may nest. */
struct gw_range {
    uint64_t begin_ns, end_ns; /* equal for a mark */
    uint32_t thread;
    uint32_t name;            /* index into names */
    uint32_t domain;          /* NVTX domain's name, likewise; GW_NONE: the one without a name */
    uint32_t category, color; /* the program's number for a kind, 0: none; ARGB, 0: none */
    uint32_t category_name;   /* index into names + 1; 0: none */
    uint64_t payload;         /* a number the program gave with it, as its type holds it */
    uint8_t payload_type;     /* nvtxPayloadType_t; 0: none */
    uint8_t kind;             /* enum gw_range_kind */
};

enum gw_range_kind {
    GW_RANGE_NESTED = 0, /* pushed and popped by its thread */
    GW_RANGE_FREE,       /* begun by its thread, ended by any; may overlap others without nesting */
    GW_RANGE_MARK
};

enum gw_loss_reason {
    GW_LOSS_DISCARDED = 0, /* could not be kept: buffers were full, files are damaged */
    GW_LOSS_OUTSIDE,       /* not asked for: outside the windows that were recorded */
    GW_LOSS_LET_GO         /* a flight recorder overwrote them, or a rotation removed them */
};

/* Events are missing in [begin, end), `count` of them where that is known. Only the first reason is a fault; after the
 * others the range goes on until nothing can be left on the devices of what was enqueued in it. */
struct gw_loss {
    uint64_t begin_ns, end_ns;
    uint64_t count;
    enum gw_loss_reason reason;
};

/* A compiler that the program executed, as the recorder saw it from outside. */
struct gw_compiler {
    uint64_t begin_ns, end_ns;        /* end_ns: of the trace while it still ran then */
    uint64_t input_bytes, input_hash; /* 0: not known */
    uint32_t process;                 /* the nearest traced process above it, or GW_NONE */
    uint32_t thread;                  /* of that, which started it or what started it; GW_NONE: makes no calls */
    uint32_t pid;
    char name[32]; /* of its file: ptxas, gcc … */
};

/* What the shim said of itself, see enum gw_coverage_kind. */
struct gw_coverage {
    uint32_t process;
    uint32_t kind;
    char *name, *detail;
};

/* A step of a process: host time from the enqueue of its first operation to that of the next step's. Steps of a
 * process follow each other without holes within a phase; first_op/op_count index gw_model.process_ops. */
struct gw_step {
    uint64_t begin_ns, end_ns;
    uint32_t process;
    uint32_t number; /* within the process, from 0, warm-up included */
    uint32_t first_op, op_count;
    bool warmup;
};

/* Another way to divide a run into steps. */
struct gw_other_steps {
    size_t count;   /* 0: there is none that is worth telling */
    char *step;     /* expression for a kernel's name that cuts the run so, NULL when no kernel does */
    uint32_t every; /* with every so many of them */
};

/* What the recorder never records, so that its absence from the model says nothing. */
#define GW_UNSEEN_LOADS 0x1u      /* loads of modules and libraries by the driver */
#define GW_UNSEEN_CPU_TIME 0x2u   /* whether a thread outside CUDA was on the CPU */
#define GW_UNSEEN_ORDERS 0x4u     /* which stream waits for which event */
#define GW_UNSEEN_RANKS 0x8u      /* some ranks of the job */
#define GW_UNSEEN_NCCL 0x10u      /* NCCL's own calls */
#define GW_UNSEEN_BYTES 0x20u     /* what copies carry */
#define GW_UNSEEN_COMPILERS 0x40u /* compilers that were executed */

/* What one recorder left: the whole run, or a rank of it. */
struct gw_recording {
    char *name, *host;    /* of its directory; of its machine, NULL when unknown */
    uint32_t rank, ranks; /* of its job; 0, 0: none */
    int exit_status, exit_signal;
    bool finished;
    uint64_t end_ns; /* of its program, 0 when unknown */
};

enum gw_clock_how {
    GW_CLOCK_REFERENCE = 0, /* all times are on it */
    GW_CLOCK_FITTED,        /* by the ends of collectives */
    GW_CLOCK_WALL           /* by CLOCK_REALTIME, which is not exact */
};

/* The clock of a host, see clocks.h. The reference shows t + offset_ns + drift_ppm / 10^6 × (t − about_ns) when it
 * shows t.
 */
struct gw_clock {
    char *host, *boot_id;
    uint32_t recordings; /* how many it timed */
    enum gw_clock_how how;
    int64_t offset_ns;
    double drift_ppm;
    uint64_t about_ns;
    uint64_t residual_ns;   /* of the ends of matched collectives from those of the first process: median distance */
    uint32_t matched;       /* collectives that tell of it */
    int64_t test_offset_ns; /* see record --clock-offset */
    double test_ppm;
};

struct gw_run_info {
    char *path;
    char **command;           /* NULL-terminated */
    char **problems;          /* what went wrong while recording; NULL-terminated or NULL */
    char **not_seen;          /* processes of the program's that are not in the trace, and why; likewise */
    char *host, *device_kind; /* "simulated" or "gpu" */
    char *gpu_timing;         /* as asked for */
    char *step_mark;          /* what steps began with while they were counted during the run; NULL: they were not */
    char *versions_json, *environment_json; /* as in run.json, NULL when unknown */
    int exit_status;
    bool finished;                       /* run.json was completed by the recorder */
    bool windowed;                       /* only what lies in windows was recorded */
    bool excerpted;                      /* of some recordings only the first steps were taken */
    uint64_t timed_ns, timing_period_ns; /* period above 0: the GPU's times were taken in the first part of each */
    uint64_t ring_ns;                    /* what a flight recorder was asked to keep, else 0 */
    bool still_running;                  /* a snapshot of a program that ran on */
    /* Of a snapshot that was taken for a slow step: how long that and the steps before it lasted, when it ended; else 0
     */
    uint64_t slow_step_ns, slow_step_median_ns, slow_step_end_ns;
    uint64_t begin_ns, end_ns;  /* of the trace */
    int64_t realtime_offset_ns; /* CLOCK_REALTIME − CLOCK_MONOTONIC */
    uint64_t discarded_events;
    uint32_t unseen;        /* GW_UNSEEN_*; 0 for whole recordings of our own */
    uint32_t ranks;         /* of the job, by its launcher's variables; 0 when there is none */
    uint32_t ranks_missing; /* of these, not in the run or without work on a GPU */
    uint32_t ranks_absent;  /* of those, not in the run: what their GPUs did is not known */
};

enum gw_perturbation_method {
    GW_PERTURBATION_UNKNOWN = 0,
    GW_PERTURBATION_CALLS,  /* the tool's own code in the calls */
    GW_PERTURBATION_WINDOWS /* that, and steps with GPU timing against steps without */
};

/* By how much the recording slowed the run, see perturbation.c. */
struct gw_perturbation {
    enum gw_perturbation_method method;
    double percent, plus_minus_percent; /* of the run without it; 0 when not known */
    double call_ns;                     /* the tool's own code, a call */
    /* With windows of GPU timing: steps timed throughout, which alone are kept, not at all, and in part. */
    uint32_t timed_steps, untimed_steps, mixed_steps;
};

#define GW_PERTURBATION_MUCH_PERCENT 5.0 /* beyond, it is said beside each confirmed verdict */

#define GW_ARRAY(type, name)                                                                                           \
    type *name;                                                                                                        \
    size_t name##_count

/* Times of operations against what the host did, see causality.h. */
struct gw_causality {
    uint64_t checked;       /* operations with times whose call is known */
    uint64_t before_launch; /* begin before their call did */
    uint64_t overlapping;   /* begin before an earlier operation of their stream ended */
    uint64_t after_wait;    /* synchronisations that returned before what they waited for ended */
    uint64_t clock_off_ns;  /* by how much more than stated the times must be off, at least; 0: all agree */
};

struct gw_model {
    struct gw_run_info run;
    GW_ARRAY(struct gw_recording, recordings); /* ordered by rank, then name; none for imported traces */
    GW_ARRAY(struct gw_clock, clocks);         /* of the hosts; none for imported traces */
    GW_ARRAY(struct gw_process, processes);
    GW_ARRAY(struct gw_thread, threads);
    GW_ARRAY(struct gw_device, devices);
    GW_ARRAY(struct gw_stream, streams);
    GW_ARRAY(struct gw_call, calls);  /* ordered by begin_ns; an outer call stands before those nested in it */
    size_t merged_calls;              /* calls that were recorded and are parts of others here */
    GW_ARRAY(uint64_t, call_ids);     /* by call: its id in the trace; none unless asked for, see gw_model_options */
    GW_ARRAY(uint32_t, thread_calls); /* indices into calls grouped by thread, in order of begin */
    GW_ARRAY(struct gw_op, ops);      /* ordered by enqueue (begin of their call) */
    GW_ARRAY(uint32_t, stream_ops);   /* indices into ops grouped by stream, in order of enqueue */
    GW_ARRAY(uint32_t, process_ops);  /* indices into ops grouped by process, in order of enqueue */
    GW_ARRAY(char *, names);          /* names of kernels as found (mangled), of ranges */
    uint8_t *name_kinds; /* by name: GW_OP_COMM for a kernel that is called so and communicates, else GW_OP_KERNEL */
    GW_ARRAY(struct gw_launch, launches);
    GW_ARRAY(struct gw_copy, copies);
    GW_ARRAY(struct gw_memset, memsets);
    GW_ARRAY(struct gw_memory, memories);
    GW_ARRAY(struct gw_order, orders);
    GW_ARRAY(struct gw_module, modules);
    GW_ARRAY(struct gw_graph, graphs);
    GW_ARRAY(struct gw_communicator, communicators);
    GW_ARRAY(struct gw_collective, collectives); /* ordered by call, those of graph launches after all others */
    GW_ARRAY(struct gw_thread_gap, thread_gaps); /* ordered by thread, then begin */
    GW_ARRAY(struct gw_counted, counted);
    GW_ARRAY(struct gw_range, ranges); /* ordered by thread, then begin, an outer one first */
    GW_ARRAY(struct gw_loss, losses);
    GW_ARRAY(struct gw_coverage, coverages);
    GW_ARRAY(struct gw_compiler, compilers); /* ordered by begin */
    GW_ARRAY(struct gw_step, steps);         /* ordered by process, then begin */
    enum gw_timing_backend timing;
    struct gw_perturbation perturbation;
    struct gw_causality causality;
    const char *steps_method;          /* "sequence", "nvtx", "regex"; NULL when no steps were found */
    double steps_confidence;           /* 0…1 */
    struct gw_other_steps steps_other; /* about as likely */
    uint32_t micro_steps;              /* that a step accumulates gradients over; 0: none were told apart */
    double link_gbps;                  /* bus bandwidth its links should give, as told by the user; 0: not told */
};

/* Frees everything the model owns and the model itself; NULL is allowed. */
void gw_model_destroy(struct gw_model *model);

/* The id that the call, its nested calls and what they enqueued have in the trace; 0 where ids were not asked for. */
static inline uint64_t gw_call_id(const struct gw_model *model, uint32_t call)
{
    return call < model->call_ids_count ? model->call_ids[call] : 0;
}

/* How many calls were recorded. */
static inline size_t gw_calls_recorded(const struct gw_model *model)
{
    return model->calls_count + model->merged_calls;
}

/* Index of the first step of a process that ends after a time, or of what follows its last. */
size_t gw_step_after(const struct gw_model *model, uint32_t process, uint64_t t_ns);

/* Index of the step of a process that a time lies in, or GW_NONE. */
uint32_t gw_step_at(const struct gw_model *model, uint32_t process, uint64_t t_ns);

/* Class of a call by its function; a constant-time table look-up. */
enum gw_call_class gw_call_class(uint16_t function);

/* Short word for an operation kind as the CSV uses it: kernel, memset, h2d, d2h, d2d, p2p, comm, graph, host. */
/* What a stream is called where it is drawn: "stream 3", "stream 3 copies". Returns text, which has room for size
 * bytes. */
const char *gw_stream_words(const struct gw_model *model, const struct gw_stream *stream, char *text, size_t size);

const char *gw_op_kind_name(enum gw_op_kind kind);

/* Word for an enum gw_comm_kind, as the CSV uses it: all_reduce, send … */
const char *gw_comm_kind_name(enum gw_comm_kind kind);

/* The library whose kernels of this name, mangled or not, communicate; NULL for any other name. */
const char *gw_comm_kernel_library(const char *name);

/* Width of one element of an ncclDataType_t, 0 for one that is not known. */
uint32_t gw_comm_type_bytes(uint8_t type);

/* Bytes that cross the busiest link for each byte of a collective among `size` ranks, as nccl-tests count. */
double gw_comm_bus_factor(enum gw_comm_kind kind, uint32_t size);

/* Why events are missing, in a word or two for people and JSON: discarded, damaged (a buffer that overran counts
 * what it could not keep), outside the windows, let go. */
const char *gw_loss_reason_name(const struct gw_loss *loss);

/* timing_floor_ns and timing_half_ns of the device where each is largest; 0 when nothing was timed. */
uint64_t gw_timing_floor(const struct gw_model *model, uint64_t *ret_half_ns);

#endif
