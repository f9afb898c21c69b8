#include "plots/kernel_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int gw_kernel_labels(const struct gw_model *model, const uint32_t *names, size_t count, char **ret_labels)
{
    bool *alike = calloc(count + 1, sizeof(*alike));
    bool complete = alike != NULL;

    memset(ret_labels, 0, count * sizeof(*ret_labels));
    for (size_t i = 0; i < count && complete; i++) {
        ret_labels[i] =
            names[i] < model->names_count ? gw_kernel_name_short(model->names[names[i]]) : strdup("unnamed kernel");
        complete = ret_labels[i] != NULL;
        for (size_t k = 0; k < i && complete; k++)
            if (!strcmp(ret_labels[k], ret_labels[i]))
                alike[i] = alike[k] = true;
    }
    for (size_t i = 0; i < count && complete; i++) {
        if (!alike[i] || names[i] >= model->names_count)
            continue;
        free(ret_labels[i]);
        ret_labels[i] = gw_kernel_name_variant(model->names[names[i]]);
        complete = ret_labels[i] != NULL;
    }
    for (size_t i = 0; i < count && !complete; i++) {
        free(ret_labels[i]);
        ret_labels[i] = NULL;
    }
    free(alike);
    return complete ? 0 : -ENOMEM;
}
