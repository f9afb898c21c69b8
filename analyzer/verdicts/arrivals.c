#include "analyzer/verdicts/arrivals.h"

#include <errno.h>
#include <stdlib.h>

int gw_arrivals_create(const struct gw_model *model, uint64_t **ret_arrived_ns)
{
    uint64_t *arrived_ns = NULL;
    if (model->collectives_count) {
        arrived_ns = calloc(model->ops_count + 1, sizeof *arrived_ns);
        if (!arrived_ns)
            return -ENOMEM;
        for (size_t i = 0; i < model->collectives_count; i++) {
            const struct gw_collective *collective = &model->collectives[i];
            if (collective->op == GW_NONE)
                continue;
            uint64_t *latest = &arrived_ns[collective->op];
            if (collective->match == GW_NONE || collective->arrival_wait_ns == GW_TIME_UNKNOWN)
                *latest = GW_TIME_UNKNOWN; /* later than any */
            else if (*latest < model->ops[collective->op].start_ns + collective->arrival_wait_ns)
                *latest = model->ops[collective->op].start_ns + collective->arrival_wait_ns;
        }
        for (size_t i = 0; i < model->ops_count; i++)
            arrived_ns[i] = arrived_ns[i] ? arrived_ns[i] : GW_TIME_UNKNOWN;
    }
    *ret_arrived_ns = arrived_ns;
    return 0;
}
