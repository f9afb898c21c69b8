/* gpuwitness report: where each step's time goes, and what is to blame. */
#include "analyzer/export/report.h"
#include "analyzer/cli/cli.h"
#include "analyzer/cli/fail_on.h"
#include "analyzer/cli/load.h"
#include "analyzer/cli/mpi.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/model/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_FAILED_ON 3

enum { KEY_VERDICT = 1000, KEY_EXPLAIN, KEY_FAIL_ON, KEY_MPI };

struct report_options {
    const char *run, *explain;
    struct gw_fail_on fail_on;
    struct gw_report_choice report;
    bool mpi;
};

static const struct argp_option options[] = {
    {"verdict", KEY_VERDICT, "ID", 0, "Print only this verdict.", 0},
    {"explain", KEY_EXPLAIN, "ID", 0, "Say what a verdict is about, how it is judged and what mends it; needs no RUN.",
     0},
    {"fail-on", KEY_FAIL_ON, "ID>LIMIT", 0,
     "End with status 3 when verdict ID is confirmed with a saving above LIMIT: milliseconds a step, or with us, ms, s "
     "or % of the step behind the number; ID 'any' stands for each. May be given several times.",
     0},
    {"mpi", KEY_MPI, 0, 0,
     "One of several processes that mpirun or srun started to read RUN together: each reduces the ranks that lie where "
     "it runs, the first prints the report.",
     0},
    {0},
};

static const char help_text[] =
    "Prints where the time of each step of RUN goes, and confirms or rules out each suspect with its cost.\v"
    "Colours are used on a terminal that has them, unless NO_COLOR is set.\n\n"
    "Exit status: 0, 1 when the run cannot be read or the report not be written, 2 for a wrong command line, 3 when "
    "--fail-on holds.\n\n"
    "Examples:\n"
    "  gpuwitness report run\n"
    "  gpuwitness report --json run | jq '.verdicts[0]'\n"
    "  mpirun -n 64 gpuwitness report --mpi /shared/run\n"
    "  gpuwitness report --fail-on 'host-sync>0.5ms' run";

static bool is_verdict(const char *id)
{
    const char *suspect, *explanation, *fix;
    return gw_verdict_explain(id, &suspect, &explanation, &fix);
}

static error_t unknown_verdict(const struct argp_state *state, const char *id)
{
    const char *const *ids;
    size_t count = gw_verdict_ids(&ids);
    const char *nearest = gw_nearest(id, ids, count);
    if (nearest)
        return gw_usage_error(state, "there is no verdict '%s'; did you mean '%s'?", id, nearest);
    char *known = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&known, &size);
    for (size_t i = 0; i < count && list; i++)
        fprintf(list, "%s%s", i ? ", " : "", ids[i]);
    error_t error = list && fclose(list) == 0
                        ? gw_usage_error(state, "there is no verdict '%s'; there are %s", id, known)
                        : gw_usage_error(state, "there is no verdict '%s'", id);
    free(known);
    return error;
}

static error_t take_fail_on(const struct argp_state *state, char *value, struct report_options *result)
{
    error_t error = gw_take_fail_on(state, value, &result->fail_on);
    if (error)
        return error;
    const char *id = result->fail_on.list[result->fail_on.count - 1].what;
    return strcmp(id, "any") == 0 || is_verdict(id) ? 0 : unknown_verdict(state, id);
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct report_options *result = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &result->report;
        return 0;
    case KEY_MPI:
        result->mpi = true;
        return 0;
    case KEY_VERDICT:
        result->report.form.verdict = value;
        return is_verdict(value) ? 0 : unknown_verdict(state, value);
    case KEY_EXPLAIN:
        result->explain = value;
        return is_verdict(value) ? 0 : unknown_verdict(state, value);
    case KEY_FAIL_ON:
        return take_fail_on(state, value, result);
    case ARGP_KEY_ARG:
        if (result->run)
            return gw_usage_error(state, "only one run can be reported at a time");
        result->run = value;
        return 0;
    case ARGP_KEY_END:
        if (!result->run && !result->explain)
            return gw_usage_error(state, "the run to report is missing");
        if ((result->report.form.json || result->report.form.markdown) && result->report.form.verdict)
            return gw_usage_error(state, "--json and --md write all verdicts; they do not go with --verdict");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool fails(const struct gw_fail_on *fail_on, const struct gw_verdicts *verdicts)
{
    for (size_t i = 0; i < fail_on->count * verdicts->list_count; i++) {
        const struct gw_fail_condition *condition = &fail_on->list[i / verdicts->list_count];
        const struct gw_verdict *verdict = &verdicts->list[i % verdicts->list_count];
        double saving = condition->percent ? verdict->saving_percent : verdict->saving_ms;
        if (verdict->state == GW_CONFIRMED && saving > condition->limit &&
            (strcmp(condition->what, "any") == 0 || strcmp(condition->what, verdict->id) == 0))
            return true;
    }
    return false;
}

static int write_report(const char *command, const struct report_options *chosen, const struct gw_model *model)
{
    struct gw_judged judged = {NULL, NULL};
    int exit_status = GW_EXIT_FAILURE;
    if (gw_judge_run(command, model, &judged) == 0 &&
        gw_write_report(command, &chosen->report.form, model, &judged, stdout) == 0)
        exit_status = fails(&chosen->fail_on, judged.verdicts) ? STATUS_FAILED_ON : GW_EXIT_OK;
    gw_judged_release(&judged);
    return exit_status;
}

static int explain(const char *command, const char *id)
{
    const char *suspect = "", *explanation = "", *fix = "";
    gw_verdict_explain(id, &suspect, &explanation, &fix);
    if (gw_explain_text(id, suspect, explanation, fix, gw_page_width(stdout), stdout) < 0) {
        gw_complain(command, "the text cannot be written: %s", strerror(errno));
        return GW_EXIT_FAILURE;
    }
    return GW_EXIT_OK;
}

int gw_verb_report(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "RUN", help_text, gw_report_options, NULL, NULL};
    struct report_options chosen = {0};
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    if (chosen.explain)
        return explain(argv[0], chosen.explain);
    struct gw_model *model = NULL;
    if (chosen.mpi) {
        int exit_status = GW_EXIT_FAILURE;
        struct gw_mpi *mpi = NULL;
        if (gw_mpi_begin(argv[0], &mpi) == 0) {
            if (gw_mpi_load(mpi, chosen.run, &chosen.report.model, &model) == 0)
                exit_status = model ? write_report(argv[0], &chosen, model) : GW_EXIT_OK;
            exit_status = gw_mpi_end(mpi, exit_status);
        }
        gw_model_destroy(model);
        return exit_status;
    }
    model = gw_load_model(argv[0], chosen.run, &chosen.report.model);
    if (!model)
        return GW_EXIT_FAILURE;
    int exit_status = write_report(argv[0], &chosen, model);
    gw_model_destroy(model);
    return exit_status;
}
