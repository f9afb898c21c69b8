/*
 * What a report says of communication: the clocks of the hosts, NCCL, and each kind of collective.
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_COMM_H
#define GW_ANALYZER_EXPORT_REPORT_COMM_H

#include <jansson.h>

#include "analyzer/export/report_words.h"
#include "analyzer/model/model.h"

/* One kind of collective or message of one communicator, over all its ranks and the whole run. */
struct gw_comm_facts {
    uint64_t communicator; /* its id */
    uint32_t ranks;
    uint32_t kind;                 /* enum gw_comm_kind */
    uint32_t count, timed;         /* exchanges, counted on each rank; those of which arrivals are known */
    double size_bytes;             /* median */
    double algbw_gbps, busbw_gbps; /* median, as nccl-tests count; 0: not known, or never alone */
    double wait_ns, transfer_ns;   /* mean of the timed ones */
};

/* The sections of the text; nothing without communication. Returns 0 or -ENOMEM. */
int gw_report_comm_text(const struct gw_model *model, const struct gw_page *page);

/* The values of "clocks" and "communication". NULL: no memory. */
json_t *gw_clocks_json(const struct gw_model *model);
json_t *gw_communication_json(const struct gw_model *model);

#endif
