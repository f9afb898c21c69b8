/*
 * Names of kernels side by side: folded ones, and where two would read alike, those with their templates' arguments.
 */
#ifndef GW_PLOTS_KERNEL_NAMES_H
#define GW_PLOTS_KERNEL_NAMES_H

#include "analyzer/model/model.h"

/* Stores in ret_labels[i] what to call the kernel names[i] (an index into the model's names; beyond them: unnamed). The
 * caller frees each. Returns 0, or -ENOMEM with all of them NULL. */
int gw_kernel_labels(const struct gw_model *model, const uint32_t *names, size_t count, char **ret_labels);

#endif
