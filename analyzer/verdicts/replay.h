/*
 * The replay: the dependency graph of the analysed steps, run again with a repair to see what it would save.
 *
 * Nodes are the outermost calls in order of their begin; each follows the call before it on its thread after the time
 * the thread spent outside CUDA. Operations start when they have been enqueued, their stream's earlier work, events
 * waited for and copy engines allow. A communication kernel ends a measured time after the last rank has arrived in
 * what it carries out. Calls that wait end after what they wait for. Definition: docs/verdicts.md.
 *
 * Memory: 112 bytes a node and 56 an operation of the analysed steps.
 */
#ifndef GW_ANALYZER_VERDICTS_REPLAY_H
#define GW_ANALYZER_VERDICTS_REPLAY_H

#include "analyzer/model/copies.h"
#include "analyzer/verdicts/call_ops.h"
#include "analyzer/verdicts/host.h"
#include "analyzer/verdicts/lane_steps.h"

/* Repairs of one call, or-ed together. */
#define GW_EDIT_DROP 0x01u         /* the call takes no time and waits for nothing */
#define GW_EDIT_QUICK 0x02u        /* it waits for nothing and takes no longer than an asynchronous launch */
#define GW_EDIT_NO_OP 0x04u        /* its operations do not run */
#define GW_EDIT_NO_THINK 0x08u     /* no time on the CPU between the call before and this one */
#define GW_EDIT_NO_BLOCK 0x10u     /* no time off the CPU there */
#define GW_EDIT_PINNED 0x20u       /* its copies run at the rate of page-locked memory */
#define GW_EDIT_NO_ORDER 0x40u     /* event waits and legacy stream joins do not hold its operations back */
#define GW_EDIT_OTHER_STREAM 0x80u /* its copies do not wait for earlier work of their stream */

/* Repairs of one operation, or-ed together. */
#define GW_OP_EDIT_DROP 0x01u /* it does not run, and no rank waits for it */
#define GW_OP_EDIT_BESIDE                                                                                              \
    0x02u                     /* it holds up no later work of its stream, only others of this kind on its device …   \
                               */
#define GW_OP_EDIT_JOIN 0x04u /* … and this one, which waits for all of them */

/* Host time of a node, instead of the measured one. */
struct gw_host_time {
    uint64_t think_ns, blocked_ns, own_ns;
};

/* What is changed in a run. Each array may be NULL: nothing of the kind. */
struct gw_repair {
    const uint8_t *calls;             /* by call of the model: GW_EDIT_* */
    const uint8_t *ops;               /* by operation of the model: GW_OP_EDIT_* */
    const uint64_t *op_ns;            /* by operation of the model: how long it takes, once all ranks have arrived;
                                         GW_TIME_UNKNOWN: as            measured */
    const struct gw_host_time *nodes; /* by node */
};

/* What must be left of other work for a call to have to wait for it. */
#define GW_WAIT_LEAST_NS 2000u

/* A wait this long is slept through; the thread has to wake up after it. */
#define GW_SLEEP_LEAST_NS 20000u

enum gw_wait_kind {
    GW_WAIT_FOR_NOTHING = 0,
    GW_WAIT_FOR_OPS,
    GW_WAIT_FOR_STREAM,
    GW_WAIT_FOR_DEVICES,
    GW_WAIT_FOR_EVENT
};

struct gw_replay_op {
    uint32_t op;       /* index into the model */
    uint64_t lag_ns;   /* from the begin of its call to its start, when nothing else holds it */
    uint64_t extra_ns; /* from what it waited for to its start … */
    uint64_t early_ns; /* … or from its start to the end of that: branches of a graph bear the name of one stream */
    uint32_t held_by;  /* operation that it seems to have waited for, or, begun early, to have followed on its branch,
                          instead of all its stream; GW_NONE: none */
    uint64_t duration_ns;
    uint32_t leg_first, leg_count; /* into legs: the exchanges it takes part in whose ranks are all in the graph */
    uint64_t transfer_ns;          /* with legs: from the last arrival to its end */
};

struct gw_replay_node {
    uint64_t begin_ns;             /* as measured */
    uint64_t think_ns, blocked_ns; /* outside CUDA before it, on and off the CPU */
    uint64_t own_ns;               /* in the call itself, after what it waited for */
    /* The machine's doing: what is beyond the usual for such calls of own_ns, and of the lag, extra and duration of the
     * first operation; what of blocked_ns other programs had the CPU. */
    uint64_t own_noise_ns, lag_noise_ns, extra_noise_ns, duration_noise_ns, blocked_noise_ns;
    uint64_t handed_ns; /* from the end of the call of another thread that woke this one */
    uint64_t early_ns;  /* it ended this long before what it waited for: device times have an error */
    uint32_t call, thread;
    uint32_t handed_by; /* node, or GW_NONE */
    uint32_t op_first, op_count;
    uint32_t order_first, order_count; /* record and wait details of it and the calls nested in it */
    uint32_t target;                   /* stream or event it waits for */
    uint8_t wait;                      /* enum gw_wait_kind */
    bool preempted; /* other programs had the CPU in the call or after it, and the thread did not sleep there */
    bool waited;    /* it slept until what it waits for was over */
};

/* A run of analysed steps that follow each other. */
struct gw_replay_phase {
    uint32_t node_first, node_end; /* nodes in [first, end) */
    uint32_t process, lane, steps;
};

struct gw_replay {
    const struct gw_host *host;
    GW_ARRAY(struct gw_replay_node, nodes);
    GW_ARRAY(struct gw_replay_op, ops);
    GW_ARRAY(struct gw_order, orders); /* event holds a dense number */
    GW_ARRAY(struct gw_replay_phase, phases);
    GW_ARRAY(uint32_t, legs);            /* exchanges */
    GW_ARRAY(uint32_t, exchanges);       /* how many ranks each has */
    uint32_t *lane_nodes;                /* nodes by lane, in order … */
    uint32_t *lane_first;                /* … of lane l from lane_first[l] to lane_first[l + 1] */
    uint32_t *thread_lane, *device_lane; /* lanes of all processes, numbered through */
    uint32_t lanes_count;
    uint32_t *step_nodes; /* first node of each step of the model, GW_NONE outside the window */
    uint32_t events_count;
    uint32_t steps;                /* analysed steps in the window */
    uint64_t *stream_begin_ns;     /* when each stream's work from before the window ends */
    bool *engine_serial;           /* per device, h2d then d2h: copies never overlapped */
    struct gw_copy_rate pinned[2]; /* of page-locked copies: h2d, d2h */
    uint64_t quick_ns;             /* median host time of an asynchronous launch */
    uint64_t wake_ns;              /* median own time of calls that slept: whoever sleeps pays it */
    uint64_t latency_ns; /* from the begin of a launch to its kernel's start, lowest tenth, at most what is assumed
                            without any */
};

/* Builds the graph of the model's analysed steps, at most GW_REPLAY_NODES calls of them; launches_wait: kernel launches
 * return after their kernels. Returns 0, -ENODATA when there is nothing to replay, or -ENOMEM. host must outlive it;
 * call_ops and steps are only read here. */
#define GW_REPLAY_NODES 400000u
int gw_replay_create(const struct gw_host *host, const struct gw_call_ops *call_ops, const struct gw_lane_steps *steps,
                     bool launches_wait, struct gw_replay **ret_replay);
void gw_replay_destroy(struct gw_replay *replay);

/* Steps of gw_replay_create: the usual times and rates of the run; what held operations back where the trace does not
 * tell; what of each call is noise. 0 or -ENOMEM. */
int gw_replay_measure_run(struct gw_replay *replay);
int gw_replay_find_held(struct gw_replay *replay);
int gw_replay_find_noise(struct gw_replay *replay);

/* Takes the noise out of the graph, once: savings compare two replays without it. */
void gw_replay_take_out_noise(struct gw_replay *replay);

/* Steps of gw_replay_create: which threads and devices keep to one order, and what ties ranks together. 0 or -ENOMEM.
 */
int gw_replay_find_lanes(struct gw_replay *replay, const struct gw_lane_steps *steps);
int gw_replay_list_lanes(struct gw_replay *replay);
int gw_replay_find_exchanges(struct gw_replay *replay);

/* The node of a call of the model, GW_NONE outside the window. */
uint32_t gw_replay_node_of(const struct gw_replay *replay, uint32_t call);

/* Runs the graph with the repair (NULL: unchanged). Stores the mean step in *ret_mean_ns and, when ret_steps_ns is not
 * NULL, the length of each of replay->steps steps there, as device_steps.h has it. Returns 0 or -ENOMEM. */
int gw_replay_run(const struct gw_replay *replay, const struct gw_repair *repair, double *ret_mean_ns,
                  uint64_t *ret_steps_ns);

/* The same lengths of steps in the measured run. Returns 0 or -ENOMEM. */
int gw_replay_measured_steps(const struct gw_replay *replay, uint64_t *ret_steps_ns);

#endif
