/* gpuwitness export: a run as files for other tools. */
#include "analyzer/export/export.h"
#include "analyzer/cli/cli.h"
#include "analyzer/cli/load.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/model/build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_FORMAT = 1000 };

struct format {
    const char *name;
    gw_export_file *write;   /* NULL: CSV, a folder of files */
    const char *no_standard; /* why it cannot be written to the standard output; NULL: it can */
};

static const struct format formats[] = {
    {"csv", NULL, "csv is a folder of files"}, {"perfetto", gw_export_perfetto, NULL},
    {"chrome", gw_export_chrome, NULL},        {"sqlite", gw_export_sqlite, "sqlite is no stream"},
    {"jsonl", gw_export_jsonl, NULL},
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

struct export_options {
    const char *run, *output;
    const struct format *format;
    struct gw_model_options model;
};

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "csv|perfetto|chrome|sqlite|jsonl", 0,
     "csv (default): calls, ops, collectives, steps and gaps, a file each. perfetto: for ui.perfetto.dev. chrome: JSON "
     "as the PyTorch profiler writes it. sqlite: tables as in an Nsight Systems export. jsonl: an object a line.",
     0},
    {"output", 'o', "PATH", 0,
     "The file to write, or - for the standard output; for csv the directory, made when it is not there. Files of the "
     "same names are replaced.",
     0},
    {0},
};

static const char help_text[] =
    "Writes what was recorded in RUN into files that spreadsheets, scripts and other tools read.\v"
    "Times are on CLOCK_MONOTONIC of the traced machine: nanoseconds, in chrome microseconds with three decimals.\n\n"
    "Exit status: 0, 1 when the run cannot be read or a file not be written, 2 for a wrong command line.\n\n"
    "Examples:\n"
    "  gpuwitness export --format csv -o tables run\n"
    "  gpuwitness export --format perfetto -o run.pftrace run";

static error_t take_format(const struct argp_state *state, const char *name, const struct format **ret_format)
{
    const char *names[FORMAT_COUNT];
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        names[i] = formats[i].name;
        if (strcmp(name, formats[i].name) == 0) {
            *ret_format = &formats[i];
            return 0;
        }
    }
    const char *nearest = gw_nearest(name, names, FORMAT_COUNT);
    if (nearest)
        return gw_usage_error(state, "--format has no '%s' (did you mean '%s'?)", name, nearest);
    return gw_usage_error(state, "--format has no '%s'; it knows csv, perfetto, chrome, sqlite and jsonl", name);
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct export_options *result = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &result->model;
        return 0;
    case KEY_FORMAT:
        return take_format(state, value, &result->format);
    case 'o':
        result->output = value;
        return 0;
    case ARGP_KEY_ARG:
        if (result->run != NULL)
            return gw_usage_error(state, "only one run can be exported at a time");
        result->run = value;
        return 0;
    case ARGP_KEY_END:
        if (result->run == NULL)
            return gw_usage_error(state, "the run to export is missing");
        if (result->output == NULL)
            return gw_usage_error(state, "-o is missing: where to write");
        if (strcmp(result->output, "-") == 0 && result->format->no_standard)
            return gw_usage_error(state, "%s, so -o - cannot take it: name where to write",
                                  result->format->no_standard);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int write_folder(const char *command, const struct gw_model *model, const struct gw_budget *budget,
                        const char *folder)
{
    const char *failed_file = "";
    int status = mkdir(folder, 0777) != 0 && errno != EEXIST ? -errno : 0;
    if (status != 0) {
        gw_complain(command, "%s: the folder cannot be made: %s", folder, strerror(-status));
        return status;
    }
    status = gw_export_csv(model, budget, folder, &failed_file);
    if (status != 0)
        gw_complain(command, "%s/%s cannot be written: %s", folder, failed_file, strerror(-status));
    return status;
}

static int write_files(const char *command, const struct gw_model *model, const struct export_options *chosen)
{
    struct gw_budget *budget = NULL;
    int status = gw_budget_create(model, &budget);
    if (status != 0) {
        gw_complain(command, "%s: no memory for its budget", model->run.path);
        return GW_EXIT_FAILURE;
    }
    if (chosen->format->write == NULL) {
        status = write_folder(command, model, budget, chosen->output);
    } else {
        status = chosen->format->write(model, budget, chosen->output);
        if (status != 0)
            gw_complain(command, "%s cannot be written: %s", chosen->output, strerror(-status));
    }
    gw_budget_destroy(budget);
    return status == 0 ? GW_EXIT_OK : GW_EXIT_FAILURE;
}

int gw_verb_export(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "RUN", help_text, gw_step_options, NULL, NULL};
    struct export_options chosen = {.format = &formats[0]};
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    chosen.model.with_call_ids = true;
    struct gw_model *model = gw_load_model(argv[0], chosen.run, &chosen.model);
    if (!model)
        return GW_EXIT_FAILURE;
    int exit_status = write_files(argv[0], model, &chosen);
    gw_model_destroy(model);
    return exit_status;
}
