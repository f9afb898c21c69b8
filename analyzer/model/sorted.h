/* Orders for qsort, and medians. */
#ifndef GW_ANALYZER_MODEL_SORTED_H
#define GW_ANALYZER_MODEL_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* Ascending; double is for numbers that are not NaN. */
int gw_by_double(const void *left, const void *right);
int gw_by_u64(const void *left, const void *right);

/* Each changes the order of the values. The median of an even count is the mean of the two in the middle; the upper
 * median is the upper of these, which is one of the values. 0 where there are none. */
double gw_median(double *values, size_t count);
double gw_upper_median(double *values, size_t count);
uint64_t gw_upper_median_u64(uint64_t *values, size_t count);

/* The value that would stand at `place` < count if they were sorted; changes their order. */
uint64_t gw_at_place_u64(uint64_t *values, size_t count, size_t place);
uint32_t gw_at_place_u32(uint32_t *values, size_t count, size_t place);

/* The first number from `first` on, below `end`, for which `is_before` does not hold, `end` where it holds for all: an
 * expression with the number as `at`, which holds up to one and not from there on. */
#define GW_FIRST_NOT(first, end, at, is_before)                                                                        \
    __extension__({                                                                                                    \
        size_t first_ = (first), end_ = (end);                                                                         \
        while (first_ < end_) {                                                                                        \
            const size_t at = first_ + (end_ - first_) / 2;                                                            \
            if (is_before)                                                                                             \
                first_ = at + 1;                                                                                       \
            else                                                                                                       \
                end_ = at;                                                                                             \
        }                                                                                                              \
        first_;                                                                                                        \
    })

/* Goes through about `wanted` of `count` values, from place 0 on, all where there are not many more: returns the place
 * after `at`. By uneven strides, since a loop repeats itself evenly; *state is 1 at first. */
static inline size_t gw_next_sample(size_t at, size_t count, size_t wanted, uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return at + 1 + (*state >> 8) % (2 * (count / wanted) + 1);
}

#endif
