/*
 * Steps by the batches that a program uploads: which of them are training steps, which micro-steps, which are only
 * evaluated. Internal to analyzer/model.
 */
#ifndef GW_ANALYZER_MODEL_BATCHES_H
#define GW_ANALYZER_MODEL_BATCHES_H

#include "analyzer/model/sequence.h"

/* Divides the sequence where uploads begin and asks what each batch runs. Kernels that update parameters, where names
 * tell them, end a step, and batches before that run as much else are its micro-steps; without such names the batches
 * that run the most kinds of kernels do. Batches that run a smaller part of them, or others, are evaluation and belong
 * to no step. Stores ret_found->found = false, with nothing to free, where uploads do not divide the sequence so: there
 * are none, they lie within steps, or batches have too little in common; else whether names told. Returns 0 or
 * -ENOMEM. */
int gw_batches_find(const struct gw_sequence *sequence, struct gw_found_steps *ret_found, bool *ret_by_updates);

#endif
