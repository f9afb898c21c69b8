/* Which job a rank belongs to, from the variables its launcher set. */
#ifndef GW_SESSION_JOB_H
#define GW_SESSION_JOB_H

#include <stdbool.h>

struct gw_job {
    char id[192]; /* launcher and its number of the job: the same on every rank, different for another run */
    unsigned rank;
    unsigned size; /* ranks of the job, at least 2 */
};

/*
 * Reads this process's environment. Returns true and fills *ret_job when it is one rank of several (torchrun, mpirun of
 * Open MPI or MPICH, srun), false otherwise.
 */
bool gw_job_find(struct gw_job *ret_job);

#endif
