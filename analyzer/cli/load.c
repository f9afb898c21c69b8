#include "analyzer/cli/load.h"

#include "analyzer/cli/cli.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/unpack.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct gw_model *gw_load_model(const char *command, const char *run, const char *step_regex, uint32_t step_every)
{
    return gw_load_model_as(command, run,
                            &(struct gw_model_options){.step_regex = step_regex, .step_every = step_every});
}

struct gw_model *gw_load_model_as(const char *command, const char *run, const struct gw_model_options *options)
{
    struct gw_cli_progress progress;
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    struct gw_model_options all = *options;
    all.progress = gw_cli_progress_begin(&progress, command);
    struct gw_unpacked unpacked = {0};
    int status = gw_is_bundle(run) ? gw_unpack(run, &unpacked, &error) : 0;
    status = status ? status : gw_model_build(unpacked.run ? unpacked.run : run, &all, &model, &error);
    if (!status && unpacked.run) {
        free(model->run.path);
        model->run.path = strdup(run);
    }
    gw_unpacked_release(&unpacked);
    gw_cli_progress_end(&progress);
    if (status != 0) {
        gw_complain(command, "%s", error.text);
        return NULL;
    }
    return model;
}

error_t gw_take_rank_size(const struct argp_state *state, const char *text, uint64_t *ret_bytes)
{
    if (gw_parse_size(text, ret_bytes) != 0 || *ret_bytes == 0)
        return gw_usage_error(state, "--rank-size needs a size above 0, such as 64M, not '%s'", text);
    return 0;
}

error_t gw_take_step_every(const struct argp_state *state, const char *text, uint32_t *ret_every)
{
    uint64_t number = 0;
    if (gw_parse_size(text, &number) != 0 || number == 0 || number > UINT32_MAX)
        return gw_usage_error(state, "--step-every needs a number from 1 on, not '%s'", text);
    *ret_every = (uint32_t)number;
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
