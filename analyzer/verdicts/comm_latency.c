/*
 * How long transfers take beside their bytes. Times of several sizes lie on a line, of which the latency is where it
 * begins: the line by Theil and Sen (the median of the slopes between any two sizes), which a few odd ones do not move.
 */
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/comm.h"

/* Sizes are told apart by their power of two. */
#define CLASSES 64

/* Of one size alone: NCCL's latency within a machine is some 10 us, and what goes beyond the time at a slow network's
 * rate is latency as well. Few bytes, which NCCL sends in its low-latency protocol, are seldom what takes long. */
#define LATENCY_USUAL_NS 20000.0
#define FEW_BYTES 65536.0
#define SLOW_GBPS 1.0      /* of few bytes */
#define SLOWEST_GBPS 0.125 /* of many: 1 Gbit/s */

struct size_class {
    double bus_bytes, transfer_ns;
};

struct timed {
    int class;
    double transfer_ns, bus_bytes;
};

static int by_class_then_time(const void *left, const void *right)
{
    const struct timed *a = left, *b = right;
    return a->class != b->class ? (a->class < b->class ? -1 : 1) : gw_by_double(&a->transfer_ns, &b->transfer_ns);
}

/* The classes that occur, by ascending size. The median kernel stands for its class. */
static size_t list_classes(struct timed *timed, size_t count, struct size_class classes[CLASSES])
{
    size_t found = 0;
    qsort(timed, count, sizeof *timed, by_class_then_time);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && timed[to].class == timed[from].class;)
            to++;
        const struct timed *median = &timed[from + (to - from - 1) / 2];
        classes[found++] = (struct size_class){median->bus_bytes, median->transfer_ns};
    }
    return found;
}

static double fit(const struct size_class *classes, size_t count)
{
    double slopes[CLASSES * (CLASSES - 1) / 2], starts[CLASSES];
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++)
            slopes[pairs++] =
                (classes[j].transfer_ns - classes[i].transfer_ns) / (classes[j].bus_bytes - classes[i].bus_bytes);
    }
    const double slope = fmax(gw_upper_median(slopes, pairs), 0);
    for (size_t i = 0; i < count; i++)
        starts[i] = classes[i].transfer_ns - slope * classes[i].bus_bytes;
    return gw_upper_median(starts, count);
}

static double of_one_size(const struct size_class *class, double shortest_ns)
{
    const double gbps = class->bus_bytes <= FEW_BYTES ? SLOW_GBPS : SLOWEST_GBPS;
    return fmax(fmin(shortest_ns, LATENCY_USUAL_NS), class->transfer_ns - class->bus_bytes / gbps);
}

double gw_comm_latency_ns(const struct gw_comm_kernel *kernels, size_t count)
{
    struct size_class classes[CLASSES];
    struct timed *timed = calloc(count + 1, sizeof *timed);
    double shortest_ns = 0, latency_ns = 0;
    size_t known = 0;
    for (size_t i = 0; timed && i < count; i++) {
        const struct gw_comm_kernel *kernel = &kernels[i];
        const double transfer_ns = (double)gw_comm_transfer_ns(kernel);
        if (kernel->arrived_ns == GW_TIME_UNKNOWN || transfer_ns <= 0)
            continue;
        shortest_ns = shortest_ns > 0 ? fmin(shortest_ns, transfer_ns) : transfer_ns;
        if (kernel->count == 1)
            timed[known++] = (struct timed){kernel->bus_bytes < 1 ? 0 : ilogb(kernel->bus_bytes) % CLASSES, transfer_ns,
                                            kernel->bus_bytes};
    }
    const size_t found = timed ? list_classes(timed, known, classes) : 0;
    if (found >= 2)
        latency_ns = fit(classes, found);
    else if (found == 1)
        latency_ns = of_one_size(&classes[0], shortest_ns);
    else
        latency_ns = fmin(shortest_ns, LATENCY_USUAL_NS);
    free(timed);
    return fmin(fmax(latency_ns, 0), shortest_ns);
}
