#include "analyzer/model/radix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

int gw_radix_sort(struct gw_sort_item *items, size_t count)
{
    uint64_t low = UINT64_MAX, high = 0;
    int sorted = 1;
    for (size_t i = 0; i < count; i++) {
        low = items[i].key < low ? items[i].key : low;
        high = items[i].key > high ? items[i].key : high;
        sorted &= i == 0 || items[i - 1].key <= items[i].key;
    }
    if (sorted) {
        return 0;
    }
    struct gw_sort_item *other = malloc(count * sizeof(*other));
    if (!other) {
        return -ENOMEM;
    }
    struct gw_sort_item *from = items, *to = other;
    for (unsigned shift = 0; shift < 64 && (high - low) >> shift; shift += DIGIT_BITS) {
        size_t starts[DIGITS] = {0};
        for (size_t i = 0; i < count; i++) {
            starts[(from[i].key - low) >> shift & (DIGITS - 1)]++;
        }
        size_t start = 0;
        for (size_t d = 0; d < DIGITS; d++) {
            size_t in_digit = starts[d];
            starts[d] = start;
            start += in_digit;
        }
        for (size_t i = 0; i < count; i++) {
            to[starts[(from[i].key - low) >> shift & (DIGITS - 1)]++] = from[i];
        }
        struct gw_sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) {
        memcpy(items, from, count * sizeof(*items));
    }
    free(other);
    return 0;
}
