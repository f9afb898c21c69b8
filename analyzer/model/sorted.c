#include "analyzer/model/sorted.h"

#include <stdlib.h>

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
    return count % 2 || count == 0 ? upper : (values[count / 2 - 1] + upper) / 2;
}

double gw_upper_median(double *values, size_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof(*values), gw_by_double);
    return values[count / 2];
}

uint64_t gw_upper_median_u64(uint64_t *values, size_t count)
{
    if (count == 0) {
        return 0;
    }
    qsort(values, count, sizeof(*values), gw_by_u64);
    return values[count / 2];
}
