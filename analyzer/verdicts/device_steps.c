#include "analyzer/verdicts/device_steps.h"

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/lane_steps.h"

/* A host that takes less than this share of what its devices need has run ahead, if only at the begin: the mean of its
 * own steps would be too low. */
#define HOST_SHARE_LEAST 0.99

/* The operations of a process in order of enqueue, up to where they have been gone through. */
struct progress {
    const struct gw_model *model;
    uint32_t lane, at; /* at: into process_ops */
    uint64_t busy_ns;  /* end of the lane's operations before it */
};

static void go_on(struct progress *progress, uint32_t until)
{
    const struct gw_model *model = progress->model;
    for (; progress->at < until; progress->at++) {
        const struct gw_op *op = &model->ops[model->process_ops[progress->at]];
        if (op->end_ns == GW_TIME_UNKNOWN || op->flags & GW_OP_UNTIMED || op->stream == GW_NONE ||
            model->devices[model->streams[op->stream].device].lane != progress->lane)
            continue;
        progress->busy_ns = op->end_ns > progress->busy_ns ? op->end_ns : progress->busy_ns;
    }
}

static uint64_t reached_ns(const struct progress *progress, uint64_t host_ns)
{
    return progress->busy_ns > host_ns ? progress->busy_ns : host_ns;
}

void gw_device_steps(const struct gw_model *model, struct gw_interval *ret_steps)
{
    struct progress progress = {.model = model};
    for (size_t s = 0; s < model->steps_count; s++) {
        const struct gw_step *step = &model->steps[s];
        if (s == 0 || step->process != step[-1].process)
            progress =
                (struct progress){model, gw_lane_of_step(model, step), model->processes[step->process].op_first, 0};
        go_on(&progress, step->first_op);
        ret_steps[s].begin_ns = reached_ns(&progress, step->begin_ns);
        go_on(&progress, step->first_op + step->op_count);
        ret_steps[s].end_ns = reached_ns(&progress, step->end_ns);
    }
}

void gw_step_times(const struct gw_model *model, struct gw_interval *ret_times)
{
    size_t first = 0;
    gw_device_steps(model, ret_times);
    while (first < model->steps_count) {
        size_t end = first;
        double host_ns = 0, devices_ns = 0;
        for (; end < model->steps_count && model->steps[end].process == model->steps[first].process; end++) {
            if (model->steps[end].warmup)
                continue;
            host_ns += (double)(model->steps[end].end_ns - model->steps[end].begin_ns);
            devices_ns += (double)(ret_times[end].end_ns - ret_times[end].begin_ns);
        }
        for (; first < end; first++) {
            if (host_ns >= HOST_SHARE_LEAST * devices_ns)
                ret_times[first] = (struct gw_interval){model->steps[first].begin_ns, model->steps[first].end_ns};
        }
    }
}

size_t gw_step_time_after(const struct gw_model *model, const struct gw_interval *times, uint32_t process,
                          uint64_t t_ns)
{
    const struct gw_step *steps = model->steps;
    return GW_FIRST_NOT(0, model->steps_count, s,
                        steps[s].process < process || (steps[s].process == process && times[s].end_ns <= t_ns));
}
