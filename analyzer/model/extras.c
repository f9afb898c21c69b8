#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"

static int by_thread_and_begin(const void *left, const void *right)
{
    const struct gw_thread_gap *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int by_begin(const void *left, const void *right)
{
    const struct gw_loss *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int add_thread_gap(struct gw_builder *builder, size_t input, const struct gw_record *record,
                          const uint64_t *words)
{
    struct gw_model *model = builder->model;
    const uint32_t *thread = gw_map_find(&builder->tids, GW_CALL_TID(record->call), input);
    if (!thread) {
        return 0; /* all of the thread's calls were lost, so nothing could use its gaps */
    }
    if (GW_GROW(model->thread_gaps, model->thread_gaps_count)) {
        return -ENOMEM;
    }
    uint64_t switches = words[GW_ARG_thread_gap_switches], faults = words[GW_ARG_thread_gap_faults];
    model->thread_gaps[model->thread_gaps_count++] = (struct gw_thread_gap){
        .begin_ns = record->begin_ns,
        .end_ns = gw_end_after(record->begin_ns, words[GW_ARG_thread_gap_end]),
        .cpu_ns = words[GW_ARG_thread_gap_cpu],
        .thread = *thread,
        .voluntary_switches = (uint32_t)switches,
        .involuntary_switches = (uint32_t)(switches >> 32),
        .minor_faults = (uint32_t)faults,
        .major_faults = (uint32_t)(faults >> 32),
    };
    return 0;
}

static int add_clock(struct gw_builder *builder, size_t input, const uint64_t *words)
{
    struct gw_model *model = builder->model;
    uint32_t process = gw_builder_process(builder, input, (uint32_t)words[GW_ARG_gpu_clock_pid]);
    uint32_t index =
        process == GW_NONE ? GW_NONE : gw_builder_device(builder, process, (uint32_t)words[GW_ARG_gpu_clock_device]);
    if (index == GW_NONE) {
        return -ENOMEM;
    }
    struct gw_device *device = &model->devices[index];
    uint64_t floor_ns = words[GW_ARG_gpu_clock_floor_ns], error_ns = words[GW_ARG_gpu_clock_error];
    device->timing_floor_ns = floor_ns > device->timing_floor_ns ? floor_ns : device->timing_floor_ns;
    device->clock_error_ns = error_ns > device->clock_error_ns ? error_ns : device->clock_error_ns;
    enum gw_timing_backend backend = (enum gw_timing_backend)words[GW_ARG_gpu_clock_backend];
    /* Of several in a run the least exact one counts. */
    model->timing = model->timing == GW_TIMING_OFF || backend < model->timing ? backend : model->timing;
    return 0;
}

/* The sums so far: the last of a process, which has the largest, stands. */
static int add_own_time(struct gw_builder *builder, size_t input, const uint64_t *words)
{
    uint32_t index = gw_builder_process(builder, input, (uint32_t)words[GW_ARG_own_time_pid]);
    if (index == GW_NONE) {
        return -ENOMEM;
    }
    struct gw_process *process = &builder->model->processes[index];
    uint64_t sampled = words[GW_ARG_own_time_sampled];
    if (sampled > builder->origins[index].sampled_calls) {
        builder->origins[index].sampled_calls = sampled;
        process->own_ns_per_call = (double)words[GW_ARG_own_time_total] / (double)sampled;
    }
    return 0;
}

static int add_counted(struct gw_builder *builder, size_t input, const struct gw_record *record, const uint64_t *words)
{
    struct gw_model *model = builder->model;
    uint64_t where = words[GW_ARG_counted_where], what = words[GW_ARG_counted_what];
    uint32_t thread = gw_builder_thread(builder, input, GW_CALLER_PID(where), GW_CALLER_TID(where));
    if (thread == GW_NONE || GW_GROW(model->counted, model->counted_count)) {
        return -ENOMEM;
    }
    model->counted[model->counted_count++] = (struct gw_counted){
        .begin_ns = record->begin_ns,
        .end_ns = gw_end_after(record->begin_ns, record->time_ns),
        .total_ns = words[GW_ARG_counted_total],
        .thread = thread,
        .count = GW_COUNTED_COUNT(what),
        .function = gw_builder_function(builder, input, GW_COUNTED_FUNCTION(what)),
    };
    return 0;
}

static int add_losses(struct gw_model *model, const struct gw_records *records)
{
    for (size_t s = 0; s < records->stream_count; s++) {
        const struct gw_record_stream *stream = &records->streams[s];
        for (size_t i = 0; i < stream->loss_count; i++) {
            const struct gw_record_loss *loss = &stream->losses[i];
            uint64_t end_ns = loss->end_ns == UINT64_MAX ? model->run.end_ns : loss->end_ns;
            if (GW_GROW(model->losses, model->losses_count)) {
                return -ENOMEM;
            }
            uint64_t begin_ns = loss->let_go ? model->run.begin_ns : loss->begin_ns;
            model->losses[model->losses_count++] =
                (struct gw_loss){.begin_ns = begin_ns < end_ns ? begin_ns : end_ns,
                                 .end_ns = end_ns,
                                 .count = loss->count,
                                 .reason = loss->let_go ? GW_LOSS_LET_GO : GW_LOSS_DISCARDED};
        }
    }
    return 0;
}

static void widen(struct gw_process *process, uint64_t begin_ns, uint64_t end_ns)
{
    process->first_ns = begin_ns < process->first_ns ? begin_ns : process->first_ns;
    process->last_ns = end_ns > process->last_ns ? end_ns : process->last_ns;
}

/* The trace's range first: calls that never returned end with it. */
static void set_ranges(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    uint64_t begin_ns = builder->begin_ns, end_ns = builder->end_ns;
    if (model->calls_count && model->calls[0].begin_ns < begin_ns) {
        begin_ns = model->calls[0].begin_ns;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->end_ns != GW_TIME_UNKNOWN && op->end_ns > end_ns) {
            end_ns = op->end_ns;
        }
    }
    model->run.begin_ns = begin_ns == GW_TIME_UNKNOWN ? 0 : begin_ns;
    model->run.end_ns = end_ns;
    for (size_t i = 0; i < model->calls_count; i++) {
        struct gw_call *call = &model->calls[i];
        call->end_ns = call->end_ns == GW_TIME_UNKNOWN ? end_ns : call->end_ns;
        widen(&model->processes[model->threads[call->thread].process], call->begin_ns, call->end_ns);
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->end_ns != GW_TIME_UNKNOWN) {
            widen(&model->processes[model->devices[model->streams[op->stream].device].process], op->start_ns,
                  op->end_ns);
        }
    }
    for (size_t i = 0; i < model->processes_count; i++) {
        struct gw_process *process = &model->processes[i];
        if (process->first_ns == GW_TIME_UNKNOWN) {
            process->first_ns = model->run.begin_ns;
            process->last_ns = model->run.begin_ns;
        }
    }
}

/* A short window may hold times of operations but no calibration of the clock they were taken with. */
static void note_timing(struct gw_model *model)
{
    for (size_t i = 0; i < model->ops_count && model->timing == GW_TIMING_OFF; i++) {
        if (!(model->ops[i].flags & GW_OP_UNTIMED)) {
            bool cupti = model->run.gpu_timing && strcmp(model->run.gpu_timing, "cupti") == 0;
            model->timing = cupti ? GW_TIMING_CUPTI : GW_TIMING_EVENTS;
        }
    }
}

int gw_build_extras(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    for (size_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        for (size_t i = 0; i < source->others_count; i++) {
            struct gw_record record;
            int status = 0;
            gw_builder_record(builder, source->others[i], &record);
            if (record.type == GW_RECORD_thread_gap) {
                status = add_thread_gap(builder, source->input, &record, record.words);
            } else if (record.type == GW_RECORD_counted) {
                status = add_counted(builder, source->input, &record, record.words);
            } else if (record.type == GW_RECORD_gpu_clock) {
                status = add_clock(builder, source->input, record.words);
            } else if (record.type == GW_RECORD_own_time) {
                status = add_own_time(builder, source->input, record.words);
            }
            if (status) {
                return status;
            }
        }
    }
    if (model->thread_gaps_count) {
        qsort(model->thread_gaps, model->thread_gaps_count, sizeof(*model->thread_gaps), by_thread_and_begin);
    }
    note_timing(model);
    set_ranges(builder);
    for (size_t i = 0; i < builder->input_count; i++) {
        int status = add_losses(model, builder->inputs[i].records);
        if (status) {
            return status;
        }
        model->run.discarded_events += builder->inputs[i].run->discarded_events;
    }
    if (model->losses_count) {
        qsort(model->losses, model->losses_count, sizeof(*model->losses), by_begin);
    }
    uint64_t lost = 0;
    for (size_t i = 0; i < model->losses_count; i++) {
        lost += model->losses[i].count;
    }
    model->run.discarded_events = lost > model->run.discarded_events ? lost : model->run.discarded_events;
    return 0;
}
