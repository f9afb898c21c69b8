#include "analyzer/verdicts/slow_steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/intervals.h"

/* A slow step costs more than the median one by this share of it and by this many robust deviations. */
#define SLOW_SHARE 0.1
#define SLOW_DEVIATIONS 6.0

static double median(const double *values, const struct gw_model *model, double *scratch)
{
    size_t count = 0;
    for (size_t s = 0; s < model->steps_count; s++) {
        if (!model->steps[s].warmup)
            scratch[count++] = values[s];
    }
    return gw_upper_median(scratch, count);
}

/* What other programs took of a call is not noise but counted where it is asked for. */
static void take_out_noise(const struct gw_model *model, const struct gw_replay *replay, double *costs)
{
    for (size_t i = 0; i < replay->nodes_count; i++) {
        const struct gw_replay_node *node = &replay->nodes[i];
        uint64_t noise_ns = node->own_noise_ns + node->lag_noise_ns + node->extra_noise_ns + node->duration_noise_ns;
        if (!noise_ns || node->preempted)
            continue;
        uint32_t process = model->threads[node->thread].process;
        size_t step = gw_step_after(model, process, node->begin_ns);
        if (step < model->steps_count && model->steps[step].process == process &&
            model->steps[step].begin_ns <= node->begin_ns)
            costs[step] -= (double)noise_ns;
    }
}

/* Ranks may have unequal work: a step is compared with those of its own process. */
static void level_processes(const struct gw_model *model, double *costs, double *scratch)
{
    double usual = median(costs, model, scratch);
    for (size_t from = 0, to; from < model->steps_count; from = to) {
        size_t count = 0;
        for (to = from; to < model->steps_count && model->steps[to].process == model->steps[from].process; to++) {
            if (!model->steps[to].warmup)
                scratch[count++] = costs[to];
        }
        const double own = gw_upper_median(scratch, count);
        for (size_t s = from; s < to && count; s++)
            costs[s] += usual - own;
    }
}

int gw_slow_steps_init(struct gw_slow_steps *ret_slow, const struct gw_model *model, const struct gw_interval *steps,
                       const struct gw_replay *replay)
{
    size_t analysed = 0, count = 0;
    double *costs = calloc(model->steps_count + 1, sizeof *costs);
    double *scratch = calloc(2 * (model->steps_count + 1), sizeof *scratch);
    if (!costs || !scratch) {
        free(costs);
        free(scratch);
        return -ENOMEM;
    }
    double *away = scratch + model->steps_count + 1;
    for (size_t s = 0; s < model->steps_count; s++)
        costs[s] = (double)(steps[s].end_ns - steps[s].begin_ns);
    if (replay)
        take_out_noise(model, replay, costs);
    level_processes(model, costs, scratch);
    *ret_slow = (struct gw_slow_steps){.cost_ns = costs, .usual_ns = median(costs, model, scratch)};
    for (size_t s = 0; s < model->steps_count; s++)
        away[s] = fabs(costs[s] - ret_slow->usual_ns);
    ret_slow->limit_ns = fmax(SLOW_SHARE * ret_slow->usual_ns, SLOW_DEVIATIONS * 1.4826 * median(away, model, scratch));
    for (size_t s = 0; s < model->steps_count; s++) {
        analysed += !model->steps[s].warmup;
        count += gw_slow_step_over_ns(ret_slow, model, s) > 0;
    }
    ret_slow->few = count && (double)count <= GW_SLOW_STEPS_SHARE * (double)analysed;
    free(scratch);
    return 0;
}

void gw_slow_steps_release(struct gw_slow_steps *slow)
{
    free(slow->cost_ns);
    *slow = (struct gw_slow_steps){0};
}

double gw_slow_step_over_ns(const struct gw_slow_steps *slow, const struct gw_model *model, size_t step)
{
    double over_ns = slow->cost_ns[step] - slow->usual_ns;
    return !model->steps[step].warmup && over_ns > slow->limit_ns ? over_ns : 0;
}
