/* Sorting by a 64-bit key in linear time. */
#ifndef GW_ANALYZER_MODEL_RADIX_H
#define GW_ANALYZER_MODEL_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct gw_sort_item {
    uint64_t key;
    uint32_t value, extra;
};

/* Sorts by key, stably. Uses as much memory again while it runs. Returns 0 or -ENOMEM. */
int gw_radix_sort(struct gw_sort_item *items, size_t count);

#endif
