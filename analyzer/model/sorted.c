#include "analyzer/model/sorted.h"

/* Puts the value that would stand at `rank`, were all in order, there, none above it before and none below it behind.
 * By parts less than, equal to and greater than a value from among them: linear on average, whatever the order. */
#define SELECT(type)                                                                                                   \
    static type select_##type(type *values, size_t count, size_t rank)                                                 \
    {                                                                                                                  \
        size_t low = 0, high = count;                                                                                  \
        uint32_t random = 1;                                                                                           \
        while (high - low > 1) {                                                                                       \
            random = random * 1664525u + 1013904223u;                                                                  \
            const type pivot = values[low + (size_t)((uint64_t)random * (high - low) >> 32)];                          \
            size_t less = low, at = low, greater = high;                                                               \
            while (at < greater) {                                                                                     \
                const type value = values[at];                                                                         \
                if (value < pivot) {                                                                                   \
                    values[at++] = values[less];                                                                       \
                    values[less++] = value;                                                                            \
                } else if (value > pivot) {                                                                            \
                    values[at] = values[--greater];                                                                    \
                    values[greater] = value;                                                                           \
                } else {                                                                                               \
                    at++;                                                                                              \
                }                                                                                                      \
            }                                                                                                          \
            if (rank >= less && rank < greater) {                                                                      \
                break;                                                                                                 \
            }                                                                                                          \
            low = rank < less ? low : greater;                                                                         \
            high = rank < less ? less : high;                                                                          \
        }                                                                                                              \
        return values[rank];                                                                                           \
    }
SELECT(double)
SELECT(uint64_t)
SELECT(uint32_t)

int gw_by_double(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int gw_by_u64(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

double gw_median(double *values, size_t count)
{
    const double upper = gw_upper_median(values, count);
    if (count % 2 || count == 0) {
        return upper;
    }
    double lower = values[0]; /* the greatest of those before it */
    for (size_t i = 1; i < count / 2; i++) {
        lower = values[i] > lower ? values[i] : lower;
    }
    return (lower + upper) / 2;
}

double gw_upper_median(double *values, size_t count)
{
    return count ? select_double(values, count, count / 2) : 0;
}

uint64_t gw_upper_median_u64(uint64_t *values, size_t count)
{
    return count ? select_uint64_t(values, count, count / 2) : 0;
}

uint64_t gw_at_place_u64(uint64_t *values, size_t count, size_t place)
{
    return select_uint64_t(values, count, place);
}

uint32_t gw_at_place_u32(uint32_t *values, size_t count, size_t place)
{
    return select_uint32_t(values, count, place);
}
