#include "analyzer/model/map.h"

#include <errno.h>
#include <stdlib.h>

#define ENTRIES_MAX ((size_t)1 << 31)
/* 64 neighbouring keys share a run of slots; the step is odd, so a probe visits every slot of a power of two. */
#define RUN_BITS 6
#define PROBE_STEP 65u

static size_t first_slot(const struct gw_map *map, uint64_t a, uint64_t b)
{
    uint64_t hash = ((a >> RUN_BITS) ^ b * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 32;
    /* Handles are addresses whose lowest bits are all 0: the run begins at another of its slots for each. */
    return (size_t)(hash << RUN_BITS | ((a + (hash >> (64 - RUN_BITS))) & ((1u << RUN_BITS) - 1))) &
           (map->slot_count - 1);
}

uint32_t *gw_map_find(const struct gw_map *map, uint64_t a, uint64_t b)
{
    if (!map->slot_count) {
        return NULL;
    }
    for (size_t slot = first_slot(map, a, b); map->slots[slot]; slot = (slot + PROBE_STEP) & (map->slot_count - 1)) {
        struct gw_map_entry *entry = &map->entries[map->slots[slot] - 1];
        if (entry->a == a && entry->b == b) {
            return &entry->value;
        }
    }
    return NULL;
}

static void place(struct gw_map *map, size_t number)
{
    const struct gw_map_entry *entry = &map->entries[number];
    size_t slot = first_slot(map, entry->a, entry->b);
    while (map->slots[slot]) {
        slot = (slot + PROBE_STEP) & (map->slot_count - 1);
    }
    map->slots[slot] = (uint32_t)number + 1;
}

/* Capacity entries, and a power of two of slots that leaves at least a third of them free. */
static int resize(struct gw_map *map, size_t capacity)
{
    size_t slot_count = 256;
    if (capacity > ENTRIES_MAX) {
        return -EFBIG;
    }
    while (slot_count < capacity + capacity / 2) {
        slot_count *= 2;
    }
    struct gw_map_entry *entries = realloc(map->entries, capacity * sizeof(*entries));
    if (!entries) {
        return -ENOMEM;
    }
    map->entries = entries;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));
    if (!slots) {
        return -ENOMEM;
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    map->capacity = capacity;
    for (size_t i = 0; i < map->count; i++) {
        place(map, i);
    }
    return 0;
}

int gw_map_reserve(struct gw_map *map, size_t count)
{
    return count > map->capacity ? resize(map, count) : 0;
}

int gw_map_insert(struct gw_map *map, uint64_t a, uint64_t b, uint32_t value)
{
    if (map->count == map->capacity) {
        int status = resize(map, map->capacity ? map->capacity * 2 : 128);
        if (status) {
            return status;
        }
    }
    map->entries[map->count] = (struct gw_map_entry){.a = a, .b = b, .value = value};
    place(map, map->count++);
    return 0;
}

void gw_map_clear(struct gw_map *map)
{
    free(map->entries);
    free(map->slots);
    *map = (struct gw_map){0};
}
