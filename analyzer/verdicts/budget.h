/*
 * The budget: a partition of every step, per device, that sums exactly to the step's wall time. Definition and order of
 * precedence: docs/budget.md; all by interval union, never by summing kernels.
 *
 * Memory: 176 bytes a step and device, 32 a gap.
 */
#ifndef GW_ANALYZER_VERDICTS_BUDGET_H
#define GW_ANALYZER_VERDICTS_BUDGET_H

#include "analyzer/model/model.h"

enum gw_class {
    GW_CLASS_COMPUTE = 0,
    GW_CLASS_COMM_WAIT,
    GW_CLASS_COMM_TRANSFER,
    GW_CLASS_COMM_EXPOSED, /* one rank's trace alone: wait and transfer cannot be told apart */
    GW_CLASS_COPY_H2D,
    GW_CLASS_COPY_D2H,
    GW_CLASS_COPY_D2D,
    GW_CLASS_COPY_P2P,
    GW_CLASS_IDLE_DEPENDENCY,
    GW_CLASS_IDLE_LATENCY,
    GW_CLASS_IDLE_LAUNCH,
    GW_CLASS_IDLE_SYNC,
    GW_CLASS_IDLE_ALLOC,
    GW_CLASS_IDLE_COMPILE,
    GW_CLASS_IDLE_COPY_CALL,
    GW_CLASS_IDLE_GRAPH,
    GW_CLASS_IDLE_API,
    GW_CLASS_IDLE_HOST,
    GW_CLASS_IDLE_BLOCKED,
    GW_CLASS_IDLE_UNKNOWN,
    GW_CLASS_COUNT
};

/* A half-open interval of time. */
struct gw_interval {
    uint64_t begin_ns, end_ns;
};

/* Used where the run itself shows no launch on an idle device. */
#define GW_LAUNCH_LATENCY_ASSUMED_NS 10000u

/* Name as in JSON and CSV ("compute", "idle_host", …). */
const char *gw_class_name(enum gw_class cls);

/* A few words for a person ("host busy outside CUDA", …). */
const char *gw_class_words(enum gw_class cls);

/* An interval in which a device computed or communicated nothing: idle, cut where its cause changes. */
struct gw_gap {
    uint64_t begin_ns, end_ns;
    uint32_t device;  /* index */
    uint32_t call;    /* the call the device waited in, or the enqueue it waited for; GW_NONE when unknown */
    uint32_t next_op; /* the operation that ended the idle interval, GW_NONE at the end */
    uint8_t cls;      /* enum gw_class, IDLE_* only */
};

/* Time of one step on one device by class; sums to the step's time to the nanosecond. */
struct gw_step_budget {
    uint32_t step, device;
    bool opaque; /* some of compute is a graph replay without node times */
    bool unused; /* the run has no operation on the device: means over devices leave it out */
    uint64_t ns[GW_CLASS_COUNT];
};

struct gw_budget {
    struct gw_interval *times;              /* by step of the model: its time, see device_steps.h */
    GW_ARRAY(struct gw_step_budget, cells); /* ordered by step, then device of its process */
    GW_ARRAY(struct gw_gap, gaps);          /* ordered by device, then begin; whole trace, not only steps */
    uint64_t launch_latency_ns;   /* lowest tenth of start − begin of the enqueue call, kernels on an idle device */
    bool launch_latency_measured; /* false: no kernel met an idle device, GW_LAUNCH_LATENCY_ASSUMED_NS is used */
    uint32_t median_step; /* index of the step whose length is the median of the analysed ones, GW_NONE without steps */
    uint32_t analysed_steps; /* not warm-up */
};

/* Computes the budget of every step and device of the model and stores it in *ret_budget (destroy with
 * gw_budget_destroy). Returns 0 or -ENOMEM. A model without steps or device times gives empty arrays. */
int gw_budget_create(const struct gw_model *model, struct gw_budget **ret_budget);

/* The same for whoever looks at steps only: idle time outside all steps is not looked into, but part of gaps of class
 * idle_unknown. A trace with much outside its steps takes less time and memory. */
int gw_budget_create_of_steps(const struct gw_model *model, struct gw_budget **ret_budget);
void gw_budget_destroy(struct gw_budget *budget);

#endif
