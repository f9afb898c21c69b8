/* gpuwitness bundle: what to attach to a bug report, without what is private. */
#include "analyzer/cli/archive.h"
#include "analyzer/cli/cli.h"
#include "analyzer/cli/load.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/export/redact.h"
#include "analyzer/export/report.h"
#include "analyzer/model/build.h"
#include "plots/plots.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_WITH_TRACE = 1000, KEY_SHOW_REDACTIONS, KEY_STEP, KEY_STEP_EVERY };

struct bundle_options {
    const char *run, *output, *step_regex;
    uint32_t step_every;
    bool with_trace, show_redactions;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "The archive to write: .tar.zst, .tar.gz, .tar.xz or .tar. A file of that name is replaced.", 0},
    {"with-trace", KEY_WITH_TRACE, 0, 0,
     "Add the run itself, as it was recorded: command lines, host name, paths and variables included.", 0},
    {"show-redactions", KEY_SHOW_REDACTIONS, 0, 0,
     "Print what was replaced by what, for your eyes only; without -o nothing is written.", 0},
    {"step", KEY_STEP, "REGEX", 0, "A kernel whose name matches begins a step. Default: steps are found by themselves.",
     0},
    {"step-every", KEY_STEP_EVERY, "N", 0, "With --step: only every N-th match begins one.", 0},
    {0},
};

static const char help_text[] =
    "Packs the report of RUN (text, Markdown, JSON), its pictures, versions and variables into one file to attach to a "
    "bug report. README.md in it is ready to be pasted into an issue.\v"
    "User, host, folders, arguments, values of variables not known to be harmless, and serial numbers of GPUs are "
    "replaced, each always by the same word. Names of kernels, programs and threads stay.\n\n"
    "Exit status: 0, 1 when the run cannot be read or the archive not be written, 2 for a wrong command line.\n\n"
    "Example:\n"
    "  gpuwitness bundle run -o evidence.tar.zst";

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct bundle_options *result = state->input;
    switch (key) {
    case 'o':
        result->output = value;
        return gw_archive_is_known(value)
                   ? 0
                   : gw_usage_error(state, "%s: the name of a bundle ends in .tar.zst, .tar.gz, .tar.xz or .tar",
                                    value);
    case KEY_WITH_TRACE:
        result->with_trace = true;
        return 0;
    case KEY_SHOW_REDACTIONS:
        result->show_redactions = true;
        return 0;
    case KEY_STEP:
        result->step_regex = value;
        return 0;
    case KEY_STEP_EVERY:
        return gw_take_step_every(state, value, &result->step_every);
    case ARGP_KEY_ARG:
        if (result->run)
            return gw_usage_error(state, "only one run can be bundled at a time");
        result->run = value;
        return 0;
    case ARGP_KEY_END:
        if (!result->run)
            return gw_usage_error(state, "the run to bundle is missing");
        if (!result->output && !result->show_redactions)
            return gw_usage_error(state, "-o FILE is missing");
        if (result->step_every && !result->step_regex)
            return gw_usage_error(state, "--step-every goes with --step");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef int write_text(const struct gw_report *report, const struct bundle_options *chosen, FILE *out);

static int write_plain(const struct gw_report *report, const struct bundle_options *chosen, FILE *out)
{
    const struct gw_report_text_options text = {.width = 100, .verbose = true};
    (void)chosen;
    return gw_report_text(report, &text, out);
}

static int write_json(const struct gw_report *report, const struct bundle_options *chosen, FILE *out)
{
    (void)chosen;
    return gw_report_json(report, out);
}

static int write_readme(const struct gw_report *report, const struct bundle_options *chosen, FILE *out)
{
    fputs("## gpuwitness report\n\n", out);
    int status = gw_report_markdown(report, out);
    fputs("\n### In this bundle\n\n"
          "`report.txt` and `report.json`: the whole report with its evidence. `plots/`: pictures. `environment.json`: "
          "versions, variables, devices. `SHA256SUMS`: check with `sha256sum -c`.\n\n",
          out);
    if (chosen->with_trace)
        fputs(
            "`run/` is the recording as it was made: it holds command lines, the host's name, paths and variables. In "
            "everything else ",
            out);
    fputs(chosen->with_trace ? "user" : "User", out);
    fputs(
        ", host, folders, arguments, values of variables and serial numbers are replaced by words in braces, the same "
        "text always by the same word.\n",
        out);
    return status ? status : ferror(out) ? -EIO : 0;
}

static int write_environment(const struct gw_report *report, const struct bundle_options *chosen, FILE *out)
{
    const struct gw_model *model = report->model;
    const struct gw_run_info *run = &model->run;
    json_t *versions = run->versions_json ? json_loads(run->versions_json, 0, NULL) : NULL;
    json_t *variables = run->environment_json ? json_loads(run->environment_json, 0, NULL) : NULL;
    json_t *devices = json_array(), *processes = json_array();
    (void)chosen;
    for (size_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        json_array_append_new(
            devices, json_pack("{s:i, s:i, s:s?, s:s?, s:s?, s:I, s:i, s:i}", "process", (int)device->process, "number",
                               (int)device->number, "name", device->name, "uuid", device->uuid, "pci", device->pci,
                               "memory_bytes", (json_int_t)device->memory_bytes, "multiprocessors",
                               (int)device->multiprocessors, "compute_capability", (int)device->compute_capability));
    }
    for (size_t i = 0; i < model->processes_count; i++)
        json_array_append_new(processes,
                              json_pack("{s:s?, s:s?, s:s?}", "program", model->processes[i].exe, "host",
                                        model->processes[i].host, "variables", model->processes[i].environment));
    json_t *root = json_pack("{s:s?, s:s?, s:o, s:o, s:o, s:o}", "device", run->device_kind, "gpu_timing",
                             run->gpu_timing, "versions", versions ? versions : json_object(), "variables",
                             variables ? variables : json_object(), "devices", devices, "processes", processes);
    int status = !root ? -ENOMEM : json_dumpf(root, out, JSON_INDENT(2)) < 0 || fputc('\n', out) == EOF ? -EIO : 0;
    json_decref(root);
    return status;
}

static int add_text(struct gw_archive *archive, const char *name, write_text *write, const struct gw_report *report,
                    const struct bundle_options *chosen)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out)
        return -ENOMEM;
    int status = write(report, chosen, out);
    if (fclose(out) != 0)
        status = status ? status : -ENOMEM;
    status = status ? status : gw_archive_add_bytes(archive, name, bytes, size);
    free(bytes);
    return status;
}

/* Pictures are drawn into files, which lie in a folder of their own for a moment. */
static int add_plots(struct gw_archive *archive, const struct gw_report *report)
{
    const struct gw_plot_source source = {report->model, report->budget, report->verdicts};
    const struct gw_plot_options plot_options = gw_plot_default_options();
    const char *base = getenv("TMPDIR");
    char *folder = NULL;
    int status = 0;
    if (asprintf(&folder, "%s/gpuwitness-XXXXXX", base && *base ? base : "/tmp") < 0)
        return -ENOMEM;
    if (!mkdtemp(folder)) {
        status = -errno;
        free(folder);
        return status;
    }
    for (size_t i = 0; i < gw_plots_count && !status; i++) {
        char *file = NULL, *name = NULL;
        if (asprintf(&file, "%s/%s.png", folder, gw_plots[i].name) < 0 ||
            asprintf(&name, "plots/%s.png", gw_plots[i].name) < 0)
            status = -ENOMEM;
        status = status ? status : gw_plot_write(&gw_plots[i], &source, &plot_options, file);
        status = status ? status : gw_archive_add_file(archive, name, file);
        if (file)
            unlink(file);
        free(file);
        free(name);
    }
    rmdir(folder);
    free(folder);
    return status;
}

static int write_bundle(const struct gw_report *report, const struct bundle_options *chosen)
{
    struct gw_archive *archive = NULL;
    int status = gw_archive_create(chosen->output, &archive);
    status = status ? status : add_text(archive, "README.md", write_readme, report, chosen);
    status = status ? status : add_text(archive, "report.txt", write_plain, report, chosen);
    status = status ? status : add_text(archive, "report.json", write_json, report, chosen);
    status = status ? status : add_text(archive, "environment.json", write_environment, report, chosen);
    status = status ? status : add_plots(archive, report);
    if (!status && chosen->with_trace)
        status = gw_archive_add_tree(archive, "run", chosen->run);
    return gw_archive_finish(archive, status);
}

static void print_redactions(const struct gw_redactor *redactor)
{
    for (size_t i = 0; i < redactor->list_count; i++)
        printf("%-10s  %s\n", redactor->list[i].placeholder, redactor->list[i].secret);
}

static int bundle(const char *command, const struct bundle_options *chosen, struct gw_model *model)
{
    struct gw_redactor redactor = {0};
    struct gw_budget *budget = NULL;
    struct gw_verdicts *verdicts = NULL;
    int exit_status = GW_EXIT_FAILURE;
    int status = gw_redact_model(model, &redactor);
    status = status ? status : gw_budget_create(model, &budget);
    status = status ? status : gw_verdicts_create(model, budget, &verdicts);
    if (status) {
        gw_complain(command, "%s: no memory for its report", chosen->run);
        goto end;
    }
    const struct gw_report report = {model, budget, verdicts};
    status = chosen->output ? write_bundle(&report, chosen) : 0;
    if (status) {
        gw_complain(command, "%s cannot be written: %s", chosen->output, strerror(-status));
        goto end;
    }
    if (chosen->show_redactions)
        print_redactions(&redactor);
    if (chosen->output && chosen->with_trace)
        gw_complain(
            command,
            "%s holds the run as it was recorded, with command lines, host name, paths and variables: leave out "
            "--with-trace before you publish it",
            chosen->output);
    if (fflush(stdout) == 0)
        exit_status = GW_EXIT_OK;
    else
        gw_complain(command, "the list of redactions cannot be written: %s", strerror(errno));
end:
    gw_verdicts_destroy(verdicts);
    gw_budget_destroy(budget);
    gw_redactor_release(&redactor);
    return exit_status;
}

int gw_verb_bundle(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "RUN", help_text, NULL, NULL, NULL};
    struct bundle_options chosen = {0};
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    struct gw_model *model = gw_load_model(argv[0], chosen.run, chosen.step_regex, chosen.step_every);
    if (!model)
        return GW_EXIT_FAILURE;
    int exit_status = bundle(argv[0], &chosen, model);
    gw_model_destroy(model);
    return exit_status;
}
