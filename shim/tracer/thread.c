/*
 * Threads: their names, and what a thread did outside CUDA.
 *
 * The CPU time of a gap is not read at its beginning (that would cost two system calls at the end of every call). What
 * is known is the CPU time at the last reading and at the gap's end; from the last reading to the gap's beginning the
 * thread made calls with only short gaps between, so it is taken to have been on the CPU then, and that time is
 * subtracted. The error is bounded: the last reading is never older than 1 ms while a thread makes calls, calls that
 * can block are followed by a reading when they took long, and of others that did (a launch into a full queue) the last
 * one before the gap is taken to have slept.
 *
 * A long call after which nothing was read is followed by a record too, however short the gap: it tells whether the
 * thread lost the CPU in the call.
 */
#include "shim/tracer/tracer.h"

#include <lttng/ust-thread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/tracer/events.h"
#include "shim/tracer/tally.h"

static uint64_t thread_cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void gw_thread_enter(struct gw_thread *thread)
{
    char name[17] = "";

    lttng_ust_init_thread();
    thread->generation = gw_tracer.generation;
    thread->tid = (uint32_t)syscall(SYS_gettid);
    thread->streams_generation = 0;
    prctl(PR_GET_NAME, name);
    lttng_ust_tracepoint(gpuwitness, thread, gw_tracer.pid, thread->tid, name);
    gw_thread_read_cpu(thread, gw_now_ns());
    thread->last_begin_ns = thread->cpu_at_ns;
    thread->last_ticks = gw_ticks();
}

void gw_thread_read_cpu(struct gw_thread *thread, uint64_t now_ns)
{
    struct rusage usage;

    gw_tally_write(thread, now_ns);
    thread->cpu_ns = thread_cpu_ns();
    thread->cpu_at_ns = now_ns;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        thread->switches_voluntary = (uint32_t)usage.ru_nvcsw;
        thread->switches_forced = (uint32_t)usage.ru_nivcsw;
        thread->faults_minor = (uint32_t)usage.ru_minflt;
        thread->faults_major = (uint32_t)usage.ru_majflt;
    }
}

// When the last call ended. Its end is kept in cycles, which are cheaper to read; the clock's value follows from the
// pair of readings taken at the tracer's start and the one now.
static uint64_t last_end_ns(const struct gw_thread *thread, uint64_t now_ns)
{
    uint64_t ticks = gw_ticks();
    double ns_per_tick = ticks > gw_tracer.base_ticks
                             ? (double)(now_ns - gw_tracer.base_ns) / (double)(ticks - gw_tracer.base_ticks)
                             : 0;
    double since_ns = ticks > thread->last_ticks ? (double)(ticks - thread->last_ticks) * ns_per_tick : 0;
    double longest_ns = (double)(now_ns - thread->last_begin_ns);

    return now_ns - (uint64_t)(since_ns < longest_ns ? since_ns : longest_ns);
}

void gw_thread_gap(struct gw_thread *thread, uint64_t now_ns)
{
    uint64_t begin_ns = last_end_ns(thread, now_ns);
    uint64_t gap_ns = now_ns - begin_ns;
    struct gw_thread before = *thread;
    struct gw_section section;
    uint64_t call_ns = begin_ns - (begin_ns > before.last_begin_ns ? before.last_begin_ns : begin_ns);
    bool was_long = call_ns > gw_tracer.gap_threshold_ns;

    if (gap_ns <= gw_tracer.gap_threshold_ns && !(was_long && before.cpu_at_ns <= before.last_begin_ns))
        return;
    gw_thread_read_cpu(thread, now_ns);

    uint64_t used_ns = thread->cpu_ns - before.cpu_ns;
    uint64_t busy_end_ns = was_long ? before.last_begin_ns : begin_ns;
    uint64_t busy_ns = busy_end_ns > before.cpu_at_ns ? busy_end_ns - before.cpu_at_ns : 0;
    uint64_t cpu_ns = used_ns > busy_ns ? used_ns - busy_ns : 0;

    const uint64_t gap[] = {thread->call,
                            begin_ns,
                            now_ns,
                            cpu_ns < gap_ns ? cpu_ns : gap_ns,
                            (uint64_t)(thread->switches_voluntary - before.switches_voluntary) |
                                (uint64_t)(thread->switches_forced - before.switches_forced) << 32,
                            (uint64_t)(thread->faults_minor - before.faults_minor) |
                                (uint64_t)(thread->faults_major - before.faults_major) << 32};
    thread->written = 1;
    gw_section_begin(&section);
    lttng_ust_tracepoint(gpuwitness, thread_gap, gap);
    gw_section_end(&section);
}
