// What the ranks of one communicator share: a segment of shared memory, the same for ranks in threads and in processes.
#ifndef GW_SIMGPU_NCCL_WORLD_H
#define GW_SIMGPU_NCCL_WORLD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_RANKS 16 // a communicator has a device once, and there are at most 16
#define COLLECTIVE_SLOTS 64u
#define CHANNEL_SLOTS 8u
#define BIRTHS 4u

// Where other ranks find what one rank gives: an address in its process, or a file of its own that it keeps open.
struct share {
    int pid, file;
    const void *address;
    uint64_t bytes;
};

// One exchange: a collective, or a message from one rank to another. Members are numbered by rank, or 0 for the sender
// and 1 for the receiver. A slot serves exchange `ticket`, then that many exchanges later as the ring has slots.
struct slot {
    uint64_t ticket;
    uint32_t arrived, left; // bits of members, guarded by the world's lock
    uint32_t published;     // bits of members whose share is valid; atomic
    uint64_t start_ns;      // of the latest to arrive
    uint64_t least_ns;      // the longest any of them says it takes
    uint64_t end_ns;        // 0 until all have arrived
    struct share share[MAX_RANKS];
};

// The making of communicators from one: what each rank wants, then what it gets.
struct birth {
    uint64_t ticket;
    uint32_t wanted, arrived, left; // bits of ranks
    int color[MAX_RANKS], key[MAX_RANKS];
    bool is_born;
    uint64_t id[MAX_RANKS]; // of each rank's new world
    int rank[MAX_RANKS], size[MAX_RANKS];
};

struct member {
    int pid;
    unsigned device;
    char bus_id[20];
};

struct world {
    uint64_t magic;
    pthread_mutex_t lock; // robust, between processes; innermost
    uint32_t bell;        // changes whenever anything below does; a futex
    int size;             // ranks; 0 until the first has joined
    uint32_t joined;      // bits of ranks
    uint32_t gone;        // bits of ranks that ended or gave up; atomic
    struct member members[MAX_RANKS];
    struct birth births[BIRTHS];
    struct slot collectives[COLLECTIVE_SLOTS];
    struct slot channels[MAX_RANKS][MAX_RANKS][CHANNEL_SLOTS]; // from, to
};

// This process's end of a world, one for all its ranks of it.
struct place {
    uint64_t id;
    struct world *world;
    unsigned users;
    int watched[MAX_RANKS]; // pidfd of each rank, 0 for none yet
    struct comm *comms;     // engine lock
    pthread_t thread;
    bool is_stopping;  // atomic
    unsigned drainers; // threads that wait for launches to be over; atomic
    bool is_progressing;
    uint64_t rounds; // of progress asked for; engine lock
    struct place *next;
};

// A number nobody else has.
uint64_t world_new_id(void);

// Makes the world of that number. Returns 0 or a negative errno.
int world_create(uint64_t id);

// Opens a world for one more rank of this process. NULL when there is no such world (any more).
struct place *place_open(uint64_t id);
// Gives it back; its memory goes with the last user.
void place_close(struct place *place);
// Calls `visit` with every open place. For the end of the process.
void place_for_each(void (*visit)(struct place *place));

void world_lock(struct world *world);
void world_unlock(struct world *world);

// Wakes whoever waits for a change of the world.
void world_ring(struct world *world);
// Waits until the bell no longer reads `heard`, at most `most_ns`.
void world_wait(struct world *world, uint32_t heard, uint64_t most_ns);
uint32_t world_heard(struct world *world);

// Joins as `rank`. Returns 0, -EBUSY for a rank or device that is taken, -EINVAL for another number of ranks.
int world_join(struct place *place, int rank, int size, unsigned device, const char *bus_id);
bool world_complete(struct world *world);
// No longer needed by name: all are in it.
void world_forget_name(uint64_t id);

// Finds out which of the other processes have ended. Returns the ranks gone, as bits.
uint32_t place_look_for_gone(struct place *place);
// Says that `rank` has given up.
void world_give_up(struct world *world, int rank);
uint32_t world_gone(struct world *world);

static inline uint32_t all_of(int count)
{
    return (uint32_t)((1u << count) - 1);
}

#endif
