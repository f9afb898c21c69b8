/*
 * Communication as plots show it: exchanges with what they achieved, and how much of each device's communication is
 * not hidden behind computing.
 */
#ifndef GW_PLOTS_COMM_DATA_H
#define GW_PLOTS_COMM_DATA_H

#include "plots/plots.h"

/* All ranks of one collective, or of several that one kernel carries out together. */
struct gw_exchange {
    double bus_bytes;     /* that cross the busiest link, as nccl-tests count */
    uint64_t size_bytes;  /* of the vectors */
    uint64_t transfer_ns; /* from the arrival of the last rank to the end, the longest of the ranks */
    uint64_t begin_ns;    /* of the transfer */
    uint32_t calls;       /* collectives in it, of one rank */
    uint32_t ranks;
    uint8_t kind; /* enum gw_comm_kind, GW_EXCHANGE_MIXED: of several kinds */
};

#define GW_EXCHANGE_MIXED 0xffu

/* Means over the analysed steps of a device. */
struct gw_comm_share {
    uint32_t device;
    double step_ns;
    double all_ns;                           /* some communication ran */
    double wait_ns, transfer_ns, unsplit_ns; /* and nothing computed: waiting for a rank, transferring, not known */
};

struct gw_comm_data {
    struct gw_exchange *exchanges; /* with known times on all ranks */
    size_t exchanges_count;
    size_t unmatched;             /* collectives without: ranks are missing, or nothing was timed */
    struct gw_comm_share *shares; /* devices that communicate in analysed steps, in order */
    size_t shares_count;
    /* What the run's best exchanges show: a latency and, beyond it, a rate in bytes per ns; 0 without exchanges. */
    double latency_ns, best_rate;
};

/* Bus bandwidth of an exchange in bytes per ns. */
double gw_exchange_rate(const struct gw_exchange *exchange);

/* The rate that latency and best rate allow for this many bus_bytes. */
double gw_comm_expected_rate(const struct gw_comm_data *data, double bus_bytes);

/* Fills *data; release it with gw_comm_data_clear in any case. Returns 0 or -ENOMEM. */
int gw_comm_data_create(const struct gw_plot_source *source, struct gw_comm_data *data);
void gw_comm_data_clear(struct gw_comm_data *data);

#endif
