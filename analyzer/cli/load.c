#include "analyzer/cli/load.h"

#include "analyzer/cli/cli.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/unpack.h"

#include <stdlib.h>
#include <string.h>

struct gw_model *gw_load_model(const char *command, const char *run, const struct gw_model_options *options)
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
