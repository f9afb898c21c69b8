/*
 * What each host thread did when: its outermost calls, and between them on or off the CPU.
 */
#ifndef GW_ANALYZER_VERDICTS_HOST_H
#define GW_ANALYZER_VERDICTS_HOST_H

#include "analyzer/verdicts/budget.h"

struct gw_host {
    const struct gw_model *model;
    size_t *thread_gaps;   /* thread t's lie in [thread_gaps[t], thread_gaps[t + 1]) of model->thread_gaps */
    const uint32_t *calls; /* depth-1 calls of all threads, grouped by thread, in order of begin; NULL: not listed */
    uint32_t *own_calls;   /* the same; NULL where all calls are such, so that the model's list serves */
    size_t *thread_calls;  /* as thread_gaps, into calls */
};

/* Indexes the model; returns 0 or -ENOMEM. Release with gw_host_release, which takes half-built ones too. */
int gw_host_init(struct gw_host *ret_host, const struct gw_model *model);

/* Lists the calls, which the two functions below need: 4 bytes each. Returns 0 or -ENOMEM. */
int gw_host_list_calls(struct gw_host *host);
void gw_host_release(struct gw_host *host);

/* Position in host->calls of the first of the thread's calls that begins at or after t_ns. */
size_t gw_host_first_call_from(const struct gw_host *host, uint32_t thread, uint64_t t_ns);

/* One stretch of a thread's time: inside a call, or outside (call GW_NONE, class idle_host or idle_blocked). */
typedef void gw_host_visit(void *data, uint64_t begin_ns, uint64_t end_ns, enum gw_class cls, uint32_t call);

/* Walks [begin_ns, end_ns) of a thread in order, without holes. Time outside calls is on the CPU in the proportion that
 * the thread gap record over it gives, the part on the CPU first; without a record it is all on the CPU. */
void gw_host_walk(const struct gw_host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns, gw_host_visit *visit,
                  void *data);

/* Nanoseconds off the CPU of a thread in [begin_ns, end_ns), which lies outside calls. */
uint64_t gw_host_blocked_ns(const struct gw_host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns);

/* False when all that a thread's gap records in [begin_ns, end_ns) tell of is preemption: it was kept off the CPU but
 * did not go to sleep. */
bool gw_host_slept(const struct gw_host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns);

#endif
