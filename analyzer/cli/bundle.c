/* gpuwitness bundle: what to attach to a bug report, without what is private. */
#include "analyzer/cli/archive.h"
#include "analyzer/cli/bundle_trace.h"
#include "analyzer/cli/cli.h"
#include "analyzer/cli/load.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/cli/unpack.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/export/export.h"
#include "analyzer/export/redact.h"
#include "analyzer/export/report.h"
#include "analyzer/model/build.h"
#include "analyzer/model/import/import.h"
#include "analyzer/read/scratch.h"
#include "plots/plots.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_MAX_BYTES (64ull << 20)

enum { KEY_WITH_TRACE = 1000, KEY_NO_TRACE, KEY_STEPS, KEY_MAX_SIZE, KEY_HASH_NAMES, KEY_SHOW_REDACTIONS };

struct bundle_options {
    const char *run, *output;
    struct gw_model_options model;
    uint32_t first_step, last_step; /* UINT32_MAX: all */
    uint64_t max_bytes;             /* 0: the default */
    bool with_trace, no_trace, hash_names, show_redactions;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "The archive to write: .tar.zst, .tar.gz, .tar.xz or .tar. A file of that name is replaced.", 0},
    {"steps", KEY_STEPS, "A..B", 0, "Of the recording, only these steps; step numbers as in the report.", 0},
    {"max-size", KEY_MAX_SIZE, "BYTES", 0,
     "Of the recording, as many steps in the middle as take no more than this before compression; K, M and G are "
     "allowed. Default: 64M.",
     0},
    {"no-trace", KEY_NO_TRACE, 0, 0, "Leave the recording out.", 0},
    {"hash-names", KEY_HASH_NAMES, 0, 0,
     "Replace names of kernels, threads, ranges and files by hashes, but for NCCL's kernels and the system's files. "
     "The same name has the same hash in every bundle.",
     0},
    {"with-trace", KEY_WITH_TRACE, 0, 0,
     "Add the recording as it was made instead: command lines, host name, paths and variables included.", 0},
    {"show-redactions", KEY_SHOW_REDACTIONS, 0, 0,
     "Print what was replaced by what, for your eyes only; without -o nothing is written.", 0},
    {0},
};

static const char help_text[] =
    "Packs the report of RUN (text, Markdown, JSON), its pictures, versions, variables and the recording into one file "
    "to "
    "attach to a bug report. README.md in it is ready to be pasted into an issue; report, plot, export and diff read "
    "the bundle as they read RUN.\v"
    "User, host, folders, arguments, values of variables not known to be harmless, and serial numbers of GPUs are "
    "replaced, each always by the same word, in the recording too. Names of kernels, programs and threads stay unless "
    "--hash-names is given. What was cut off the recording is said.\n\n"
    "Exit status: 0, 1 when the run cannot be read or the archive not be written, 2 for a wrong command line.\n\n"
    "Example:\n"
    "  gpuwitness bundle run -o evidence.tar.zst";

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct bundle_options *result = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &result->model;
        return 0;
    case 'o':
        result->output = value;
        return gw_archive_is_known(value)
                   ? 0
                   : gw_usage_error(state, "%s: the name of a bundle ends in .tar.zst, .tar.gz, .tar.xz or .tar",
                                    value);
    case KEY_WITH_TRACE:
        result->with_trace = true;
        return 0;
    case KEY_NO_TRACE:
        result->no_trace = true;
        return 0;
    case KEY_HASH_NAMES:
        result->hash_names = true;
        return 0;
    case KEY_STEPS:
        return gw_take_steps(state, value, &result->first_step, &result->last_step);
    case KEY_MAX_SIZE:
        return gw_parse_size(value, &result->max_bytes) == 0 && result->max_bytes
                   ? 0
                   : gw_usage_error(state, "--max-size needs a size above 0, such as 20M, not '%s'", value);
    case KEY_SHOW_REDACTIONS:
        result->show_redactions = true;
        return 0;
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
        if (result->with_trace &&
            (result->no_trace || result->hash_names || result->max_bytes || result->last_step != UINT32_MAX))
            return gw_usage_error(state, "--with-trace adds the recording as it is, so it goes neither with --no-trace "
                                         "nor with --steps, --max-size or --hash-names");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What is being packed. */
struct bundle {
    const struct bundle_options *chosen;
    const struct gw_report *report;
    struct gw_redactor *redactor;
    struct gw_bundle_recording *recording; /* NULL: none, or the raw one */
    struct gw_bundle_choice choice;
    bool has_database;
};

typedef int write_text(const struct bundle *bundle, FILE *out);

static int write_plain(const struct bundle *bundle, FILE *out)
{
    const struct gw_report_text_options text = {.width = 100, .verbose = true};
    return gw_report_text(bundle->report, &text, out);
}

static int write_json(const struct bundle *bundle, FILE *out)
{
    return gw_report_json(bundle->report, out);
}

static void describe_recording(const struct bundle *bundle, FILE *out)
{
    const struct gw_bundle_choice *choice = &bundle->choice;
    if (bundle->chosen->with_trace) {
        fputs("`" GW_BUNDLE_RUN
              "/` is the recording as it was made: it holds command lines, the host's name, paths and "
              "variables.\n\n",
              out);
    } else if (bundle->has_database) {
        fputs("`" GW_BUNDLE_DATABASE "`: the trace that the report was made of, as an SQLite database.\n\n", out);
    } else if (bundle->recording) {
        fputs("`" GW_BUNDLE_RUN "/`: the recording, which `gpuwitness report BUNDLE` reads", out);
        if (!choice->whole && choice->has_steps)
            fprintf(out, "; of its steps %" PRIu32 "…%" PRIu32 " only, with a step more on either side",
                    choice->first_step, choice->last_step);
        else if (!choice->whole)
            fprintf(out, "; %.3f ms of it only, from %.3f ms on",
                    (double)(choice->cut.end_ns - choice->cut.begin_ns) / 1e6,
                    (double)(choice->cut.begin_ns - bundle->report->model->run.begin_ns) / 1e6);
        fputs(". Report and pictures are of the whole run.\n\n", out);
    }
}

static int write_readme(const struct bundle *bundle, FILE *out)
{
    fputs("## gpuwitness report\n\n", out);
    int status = gw_report_markdown(bundle->report, out);
    fputs("\n### In this bundle\n\n"
          "`report.txt` and `report.json`: the whole report with its evidence. `plots/`: pictures. `environment.json`: "
          "versions, variables, devices. `SHA256SUMS`: check with `sha256sum -c`.\n\n",
          out);
    describe_recording(bundle, out);
    fprintf(out,
            "%s, host, folders, arguments, values of variables and serial numbers are replaced by words in braces, the "
            "same text always by the same word%s.\n",
            bundle->chosen->with_trace ? "In everything else user" : "User",
            bundle->chosen->hash_names ? "; names of kernels, threads and files are hashes" : "");
    return status ? status : ferror(out) ? -EIO : 0;
}

static int write_environment(const struct bundle *bundle, FILE *out)
{
    const struct gw_model *model = bundle->report->model;
    const struct gw_run_info *run = &model->run;
    json_t *versions = run->versions_json ? json_loads(run->versions_json, 0, NULL) : NULL;
    json_t *variables = run->environment_json ? json_loads(run->environment_json, 0, NULL) : NULL;
    json_t *devices = json_array(), *processes = json_array();
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

static int add_text(struct gw_archive *archive, const char *name, write_text *write, const struct bundle *bundle)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);
    if (!out)
        return -ENOMEM;
    int status = write(bundle, out);
    if (fclose(out) != 0)
        status = status ? status : -ENOMEM;
    status = status ? status : gw_archive_add_bytes(archive, name, bytes, size);
    free(bytes);
    return status;
}

/* Pictures are drawn into files, which lie in a folder of their own for a moment. */
static int add_plots(struct gw_archive *archive, const struct gw_report *report, struct gw_error *error)
{
    const struct gw_plot_source source = {
        .model = report->model, .budget = report->budget, .verdicts = report->verdicts};
    const struct gw_plot_options plot_options = gw_plot_default_options();
    struct gw_scratch folder = {0};
    int status = gw_scratch_create(&folder);
    if (status)
        gw_scratch_failed(status, error);
    for (size_t i = 0; i < gw_plots_count && !status; i++) {
        char *file = NULL, *name = NULL;
        if (!gw_plot_applies(&gw_plots[i], &source))
            continue;
        if (asprintf(&file, "%s/%s.png", folder.path, gw_plots[i].name) < 0 ||
            asprintf(&name, "plots/%s.png", gw_plots[i].name) < 0)
            status = -ENOMEM;
        if (!status && (status = gw_plot_write(&gw_plots[i], &source, &plot_options, file)) != 0)
            gw_scratch_failed(status, error);
        status = status ? status : gw_archive_add_file(archive, name, file);
        free(file);
        free(name);
    }
    gw_scratch_remove(&folder);
    return status;
}

/* What was imported goes along as the database that is imported again. */
static int add_database(struct gw_archive *archive, const struct gw_report *report, struct gw_error *error)
{
    struct gw_scratch folder = {0};
    char *file = NULL;
    int status = gw_scratch_create(&folder);
    if (!status && asprintf(&file, "%s/" GW_BUNDLE_DATABASE, folder.path) < 0)
        status = -ENOMEM;
    status = status ? status : gw_export_sqlite(report->model, report->budget, file);
    if (status)
        gw_scratch_failed(status, error);
    status = status ? status : gw_archive_add_file(archive, GW_BUNDLE_DATABASE, file);
    gw_scratch_remove(&folder);
    free(file);
    return status;
}

/* *error is set where it is not the archive that cannot be written. */
static int write_bundle(const struct bundle *bundle, struct gw_error *error)
{
    struct gw_archive *archive = NULL;
    int status = gw_archive_create(bundle->chosen->output, &archive);
    status = status ? status : add_text(archive, "README.md", write_readme, bundle);
    status = status ? status : add_text(archive, "report.txt", write_plain, bundle);
    status = status ? status : add_text(archive, "report.json", write_json, bundle);
    status = status ? status : add_text(archive, "environment.json", write_environment, bundle);
    status = status ? status : add_plots(archive, bundle->report, error);
    if (!status && bundle->chosen->with_trace)
        status = gw_archive_add_tree(archive, GW_BUNDLE_RUN, bundle->chosen->run);
    if (!status && bundle->has_database)
        status = add_database(archive, bundle->report, error);
    if (!status && bundle->recording)
        status = gw_bundle_add_recording(archive, bundle->recording, &bundle->choice.cut, bundle->redactor, error);
    return gw_archive_finish(archive, status);
}

static void print_redactions(const struct gw_redactor *redactor)
{
    for (size_t i = 0; i < redactor->list_count; i++)
        printf("%-10s  %s\n", redactor->list[i].placeholder, redactor->list[i].secret);
    for (size_t i = 0; i < redactor->hashed_count; i++)
        printf("%s  %s\n", redactor->hashed[i].placeholder, redactor->hashed[i].secret);
}

/* Reads the recording once more and chooses what of it goes along. Returns 0 or a negative errno after complaining. */
static int open_recording(const char *command, struct bundle *bundle)
{
    const struct bundle_options *chosen = bundle->chosen;
    const uint64_t max_bytes = chosen->max_bytes ? chosen->max_bytes : DEFAULT_MAX_BYTES;
    struct gw_error error = {""};
    int status = gw_bundle_recording_open(chosen->run, &bundle->recording, &error);
    if (status == -ENOTSUP && chosen->last_step == UINT32_MAX && !chosen->max_bytes) {
        bundle->has_database = true;
        return 0;
    }
    if (status) {
        gw_complain(command, "%s", error.text);
        return status;
    }
    status = gw_bundle_choose(bundle->recording, bundle->report->model, chosen->first_step, chosen->last_step,
                              max_bytes, &bundle->choice);
    if (status == -ERANGE)
        gw_complain(command, "%s has no steps %" PRIu32 "..%" PRIu32 "; see gpuwitness report", chosen->run,
                    chosen->first_step, chosen->last_step);
    else if (status)
        gw_complain(command, "%s: no memory to cut its recording", chosen->run);
    return status;
}

/* What a person has to know of the file that was written. */
static void say_what_is_special(const char *command, const struct bundle *bundle)
{
    const struct gw_bundle_choice *choice = &bundle->choice;
    const char *output = bundle->chosen->output;
    char size[32];
    gw_format_size(bundle->chosen->max_bytes ? bundle->chosen->max_bytes : DEFAULT_MAX_BYTES, size);
    if (bundle->chosen->with_trace)
        gw_complain(
            command,
            "%s holds the run as it was recorded, with command lines, host name, paths and variables: leave out "
            "--with-trace before you publish it",
            output);
    else if (bundle->recording && choice->too_large)
        gw_complain(command,
                    "%s: the recording in it is larger than %s, the least that can be kept; leave it out with "
                    "--no-trace",
                    output, size);
    else if (bundle->recording && !choice->whole && bundle->chosen->last_step == UINT32_MAX && choice->has_steps)
        gw_complain(command,
                    "%s: of the recording it holds steps %" PRIu32 "..%" PRIu32 ", for it is larger than %s; "
                    "see --max-size",
                    output, choice->first_step, choice->last_step, size);
    else if (bundle->recording && !choice->whole && !choice->has_steps)
        gw_complain(command, "%s: of the recording it holds a part, for it is larger than %s; see --max-size", output,
                    size);
}

static int pack(const char *command, const struct bundle_options *chosen, struct gw_model *model)
{
    struct gw_redactor redactor = {.hash_names = chosen->hash_names};
    struct gw_budget *budget = NULL;
    struct gw_verdicts *verdicts = NULL;
    struct bundle bundle = {.chosen = chosen, .redactor = &redactor};
    struct gw_error error = {""};
    int exit_status = GW_EXIT_FAILURE;
    int status = gw_redact_model(model, &redactor);
    status = status ? status : gw_budget_create(model, &budget);
    status = status ? status : gw_verdicts_create(model, budget, &verdicts);
    if (status) {
        gw_complain(command, "%s: no memory for its report", chosen->run);
        goto end;
    }
    const struct gw_report report = {model, budget, verdicts};
    bundle.report = &report;
    if (chosen->output && !chosen->no_trace && !chosen->with_trace) {
        bundle.has_database = gw_is_import(chosen->run);
        if (bundle.has_database && model->clocks_count > 1) {
            gw_complain(command,
                        "%s: traces of several ranks do not fit into one database: give --with-trace to put the files "
                        "in as they are, or --no-trace",
                        chosen->run);
            goto end;
        }
        if (!bundle.has_database && open_recording(command, &bundle) != 0)
            goto end;
    }
    status = chosen->output ? write_bundle(&bundle, &error) : 0;
    if (status) {
        gw_complain(command, error.text[0] ? "%s is not made: %s" : "%s cannot be written: %s", chosen->output,
                    error.text[0] ? error.text : strerror(-status));
        goto end;
    }
    if (chosen->show_redactions)
        print_redactions(&redactor);
    if (chosen->output)
        say_what_is_special(command, &bundle);
    exit_status = gw_end_output(command);
end:
    gw_bundle_recording_close(bundle.recording);
    gw_verdicts_destroy(verdicts);
    gw_budget_destroy(budget);
    gw_redactor_release(&redactor);
    return exit_status;
}

int gw_verb_bundle(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "RUN", help_text, gw_step_options, NULL, NULL};
    struct bundle_options chosen = {.last_step = UINT32_MAX};
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    if (gw_is_bundle(chosen.run)) {
        gw_complain(argv[0], "%s is a bundle already", chosen.run);
        return GW_EXIT_FAILURE;
    }
    if (gw_is_import(chosen.run) && (chosen.last_step != UINT32_MAX || chosen.max_bytes)) {
        gw_complain(argv[0], "%s is no recording of which a part can be taken; leave out --steps and --max-size",
                    chosen.run);
        return GW_EXIT_FAILURE;
    }
    struct gw_model *model = gw_load_model(argv[0], chosen.run, &chosen.model);
    if (!model)
        return GW_EXIT_FAILURE;
    int exit_status = pack(argv[0], &chosen, model);
    gw_model_destroy(model);
    return exit_status;
}
