/*
 * Memory over time as the program's own calls allocate and release it. What the driver takes for contexts, modules and
 * the reserve of its pools has no call and is not in it.
 */
#ifndef GW_PLOTS_MEMORY_DATA_H
#define GW_PLOTS_MEMORY_DATA_H

#include "plots/plots.h"

enum gw_memory_group {
    GW_MEMORY_GROUP_DEVICE = 0, /* cudaMalloc and its kin */
    GW_MEMORY_GROUP_POOL,       /* stream-ordered */
    GW_MEMORY_GROUP_MANAGED,
    GW_MEMORY_GROUP_PHYSICAL, /* cuMemCreate, to be mapped */
    GW_MEMORY_GROUP_HOST,     /* page-locked: not on a device */
    GW_MEMORY_GROUP_COUNT
};

#define GW_MEMORY_BINS 24u /* of sizes: powers of four from 1 B; the last holds all above */

/* Allocated or released (bytes below 0). An allocation counts from the end of its call, a release from its begin. */
struct gw_memory_change {
    uint64_t t_ns;
    int64_t bytes;
    uint32_t process;
    uint8_t group; /* enum gw_memory_group */
};

struct gw_memory_sum {
    uint64_t allocations, releases, call_ns; /* call_ns: host time in both */
    uint64_t bytes;                          /* allocated, one after the other */
    uint64_t most_bytes;                     /* at once in one process */
    uint64_t by_size[GW_MEMORY_BINS];        /* allocations */
};

struct gw_memory_process {
    uint32_t process;
    size_t change_first, change_count;
    uint64_t most_bytes, left_bytes; /* on devices: at once, and at the end */
};

struct gw_memory_data {
    struct gw_memory_change *changes; /* by process, then time */
    size_t changes_count;
    struct gw_memory_process *processes; /* those that allocate, in order */
    uint32_t processes_count;
    struct gw_memory_sum sums[GW_MEMORY_GROUP_COUNT];
    uint64_t failed, unmatched, unsized; /* allocations that failed; releases of what was not seen; arrays */
};

/* A few words for a group, for legends; static. */
const char *gw_memory_group_words(enum gw_memory_group group);

/* The bin of a size. */
uint32_t gw_memory_bin(uint64_t size_bytes);

/* Fills *data; release it with gw_memory_data_clear in any case. Returns 0, -ENOMEM, or -EFBIG beyond 2^31 pointers. */
int gw_memory_data_create(const struct gw_model *model, struct gw_memory_data *data);
void gw_memory_data_clear(struct gw_memory_data *data);

#endif
