/*
 * Growing arrays of this folder: one allocation, doubled when full.
 */
#ifndef GW_ANALYZER_VERDICTS_ARRAY_H
#define GW_ANALYZER_VERDICTS_ARRAY_H

#include <stdlib.h>

/* Makes room for one more element of *items (count of them in use, *room allocated). False: no memory, *items kept. */
static inline _Bool gw_array_reserve(void **items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return 1;
    size_t wanted = *room ? *room * 2 : 64;
    void *grown = reallocarray(*items, wanted, size);
    if (!grown)
        return 0;
    *items = grown;
    *room = wanted;
    return 1;
}

#endif
