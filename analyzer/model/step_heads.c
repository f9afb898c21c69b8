/* Where a step begins when the host only reads timers between the last operation of one and the first of the next. */
#include "analyzer/model/steps.h"

#include "analyzer/model/sequence.h"
#include "shim/api/functions.h"

#define NO_WAIT_NS 20000u /* a wait for an event that took less: the event had come */
#define USUAL 0.9         /* share of the steps whose first operation such reads come before */

static bool is_read_of_timer(const struct gw_model *model, const struct gw_sequence_event *event)
{
    const struct gw_call *call = event->op == GW_NONE ? &model->calls[event->call] : NULL;
    return call &&
           (call->function == GW_FUNCTION_cudaEventSynchronize || call->function == GW_FUNCTION_cuEventSynchronize) &&
           call->end_ns - call->begin_ns < NO_WAIT_NS;
}

/* How many reads come right before the range, behind event `least`. */
static size_t count_reads(const struct gw_model *model, const struct gw_sequence *sequence,
                          const struct gw_step_range *range, size_t least)
{
    size_t count = 0;
    while (range->first - count > least && is_read_of_timer(model, &sequence->events[range->first - count - 1])) {
        count++;
    }
    return count;
}

static size_t end_of(const struct gw_step_range *range)
{
    return range->first + range->count;
}

void gw_steps_begin_with_reads(const struct gw_model *model, const struct gw_sequence *sequence,
                               struct gw_step_range *ranges, size_t count)
{
    size_t have = 0;
    for (size_t i = 1; i < count; i++) {
        have += count_reads(model, sequence, &ranges[i], ranges[i - 1].first + 1) > 0;
    }
    if (count < 2 || (double)have < USUAL * (double)(count - 1)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t reads = count_reads(model, sequence, &ranges[i], i ? ranges[i - 1].first + 1 : 0);
        ranges[i].first -= reads;
        ranges[i].count += reads;
        if (i && end_of(&ranges[i - 1]) > ranges[i].first) {
            ranges[i - 1].count = ranges[i].first - ranges[i - 1].first;
        }
    }
}
