// Groups: what is asked for between ncclGroupStart and the outermost ncclGroupEnd is done by the latter.
#ifndef GW_SIMGPU_NCCL_GROUP_H
#define GW_SIMGPU_NCCL_GROUP_H

#include "tests/simgpu/nccl/comm.h"

// A communicator to be born of another: set into `*handle` when the group ends.
struct wish {
    struct comm *parent;
    uint64_t ticket;
    ncclComm_t *handle;
    bool is_blocking;
    struct wish *next;
};

// Each is done at once outside a group, and takes its argument over.
ncclResult_t group_add_task(struct task *task);
ncclResult_t group_add_message(struct comm *comm, CUstream stream, const struct message *message);
ncclResult_t group_add_comm(struct comm *comm, ncclComm_t *handle);
ncclResult_t group_add_wish(const struct wish *wish);
// Notes that a call within the group failed, which ncclGroupEnd then says. Returns `result`.
ncclResult_t group_note(ncclResult_t result);

// Waits for the birth and joins the new world.
ncclResult_t wish_grant(const struct wish *wish, struct comm **ret_comm);

#endif
