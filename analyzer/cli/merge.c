/* gpuwitness merge: the report of many summaries. */
#include "analyzer/cli/cli.h"
#include "analyzer/cli/load.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/cli/write_report.h"
#include "analyzer/export/output.h"
#include "analyzer/model/recordings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_JSON = 1000, KEY_MD, KEY_STEP, KEY_STEP_EVERY, KEY_RANK_SIZE };

struct merge_options {
    char **inputs; /* those of the command line */
    int input_count;
    const char *output;
    struct gw_report_form form;
    struct gw_model_options model;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Write the report there instead of to the standard output.", 0},
    {"json", KEY_JSON, 0, 0, "Write the report as JSON (schema gpuwitness.report/1).", 0},
    {"md", KEY_MD, 0, 0, "Write the report as Markdown.", 0},
    {"verbose", 'v', 0, 0, "As text: all evidence, every class, and why each suspect was ruled out.", 0},
    {"step", KEY_STEP, "REGEX", 0,
     "An NVTX range, or else a kernel, whose name matches begins a step. Default: steps are found by themselves.", 0},
    {"step-every", KEY_STEP_EVERY, "N", 0, "With --step: only every N-th match begins one.", 0},
    {"rank-size", KEY_RANK_SIZE, "SIZE", 0,
     "Of each of several ranks, take no more than SIZE bytes of records (K, M, G allowed), in whole steps. Default: "
     "8G, shared by all ranks.",
     0},
    {0},
};

static const char help_text[] =
    "Puts ranks together that were reduced apart, and reports on all of them as 'report' does on a run that lies in "
    "one "
    "place.\v"
    "SUMMARY is a file of 'gpuwitness reduce'; a directory that 'gpuwitness record' left is taken too.\n\n"
    "Exit status: 0, 1 when a summary cannot be read or the report not be written, 2 for a wrong command line.\n\n"
    "Example:\n"
    "  gpuwitness merge --json -o report.json rank-*.gws";

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct merge_options *result = state->input;
    switch (key) {
    case 'o':
        result->output = value;
        return 0;
    case KEY_JSON:
        result->form.json = true;
        return 0;
    case KEY_MD:
        result->form.markdown = true;
        return 0;
    case 'v':
        result->form.verbose = true;
        return 0;
    case KEY_STEP:
        result->model.step_regex = value;
        return 0;
    case KEY_STEP_EVERY:
        return gw_take_step_every(state, value, &result->model.step_every);
    case KEY_RANK_SIZE:
        return gw_take_rank_size(state, value, &result->model.rank_bytes);
    case ARGP_KEY_ARGS:
        result->inputs = state->argv + state->next;
        result->input_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (!result->input_count)
            return gw_usage_error(state, "the summaries to merge are missing");
        if (result->form.json && result->form.markdown)
            return gw_usage_error(state, "--json and --md exclude each other");
        if (result->model.step_every && !result->model.step_regex)
            return gw_usage_error(state, "--step-every goes with --step");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* To a file through gw_output, so that an old one stays when there is no room for the new one. */
static int write_report(const char *command, const struct merge_options *chosen, const struct gw_model *model)
{
    struct gw_judged judged = {NULL, NULL};
    struct gw_output output = {0};
    int exit_status = GW_EXIT_FAILURE, status = 0;
    if (gw_judge_run(command, model, &judged) != 0)
        goto end;
    if (chosen->output)
        status = gw_output_open(&output, chosen->output);
    const bool is_open = status == 0;
    const bool is_written =
        is_open && gw_write_report(command, &chosen->form, model, &judged, output.file ? output.file : stdout) == 0;
    if (output.file)
        status = gw_output_close(&output, is_written ? 0 : -ECANCELED);
    if (status != 0 && (is_written || !is_open))
        gw_complain(command, "%s cannot be written: %s", chosen->output, strerror(-status));
    else if (is_written)
        exit_status = GW_EXIT_OK;
end:
    gw_judged_release(&judged);
    return exit_status;
}

int gw_verb_merge(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "SUMMARY...", help_text, NULL, NULL, NULL};
    struct merge_options chosen = {0};
    struct gw_recordings recordings = {0};
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    int status = 0;
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    for (int i = 0; i < chosen.input_count && status == 0; i++)
        status = gw_recordings_read(&recordings, chosen.inputs[i], NULL, &error);
    if (status == 0)
        status = gw_model_build_from_recordings("merged ranks", &recordings, &chosen.model, &model, &error);
    if (status != 0)
        gw_complain(argv[0], "%s", error.text);
    int exit_status = status == 0 ? write_report(argv[0], &chosen, model) : GW_EXIT_FAILURE;
    gw_recordings_release(&recordings);
    gw_model_destroy(model);
    return exit_status;
}
