/*
 * Growing arrays of this folder: one allocation, doubled when full.
 */
#ifndef GW_ANALYZER_VERDICTS_ARRAY_H
#define GW_ANALYZER_VERDICTS_ARRAY_H

#include <stdlib.h>

/* Items with room for more than count of them: the same while count < *room, else grown. NULL: no memory, items kept.
 */
static inline void *gw_array_grown(void *items, size_t count, size_t *room, size_t size)
{
    if (items && count < *room)
        return items;
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = reallocarray(items, wanted, size);
    if (grown)
        *room = wanted;
    return grown;
}

/* Makes room for one more element of items (count of them in use). False: no memory, items kept. */
#define GW_ARRAY_RESERVE(items, count, room)                                                                           \
    ({                                                                                                                 \
        void *grown_ = gw_array_grown((items), (count), (room), sizeof *(items));                                      \
        if (grown_)                                                                                                    \
            (items) = grown_;                                                                                          \
        grown_ != NULL;                                                                                                \
    })

#endif
