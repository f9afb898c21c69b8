/* gpuwitness export: a run as files for other tools. */
#include "analyzer/export/export.h"
#include "analyzer/cli/cli.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/model/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_FORMAT = 1000, KEY_STEP, KEY_STEP_EVERY };

struct export_options {
    const char *run, *output, *step_regex;
    uint32_t step_every;
};

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "csv", 0, "What to write. csv: calls, ops, collectives, steps and gaps, a file each.", 0},
    {"output", 'o', "DIR", 0,
     "Directory for the files; made when it is not there. Files of the same names are replaced.", 0},
    {"step", KEY_STEP, "REGEX", 0, "A kernel whose name matches begins a step. Default: steps are found by themselves.",
     0},
    {"step-every", KEY_STEP_EVERY, "N", 0, "With --step: only every N-th match begins one.", 0},
    {0},
};

static const char help_text[] =
    "Writes what was recorded in RUN into files that spreadsheets, scripts and other tools read.\v"
    "Times are nanoseconds on CLOCK_MONOTONIC of the traced machine; unknown ones are empty.\n\n"
    "Exit status: 0, 1 when the run cannot be read or a file not be written, 2 for a wrong command line.\n\n"
    "Example:\n"
    "  gpuwitness export --format csv -o tables run";

static error_t take_every(const struct argp_state *state, const char *text, uint32_t *ret_every)
{
    uint64_t number = 0;
    if (gw_parse_size(text, &number) != 0 || number == 0 || number > UINT32_MAX)
        return gw_usage_error(state, "--step-every needs a number from 1 on, not '%s'", text);
    *ret_every = (uint32_t)number;
    return 0;
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct export_options *result = state->input;
    switch (key) {
    case KEY_FORMAT:
        return strcmp(value, "csv") == 0 ? 0 : gw_usage_error(state, "--format has no '%s'; it knows csv", value);
    case 'o':
        result->output = value;
        return 0;
    case KEY_STEP:
        result->step_regex = value;
        return 0;
    case KEY_STEP_EVERY:
        return take_every(state, value, &result->step_every);
    case ARGP_KEY_ARG:
        if (result->run != NULL)
            return gw_usage_error(state, "only one run can be exported at a time");
        result->run = value;
        return 0;
    case ARGP_KEY_END:
        if (result->run == NULL)
            return gw_usage_error(state, "the run to export is missing");
        if (result->output == NULL)
            return gw_usage_error(state, "-o DIR is missing");
        if (result->step_every != 0 && result->step_regex == NULL)
            return gw_usage_error(state, "--step-every goes with --step");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int write_files(const char *command, const struct gw_model *model, const char *folder)
{
    struct gw_budget *budget = NULL;
    const char *failed_file = "";
    int status = gw_budget_create(model, &budget);
    if (status != 0) {
        gw_complain(command, "%s: no memory for its budget", model->run.path);
        return GW_EXIT_FAILURE;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        status = -errno;
        gw_complain(command, "%s: the folder cannot be made: %s", folder, strerror(-status));
    } else {
        status = gw_export_csv(model, budget, folder, &failed_file);
        if (status != 0)
            gw_complain(command, "%s/%s cannot be written: %s", folder, failed_file, strerror(-status));
    }
    gw_budget_destroy(budget);
    return status == 0 ? GW_EXIT_OK : GW_EXIT_FAILURE;
}

int gw_verb_export(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "RUN", help_text, NULL, NULL, NULL};
    struct export_options chosen = {0};
    struct gw_cli_progress progress;
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    struct gw_model_options model_options = {.progress = gw_cli_progress_begin(&progress, argv[0]),
                                             .step_regex = chosen.step_regex,
                                             .step_every = chosen.step_every};
    int status = gw_model_build(chosen.run, &model_options, &model, &error);
    gw_cli_progress_end(&progress);
    if (status != 0) {
        gw_complain(argv[0], "%s", error.text);
        return GW_EXIT_FAILURE;
    }
    int exit_status = write_files(argv[0], model, chosen.output);
    gw_model_destroy(model);
    return exit_status;
}
