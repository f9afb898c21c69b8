#include "analyzer/verdicts/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/read/parallel.h"

/* Shares of a gap's CPU time below the first or above the second count as none or all: slivers mislead the eye. */
#define CPU_NONE_PERCENT 5u
#define CPU_ALL_PERCENT 95u

struct listing {
    struct gw_host *host;
    uint32_t *counts; /* by thread: its outermost calls */
};

static int count_calls(void *user, size_t index)
{
    const struct listing *listing = user;
    const struct gw_model *model = listing->host->model;
    const struct gw_thread *thread = &model->threads[index];
    for (uint32_t i = 0; i < thread->call_count; i++)
        listing->counts[index] += model->calls[model->thread_calls[thread->call_first + i]].depth <= 1;
    return 0;
}

static int list_calls(void *user, size_t index)
{
    const struct listing *listing = user;
    const struct gw_model *model = listing->host->model;
    const struct gw_thread *thread = &model->threads[index];
    size_t at = listing->host->thread_calls[index];
    for (uint32_t i = 0; i < thread->call_count; i++) {
        uint32_t call = model->thread_calls[thread->call_first + i];
        if (model->calls[call].depth <= 1)
            listing->host->own_calls[at++] = call;
    }
    return 0;
}

int gw_host_init(struct gw_host *ret_host, const struct gw_model *model)
{
    struct gw_host host = {.model = model, .thread_gaps = calloc(model->threads_count + 1, sizeof *host.thread_gaps)};
    size_t gap = 0;
    if (!host.thread_gaps)
        return -ENOMEM;
    for (uint32_t t = 0; t <= model->threads_count; t++) {
        while (gap < model->thread_gaps_count && model->thread_gaps[gap].thread < t)
            gap++;
        host.thread_gaps[t] = gap;
    }
    *ret_host = host;
    return 0;
}

int gw_host_list_calls(struct gw_host *host)
{
    const struct gw_model *model = host->model;
    struct listing listing = {.host = host, .counts = calloc(model->threads_count + 1, sizeof *listing.counts)};
    int ret = -ENOMEM;
    host->thread_calls = calloc(model->threads_count + 1, sizeof *host->thread_calls);
    if (!listing.counts || !host->thread_calls)
        goto end;
    gw_parallel_for(model->threads_count, count_calls, &listing);
    for (uint32_t t = 0; t < model->threads_count; t++)
        host->thread_calls[t + 1] = host->thread_calls[t] + listing.counts[t];
    host->calls = model->thread_calls;
    if (host->thread_calls[model->threads_count] != model->thread_calls_count) {
        host->calls = host->own_calls =
            malloc((host->thread_calls[model->threads_count] + 1) * sizeof *host->own_calls);
        if (!host->own_calls)
            goto end;
        gw_parallel_for(model->threads_count, list_calls, &listing);
    }
    ret = 0;
end:
    free(listing.counts);
    return ret;
}

void gw_host_release(struct gw_host *host)
{
    free(host->own_calls);
    free(host->thread_calls);
    free(host->thread_gaps);
    *host = (struct gw_host){0};
}

size_t gw_host_first_call_from(const struct gw_host *host, uint32_t thread, uint64_t t_ns)
{
    const size_t low = GW_FIRST_NOT(host->thread_calls[thread], host->thread_calls[thread + 1], middle,
                                    host->model->calls[host->calls[middle]].begin_ns < t_ns);
    return low;
}

/* Of idle time spent inside this call. */
static enum gw_class class_of_call(const struct gw_model *model, uint32_t call)
{
    switch (gw_call_class(model->calls[call].function)) {
    case GW_CALL_SYNC:
        return GW_CLASS_IDLE_SYNC;
    case GW_CALL_ALLOC:
        return GW_CLASS_IDLE_ALLOC;
    case GW_CALL_COMPILE:
        return GW_CLASS_IDLE_COMPILE;
    case GW_CALL_COPY:
        return GW_CLASS_IDLE_COPY_CALL;
    case GW_CALL_GRAPH:
        return GW_CLASS_IDLE_GRAPH;
    case GW_CALL_OTHER:
    case GW_CALL_LAUNCH:
    case GW_CALL_MEMSET:
    case GW_CALL_GRAPH_LAUNCH:
    case GW_CALL_ORDER:
    case GW_CALL_COMM:
        break;
    }
    return GW_CLASS_IDLE_API;
}

/* Position in model->thread_gaps of the thread's first record that ends after t_ns. */
static size_t first_gap_ending_after(const struct gw_host *host, uint32_t thread, uint64_t t_ns)
{
    const size_t low = GW_FIRST_NOT(host->thread_gaps[thread], host->thread_gaps[thread + 1], middle,
                                    host->model->thread_gaps[middle].end_ns <= t_ns);
    return low;
}

/* Time on the CPU in a record's first `elapsed_ns`. Cumulative, so that the parts of a record cut anywhere sum to it.
 */
static uint64_t cpu_until(const struct gw_thread_gap *gap, uint64_t elapsed_ns)
{
    uint64_t length = gap->end_ns - gap->begin_ns, cpu = gap->cpu_ns < length ? gap->cpu_ns : length;
    if (cpu * 100u >= length * CPU_ALL_PERCENT)
        return elapsed_ns;
    if (cpu * 100u <= length * CPU_NONE_PERCENT)
        return 0;
    return (uint64_t)((unsigned __int128)cpu * elapsed_ns / length);
}

static void walk_outside(const struct gw_host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                         gw_host_visit *visit, void *data)
{
    const struct gw_model *model = host->model;
    uint64_t now = begin_ns;
    for (size_t i = first_gap_ending_after(host, thread, begin_ns);
         i < host->thread_gaps[thread + 1] && model->thread_gaps[i].begin_ns < end_ns; i++) {
        const struct gw_thread_gap *gap = &model->thread_gaps[i];
        uint64_t from = gap->begin_ns > now ? gap->begin_ns : now, to = gap->end_ns < end_ns ? gap->end_ns : end_ns;
        if (from >= to)
            continue;
        if (now < from)
            visit(data, now, from, GW_CLASS_IDLE_HOST, GW_NONE);
        uint64_t cpu = cpu_until(gap, to - gap->begin_ns) - cpu_until(gap, from - gap->begin_ns);
        if (cpu)
            visit(data, from, from + cpu, GW_CLASS_IDLE_HOST, GW_NONE);
        if (from + cpu < to)
            visit(data, from + cpu, to, GW_CLASS_IDLE_BLOCKED, GW_NONE);
        now = to;
    }
    if (now < end_ns)
        visit(data, now, end_ns, GW_CLASS_IDLE_HOST, GW_NONE);
}

void gw_host_walk(const struct gw_host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns, gw_host_visit *visit,
                  void *data)
{
    const struct gw_model *model = host->model;
    size_t at = gw_host_first_call_from(host, thread, begin_ns), last = host->thread_calls[thread + 1];
    if (at > host->thread_calls[thread])
        at--; /* it may still be running at begin_ns */
    uint64_t now = begin_ns;
    for (; at < last && now < end_ns; at++) {
        const struct gw_call *call = &model->calls[host->calls[at]];
        if (call->begin_ns >= end_ns)
            break;
        if (call->begin_ns > now) {
            walk_outside(host, thread, now, call->begin_ns, visit, data);
            now = call->begin_ns;
        }
        uint64_t to = call->end_ns < end_ns ? call->end_ns : end_ns;
        if (to > now) {
            visit(data, now, to, class_of_call(model, host->calls[at]), host->calls[at]);
            now = to;
        }
    }
    if (now < end_ns)
        walk_outside(host, thread, now, end_ns, visit, data);
}

struct blocked_sum {
    uint64_t ns;
};

static void add_blocked(void *data, uint64_t begin_ns, uint64_t end_ns, enum gw_class cls, uint32_t call)
{
    (void)call;
    struct blocked_sum *sum = data;
    if (cls == GW_CLASS_IDLE_BLOCKED)
        sum->ns += end_ns - begin_ns;
}

uint64_t gw_host_blocked_ns(const struct gw_host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
    struct blocked_sum sum = {0};
    if (begin_ns < end_ns)
        walk_outside(host, thread, begin_ns, end_ns, add_blocked, &sum);
    return sum.ns;
}

bool gw_host_slept(const struct gw_host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
    bool preempted = false, slept = false;
    for (size_t i = first_gap_ending_after(host, thread, begin_ns);
         i < host->thread_gaps[thread + 1] && host->model->thread_gaps[i].begin_ns < end_ns; i++) {
        preempted |= host->model->thread_gaps[i].involuntary_switches > 0;
        slept |= host->model->thread_gaps[i].voluntary_switches > 0;
    }
    return slept || !preempted;
}
