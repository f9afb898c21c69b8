// The parts of the simulated CUPTI.
//
// Calls arrive through callbacks.c on the program's threads, operations through activity.c under the driver's engine
// lock; both become records (records.c), which delivery.c hands over in buffers from a thread of its own once they are
// complete. Lock order: the driver's engine lock, then delivery's. Callbacks of the client run with neither.
#ifndef GW_SIMGPU_CUPTI_PROFILER_H
#define GW_SIMGPU_CUPTI_PROFILER_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/simgpu/call.h"

#define EXPORT __attribute__((visibility("default")))

// An entry point, which fails as the configuration's `fail` lines say; `body` is the expression that does the work.
#define ENTRY(name, parameters, body)                                                                                  \
    EXPORT CUptiResult CUPTIAPI name parameters                                                                        \
    {                                                                                                                  \
        const int fault = profiler_fault(#name);                                                                       \
        return fault ? (CUptiResult)fault : (body);                                                                    \
    }

// Records of CUDA 13, or what version 12's headers have in their place (the last members are missing there).
#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
typedef CUpti_ActivityMemcpy6 copy_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
typedef CUpti_ActivityMemcpy5 copy_record;
#endif
typedef CUpti_ActivityMemcpyPtoP4 peer_record;
typedef CUpti_ActivityMemset4 set_record;
typedef CUpti_ActivityGraphTrace2 graph_record;
typedef CUpti_ActivitySynchronization2 wait_record;

union record {
    CUpti_ActivityKind kind;
    kernel_record kernel;
    copy_record copy;
    peer_record peer;
    set_record set;
    graph_record graph;
    wait_record wait;
    CUpti_ActivityAPI api;
    CUpti_ActivityExternalCorrelation external;
};

// common.c
int profiler_fault(const char *name);
bool profiler_has_driver(void);
// Sees calls and operations from now on / no longer.
void profiler_watch(bool watching);

// activity.c
bool activity_enabled(CUpti_ActivityKind kind);
void activity_operation(const struct simgpu_operation *operation);
// Notes the begin of a call that is wanted, at its exit leaves its records.
void activity_call(const struct simgpu_call_seen *call, CUpti_CallbackDomain domain, CUpti_CallbackId id);
void activity_stop(void);

// callbacks.c
void callbacks_call(const struct simgpu_call_seen *call);
void callbacks_stop(void);

// clock.c: a time of the simulation on CUPTI's clock; valid at the time of delivery.
uint64_t clock_of(uint64_t monotonic_ns);

// records.c: the size of a record of that kind; 0: none is known.
size_t record_size(CUpti_ActivityKind kind);
// Fills the record of an operation, its times still the simulation's.
void record_operation(union record *record, const struct simgpu_operation *operation, CUpti_ActivityKind kind);
// Puts a record's times on CUPTI's clock; those of incomplete ones become 0.
void record_convert(union record *record, bool is_complete);

// delivery.c: queues records that are complete at `end_ns` and are handed over in this order; late ones a flush later
// than they could be. Takes its own lock only.
void delivery_queue(const union record *records, unsigned count, uint64_t end_ns, bool is_late);
// Hands over what is complete, from the worker, without waiting for it.
void delivery_prompt(void);
void delivery_stop(void);

#endif
