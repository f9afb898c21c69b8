#include "analyzer/model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"

static void free_strings(char **strings)
{
    for (char **string = strings; string && *string; string++) {
        free(*string);
    }
    free(strings);
}

void gw_model_destroy(struct gw_model *model)
{
    if (!model) {
        return;
    }
    for (size_t i = 0; i < model->recordings_count; i++) {
        free(model->recordings[i].name);
        free(model->recordings[i].host);
    }
    for (size_t i = 0; i < model->clocks_count; i++) {
        free(model->clocks[i].host);
        free(model->clocks[i].boot_id);
    }
    free(model->clocks);
    for (size_t i = 0; i < model->processes_count; i++) {
        free(model->processes[i].exe);
        free(model->processes[i].command);
        free(model->processes[i].host);
        free(model->processes[i].environment);
    }
    for (size_t i = 0; i < model->threads_count; i++) {
        free(model->threads[i].name);
    }
    for (size_t i = 0; i < model->devices_count; i++) {
        free(model->devices[i].name);
        free(model->devices[i].uuid);
        free(model->devices[i].pci);
    }
    for (size_t i = 0; i < model->names_count; i++) {
        free(model->names[i]);
    }
    for (size_t i = 0; i < model->coverages_count; i++) {
        free(model->coverages[i].name);
        free(model->coverages[i].detail);
    }
    free_strings(model->run.command);
    free_strings(model->run.problems);
    free_strings(model->run.not_seen);
    free(model->steps_other.step);
    free(model->run.path);
    free(model->run.host);
    free(model->run.device_kind);
    free(model->run.gpu_timing);
    free(model->run.step_mark);
    free(model->run.versions_json);
    free(model->run.environment_json);
    void *const arrays[] = {
        model->processes,     model->threads,     model->devices,    model->streams, model->calls,
        model->thread_calls,  model->ops,         model->stream_ops, model->names,   model->name_kinds,
        model->call_ids,      model->launches,    model->copies,     model->memsets, model->memories,
        model->process_ops,   model->orders,      model->modules,    model->graphs,  model->thread_gaps,
        model->communicators, model->collectives, model->recordings, model->losses,  model->coverages,
        model->steps,         model->ranges,      model->compilers,  model->counted,
    };
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        free(arrays[i]);
    }
    free(model);
}

const char *gw_stream_words(const struct gw_model *model, const struct gw_stream *stream, char *text, size_t size)
{
    const char *label = stream->label ? model->names[stream->label - 1] : "";
    snprintf(text, size, "stream %" PRIu32 "%s%s", stream->number, *label ? " " : "", label);
    return text;
}

const char *gw_op_kind_name(enum gw_op_kind kind)
{
    static const char *const names[GW_OP_KIND_COUNT] = {
        [GW_OP_KERNEL] = "kernel", [GW_OP_MEMSET] = "memset", [GW_OP_H2D] = "h2d",
        [GW_OP_D2H] = "d2h",       [GW_OP_D2D] = "d2d",       [GW_OP_P2P] = "p2p",
        [GW_OP_COMM] = "comm",     [GW_OP_GRAPH] = "graph",   [GW_OP_HOST] = "host",
    };
    return kind < GW_OP_KIND_COUNT ? names[kind] : "?";
}

const char *gw_loss_reason_name(const struct gw_loss *loss)
{
    switch (loss->reason) {
    case GW_LOSS_OUTSIDE:
        return "outside the windows";
    case GW_LOSS_LET_GO:
        return "let go";
    case GW_LOSS_DISCARDED:
        break;
    }
    return loss->count ? "discarded" : "damaged";
}

size_t gw_step_after(const struct gw_model *model, uint32_t process, uint64_t t_ns)
{
    const struct gw_step *steps = model->steps;
    return GW_FIRST_NOT(0, model->steps_count, s,
                        steps[s].process < process || (steps[s].process == process && steps[s].end_ns <= t_ns));
}

uint32_t gw_step_at(const struct gw_model *model, uint32_t process, uint64_t t_ns)
{
    size_t step = gw_step_after(model, process, t_ns);
    bool within =
        step < model->steps_count && model->steps[step].process == process && model->steps[step].begin_ns <= t_ns;
    return within ? (uint32_t)step : GW_NONE;
}
