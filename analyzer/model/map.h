/* A hash map from a pair of numbers to an index. Keys that follow each other lie near each other, so that looking up
 * call ids in nearly their own order stays in the cache. Nothing is ever removed. */
#ifndef GW_ANALYZER_MODEL_MAP_H
#define GW_ANALYZER_MODEL_MAP_H

#include <stddef.h>
#include <stdint.h>

struct gw_map_entry {
    uint64_t a, b;
    uint32_t value;
};

struct gw_map {
    struct gw_map_entry *entries;
    uint32_t *slots; /* entry number + 1, 0: free */
    size_t count, capacity, slot_count;
};

/* Value slot of the key, or NULL when it is not there. Valid until the next insertion. */
uint32_t *gw_map_find(const struct gw_map *map, uint64_t a, uint64_t b);

/* Adds a key that is not there. Returns 0, -ENOMEM, or -EFBIG beyond 2^31 keys. */
int gw_map_insert(struct gw_map *map, uint64_t a, uint64_t b, uint32_t value);

/* Makes room for keys up to this count, so that no more memory is taken than they need. Returns 0, -ENOMEM or -EFBIG.
 */
int gw_map_reserve(struct gw_map *map, size_t count);

void gw_map_clear(struct gw_map *map);

#endif
