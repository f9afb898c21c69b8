// When an engine of a device is busy: intervals of use against a capacity. The compute engine's units are
// multiprocessors; a copy engine has one unit.
#ifndef GW_SIMGPU_TIMELINE_H
#define GW_SIMGPU_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

struct interval {
    uint64_t start_ns, end_ns;
    unsigned units;
};

struct timeline {
    struct interval *intervals; // sorted by end; those before `first` are over
    size_t first, count, capacity;
    unsigned units;             // how many may be in use at once
    unsigned intervals_at_once; // and by how many users
};

// Reserves `units` for `duration_ns` from the earliest time not before `ready_ns` at which they are free throughout.
// Forgets what ended before `past_ns`. Returns the start.
uint64_t timeline_reserve(struct timeline *timeline, uint64_t ready_ns, uint64_t duration_ns, unsigned units,
                          uint64_t past_ns);

// Moves the end of a reservation, in `*interval` too.
void timeline_extend(struct timeline *timeline, struct interval *interval, uint64_t end_ns);

#endif
