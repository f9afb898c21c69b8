// Communicators and the work on them.
#ifndef GW_SIMGPU_NCCL_COMM_H
#define GW_SIMGPU_NCCL_COMM_H

#include "tests/simgpu/nccl/driver.h"
#include "tests/simgpu/nccl/reduce.h"
#include "tests/simgpu/nccl/world.h"

enum exchange {
    ALL_REDUCE,
    REDUCE,
    REDUCE_SCATTER,
    BROADCAST,
    ALL_GATHER,
    ALL_TO_ALL,
    GATHER,
    SCATTER,
    MESSAGES, // sends and receives of one group
};

// A reduction of the program's own: what a rank gives is multiplied by a scalar, then summed.
struct custom {
    bool is_used;
    enum data_type type;
    const void *pointer; // device memory, read when the operation runs; NULL: `value`
    char value[8];
};

struct message {
    bool is_send;
    int peer;
    void *buffer;
    size_t bytes;
};

// What one kernel does: a collective, or messages. Lives until it is launched; when captured, as long as the
// communicator.
struct task {
    struct comm *comm;
    CUstream stream;
    enum exchange exchange;
    enum data_type type;
    enum reduction reduction;
    struct custom custom;
    int root;
    size_t count;
    const void *send;
    void *recv;
    struct message *messages;
    unsigned message_count;
    bool is_launched;
    struct task *next;
};

#define CUSTOMS 64
#define COMM_MAGIC 0x636f6d6d6e63636cu

struct comm {
    uint64_t magic;
    struct place *place;
    struct comm *next; // in the place
    int rank, size;
    unsigned device;
    CUcontext context;
    bool is_blocking, is_complete, is_local; // local: all ranks are of this process
    int async_error;                         // ncclResult_t; atomic
    bool is_aborted;                         // atomic
    struct custom customs[CUSTOMS];
    uint64_t births;
    // Guarded by the engine's lock:
    uint64_t collectives, sent[MAX_RANKS], received[MAX_RANKS]; // tickets given out
    uint64_t last_end_ns;
    struct launch *queue, *draining;
    struct task *captured;
};

// The communicator of a handle, or NULL with a failure.
struct comm *comm_of(ncclComm_t handle);
ncclComm_t comm_handle(struct comm *comm);

// A rank of the world `id` on the current context, joined but perhaps not complete.
ncclResult_t comm_join(uint64_t id, int rank, int size, bool is_blocking, struct comm **ret_comm);
// Waits until all ranks have joined, and readies it.
ncclResult_t comm_complete(struct comm *comm);
// Completes it if all have joined.
bool comm_try_complete(struct comm *comm);
void comm_free(struct comm *comm);

int comm_error(const struct comm *comm);
void comm_set_error(struct comm *comm, ncclResult_t error);

// Puts the task's kernel on its stream. Takes the task over.
ncclResult_t task_launch(struct task *task);
// What it takes once all have arrived.
uint64_t task_least_ns(const struct task *task);
void task_free(struct task *task);

// Ends what can be ended of the place's launches. Engine lock held.
void place_progress(struct place *place);
// Starts the thread that does so whenever a rank elsewhere has done something.
ncclResult_t place_start(struct place *place);
// Waits until the communicator's launches are over and no rank needs anything of them any more.
void comm_drain(struct comm *comm, uint64_t most_ns);

#endif
