/* How large the ring buffers may be, and on which file system they lie. */
#ifndef GW_SESSION_BUFFERS_H
#define GW_SESSION_BUFFERS_H

#include <stdint.h>

#define GW_SUBBUFFERS 8
#define GW_BUFFER_DEFAULT_BYTES (16ull << 20) /* a CPU: nothing lost at full speed, and zeroed in some 20 ms */
/* Of a flight recorder: what a CPU that enqueues some ten thousand operations a second writes. */
#define GW_RING_BYTES_PER_SECOND (2ull << 20)
#define GW_BUFFER_SMALLEST_BYTES (512ull << 10)
#define GW_BUFFER_ENOUGH_BYTES (8ull << 20) /* a CPU: below this a disk is preferred to a small /dev/shm */

struct gw_buffer_place {
    const char *path;   /* an existing directory */
    uint64_t available; /* bytes free there */
};

struct gw_buffer_plan {
    const char *path;         /* borrowed from the place chosen */
    uint64_t subbuffer_bytes; /* of each of the GW_SUBBUFFERS of one CPU: a power of two */
    unsigned cpus;
};

/* Number of possible CPUs, which is what LTTng makes buffers for: from /sys, else from sysconf. */
unsigned gw_possible_cpus(void);

/* Bytes a caller without privileges can still write below `path`; 0 when it cannot be asked or written. */
uint64_t gw_space_available(const char *path);

/* The same, but 0 on a network or FUSE file system, where trace buffers cannot lie. */
uint64_t gw_space_for_buffers(const char *path);

/* Bytes of memory that can be used without swapping; UINT64_MAX when unknown. */
uint64_t gw_memory_available(void);

/*
 * Decides the buffers. `asked_bytes` a CPU, 0 for the default; `memory_place` is memory (/dev/shm), `disk_place` a
 * normal file system (path NULL: none). An asked size is rounded up to a power of two for each sub-buffer and taken or
 * refused; the default is lowered to half the space of a place, and in all to a quarter of `memory_bytes` and 1 GiB.
 * `ring_ns` above 0: the default is what a flight recorder needs for that long, without the last of these bounds.
 * Returns 0, -EINVAL for an asked size under GW_SUBBUFFERS pages, or -ENOSPC when neither place has room; then
 * *ret_needed_bytes, if not NULL, is what a place must have free.
 */
int gw_buffer_plan(uint64_t asked_bytes, int64_t ring_ns, unsigned cpus, uint64_t memory_bytes,
                   struct gw_buffer_place memory_place, struct gw_buffer_place disk_place,
                   struct gw_buffer_plan *ret_plan, uint64_t *ret_needed_bytes);

#endif
