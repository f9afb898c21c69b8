// Launches, their legs, and what they do to memory.
#ifndef GW_SIMGPU_NCCL_DATA_H
#define GW_SIMGPU_NCCL_DATA_H

#include "tests/simgpu/nccl/comm.h"

// One exchange a launch takes part in.
struct leg {
    struct launch *launch;
    struct slot *slot;
    unsigned slots; // of its ring
    uint64_t ticket;
    unsigned member, members;
    uint32_t ranks;    // bits of those it depends on
    uint32_t sources;  // bits of members whose shares this one reads; 0: none
    const void *send;  // what it gives, or NULL
    size_t send_bytes; // of it
    void *recv;
    size_t recv_bytes; // messages
    uint64_t least_ns;
    bool has_arrived;
    void *staging; // the share, as it was when the launch's turn came
    int file;      // of it, or -1
    size_t staging_bytes;
};

struct launch {
    struct simgpu_launch base;
    struct comm *comm;
    struct task task; // a copy
    struct leg *legs;
    unsigned leg_count;
    bool moves_data, is_ready, has_started, has_failed;
    uint64_t ready_ns, start_ns;
    unsigned effects; // outstanding; atomic
    struct launch *next;
};

// Effects: gives others the leg's data; takes theirs for all legs of a launch and leaves the exchanges.
void leg_publish(void *leg, size_t unused);
void launch_consume(void *launch, size_t unused);

// How many bytes a rank gives to the collective.
size_t task_send_bytes(const struct task *task);

// Frees what a leg has staged.
void leg_unstage(struct leg *leg);

#endif
