/*
 * What the file exports share about collectives. Internal to analyzer/export.
 */
#ifndef GW_ANALYZER_EXPORT_EXCHANGES_H
#define GW_ANALYZER_EXPORT_EXCHANGES_H

#include "analyzer/model/model.h"

/* By operation: the collectives that it carries out, which are several when they were grouped. */
struct gw_exchanges {
    uint32_t *first; /* by index of the operation: into gw_model.collectives, or GW_NONE; NULL without collectives */
    uint32_t *count;
    uint64_t *arrived_ns; /* when all ranks had arrived in all of them; GW_TIME_UNKNOWN when that is not known */
    bool *mixed;          /* several of them, and not messages of one size: no time of one is known */
};

/* Returns 0 or -ENOMEM; release with gw_exchanges_release in both cases. */
int gw_exchanges_init(struct gw_exchanges *ret_exchanges, const struct gw_model *model);
void gw_exchanges_release(struct gw_exchanges *exchanges);

/* The first collective that an operation carries out, and how many they are; NULL for none. */
const struct gw_collective *gw_exchanges_of_op(const struct gw_exchanges *exchanges, const struct gw_model *model,
                                               uint32_t op, uint32_t *ret_count);

/* Algorithm and bus bandwidth of a collective in GB/s, as nccl-tests count them. Of messages of one size in a group it
 * is that of the slowest, from the last arrival in any of them to the end of all. Negative when the transfer was not
 * seen, or several at once hide it. */
double gw_exchange_gbps(const struct gw_exchanges *exchanges, const struct gw_model *model,
                        const struct gw_collective *collective);
double gw_exchange_bus_gbps(const struct gw_exchanges *exchanges, const struct gw_model *model,
                            const struct gw_collective *collective);

/* Elements that a rank gives and takes, and the type's name as PyTorch has it ("Float"). */
struct gw_exchange_elements {
    uint64_t in, out;
    const char *type;
};
struct gw_exchange_elements gw_exchange_elements(const struct gw_model *model, const struct gw_collective *collective);

#endif
