/*
 * What judges of communication share: every communication kernel of the analysed steps with what it carries out, and
 * how a change of single operations becomes a verdict.
 */
#ifndef GW_ANALYZER_VERDICTS_COMM_H
#define GW_ANALYZER_VERDICTS_COMM_H

#include "analyzer/verdicts/judge.h"

/* A communication kernel of an analysed step. */
struct gw_comm_kernel {
    uint64_t start_ns, end_ns;
    uint64_t arrived_ns; /* all ranks had; GW_TIME_UNKNOWN: some rank is not in the run, or has no times */
    uint64_t size_bytes; /* of all it carries out */
    double bus_bytes;    /* of these, what crosses the busiest link: nccl-tests' factors */
    uint32_t op, step, device;
    uint32_t collective, count; /* the first it carries out, GW_NONE when that was not recorded; how many */
    bool is_message;            /* sends and receives only */
    bool claimed;               /* a confirmed verdict explains it: another does not count it again */
};

struct gw_comm {
    GW_ARRAY(struct gw_comm_kernel, kernels); /* by device, then in order of enqueue */
    uint32_t *device_kernels;                 /* those of device d lie in [device_kernels[d], device_kernels[d + 1]) */
    uint32_t *device_ops, *device_first;      /* likewise all timed operations: indices into the model */
    uint32_t *op_step;                        /* by operation: the analysed step of its lane, or GW_NONE */
    size_t unsized, unmatched; /* kernels whose collectives were not recorded; whose ranks are not all in the run */
    double latency_ns;         /* of gw_comm_latency_ns(); 0 without any transfer */
    double gbps;               /* highest bus bandwidth of transfers that last four latencies; 0 without any */
    double covered;            /* share of the analysed steps in which all devices of their process have work */
    double exposed_ns;         /* only communication: mean per step, mean over devices */
};

/* Lists the communication of the analysed steps. Returns 0 or -ENOMEM. */
int gw_comm_create(const struct gw_judge *judge, struct gw_comm **ret_comm);
void gw_comm_destroy(struct gw_comm *comm);

/* What a transfer of nothing would take, from the times of transfers of several sizes; where all are of about one size,
 * what no link explains, the rest being taken for bytes. 0 when no transfer is known. */
double gw_comm_latency_ns(const struct gw_comm_kernel *kernels, size_t count);

/* Place in kernels of an operation, or GW_NONE. */
uint32_t gw_comm_kernel_of(const struct gw_comm *comm, const struct gw_model *model, uint32_t op);

/* From the last arrival to the kernel's end; its whole length where arrivals are not known. */
uint64_t gw_comm_transfer_ns(const struct gw_comm_kernel *kernel);

/* What a kernel's transfer would take at a bus bandwidth: a latency and the bytes. Overheads as measured by the run. */
double gw_comm_expected_ns(const struct gw_comm *comm, const struct gw_comm_kernel *kernel, double gbps);

/* End of the run of kernels of one step and device that begins at `from`. */
size_t gw_comm_same_step_until(const struct gw_comm *comm, size_t from);

/* Place in device_ops of the device's first operation after `op`; that of its end for none. */
size_t gw_comm_place_after(const struct gw_comm *comm, uint32_t device, uint32_t op);

/* Whether it sums over ranks; false where what it carries out was not recorded. */
bool gw_comm_is_reduction(const struct gw_model *model, const struct gw_comm_kernel *kernel);

/* Whether two collectives of the model differ in bytes and buffers at most. */
bool gw_comm_are_alike(const struct gw_model *model, uint32_t left, uint32_t right);

/* What a judge of communication needs of a run. */
#define GW_COMM_NEEDS_SIZES 0x1u /* the collectives of all kernels were recorded */
#define GW_COMM_NEEDS_RANKS 0x2u /* and all ranks are in the run */

/* Makes the verdict when the run has no communication, or not all that is needed to judge it. Returns 1 when the judge
 * can go on, 0 when the verdict is made, or -ENOMEM. */
int gw_comm_ready(const struct gw_judge *judge, struct gw_verdict *verdict, unsigned needs);

/* Whether the call is a synchronisation with nothing but others between it and the end of a communicator, which must
 * have nothing to do any more: it goes where the communicator stays. */
bool gw_comm_awaits_end(struct gw_judge *judge, const struct gw_fact *fact);

/* ---- a change that is being made into a verdict ---- */

struct gw_comm_plan {
    struct gw_repair repair; /* the arrays below; op_ns is unset for what neither communicates nor is replayed */
    uint8_t *calls, *ops;
    uint64_t *op_ns;
    struct gw_host_time *nodes; /* NULL until a judge wants it */
    uint32_t *marked;           /* operations that are occurrences */
    size_t marked_count, marked_room;
    double cap_ns;     /* no more than this per step; negative: no cap */
    double least_ns;   /* a step takes at least this long, whatever the replay says */
    const char *doubt; /* why a saving makes the verdict unknown, not confirmed; NULL: it does not */
};

int gw_comm_plan_init(struct gw_comm_plan *ret_plan, const struct gw_judge *judge);
void gw_comm_plan_release(struct gw_comm_plan *plan);

/* Counts an operation as an occurrence. Returns 0 or -ENOMEM. */
int gw_comm_plan_mark(struct gw_comm_plan *plan, uint32_t op);

/* Takes an operation out, with the call that enqueued nothing else. */
void gw_comm_plan_drop(struct gw_comm_plan *plan, const struct gw_judge *judge, uint32_t op);

/* Replays the plan and makes the verdict from its saving; a confirmed one claims the communication kernels among the
 * marked. sign: as of gw_finding_conclude(). Returns 0 or -ENOMEM. */
int gw_comm_plan_conclude(struct gw_comm_plan *plan, struct gw_judge *judge, struct gw_verdict *verdict,
                          const char *sign, ...) __attribute__((format(printf, 4, 5)));

/* Adds a line of evidence on an operation, in words. Returns 0 or -ENOMEM. */
int gw_comm_evidence(const struct gw_judge *judge, struct gw_verdict *verdict, uint32_t op);

#endif
