#include "analyzer/session/buffers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LARGEST_TOTAL_BYTES (1ull << 30)
#define RING_MAX_BYTES (16ull << 30) /* a CPU */

unsigned gw_possible_cpus(void)
{
    unsigned last = 0;
    int found = 0;
    FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
    if (file != NULL) {
        char line[256];
        if (fgets(line, sizeof(line), file) != NULL) {
            const char *number = strrchr(line, '-');
            if (number == NULL)
                number = strrchr(line, ',');
            found = sscanf(number != NULL ? number + 1 : line, "%u", &last) == 1;
        }
        fclose(file);
    }
    if (found)
        return last + 1;
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    return configured > 0 ? (unsigned)configured : 1;
}

/* Buffers are mapped files that several processes write: no good on a file system that is not this machine's alone. */
static bool is_shared_file_system(const char *path)
{
    static const unsigned long shared[] = {
        0x6969 /* NFS */,        0x0bd00bd0 /* Lustre */, 0x65735546 /* FUSE */,
        0xff534d42 /* CIFS */,   0xfe534d42 /* SMB2 */,   0x47504653 /* GPFS */,
        0x19830326 /* BeeGFS */, 0x00c36400 /* Ceph */,   0x01021997 /* 9P */,
    };
    struct statfs status;
    if (statfs(path, &status) != 0)
        return true;
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        if (((unsigned long)status.f_type & 0xffffffff) == shared[i])
            return true;
    }
    return false;
}

uint64_t gw_space_for_buffers(const char *path)
{
    return is_shared_file_system(path) ? 0 : gw_space_available(path);
}

uint64_t gw_space_available(const char *path)
{
    struct statvfs space;
    if (access(path, W_OK | X_OK) != 0 || statvfs(path, &space) != 0)
        return 0;
    return (uint64_t)space.f_bavail * space.f_frsize;
}

uint64_t gw_memory_available(void)
{
    uint64_t kib = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file != NULL) {
        char line[128];
        while (kib == 0 && fgets(line, sizeof(line), file) != NULL) {
            if (strncmp(line, "MemAvailable:", 13) == 0)
                kib = strtoull(line + 13, NULL, 10);
        }
        fclose(file);
    }
    return kib != 0 ? kib * 1024 : UINT64_MAX;
}

static uint64_t power_of_two_below(uint64_t bytes)
{
    return bytes == 0 ? 0 : 1ull << (63 - __builtin_clzll(bytes));
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* LTTng adds headers and its metadata to the sub-buffers: half of the space and a MiB are left free. */
static uint64_t usable_bytes(uint64_t available)
{
    return available / 2 > (1 << 20) ? available / 2 - (1 << 20) : 0;
}

/* Of a CPU. */
static uint64_t default_bytes(int64_t ring_ns, unsigned cpus)
{
    uint64_t wanted = smaller(GW_BUFFER_DEFAULT_BYTES, LARGEST_TOTAL_BYTES / cpus);
    if (ring_ns > 0) {
        double bytes = (double)ring_ns / 1e9 * (double)GW_RING_BYTES_PER_SECOND;
        wanted = bytes < (double)RING_MAX_BYTES ? power_of_two_below((uint64_t)bytes) * 2 : RING_MAX_BYTES;
    }
    return wanted > GW_BUFFER_SMALLEST_BYTES ? wanted : GW_BUFFER_SMALLEST_BYTES;
}

int gw_buffer_plan(uint64_t asked_bytes, int64_t ring_ns, unsigned cpus, uint64_t memory_bytes,
                   struct gw_buffer_place memory_place, struct gw_buffer_place disk_place,
                   struct gw_buffer_plan *ret_plan, uint64_t *ret_needed_bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t in_memory = usable_bytes(smaller(memory_place.available, memory_bytes / 2)) / cpus;
    uint64_t on_disk = disk_place.path != NULL ? usable_bytes(disk_place.available) / cpus : 0;
    uint64_t needed_a_cpu;
    struct gw_buffer_plan plan = {.cpus = cpus};

    if (asked_bytes != 0) {
        if (asked_bytes < GW_SUBBUFFERS * page)
            return -EINVAL;
        if (asked_bytes > UINT64_MAX / 4 / cpus)
            return -ENOSPC;
        uint64_t rounded = power_of_two_below((asked_bytes - 1) / GW_SUBBUFFERS) * 2;
        needed_a_cpu = rounded * GW_SUBBUFFERS;
        plan.subbuffer_bytes = rounded;
        plan.path = in_memory >= needed_a_cpu ? memory_place.path : on_disk >= needed_a_cpu ? disk_place.path : NULL;
    } else {
        uint64_t wanted = default_bytes(ring_ns, cpus);
        needed_a_cpu = GW_BUFFER_SMALLEST_BYTES;
        in_memory = smaller(in_memory, wanted);
        on_disk = smaller(on_disk, GW_BUFFER_ENOUGH_BYTES);
        uint64_t enough = smaller(GW_BUFFER_ENOUGH_BYTES, wanted);
        int disk = in_memory < enough && on_disk > in_memory;
        uint64_t chosen = disk ? on_disk : in_memory;
        plan.path = chosen >= needed_a_cpu ? (disk ? disk_place.path : memory_place.path) : NULL;
        plan.subbuffer_bytes = power_of_two_below(chosen / GW_SUBBUFFERS);
    }
    if (plan.path == NULL) {
        if (ret_needed_bytes != NULL)
            *ret_needed_bytes = needed_a_cpu * cpus * 2 + (2 << 20);
        return -ENOSPC;
    }
    *ret_plan = plan;
    return 0;
}
