/*
 * Reading a run of many ranks by many processes: `mpirun gpuwitness report --mpi RUN`.
 *
 * Each process says which recordings it finds at RUN, which may be a shared folder or one on each host; each recording
 * is read, cut and summed up (summary.h) by one process that finds it. The summaries go up a binomial tree to the first
 * process, which builds the model from them as from a run that it read alone.
 */
#ifndef GW_CLI_MPI_H
#define GW_CLI_MPI_H

#include "analyzer/model/build.h"

struct gw_mpi;

/* Joins the other processes. Returns 0, or a negative errno after complaining in the name of command. */
int gw_mpi_begin(const char *command, struct gw_mpi **ret_mpi);

/* Reads the run together. In the first process *ret_model is the model, which the caller destroys; in the others NULL.
 * Returns 0, or a negative errno after the first process has complained. */
int gw_mpi_load(struct gw_mpi *mpi, const char *run, const struct gw_model_options *options,
                struct gw_model **ret_model);

/* Leaves, with the first process's exit status for all: every process calls it with its own. Takes mpi. */
int gw_mpi_end(struct gw_mpi *mpi, int exit_status);

#endif
