#include "analyzer/cli/load.h"

#include "analyzer/cli/cli.h"
#include "analyzer/cli/progress.h"

struct gw_model *gw_load_model(const char *command, const char *run, const char *step_regex, uint32_t step_every)
{
    struct gw_cli_progress progress;
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    struct gw_model_options options = {
        .progress = gw_cli_progress_begin(&progress, command), .step_regex = step_regex, .step_every = step_every};
    int status = gw_model_build(run, &options, &model, &error);
    gw_cli_progress_end(&progress);
    if (status != 0) {
        gw_complain(command, "%s", error.text);
        return NULL;
    }
    return model;
}

error_t gw_take_step_every(const struct argp_state *state, const char *text, uint32_t *ret_every)
{
    uint64_t number = 0;
    if (gw_parse_size(text, &number) != 0 || number == 0 || number > UINT32_MAX)
        return gw_usage_error(state, "--step-every needs a number from 1 on, not '%s'", text);
    *ret_every = (uint32_t)number;
    return 0;
}
