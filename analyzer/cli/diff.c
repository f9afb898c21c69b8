/* gpuwitness diff: why one run's steps take longer than another's. */
#include "analyzer/diff/diff.h"
#include "analyzer/cli/cli.h"
#include "analyzer/cli/fail_on.h"
#include "analyzer/cli/load.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/model/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_FAILED_ON 3

enum { KEY_JSON = 1000, KEY_MD, KEY_PER, KEY_FAIL_ON };

struct diff_options {
    const char *runs[2];
    const char *unit;
    double per[2];
    struct gw_fail_on fail_on; /* on "step", "scaling" or a class */
    struct gw_model_options model;
    bool json, markdown;
};

static const struct argp_option options[] = {
    {"json", KEY_JSON, 0, 0, "Write JSON (schema gpuwitness.diff/1).", 0},
    {"md", KEY_MD, 0, 0, "Write Markdown, for a bug report.", 0},
    {"per", KEY_PER, "[UNIT=]N[,M]", 0,
     "A step of A makes N units and one of B makes M (default: N too): compare the time of one unit, as in "
     "'sample=32,64'.",
     0},
    {"fail-on", KEY_FAIL_ON, "WHAT>LIMIT", 0,
     "End with status 3 when B's WHAT ('step', or a class of the budget) is longer than A's by more than LIMIT and by "
     "more than the noise, or, with 'scaling', when B loses that against perfect scaling; LIMIT in "
     "milliseconds, or with us, ms, s or % of A's step behind the number. May be given several times.",
     0},
    {0},
};

static const char help_text[] =
    "Compares the steps of two runs: what B loses and gains in each class of the budget, which kernels and which "
    "verdicts differ, and what is only noise.\v"
    "A and B may be recorded runs, PyTorch profiler traces or Nsight Systems exports, of different length, framework "
    "and number of GPUs. The differences of the classes sum to that of the steps.\n\n"
    "Exit status: 0, 1 when a run cannot be read or has no steps, 2 for a wrong command line, 3 when --fail-on "
    "holds.\n\n"
    "Examples:\n"
    "  gpuwitness diff pytorch-run jax-run\n"
    "  gpuwitness diff --fail-on 'step>5%' before after";

static error_t take_fail_on(const struct argp_state *state, char *value, struct diff_options *result)
{
    const char *names[GW_CLASS_COUNT + 2] = {"step", "scaling"};
    error_t error = gw_take_fail_on(state, value, &result->fail_on);
    if (error)
        return error;
    const char *what = result->fail_on.list[result->fail_on.count - 1].what;
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        names[c + 2] = gw_class_name((enum gw_class)c);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(what, names[i]) == 0)
            return 0;
    }
    const char *nearest = gw_nearest(what, names, sizeof(names) / sizeof(names[0]));
    return gw_usage_error(state, "--fail-on knows 'step', 'scaling' and the classes of the budget, not '%s'%s%s%s",
                          what, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct diff_options *result = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &result->model;
        return 0;
    case KEY_JSON:
        result->json = true;
        return 0;
    case KEY_MD:
        result->markdown = true;
        return 0;
    case KEY_PER:
        return gw_take_per(state, value, &result->unit, result->per);
    case KEY_FAIL_ON:
        return take_fail_on(state, value, result);
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            return gw_usage_error(state, "two runs are compared, no more");
        result->runs[state->arg_num] = value;
        return 0;
    case ARGP_KEY_END:
        if (result->runs[1] == NULL)
            return gw_usage_error(state, "two runs are needed: A and B");
        if (result->json && result->markdown)
            return gw_usage_error(state, "--json and --md exclude each other");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Reads one run and keeps its sums only. */
static int read_side(const char *command, const struct diff_options *chosen, int which, struct gw_diff_side **ret_side)
{
    struct gw_budget *budget = NULL;
    struct gw_verdicts *verdicts = NULL;
    struct gw_model *model = gw_load_model(command, chosen->runs[which], &chosen->model);
    if (!model)
        return -EIO;
    int status = gw_budget_create(model, &budget);
    status = status ? status : gw_verdicts_create(model, budget, &verdicts);
    status = status ? status : gw_diff_side_create(model, budget, verdicts, chosen->per[which], ret_side);
    if (status == -ENODATA)
        gw_complain(command,
                    "%s: no steps with GPU times were found, so there is nothing to compare; name a kernel that begins "
                    "a step with --step, or record with --gpu-timing=events",
                    chosen->runs[which]);
    else if (status != 0)
        gw_complain(command, "%s: no memory to compare it", chosen->runs[which]);
    gw_verdicts_destroy(verdicts);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
    return status;
}

static bool fails(const struct gw_fail_condition *condition, const char *unit, const struct gw_diff_side *a,
                  const struct gw_diff_side *b)
{
    const struct gw_diff_mean *left = &a->step, *right = &b->step;
    double limit_ms = condition->percent ? condition->limit / 100 * a->step.ms : condition->limit;
    struct gw_scaling scaling;
    if (strcmp(condition->what, "scaling") == 0)
        return gw_scaling_of(a, b, strcmp(unit, "step") != 0, &scaling) && scaling.loss.ms > limit_ms &&
               !scaling.loss.is_noise;
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        if (strcmp(condition->what, gw_class_name((enum gw_class)c)) == 0) {
            left = &a->classes[c];
            right = &b->classes[c];
        }
    }
    struct gw_diff_change change = gw_diff_change(left, right);
    return change.ms > limit_ms && !change.is_noise;
}

int gw_verb_diff(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "A B", help_text, gw_step_options, NULL, NULL};
    struct diff_options chosen = {.unit = "step", .per = {1, 1}};
    struct gw_diff_side *a = NULL, *b = NULL;
    int exit_status = GW_EXIT_FAILURE;
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    if (read_side(argv[0], &chosen, 0, &a) != 0 || read_side(argv[0], &chosen, 1, &b) != 0)
        goto end;
    int status = chosen.json ? gw_diff_json(a, b, chosen.unit, stdout)
                             : gw_diff_text(a, b, chosen.unit, chosen.markdown, stdout);
    if (status != 0) {
        gw_complain(argv[0], "the comparison cannot be written: %s", strerror(-status));
        goto end;
    }
    exit_status = GW_EXIT_OK;
    for (size_t i = 0; i < chosen.fail_on.count; i++) {
        if (fails(&chosen.fail_on.list[i], chosen.unit, a, b))
            exit_status = STATUS_FAILED_ON;
    }
end:
    gw_diff_side_destroy(a);
    gw_diff_side_destroy(b);
    return exit_status;
}
