#include "analyzer/cli/run_options.h"

#include "analyzer/cli/cli.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_STEP = 3000, KEY_STEP_EVERY, KEY_JSON, KEY_MD, KEY_LINK, KEY_RANK_SIZE }; /* apart from those of the verbs */

static const struct argp_option step_options[] = {
    {"step", KEY_STEP, "REGEX", 0,
     "An NVTX range, or else a kernel, whose name matches begins a step. Default: steps are found by themselves.", 0},
    {"step-every", KEY_STEP_EVERY, "N", 0, "With --step: only every N-th match begins one.", 0},
    {0},
};

static const struct argp_option report_options[] = {
    {"json", KEY_JSON, 0, 0, "Write the report as JSON (schema gpuwitness.report/1).", 0},
    {"md", KEY_MD, 0, 0, "Write the report as Markdown, for a bug report.", 0},
    {"verbose", 'v', 0, 0, "As text: all evidence, every class, and why each suspect was ruled out.", 0},
    {"link-gbps", KEY_LINK, "GBPS", 0,
     "Bus bandwidth in GB/s that the links between the GPUs should give, as nccl-tests count it; for comm-slow-link.",
     0},
    {"rank-size", KEY_RANK_SIZE, "SIZE", 0,
     "Of each of several ranks, read no more than SIZE bytes of records (K, M, G allowed), in whole steps. Default: "
     "8G, shared by all ranks.",
     0},
    {0},
};

static error_t take_step_every(const struct argp_state *state, const char *text, uint32_t *ret_every)
{
    uint64_t number = 0;
    if (gw_parse_size(text, &number) != 0 || number == 0 || number > UINT32_MAX)
        return gw_usage_error(state, "--step-every needs a number from 1 on, not '%s'", text);
    *ret_every = (uint32_t)number;
    return 0;
}

static error_t take_step_option(int key, char *value, struct argp_state *state)
{
    struct gw_model_options *result = state->input;
    switch (key) {
    case KEY_STEP:
        return gw_take_step(state, value, &result->step_regex);
    case KEY_STEP_EVERY:
        return take_step_every(state, value, &result->step_every);
    case ARGP_KEY_END:
        return result->step_every && !result->step_regex ? gw_usage_error(state, "--step-every goes with --step") : 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t take_link(const struct argp_state *state, const char *value, double *ret_gbps)
{
    char *end;
    double gbps = strtod(value, &end);
    if (end == value || *end != '\0' || !(gbps > 0) || !(gbps < 1e6))
        return gw_usage_error(state, "--link-gbps wants a rate in GB/s, such as 150, not '%s'", value);
    *ret_gbps = gbps;
    return 0;
}

static error_t take_report_option(int key, char *value, struct argp_state *state)
{
    struct gw_report_choice *result = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &result->model;
        result->model.merges_parts = true; /* what a report tells of is outermost calls */
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
    case KEY_LINK:
        return take_link(state, value, &result->model.link_gbps);
    case KEY_RANK_SIZE:
        return gw_take_rank_size(state, value, &result->model.rank_bytes);
    case ARGP_KEY_END:
        return result->form.json && result->form.markdown ? gw_usage_error(state, "--json and --md exclude each other")
                                                          : 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp step_parser = {step_options, take_step_option, NULL, NULL, NULL, NULL, NULL};
const struct argp_child gw_step_options[] = {{&step_parser, 0, NULL, 0}, {0}};

static const struct argp report_parser = {report_options, take_report_option, NULL, NULL, gw_step_options, NULL, NULL};
const struct argp_child gw_report_options[] = {{&report_parser, 0, NULL, 0}, {0}};

error_t gw_take_step(const struct argp_state *state, const char *text, const char **ret_regex)
{
    regex_t compiled;
    char reason[128];
    if (*text == '\0')
        return gw_usage_error(state, "--step needs a regular expression that is not empty");
    int code = regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB);
    if (code != 0) {
        regerror(code, &compiled, reason, sizeof(reason));
        return gw_usage_error(state, "--step: '%s' is not a regular expression: %s", text, reason);
    }
    regfree(&compiled);
    *ret_regex = text;
    return 0;
}

error_t gw_take_rank_size(const struct argp_state *state, const char *text, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    if (gw_parse_size(text, &bytes) != 0 || bytes == 0)
        return gw_usage_error(state, "--rank-size needs a size above 0, such as 64M, not '%s'", text);
    *ret_bytes = bytes;
    return 0;
}

error_t gw_take_steps(const struct argp_state *state, const char *text, uint32_t *ret_first, uint32_t *ret_last)
{
    char *dots = NULL, *end = NULL;
    unsigned long long first = strtoull(text, &dots, 10), last = 0;
    if (isdigit((unsigned char)*text) && strncmp(dots, "..", 2) == 0 && isdigit((unsigned char)dots[2]))
        last = strtoull(dots + 2, &end, 10);
    if (!end || *end || first > last || last >= UINT32_MAX)
        return gw_usage_error(state, "--steps needs FROM..TO with whole numbers that rise, not '%s'", text);
    *ret_first = (uint32_t)first;
    *ret_last = (uint32_t)last;
    return 0;
}

error_t gw_take_per(const struct argp_state *state, char *text, const char **ret_unit, double ret_per[2])
{
    char *numbers = strchr(text, '='), *end = NULL;
    const char *unit = "sample";
    double first, second;
    if (numbers) {
        *numbers++ = '\0';
        unit = text;
    } else {
        numbers = text;
    }
    first = second = strtod(numbers, &end);
    if (end != numbers && *end == ',') {
        numbers = end + 1;
        second = strtod(numbers, &end);
    }
    if (end == numbers || *end || !(first > 0 && first < 1e15) || !(second > 0 && second < 1e15) || *unit == '\0')
        return gw_usage_error(state, "--per needs [UNIT=]N[,M] with numbers above 0, such as sample=32,64");
    *ret_unit = unit;
    ret_per[0] = first;
    ret_per[1] = second;
    return 0;
}
