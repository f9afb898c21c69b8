#include "analyzer/verdicts/wakers.h"

#include <errno.h>
#include <stdlib.h>

/* A thread that gives the GPU nothing to do and calls in fewer than half of the steps: a watchdog or a timer that asks
 * how far a stream is. That another thread goes on after one of its calls is chance. */
static bool is_onlooker(const struct gw_wakers *wakers, uint32_t thread)
{
    const struct gw_model *model = wakers->model;
    const struct gw_thread *t = &model->threads[thread];
    const uint32_t steps = wakers->steps->step_end[t->process] - wakers->steps->step_first[t->process];
    uint32_t latest = GW_NONE, met = 0;
    for (uint32_t i = 0; i < t->call_count; i++) {
        const struct gw_call *call = &model->calls[model->thread_calls[t->call_first + i]];
        const enum gw_call_class cls = gw_call_class(call->function);
        if (cls != GW_CALL_OTHER && cls != GW_CALL_ORDER)
            return false;
        const uint32_t step = gw_lane_step_at(wakers->steps, t->process, t->lane, call->begin_ns);
        met += step != latest && step != GW_NONE;
        latest = step;
    }
    return met < steps / 2;
}

int gw_wakers_init(struct gw_wakers *ret_wakers, const struct gw_model *model, const struct gw_lane_steps *steps)
{
    *ret_wakers = (struct gw_wakers){model, steps, calloc(model->threads_count + 1, sizeof *ret_wakers->onlookers)};
    if (!ret_wakers->onlookers)
        return -ENOMEM;
    for (uint32_t t = 0; t < model->threads_count; t++)
        ret_wakers->onlookers[t] = is_onlooker(ret_wakers, t);
    return 0;
}

void gw_wakers_release(struct gw_wakers *wakers)
{
    free(wakers->onlookers);
    *wakers = (struct gw_wakers){0};
}

/* Ranks that are threads of one process wait for each other on their devices; that another one was in a call when one
 * went on is chance. */
static bool are_ranks(const struct gw_wakers *wakers, uint32_t left, uint32_t right)
{
    const struct gw_thread *threads = wakers->model->threads;
    const uint32_t *first = &wakers->steps->first[threads[left].process];
    bool exchange = false;
    for (uint32_t l = first[0]; l < first[1]; l++)
        exchange |= wakers->steps->times[l] != NULL;
    return exchange && threads[left].lane != threads[right].lane;
}

bool gw_may_wake(const struct gw_wakers *wakers, uint32_t thread, uint32_t by)
{
    const struct gw_thread *threads = wakers->model->threads;
    return by != thread && threads[by].process == threads[thread].process && !wakers->onlookers[by] &&
           !are_ranks(wakers, thread, by);
}
