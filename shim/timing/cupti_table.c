// Correlation ids and calls: shards of a ring with a hash index, each under a lock that is held for a few instructions.
#include <pthread.h>

#include "shim/api/codes.h"
#include "shim/timing/cupti.h"

#define SHARDS 16u
#define SHARD_ENTRIES (GW_CUPTI_ENTRIES / SHARDS)

_Static_assert(SHARD_ENTRIES < UINT16_MAX, "an index + 1 fits its field");

static struct shard {
    pthread_mutex_t lock;
    uint32_t next;
    uint16_t buckets[SHARD_ENTRIES];
    struct gw_cupti_entry entries[SHARD_ENTRIES];
} shards[SHARDS] = {[0 ... SHARDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static struct shard *shard_of(uint32_t correlation)
{
    return &shards[correlation % SHARDS];
}

static uint16_t *bucket_of(struct shard *shard, uint32_t correlation)
{
    return &shard->buckets[correlation / SHARDS % SHARD_ENTRIES];
}

static void unlink_entry(struct shard *shard, uint16_t index)
{
    uint16_t *at = bucket_of(shard, shard->entries[index - 1].correlation);

    while (*at && *at != index)
        at = &shard->entries[*at - 1].next;
    if (*at)
        *at = shard->entries[index - 1].next;
}

bool gw_cupti_enter(const struct gw_cupti_entry *entry)
{
    struct shard *shard = shard_of(entry->correlation);
    uint16_t *bucket = bucket_of(shard, entry->correlation);

    pthread_mutex_lock(&shard->lock);
    uint16_t index = (uint16_t)(shard->next + 1);
    struct gw_cupti_entry *place = &shard->entries[shard->next];
    bool kept = !place->used || place->seen;

    if (place->used)
        unlink_entry(shard, index);
    *place = *entry;
    place->used = true;
    place->seen = false;
    place->next = *bucket;
    *bucket = index;
    shard->next = (shard->next + 1) % SHARD_ENTRIES;
    pthread_mutex_unlock(&shard->lock);
    return kept;
}

// Called with the lock held: the entry of that id that the next record of `kind` is of. Calls within one runtime call
// may share the id; their records come in order of their starts.
static struct gw_cupti_entry *choose(struct shard *shard, uint32_t correlation, uint8_t kind)
{
    struct gw_cupti_entry *newest = NULL, *oldest_unseen = NULL;

    for (uint16_t at = *bucket_of(shard, correlation); at; at = shard->entries[at - 1].next) {
        struct gw_cupti_entry *entry = &shard->entries[at - 1];
        uint8_t own = GW_WHERE_KIND(entry->where);

        if (entry->correlation != correlation || (own != kind && own != GW_GPU_OP_GRAPH))
            continue;
        newest = newest ? newest : entry;
        oldest_unseen = entry->seen ? oldest_unseen : entry;
    }
    return oldest_unseen ? oldest_unseen : newest;
}

bool gw_cupti_find(uint32_t correlation, uint8_t kind, struct gw_cupti_entry *ret_entry)
{
    struct shard *shard = shard_of(correlation);

    pthread_mutex_lock(&shard->lock);
    struct gw_cupti_entry *entry = choose(shard, correlation, kind);
    if (entry) {
        *ret_entry = *entry;
        entry->seen = true;
    }
    pthread_mutex_unlock(&shard->lock);
    return entry != NULL;
}

bool gw_cupti_forget(uint32_t correlation)
{
    struct shard *shard = shard_of(correlation);
    bool unseen = false;

    pthread_mutex_lock(&shard->lock);
    for (uint16_t at = *bucket_of(shard, correlation); at; at = shard->entries[at - 1].next)
        if (shard->entries[at - 1].correlation == correlation) {
            unseen = !shard->entries[at - 1].seen;
            shard->entries[at - 1].seen = true;
            break;
        }
    pthread_mutex_unlock(&shard->lock);
    return unseen;
}
