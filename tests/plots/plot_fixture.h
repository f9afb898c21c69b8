/*
 * Runs to draw: a training loop with everything a timeline shows, and the corner cases of every plot.
 */
#ifndef GW_TESTS_PLOTS_PLOT_FIXTURE_H
#define GW_TESTS_PLOTS_PLOT_FIXTURE_H

#include "analyzer/verdicts/verdicts.h"
#include "plots/plots.h"

struct plot_fixture {
    struct gw_model *model;
    struct gw_budget *budget;
    struct gw_diff_side *side, *against; /* NULL but of a pair */
    struct gw_plot_source source;
};

/* A training loop: pageable upload, forward and backward kernels on two streams, optimizer, a scalar read, thinking;
 * the first steps are warm-up. */
void plot_fixture_training(struct plot_fixture *fixture, unsigned int steps);

/* One step of count kernels of about a microsecond each. */
void plot_fixture_many(struct plot_fixture *fixture, unsigned int count);

/* A process that never called CUDA. */
void plot_fixture_empty(struct plot_fixture *fixture);

/* GPU timing was off: operations have no times; nothing repeats. */
void plot_fixture_untimed(struct plot_fixture *fixture);

/* More threads and streams than a picture holds, long names of several scripts and of bytes that are no text, no steps.
 */
void plot_fixture_crowded(struct plot_fixture *fixture);

/* Ranks, each a device of one process, that all-reduce in every step while they compute; rank 2 comes last to each. A
 * transfer takes the latency and its bytes on the bus at the rate. The first two steps are warm-up. */
#define PLOT_FIXTURE_LATENCY_NS 15000u
#define PLOT_FIXTURE_BYTES_PER_NS 90.0
void plot_fixture_ranks(struct plot_fixture *fixture, uint32_t ranks, uint32_t steps);

/* 256 MiB that stay; forty times 32 MiB from a pool and 1 to 5 MiB beside them that go again; 64 MiB on the host; the
 * release of something unseen. */
void plot_fixture_memory(struct plot_fixture *fixture);

/* The training loop, and against it the run of several ranks. */
void plot_fixture_pair(struct plot_fixture *fixture);

void plot_fixture_destroy(struct plot_fixture *fixture);

#endif
