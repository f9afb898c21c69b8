#include "analyzer/session/job.h"

#include <stdio.h>
#include <stdlib.h>

struct launcher {
    const char *name, *rank, *size;
    const char *id[2]; /* variables that tell one job from another; either may be unset */
};

static const struct launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"pmi", "PMI_RANK", "PMI_SIZE", {"PMI_JOBID", "PMI_ID_JOB"}},
};

static bool number(const char *variable, unsigned *ret_value)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || *text == '\0')
        return false;
    unsigned long value = strtoul(text, &end, 10);
    if (*end != '\0' || value > 0xffffffu)
        return false;
    *ret_value = (unsigned)value;
    return true;
}

static const char *text_or_none(const char *variable)
{
    const char *text = getenv(variable);
    return text != NULL ? text : "";
}

bool gw_job_find(struct gw_job *ret_job)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const struct launcher *launcher = &launchers[i];
        unsigned rank, size;
        if (!number(launcher->rank, &rank) || !number(launcher->size, &size) || size < 2)
            continue;
        ret_job->rank = rank;
        ret_job->size = size;
        snprintf(ret_job->id, sizeof(ret_job->id), "%s %.80s %.80s", launcher->name, text_or_none(launcher->id[0]),
                 text_or_none(launcher->id[1]));
        return true;
    }
    return false;
}
