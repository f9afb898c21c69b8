#include "analyzer/verdicts/lane_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/intervals.h"

/* An operation of a device that a call enqueued, in order. */
struct entry {
    uint64_t begin_ns, end_ns; /* of the call */
    uint32_t match;            /* the exchange it carries out, the first of several; GW_NONE for none */
};

/* The operations of one device of each lane. */
struct sequence {
    struct entry *list;
    size_t count;
};

struct finder {
    const struct gw_model *model;
    struct gw_lane_steps *steps;
    uint32_t *op_match;      /* by operation */
    struct sequence *lanes;  /* of the process at hand */
    uint32_t *places;        /* by exchange: its place in the sequence that is looked at */
    bool *tried;             /* by lane: others were compared with it */
    struct gw_interval *own; /* the process's own steps */
};

uint32_t gw_lane_of_step(const struct gw_model *model, const struct gw_step *step)
{
    for (uint32_t i = 0; i < step->op_count; i++) {
        uint32_t stream = model->ops[model->process_ops[step->first_op + i]].stream;
        if (stream != GW_NONE)
            return model->devices[model->streams[stream].device].lane;
    }
    return 0;
}

/* ---- sequences ---- */

static bool is_enqueued(const struct gw_op *op)
{
    return op->stream != GW_NONE && op->outer_call != GW_NONE && gw_op_is_busy(op);
}

/* The sequence of a lane is that of its device with the most operations. */
static int list_sequences(struct finder *self, uint32_t process, uint32_t lanes)
{
    const struct gw_model *model = self->model;
    const struct gw_process *of = &model->processes[process];
    uint32_t *counts = calloc(model->devices_count + 1, sizeof *counts), *chosen = calloc(lanes + 1u, sizeof *chosen);
    int ret = counts && chosen ? 0 : -ENOMEM;
    for (uint32_t i = 0; ret == 0 && i < of->op_count; i++) {
        const struct gw_op *op = &model->ops[model->process_ops[of->op_first + i]];
        if (is_enqueued(op))
            counts[model->streams[op->stream].device]++;
    }
    for (uint32_t l = 0; ret == 0 && l < lanes; l++)
        chosen[l] = GW_NONE;
    for (uint32_t d = 0; ret == 0 && d < model->devices_count; d++) {
        uint32_t *best = &chosen[model->devices[d].lane];
        if (model->devices[d].process == process && (*best == GW_NONE || counts[d] > counts[*best]))
            *best = d;
    }
    for (uint32_t l = 0; ret == 0 && l < lanes; l++) {
        self->lanes[l].list = calloc((chosen[l] == GW_NONE ? 0 : counts[chosen[l]]) + 1u, sizeof *self->lanes[l].list);
        ret = self->lanes[l].list ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; ret == 0 && i < of->op_count; i++) {
        const uint32_t index = model->process_ops[of->op_first + i];
        const struct gw_op *op = &model->ops[index];
        if (!is_enqueued(op))
            continue;
        const uint32_t device = model->streams[op->stream].device;
        struct sequence *sequence = &self->lanes[model->devices[device].lane];
        if (chosen[model->devices[device].lane] == device)
            sequence->list[sequence->count++] = (struct entry){
                model->calls[op->outer_call].begin_ns, model->calls[op->outer_call].end_ns, self->op_match[index]};
    }
    free(counts);
    free(chosen);
    return ret;
}

/* ---- the same place in another lane's sequence ---- */

/* The first entry whose call begins at or after t_ns. Calls of a lane are of one thread most often, and in order. */
static size_t first_from(const struct sequence *sequence, uint64_t t_ns)
{
    const size_t low = GW_FIRST_NOT(0, sequence->count, middle, sequence->list[middle].begin_ns < t_ns);
    return low;
}

/* As many operations after the exchange before the place, or before the one after it, as in `from`. Returns false when
 * the lane takes part in neither. places: of the exchanges in `to`. */
static bool same_place(const struct finder *self, const struct sequence *from, const struct sequence *to, size_t at,
                       size_t *ret_place)
{
    size_t before = at, after = at;
    while (before > 0 && from->list[before - 1].match == GW_NONE)
        before--;
    while (after < from->count && from->list[after].match == GW_NONE)
        after++;
    uint32_t place = before > 0 ? self->places[from->list[before - 1].match] : GW_NONE;
    if (place != GW_NONE) {
        *ret_place = place + 1 + (at - before);
        *ret_place = *ret_place < to->count ? *ret_place : to->count;
        return true;
    }
    place = after < from->count ? self->places[from->list[after].match] : GW_NONE;
    if (place == GW_NONE)
        return false;
    *ret_place = place > after - at ? place - (after - at) : 0;
    return true;
}

static bool same_time(const struct finder *self, const struct sequence *from, const struct sequence *to, uint64_t t_ns,
                      uint64_t *ret_ns)
{
    size_t place = 0;
    if (!to->count || !same_place(self, from, to, first_from(from, t_ns), &place))
        return false;
    *ret_ns = place < to->count ? to->list[place].begin_ns : to->list[to->count - 1].end_ns + 1;
    return true;
}

/* The steps of `to`, from those that `from` makes at the given times. Returns false when they cannot be told. */
static bool carry_over(const struct finder *self, const struct sequence *from, const struct sequence *to,
                       const struct gw_interval *times, uint32_t count, struct gw_interval *ret_times)
{
    uint64_t last_ns = 0;
    for (uint32_t s = 0; s < count; s++) {
        if (!same_time(self, from, to, times[s].begin_ns, &ret_times[s].begin_ns) ||
            !same_time(self, from, to, times[s].end_ns, &ret_times[s].end_ns) || ret_times[s].begin_ns < last_ns ||
            ret_times[s].end_ns < ret_times[s].begin_ns)
            return false;
        last_ns = ret_times[s].end_ns;
    }
    return true;
}

/* Compares all lanes whose steps are not known with one whose steps are. */
static int compare_with(struct finder *self, struct gw_interval **known, uint32_t lanes, uint32_t lane, uint32_t count)
{
    const struct sequence *from = &self->lanes[lane];
    for (uint32_t l = 0; l < lanes; l++) {
        const struct sequence *to = &self->lanes[l];
        if (known[l])
            continue;
        struct gw_interval *times = calloc(count + 1u, sizeof *times);
        if (!times)
            return -ENOMEM;
        for (size_t i = 0; i < to->count; i++) {
            if (to->list[i].match != GW_NONE)
                self->places[to->list[i].match] = (uint32_t)i;
        }
        known[l] = carry_over(self, from, to, known[lane], count, times) ? times : NULL;
        for (size_t i = 0; i < to->count; i++) {
            if (to->list[i].match != GW_NONE)
                self->places[to->list[i].match] = GW_NONE;
        }
        if (!known[l])
            free(times);
    }
    return 0;
}

/* ---- processes ---- */

/* Ranks of a pipeline share exchanges with their neighbours only: they are gone through from one to the next. */
static int find_in_process(struct finder *self, uint32_t process, uint32_t step_first, uint32_t count)
{
    const struct gw_model *model = self->model;
    const uint32_t lanes = self->steps->first[process + 1] - self->steps->first[process];
    struct gw_interval **known = &self->steps->times[self->steps->first[process]];
    const uint32_t leading = gw_lane_of_step(model, &model->steps[step_first]);
    self->lanes = calloc(lanes + 1u, sizeof *self->lanes);
    self->tried = calloc(lanes + 1u, sizeof *self->tried);
    self->own = calloc(count + 1u, sizeof *self->own);
    int ret = self->lanes && self->tried && self->own ? list_sequences(self, process, lanes) : -ENOMEM;
    if (ret < 0)
        goto end;
    for (uint32_t s = 0; s < count; s++)
        self->own[s] = (struct gw_interval){model->steps[step_first + s].begin_ns, model->steps[step_first + s].end_ns};
    known[leading] = self->own;
    for (uint32_t l = leading; l < lanes && ret == 0;) {
        ret = compare_with(self, known, lanes, l, count);
        self->tried[l] = true;
        for (l = 0; l < lanes && (!known[l] || self->tried[l]);)
            l++;
    }
    known[leading] = NULL;
end:
    for (uint32_t l = 0; self->lanes && l < lanes; l++)
        free(self->lanes[l].list);
    free(self->lanes);
    free(self->tried);
    free(self->own);
    return ret;
}

static int number_lanes(struct gw_lane_steps *steps)
{
    const struct gw_model *model = steps->model;
    steps->first = calloc(model->processes_count + 2, sizeof *steps->first);
    steps->step_first = calloc(model->processes_count + 1, sizeof *steps->step_first);
    steps->step_end = calloc(model->processes_count + 1, sizeof *steps->step_end);
    if (!steps->first || !steps->step_first || !steps->step_end)
        return -ENOMEM;
    for (size_t p = 0; p < model->processes_count; p++)
        steps->first[p + 1] = 1; /* lane 0, with or without a device */
    for (size_t d = 0; d < model->devices_count; d++) {
        uint32_t *lanes = &steps->first[model->devices[d].process + 1], least = model->devices[d].lane + 1;
        *lanes = *lanes < least ? least : *lanes;
    }
    for (size_t p = 0; p < model->processes_count; p++)
        steps->first[p + 1] += steps->first[p];
    steps->times = calloc(steps->first[model->processes_count] + 1u, sizeof *steps->times);
    return steps->times ? 0 : -ENOMEM;
}

static int list_matches(struct finder *self)
{
    const struct gw_model *model = self->model;
    self->op_match = malloc((model->ops_count + 1) * sizeof *self->op_match);
    self->places = malloc((model->collectives_count + 1) * sizeof *self->places);
    if (!self->op_match || !self->places)
        return -ENOMEM;
    for (size_t i = 0; i < model->ops_count; i++)
        self->op_match[i] = GW_NONE;
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        self->places[i] = GW_NONE;
        if (collective->op != GW_NONE && self->op_match[collective->op] == GW_NONE)
            self->op_match[collective->op] = collective->match;
    }
    return 0;
}

int gw_lane_steps_init(struct gw_lane_steps *ret_steps, const struct gw_model *model)
{
    struct finder self = {.model = model, .steps = ret_steps};
    *ret_steps = (struct gw_lane_steps){.model = model};
    int ret = number_lanes(ret_steps);
    for (uint32_t from = 0, to; from < model->steps_count && ret == 0; from = to) {
        const uint32_t process = model->steps[from].process;
        for (to = from; to < model->steps_count && model->steps[to].process == process;)
            to++;
        ret_steps->step_first[process] = from;
        ret_steps->step_end[process] = to;
        if (ret_steps->first[process + 1] - ret_steps->first[process] < 2 || !model->collectives_count)
            continue;
        if (!self.op_match)
            ret = list_matches(&self);
        if (ret == 0)
            ret = find_in_process(&self, process, from, to - from);
    }
    free(self.op_match);
    free(self.places);
    return ret;
}

void gw_lane_steps_release(struct gw_lane_steps *steps)
{
    for (uint32_t l = 0; steps->times && l < steps->first[steps->model->processes_count]; l++)
        free(steps->times[l]);
    free(steps->times);
    free(steps->first);
    free(steps->step_first);
    free(steps->step_end);
    *steps = (struct gw_lane_steps){0};
}

struct gw_interval gw_lane_step_time(const struct gw_lane_steps *steps, uint32_t process, uint32_t lane, uint32_t step)
{
    const struct gw_interval *times = steps->times[steps->first[process] + lane];
    const struct gw_step *own = &steps->model->steps[step];
    return times ? times[step - steps->step_first[process]] : (struct gw_interval){own->begin_ns, own->end_ns};
}

uint32_t gw_lane_step_at(const struct gw_lane_steps *steps, uint32_t process, uint32_t lane, uint64_t t_ns)
{
    const struct gw_interval *times = steps->times[steps->first[process] + lane];
    if (!times)
        return gw_step_at(steps->model, process, t_ns);
    const uint32_t first = steps->step_first[process], end = steps->step_end[process];
    const uint32_t low = GW_FIRST_NOT(first, end, middle, times[middle - first].end_ns <= t_ns);
    return low < end && times[low - first].begin_ns <= t_ns ? low : GW_NONE;
}

void gw_lane_windows(const struct gw_lane_steps *steps, struct gw_interval window, struct gw_interval *ret_windows)
{
    const struct gw_model *model = steps->model;
    for (uint32_t l = 0; l < steps->first[model->processes_count]; l++)
        ret_windows[l] = steps->times[l] ? (struct gw_interval){UINT64_MAX, 0} : window;
    for (uint32_t s = 0; s < model->steps_count; s++) {
        const uint32_t process = model->steps[s].process, first = steps->first[process];
        if (!gw_is_analysed_within(&model->steps[s], window))
            continue;
        for (uint32_t l = first; l < steps->first[process + 1]; l++) {
            const struct gw_interval time = gw_lane_step_time(steps, process, l - first, s);
            if (!steps->times[l])
                continue;
            if (time.begin_ns < ret_windows[l].begin_ns)
                ret_windows[l].begin_ns = time.begin_ns;
            if (time.end_ns > ret_windows[l].end_ns)
                ret_windows[l].end_ns = time.end_ns;
        }
    }
}
