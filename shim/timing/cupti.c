// The `cupti` backend: claims CUPTI before the first context, hands call ids to its records, and gives way.
#include "shim/timing/cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/timing/cupti_buffers.h"
#include "shim/timing/timing.h"
#include "shim/tracer/tracer.h"

#define CALLBACK_IDS_MAX 4096u
#define OPENING_MAX_NS 2000000000u

static const int kinds[] = {GW_CUPTI_CONCURRENT_KERNEL, GW_CUPTI_MEMCPY, GW_CUPTI_MEMCPY_PEER, GW_CUPTI_MEMSET};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

// From EVENTS on, operations are timed with events; ENDED: no more.
enum state { UNTRIED, OPENING, OPEN, LEAVING, EVENTS, ENDED };

static struct gw_cupti cupti;
static int state;
static bool asked_for; // by the user, not by default
static const struct gw_timing_ops *events;

static enum state state_now(void)
{
    return (enum state)__atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

static bool change_state(enum state from, enum state to)
{
    int expected = (int)from;

    return __atomic_compare_exchange_n(&state, &expected, (int)to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// What a call carries of its operation: the correlation id, told from the events backend's pointers by its lowest bit.
static void *operation_of(uint32_t correlation)
{
    return (void *)((uintptr_t)correlation << 1 | 1);
}

static bool is_correlation(const void *operation)
{
    return (uintptr_t)operation & 1;
}

static void on_call(void *argument, int domain, uint32_t id, const struct gw_cupti_call *seen)
{
    struct gw_thread *self = gw_tracer.host->thread();
    struct gw_call *call = self->timed;
    enum state now = state_now();

    (void)argument, (void)domain, (void)id;
    if (self->leaving && seen->site != GW_CUPTI_ENTER) {
        self->leaving->left_ns = gw_now_ns();
        self->leaving = NULL;
    }
    if (seen->site != GW_CUPTI_ENTER || !call || !call->stream || call->op)
        return;
    self->timed = NULL; // one entry a call
    if (now != OPEN) {
        gw_cupti_missed();
        return;
    }
    const struct gw_info *info = &gw_tracer.info[call->function];
    const struct gw_cupti_entry entry = {
        .call = self->call,
        .where = GW_WHERE(gw_tracer.pid, call->stream->device, info->driver_op - 1, call->flags & GW_SITE_OP_INDEX, 0),
        .stream = call->stream->handle,
        .correlation = seen->correlation};

    call->op = operation_of(seen->correlation);
    gw_cupti_entered(call->stream->device, gw_cupti_enter(&entry));
    // From the wrapper to here: CUPTI's way to its subscriber is part of what recording costs, as is its way back.
    if (call->own_ns) {
        call->own_ns += gw_own_time_since(call->begin_ns);
        self->leaving = call;
    }
}

// Waits, but not for ever, until no other thread is in that state.
static void wait_while(enum state which)
{
    uint64_t deadline_ns = gw_now_ns() + OPENING_MAX_NS;

    while (state_now() == which && gw_now_ns() < deadline_ns)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void close_at_exit(void)
{
    if (change_state(OPEN, ENDED))
        gw_cupti_drain_end(false);
    else
        wait_while(LEAVING);
}

// Asks, or asks no more, for callbacks of the driver's functions that put operations on streams. Returns 0 or CUPTI's
// error.
static int enable_callbacks(const struct gw_cupti *claimed, uint32_t on)
{
    unsigned found = 0;

    for (uint32_t id = 1; id < CALLBACK_IDS_MAX; id++) {
        const char *name = NULL;
        int error = claimed->cuptiGetCallbackName(GW_CUPTI_DRIVER_API, id, &name);

        if (error == GW_CUPTI_INVALID_PARAMETER)
            continue; // numbers are not given out without gaps
        if (error != GW_CUPTI_SUCCESS)
            return error;
        unsigned function = name ? gw_function_find(name) : GW_FUNCTION_NONE;
        if (function == GW_FUNCTION_NONE || !gw_tracer.info[function].driver_op)
            continue;
        error = claimed->cuptiEnableCallback(on, claimed->subscriber, GW_CUPTI_DRIVER_API, id);
        if (error != GW_CUPTI_SUCCESS)
            return error;
        found++;
    }
    return found ? GW_CUPTI_SUCCESS : GW_CUPTI_INVALID_PARAMETER;
}

void gw_cupti_disable(const struct gw_cupti *claimed)
{
    for (size_t i = 0; i < KINDS; i++)
        claimed->cuptiActivityDisable(kinds[i]);
}

// The callbacks are on only while the kinds are: a call that was entered has a record.
int gw_cupti_switch(const struct gw_cupti *claimed, bool on)
{
    int error = GW_CUPTI_SUCCESS;

    for (size_t i = 0; i < KINDS && on && error == GW_CUPTI_SUCCESS; i++)
        error = claimed->cuptiActivityEnable(kinds[i]);
    if (error == GW_CUPTI_SUCCESS)
        error = enable_callbacks(claimed, on);
    if (!on)
        gw_cupti_disable(claimed);
    return error;
}

// Claims CUPTI. Returns 0, or CUPTI's error with the function that gave it.
static int claim(const char **ret_function)
{
    int error = cupti.cuptiSubscribe(&cupti.subscriber, on_call, NULL);

    *ret_function = "cuptiSubscribe";
    if (error != GW_CUPTI_SUCCESS)
        return error;
    *ret_function = "cuptiGetTimestamp";
    error = gw_cupti_clock_read(&cupti);
    if (error == GW_CUPTI_SUCCESS) {
        *ret_function = "cuptiActivityRegisterCallbacks";
        error = cupti.cuptiActivityRegisterCallbacks(gw_cupti_buffer_request, gw_cupti_buffer_complete);
    }
    if (error == GW_CUPTI_SUCCESS) {
        *ret_function = "cuptiEnableCallback";
        error = enable_callbacks(&cupti, 1);
    }
    for (size_t i = 0; i < KINDS && error == GW_CUPTI_SUCCESS; i++) {
        *ret_function = "cuptiActivityEnable";
        error = cupti.cuptiActivityEnable(kinds[i]);
    }
    if (error != GW_CUPTI_SUCCESS) {
        gw_cupti_disable(&cupti);
        cupti.cuptiUnsubscribe(cupti.subscriber);
    }
    return error;
}

static void say_events(const char *why, const char *then)
{
    char detail[256];

    snprintf(detail, sizeof(detail), "%s; %s", why, then);
    gw_coverage(GW_COVERAGE_DISABLED, "cupti", detail);
}

static void open_cupti(void)
{
    enum { ANOTHER_SUBSCRIBER = 39, NO_PRIVILEGES = 35 };
    const char *why = gw_cupti_load(&cupti), *function = NULL, *name = NULL;
    bool is_there = cupti.library != NULL;
    char detail[160];

    if (!why) {
        int error = claim(&function);

        if (error != GW_CUPTI_SUCCESS) {
            cupti.cuptiGetResultString(error, &name);
            snprintf(detail, sizeof(detail), "%s%s: %s (%d)",
                     error == ANOTHER_SUBSCRIBER ? "another tool uses it, "
                     : error == NO_PRIVILEGES    ? "the user may not use it, "
                                                 : "",
                     function, name ? name : "unknown", error);
            why = detail;
        }
    }
    if (!why && !gw_cupti_drain_start(&cupti)) {
        gw_cupti_disable(&cupti);
        cupti.cuptiUnsubscribe(cupti.subscriber);
        why = "no thread could be made for it";
    }
    if (why) {
        // By default its absence is nothing to speak of: events are what is used then.
        if (asked_for || is_there)
            say_events(why, "timed with events instead");
        change_state(OPENING, EVENTS);
        return;
    }
    // Handlers run last registered first: this one before the driver's and CUPTI's own.
    atexit(close_at_exit);
    change_state(OPENING, OPEN);
}

// A thread that comes while another one opens CUPTI goes on: it may hold what the opening needs.
static void prepare(void)
{
    if (change_state(UNTRIED, OPENING))
        open_cupti();
}

// The program begins to use CUPTI, which serves one tool at a time, and asks once: so before its call goes on, whatever
// the tool had there is gone.
static void give_way(const char *function)
{
    char why[128];

    wait_while(OPENING);
    snprintf(why, sizeof(why), "the program uses it itself (%s)", function);
    if (change_state(UNTRIED, EVENTS)) {
        say_events(why, "timed with events instead");
    } else if (change_state(OPEN, LEAVING)) {
        bool finished = gw_cupti_drain_end(true);

        say_events(why, finished ? "timed with events from then on"
                                 : "timed with events from then on; it could not be let go in time");
        change_state(LEAVING, EVENTS);
    } else {
        wait_while(LEAVING);
    }
}

bool gw_cupti_give_up(const char *why)
{
    if (!change_state(OPEN, LEAVING))
        return false;
    say_events(why, "timed with events from then on");
    return true;
}

void gw_cupti_given_up(void)
{
    change_state(LEAVING, EVENTS);
}

static void *before(const struct gw_stream *stream)
{
    if (state_now() == UNTRIED)
        prepare();
    enum state now = state_now();
    // Else CUPTI's callback makes the operation: its correlation id.
    return now == LEAVING || now == EVENTS ? events->before(stream) : NULL;
}

static void after(void *operation, const struct gw_thread *self, const struct gw_call *call, const uint64_t *words,
                  int32_t result)
{
    if (!is_correlation(operation))
        events->after(operation, self, call, words, result);
    // Nothing comes of a call that failed.
    else if (result != 0 && gw_cupti_forget((uint32_t)((uintptr_t)operation >> 1)))
        gw_cupti_failed();
}

static void pause_events(void)
{
    events->pause();
}

// Contexts may have ended: CUPTI is asked for what it still holds of them.
static void resume(void)
{
    events->resume();
    if (state_now() == OPEN)
        gw_cupti_ask();
}

// Records hold no handle of a context; events do.
static void drop(struct gw_context *context)
{
    events->drop(context);
}

static void forked(void)
{
    __atomic_store_n(&state, ENDED, __ATOMIC_RELAXED);
    events->forked();
}

const struct gw_timing_ops *gw_timing_cupti_start(bool asked)
{
    static const struct gw_timing_ops ops = {.prepare = prepare,
                                             .give_way = give_way,
                                             .before = before,
                                             .after = after,
                                             .pause = pause_events,
                                             .resume = resume,
                                             .drop = drop,
                                             .forked = forked};

    asked_for = asked;
    events = gw_timing_events_start();
    return &ops;
}
