#include "analyzer/model/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/causality.h"
#include "analyzer/model/clocks.h"
#include "analyzer/model/import/import.h"
#include "analyzer/model/perturbation.h"
#include "analyzer/model/recordings.h"
#include "analyzer/model/steps.h"
#include "analyzer/read/parallel.h"
#include "shim/api/functions.h"

static char **copy_words(char *const *words)
{
    size_t count = 0;
    while (words && words[count]) {
        count++;
    }
    char **copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(words[i]);
    }
    return copy;
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

int gw_add_problem(char ***problems, const char *line)
{
    size_t count = 0;
    while (*problems && (*problems)[count]) {
        count++;
    }
    char **grown = realloc(*problems, (count + 2) * sizeof(*grown));
    if (!grown) {
        return -ENOMEM;
    }
    *problems = grown;
    grown[count] = strdup(line);
    grown[count + 1] = NULL;
    return grown[count] ? 0 : -ENOMEM;
}

static const char *last_component(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

/* Adds lines of a recorder; says which rank's it was when there are several. */
static int add_lines(char ***to, char *const *lines, bool several, uint32_t rank)
{
    for (; lines && *lines; lines++) {
        char *line = NULL;
        const int length = several ? asprintf(&line, "rank %u: %s", rank, *lines) : asprintf(&line, "%s", *lines);
        const int status = length < 0 ? -ENOMEM : gw_add_problem(to, line);
        free(length < 0 ? NULL : line);
        if (status) {
            return status;
        }
    }
    return 0;
}

static int add_recordings(struct gw_model *model, const struct gw_model_input *inputs, size_t input_count)
{
    model->recordings = calloc(input_count, sizeof(*model->recordings));
    if (!model->recordings) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < input_count; i++) {
        const struct gw_run_file *run = inputs[i].run;
        struct gw_recording *recording = &model->recordings[model->recordings_count++];
        *recording = (struct gw_recording){.name = strdup(last_component(run->path)),
                                           .host = copy_text(run->host),
                                           .rank = run->rank,
                                           .ranks = run->ranks,
                                           .exit_status = run->exit_status,
                                           .exit_signal = run->exit_signal,
                                           .finished = run->complete,
                                           .end_ns = run->end_monotonic_ns};
        if (!recording->name) {
            return -ENOMEM;
        }
        const bool several = input_count > 1;
        int status = add_lines(&model->run.problems, run->problems, several, run->rank);
        status = status ? status : add_lines(&model->run.not_seen, run->not_seen, several, run->rank);
        if (status) {
            return status;
        }
    }
    return 0;
}

static int fill_run(struct gw_model *model, const char *path, const struct gw_model_input *inputs, size_t input_count)
{
    const struct gw_run_file *run = inputs[0].run;
    model->run.path = strdup(path);
    model->run.command = copy_words(run->command);
    model->run.host = copy_text(run->host);
    model->run.device_kind = strdup(run->device && strcmp(run->device, "simulated") == 0 ? "simulated" : "gpu");
    model->run.gpu_timing = copy_text(run->gpu_timing);
    model->run.versions_json = copy_text(run->versions_json);
    model->run.environment_json = copy_text(run->environment_json);
    model->run.realtime_offset_ns =
        run->realtime_offset_ns ? run->realtime_offset_ns : inputs[0].records->realtime_offset_ns;
    model->run.step_mark = copy_text(run->step_mark);
    model->run.ring_ns = run->ring_ns;
    model->run.slow_step_ns = run->slow_step_ns;
    model->run.slow_step_median_ns = run->slow_step_median_ns;
    model->run.slow_step_end_ns = run->slow_step_end_ns;
    model->run.finished = true;
    for (size_t i = 0; i < input_count; i++) {
        model->run.finished = model->run.finished && inputs[i].run->complete;
        model->run.still_running = model->run.still_running || inputs[i].run->still_running;
        if (inputs[i].run->timing_period_ns) {
            model->run.timed_ns = inputs[i].run->timed_ns;
            model->run.timing_period_ns = inputs[i].run->timing_period_ns;
        }
        model->run.windowed = model->run.windowed || inputs[i].run->windowed;
        if (inputs[i].run->exit_status && !model->run.exit_status) {
            model->run.exit_status = inputs[i].run->exit_status;
        }
    }
    return model->run.path && model->run.command && model->run.device_kind ? add_recordings(model, inputs, input_count)
                                                                           : -ENOMEM;
}

/* The recorded function numbers are those of the shim that recorded; names lead to this build's. */
static int map_functions(struct gw_builder *builder)
{
    bool same = true;
    for (size_t i = 0; i < builder->input_count && same; i++) {
        const struct gw_run_file *run = builder->inputs[i].run;
        for (size_t f = 0; f < run->function_count && same; f++) {
            same = run->functions[f] && strcmp(run->functions[f], gw_function_name((unsigned)f)) == 0;
        }
    }
    if (same) {
        return 0;
    }
    builder->function_ids = malloc(builder->input_count * (UINT16_MAX + 1u) * sizeof(*builder->function_ids));
    if (!builder->function_ids) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < builder->input_count; i++) {
        const struct gw_run_file *run = builder->inputs[i].run;
        for (size_t f = 0; f <= UINT16_MAX; f++) {
            const char *name = f < run->function_count ? run->functions[f] : NULL;
            builder->function_ids[i << 16 | f] = !run->functions ? (uint16_t)f
                                                 : name          ? (uint16_t)gw_function_find(name)
                                                                 : GW_FUNCTION_NONE;
        }
    }
    return 0;
}

/* uses_up: blocks of the inputs' records are freed as soon as the model has what they tell. */
static int build(const char *path, const struct gw_model_input *inputs, size_t input_count, bool uses_up,
                 const struct gw_model_options *options, struct gw_model **ret_model, struct gw_error *error)
{
    struct gw_builder builder = {.inputs = inputs,
                                 .input_count = input_count,
                                 .with_call_ids = options && options->with_call_ids,
                                 .merges_parts = options && options->merges_parts,
                                 .uses_up = uses_up,
                                 .timed_reference = GW_NONE,
                                 .error = error};
    int (*const parts[])(struct gw_builder *) = {
        gw_build_sources, map_functions,        gw_build_context,   gw_build_ranges,     gw_build_timings,
        gw_build_nodes,   gw_build_calls,       gw_build_op_lists,  gw_build_extras,     gw_build_engines,
        gw_build_floor,   gw_build_collectives, gw_build_compilers, gw_build_unrecorded, gw_build_ranks};
    int status = -ENOMEM;
    builder.model = calloc(1, sizeof(*builder.model));
    if (!builder.model) {
        goto end;
    }
    status = fill_run(builder.model, path, inputs, input_count);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !status; i++) {
        status = parts[i](&builder);
    }
    status = status ? status : gw_build_lanes(builder.model);
    if (!status) {
        *ret_model = builder.model;
        builder.model = NULL;
    }
end:
    if (status == -ENOMEM) {
        gw_error_set(error, status, "%s: no memory to build the model of the run", path);
    }
    gw_builder_clear(&builder);
    gw_model_destroy(builder.model);
    return status;
}

static int find_steps(struct gw_model *model, const struct gw_model_options *options, struct gw_error *error)
{
    model->link_gbps = options ? options->link_gbps : 0;
    int status = -EINVAL;
    if (options && options->step_regex) {
        status = gw_steps_by_name(model, options->step_regex, options->step_every, error);
    } else {
        if (model->run.step_mark) { /* which need not be in what is left of a run */
            status = gw_steps_by_name(model, model->run.step_mark, 1, error);
        }
        status = status == -EINVAL ? gw_steps_by_sequence(model) : status;
    }
    if (!status) {
        gw_drop_unrecorded_steps(model);
        status = gw_drop_steps_after_deaths(model);
        status = status ? status : gw_measure_perturbation(model);
    }
    return status == -ENOMEM ? gw_error_set(error, status, "%s: no memory to search its steps", model->run.path)
                             : status;
}

int gw_model_build_from_records(const char *path, const struct gw_model_input *inputs, size_t input_count,
                                const struct gw_model_options *options, struct gw_model **ret_model,
                                struct gw_error *error)
{
    struct gw_model *model = NULL;
    int status = build(path, inputs, input_count, false, options, &model, error);
    if (!status) {
        gw_model_check_causality(model, &model->causality);
        status = find_steps(model, options, error);
    }
    if (status) {
        gw_model_destroy(model);
    } else {
        *ret_model = model;
    }
    return status;
}

static int build_imported(const char *path, const struct gw_model_options *options, struct gw_model **ret_model,
                          struct gw_error *error)
{
    struct gw_model *model = NULL;
    int status = gw_model_import(path, &model, error);
    if (!status) {
        gw_model_check_causality(model, &model->causality);
        status = find_steps(model, options, error);
    }
    if (status) {
        gw_model_destroy(model);
    } else {
        *ret_model = model;
    }
    return status;
}

int gw_model_build(const char *run_path, const struct gw_model_options *options, struct gw_model **ret_model,
                   struct gw_error *error)
{
    if (gw_is_import(run_path)) {
        return build_imported(run_path, options, ret_model, error);
    }
    struct gw_recordings recordings = {0};
    int status = gw_recordings_read(&recordings, run_path, options ? &options->progress : NULL, error);
    if (!status) {
        status = gw_model_build_from_recordings(run_path, &recordings, options, ret_model, error);
    }
    gw_recordings_release(&recordings);
    return status;
}

/* Where there are several clocks, a first model tells how they go. */
static int build_aligned(const char *path, struct gw_recordings *recordings, const struct gw_model_options *options,
                         struct gw_model **ret_model, struct gw_error *error)
{
    struct gw_clock *clocks = NULL;
    uint32_t *of_input = NULL;
    size_t count = 0;
    struct gw_model *model = NULL;
    int status = gw_clocks_list(recordings->inputs, recordings->inputs_count, &clocks, &count, &of_input);
    if (!status && count > 1) {
        status = build(path, recordings->inputs, recordings->inputs_count, false, NULL, &model, error);
        status = status ? status : gw_clocks_fit(model, of_input, clocks, count);
        gw_model_destroy(model);
        model = NULL;
        if (!status) {
            status = gw_clocks_apply(recordings, of_input, clocks);
        }
    }
    status = status ? status : build(path, recordings->inputs, recordings->inputs_count, true, options, &model, error);
    status = status ? status : gw_clocks_check(model, of_input, clocks, count);
    if (status) {
        gw_clocks_free(clocks, count);
        gw_model_destroy(model);
    } else {
        model->clocks = clocks;
        model->clocks_count = count;
        *ret_model = model;
    }
    free(of_input);
    return status == -ENOMEM ? gw_error_set(error, status, "%s: no memory to build the model of the run", path)
                             : status;
}

/* The last things that are done with a run, side by side; the first one also where it could not be built. */
enum ending_part { END_RECORDINGS = 0, END_STEPS, END_CAUSALITY, END_COUNT };

struct ending {
    struct gw_recordings *recordings;
    struct gw_model *model;
    const struct gw_model_options *options;
    struct gw_error *error;
};

static int end_build(void *user, size_t index)
{
    struct ending *ending = user;
    switch ((enum ending_part)index) {
    case END_STEPS:
        return find_steps(ending->model, ending->options, ending->error);
    case END_CAUSALITY:
        gw_model_check_causality(ending->model, &ending->model->causality);
        break;
    case END_RECORDINGS:
        gw_recordings_release(ending->recordings);
        break;
    case END_COUNT:
        break;
    }
    return 0;
}

int gw_model_build_from_recordings(const char *path, struct gw_recordings *recordings,
                                   const struct gw_model_options *options, struct gw_model **ret_model,
                                   struct gw_error *error)
{
    struct gw_model *model = NULL;
    int status = gw_recordings_arrange(recordings, options ? options->rank_bytes : 0, error);
    if (!status) {
        status = build_aligned(path, recordings, options, &model, error);
    }
    for (char **problem = recordings->problems; problem && *problem && !status; problem++) {
        status = gw_add_problem(&model->run.problems, *problem);
    }
    struct ending ending = {.recordings = recordings, .model = model, .options = options, .error = error};
    int end_status = gw_parallel_for(status ? 1 : END_COUNT, end_build, &ending);
    status = status ? status : end_status;
    if (status) {
        gw_model_destroy(model);
    } else {
        *ret_model = model;
    }
    return status;
}
