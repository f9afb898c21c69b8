#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/sorted.h"

static bool overlaps(const struct gw_loss *loss, uint64_t begin_ns, uint64_t end_ns)
{
    return loss->reason != GW_LOSS_DISCARDED && begin_ns < loss->end_ns && end_ns > loss->begin_ns;
}

static int add_loss(struct gw_model *model, uint64_t begin_ns, uint64_t end_ns)
{
    if (begin_ns >= end_ns) {
        return 0;
    }
    if (GW_GROW(model->losses, model->losses_count)) {
        return -ENOMEM;
    }
    model->losses[model->losses_count++] =
        (struct gw_loss){.begin_ns = begin_ns, .end_ns = end_ns, .reason = GW_LOSS_OUTSIDE};
    return 0;
}

/* What lies between the windows. */
static int add_outside(struct gw_model *model, const struct gw_run_file *run)
{
    uint64_t after_ns = model->run.begin_ns;
    int status = 0;
    for (size_t w = 0; w < run->window_count && !status; w++) {
        uint64_t begin_ns = run->windows[w].begin_ns < model->run.end_ns ? run->windows[w].begin_ns : model->run.end_ns;
        status = add_loss(model, after_ns, begin_ns);
        after_ns = run->windows[w].end_ns;
    }
    return status ? status : add_loss(model, after_ns, model->run.end_ns);
}

/* A call that had not ended when its window closed: nobody knows when it did. */
static void cut_calls(struct gw_builder *builder, size_t input)
{
    struct gw_model *model = builder->model;
    const struct gw_run_file *run = builder->inputs[input].run;
    for (size_t i = 0; i < model->calls_count; i++) {
        struct gw_call *call = &model->calls[i];
        if (!(call->flags & (GW_CALL_NO_END | GW_CALL_END_LOST)) ||
            builder->origins[model->threads[call->thread].process].input != input) {
            continue;
        }
        size_t w = 0;
        while (w < run->window_count && run->windows[w].end_ns < call->begin_ns) {
            w++;
        }
        bool closed_early = w < run->window_count && (w + 1 < run->window_count || !run->end_monotonic_ns ||
                                                      run->windows[w].end_ns < run->end_monotonic_ns);
        uint64_t end_ns = w < run->window_count ? run->windows[w].end_ns : UINT64_MAX;
        if (closed_early && (call->flags & GW_CALL_NO_END || call->end_ns > end_ns) && end_ns != UINT64_MAX) {
            call->flags = (call->flags & ~GW_CALL_NO_END & 0xfu) | GW_CALL_END_LOST;
            call->end_ns = end_ns;
        }
    }
}

/* The end of a call may have been let go while its begin, in another buffer, was kept. */
static void cut_calls_let_go(struct gw_model *model)
{
    uint64_t kept_ns = 0;
    for (size_t l = 0; l < model->losses_count; l++) {
        if (model->losses[l].reason == GW_LOSS_LET_GO && model->losses[l].end_ns > kept_ns) {
            kept_ns = model->losses[l].end_ns;
        }
    }
    for (size_t i = 0; i < model->calls_count && model->calls[i].begin_ns < kept_ns; i++) {
        struct gw_call *call = &model->calls[i];
        if (call->flags & GW_CALL_NO_END) {
            call->flags = (call->flags & ~GW_CALL_NO_END & 0xfu) | GW_CALL_END_LOST;
            call->end_ns = kept_ns;
        }
    }
}

/* Calls between two windows were not seen, so a gap that reaches out of one says nothing. */
static void drop_thread_gaps(struct gw_model *model)
{
    size_t kept = 0;
    for (size_t i = 0; i < model->thread_gaps_count; i++) {
        const struct gw_thread_gap *gap = &model->thread_gaps[i];
        bool reaches_out = false;
        for (size_t l = 0; l < model->losses_count && !reaches_out; l++) {
            reaches_out =
                model->losses[l].reason == GW_LOSS_OUTSIDE && overlaps(&model->losses[l], gap->begin_ns, gap->end_ns);
        }
        if (!reaches_out) {
            model->thread_gaps[kept++] = *gap;
        }
    }
    model->thread_gaps_count = kept;
}

static void earlier(uint64_t *time_ns, uint64_t other_ns)
{
    *time_ns = other_ns < *time_ns ? other_ns : *time_ns;
}

/* First call that began at time_ns or later. */
static size_t first_call(const struct gw_model *model, uint64_t time_ns)
{
    const size_t low = GW_FIRST_NOT(0, model->calls_count, middle, model->calls[middle].begin_ns < time_ns);
    return low;
}

/*
 * From when on nothing is left of what the process had enqueued before begin_ns, when recording begins: a wait for the
 * whole device has returned, or each stream used until until_ns has begun an operation that was seen, or was waited
 * for. settled: room for a time of each stream.
 */
static uint64_t settled_ns(const struct gw_model *model, uint32_t process, uint64_t begin_ns, uint64_t until_ns,
                           uint64_t *settled)
{
    uint64_t device_ns = until_ns, streams_ns = GW_TIME_UNKNOWN;
    const struct gw_process *of = &model->processes[process];
    size_t first = first_call(model, begin_ns), after = first_call(model, until_ns);
    for (size_t s = 0; s < model->streams_count; s++) {
        settled[s] = GW_TIME_UNKNOWN;
    }
    for (size_t i = first; i < after; i++) {
        const struct gw_call *call = &model->calls[i];
        if (call->detail_kind != GW_DETAIL_ORDER || call->flags & (GW_CALL_NO_END | GW_CALL_END_LOST) ||
            model->threads[call->thread].process != process) {
            continue;
        }
        const struct gw_order *order = &model->orders[call->detail];
        if (order->what == GW_ORDER_DEVICE_SYNC) {
            earlier(&device_ns, call->end_ns);
        } else if (order->what == GW_ORDER_STREAM_SYNC && order->stream != GW_NONE) {
            earlier(&settled[order->stream], call->end_ns);
        }
    }
    for (uint32_t i = 0; i < of->op_count; i++) {
        const struct gw_op *op = &model->ops[model->process_ops[of->op_first + i]];
        if (op->call != GW_NONE && op->call >= first && op->call < after) {
            earlier(&settled[op->stream], op->flags & GW_OP_UNTIMED ? until_ns : op->start_ns);
        }
    }
    for (size_t s = 0; s < model->streams_count; s++) {
        if (settled[s] != GW_TIME_UNKNOWN && (streams_ns == GW_TIME_UNKNOWN || settled[s] > streams_ns)) {
            streams_ns = settled[s];
        }
    }
    return device_ns < streams_ns ? device_ns : streams_ns;
}

static int by_begin(const void *left, const void *right)
{
    const struct gw_loss *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Begin of the next range that was not recorded either, else the end of the run. */
static uint64_t next_begin_ns(const struct gw_model *model, size_t loss)
{
    for (size_t i = loss + 1; i < model->losses_count; i++) {
        if (model->losses[i].reason != GW_LOSS_DISCARDED && model->losses[i].begin_ns >= model->losses[loss].end_ns) {
            return model->losses[i].begin_ns;
        }
    }
    return model->run.end_ns;
}

static int extend_losses(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    uint64_t *settled = malloc((model->streams_count + 1) * sizeof(*settled));
    if (!settled) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->losses_count; i++) {
        struct gw_loss *loss = &model->losses[i];
        uint64_t begin_ns = loss->end_ns, until_ns = next_begin_ns(model, i);
        if (loss->reason == GW_LOSS_DISCARDED) {
            continue;
        }
        for (uint32_t p = 0; p < model->processes_count && begin_ns < until_ns; p++) {
            if (builder->origins[p].since_ns < begin_ns) {
                uint64_t end_ns = settled_ns(model, p, begin_ns, until_ns, settled);
                loss->end_ns = end_ns > loss->end_ns ? end_ns : loss->end_ns;
            }
        }
    }
    free(settled);
    return 0;
}

/* Steps that lead up to those asked for were recorded for the sake of what they left on the device. */
static void leave_out_lead(struct gw_model *model, const struct gw_run_file *run)
{
    for (size_t w = 0; w < run->window_count; w++) {
        const struct gw_run_window *window = &run->windows[w];
        for (size_t i = 0; i < model->losses_count && window->steps_ns > window->begin_ns; i++) {
            struct gw_loss *loss = &model->losses[i];
            if (loss->reason == GW_LOSS_OUTSIDE && loss->begin_ns < window->begin_ns &&
                loss->end_ns >= window->begin_ns && loss->end_ns < window->steps_ns) {
                loss->end_ns = window->steps_ns;
            }
        }
    }
}

int gw_build_unrecorded(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    int status = 0;
    for (size_t i = 0; i < builder->input_count && !status; i++) {
        if (builder->inputs[i].run->windowed) {
            status = add_outside(model, builder->inputs[i].run);
            cut_calls(builder, i);
        }
    }
    if (status || !model->losses_count) {
        return status;
    }
    qsort(model->losses, model->losses_count, sizeof(*model->losses), by_begin);
    cut_calls_let_go(model);
    drop_thread_gaps(model);
    status = extend_losses(builder);
    for (size_t i = 0; i < builder->input_count; i++) {
        leave_out_lead(model, builder->inputs[i].run);
    }
    return status;
}

void gw_drop_unrecorded_steps(struct gw_model *model)
{
    size_t kept = 0;
    uint32_t number = 0;
    for (size_t s = 0; s < model->steps_count; s++) {
        struct gw_step step = model->steps[s];
        bool cut = false;
        for (size_t l = 0; l < model->losses_count && !cut; l++) {
            cut = overlaps(&model->losses[l], step.begin_ns, step.end_ns);
        }
        if (cut) {
            continue;
        }
        number = kept && model->steps[kept - 1].process == step.process ? number + 1 : 0;
        step.number = number;
        model->steps[kept++] = step;
    }
    model->steps_count = kept;
}
