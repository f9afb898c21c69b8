// The collectives, sends and receives of the API, and reductions of the program's own.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/nccl/group.h"

_Static_assert(ncclInt8 == (int)TYPE_INT8 && ncclFloat16 == (int)TYPE_FLOAT16 && ncclBfloat16 == (int)TYPE_BFLOAT16,
               "data types are numbered as in the header");
_Static_assert(ncclSum == (int)REDUCE_SUM && ncclAvg == (int)REDUCE_AVG, "reductions are numbered as in the header");

// The communicator, if work can be put on it.
static ncclResult_t usable(ncclComm_t handle, struct comm **ret_comm)
{
    struct comm *comm = comm_of(handle);
    if (!comm)
        return ncclInvalidArgument;
    if (!comm_try_complete(comm))
        return fail(ncclInvalidUsage, "the communicator is not complete yet");
    const int error = comm_error(comm);
    if (error)
        return fail((ncclResult_t)error, "the communicator has failed; see ncclCommGetAsyncError");
    *ret_comm = comm;
    return ncclSuccess;
}

static ncclResult_t set_reduction(struct task *task, int operation)
{
    if (operation >= 0 && operation < (int)REDUCE_COUNT) {
        task->reduction = (enum reduction)operation;
        return ncclSuccess;
    }
    const int custom = operation - (int)REDUCE_COUNT;
    if (custom < 0 || custom >= CUSTOMS || !task->comm->customs[custom].is_used)
        return fail(ncclInvalidArgument, "no such reduction");
    task->custom = task->comm->customs[custom];
    task->reduction = REDUCE_SUM;
    return task->custom.type == task->type ? ncclSuccess
                                           : fail(ncclInvalidArgument, "the reduction is one of another data type");
}

static ncclResult_t enqueue(enum exchange exchange, const void *send, void *recv, size_t count, int type, int operation,
                            int root, ncclComm_t handle, cudaStream_t stream)
{
    struct comm *comm;
    ncclResult_t result = usable(handle, &comm);
    if (result)
        return result;
    if (type < 0 || type >= (int)TYPE_COUNT)
        return fail(ncclInvalidArgument, "no such data type");
    if (root < 0 || root >= comm->size)
        return fail(ncclInvalidArgument, "the root must be a rank");
    if (count == 0)
        return ncclSuccess;
    const bool to_root = exchange == REDUCE || exchange == GATHER,
               from_root = exchange == BROADCAST || exchange == SCATTER;
    if ((!send && !(from_root && comm->rank != root)) ||
        (!recv && !(to_root && comm->rank != root) && !(exchange == SCATTER && comm->rank == root)))
        return fail(ncclInvalidArgument, "a buffer is NULL");
    struct task *task = calloc(1, sizeof *task);
    if (!task)
        return fail(ncclSystemError, "out of memory");
    *task = (struct task){.comm = comm,
                          .stream = stream,
                          .exchange = exchange,
                          .type = (enum data_type)type,
                          .root = root,
                          .count = count,
                          .send = send,
                          .recv = recv};
    if ((result = set_reduction(task, operation))) {
        task_free(task);
        return result;
    }
    return group_add_task(task);
}

static ncclResult_t send_or_receive(bool is_send, void *buffer, size_t count, int type, int peer, ncclComm_t handle,
                                    cudaStream_t stream)
{
    struct comm *comm;
    const ncclResult_t result = usable(handle, &comm);
    if (result)
        return result;
    if (type < 0 || type >= (int)TYPE_COUNT || peer < 0 || peer >= comm->size || (count && !buffer))
        return fail(ncclInvalidArgument, "a data type, a rank to talk to and a buffer");
    const struct message message = {is_send, peer, buffer, count * type_bytes((enum data_type)type)};
    return group_add_message(comm, stream, &message);
}

static ncclResult_t create_pre_mul_sum(ncclRedOp_t *ret_operation, const void *scalar, int type,
                                       ncclScalarResidence_t residence, ncclComm_t handle)
{
    struct comm *comm = comm_of(handle);
    if (!comm || !ret_operation || !scalar || type < 0 || type >= (int)TYPE_COUNT)
        return fail(ncclInvalidArgument, "a communicator, a scalar, its data type and a place for the reduction");
    for (int i = 0; i < CUSTOMS; i++) {
        struct custom *custom = &comm->customs[i];
        if (custom->is_used)
            continue;
        *custom = (struct custom){.is_used = true, .type = (enum data_type)type};
        if (residence == ncclScalarDevice)
            custom->pointer = scalar;
        else
            memcpy(custom->value, scalar, type_bytes(custom->type));
        *ret_operation = (ncclRedOp_t)((int)REDUCE_COUNT + i);
        return ncclSuccess;
    }
    return fail(ncclInternalError, "too many reductions of the program's own");
}

static ncclResult_t destroy_operation(ncclRedOp_t operation, ncclComm_t handle)
{
    struct comm *comm = comm_of(handle);
    const int custom = (int)operation - (int)REDUCE_COUNT;
    if (!comm || custom < 0 || custom >= CUSTOMS || !comm->customs[custom].is_used)
        return fail(ncclInvalidArgument, "no such reduction");
    comm->customs[custom].is_used = false;
    return ncclSuccess;
}

#define NOTED(call) (group_note(call))

ENTRY(AllReduce, NOTED,
      (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
       cudaStream_t stream),
      (enqueue(ALL_REDUCE, sendbuff, recvbuff, count, (int)datatype, (int)op, 0, comm, stream)))
ENTRY(Reduce, NOTED,
      (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, int root,
       ncclComm_t comm, cudaStream_t stream),
      (enqueue(REDUCE, sendbuff, recvbuff, count, (int)datatype, (int)op, root, comm, stream)))
ENTRY(ReduceScatter, NOTED,
      (const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
       cudaStream_t stream),
      (enqueue(REDUCE_SCATTER, sendbuff, recvbuff, recvcount, (int)datatype, (int)op, 0, comm, stream)))
ENTRY(Broadcast, NOTED,
      (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
       cudaStream_t stream),
      (enqueue(BROADCAST, sendbuff, recvbuff, count, (int)datatype, 0, root, comm, stream)))
ENTRY(Bcast, NOTED, (void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream),
      (enqueue(BROADCAST, buff, buff, count, (int)datatype, 0, root, comm, stream)))
ENTRY(AllGather, NOTED,
      (const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype, ncclComm_t comm,
       cudaStream_t stream),
      (enqueue(ALL_GATHER, sendbuff, recvbuff, sendcount, (int)datatype, 0, 0, comm, stream)))
ENTRY(AlltoAll, NOTED,
      (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclComm_t comm,
       cudaStream_t stream),
      (enqueue(ALL_TO_ALL, sendbuff, recvbuff, count, (int)datatype, 0, 0, comm, stream)))
ENTRY(Gather, NOTED,
      (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
       cudaStream_t stream),
      (enqueue(GATHER, sendbuff, recvbuff, count, (int)datatype, 0, root, comm, stream)))
ENTRY(Scatter, NOTED,
      (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
       cudaStream_t stream),
      (enqueue(SCATTER, sendbuff, recvbuff, count, (int)datatype, 0, root, comm, stream)))
ENTRY(Send, NOTED,
      (const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream),
      (send_or_receive(true, (void *)sendbuff, count, (int)datatype, peer, comm, stream)))
ENTRY(Recv, NOTED,
      (void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream),
      (send_or_receive(false, recvbuff, count, (int)datatype, peer, comm, stream)))
ENTRY(RedOpCreatePreMulSum, create_pre_mul_sum,
      (ncclRedOp_t * op, void *scalar, ncclDataType_t datatype, ncclScalarResidence_t residence, ncclComm_t comm),
      (op, scalar, (int)datatype, residence, comm))
ENTRY(RedOpDestroy, destroy_operation, (ncclRedOp_t op, ncclComm_t comm), (op, comm))
