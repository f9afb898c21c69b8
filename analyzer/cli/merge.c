/* gpuwitness merge: the report of many summaries. */
#include "analyzer/cli/cli.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/export/output.h"
#include "analyzer/model/recordings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct merge_options {
    char **inputs; /* those of the command line */
    int input_count;
    const char *output;
    struct gw_report_choice report;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Write the report there instead of to the standard output.", 0},
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
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &result->report;
        return 0;
    case 'o':
        result->output = value;
        return 0;
    case ARGP_KEY_ARGS:
        result->inputs = state->argv + state->next;
        result->input_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_END:
        if (!result->input_count)
            return gw_usage_error(state, "the summaries to merge are missing");
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
    const bool is_written = is_open && gw_write_report(command, &chosen->report.form, model, &judged,
                                                       output.file ? output.file : stdout) == 0;
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
    static const struct argp argp = {options, take_option, "SUMMARY...", help_text, gw_report_options, NULL, NULL};
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
        status = gw_model_build_from_recordings("merged ranks", &recordings, &chosen.report.model, &model, &error);
    if (status != 0)
        gw_complain(argv[0], "%s", error.text);
    int exit_status = status == 0 ? write_report(argv[0], &chosen, model) : GW_EXIT_FAILURE;
    gw_recordings_release(&recordings);
    gw_model_destroy(model);
    return exit_status;
}
