// Making and ending communicators.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/nccl/group.h"

#define LOOK_NS 20000000u
#define FOREVER UINT64_MAX / 2
#define ID_MAGIC 0x73696d6770756964u
#define EXIT_NS 1000000000u // how long an ending process lets others take what it gave

// What a unique id holds; the rest is zero.
struct id {
    uint64_t magic, number;
};

// Worlds made by this process for others to join.
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;
static struct made {
    uint64_t id;
    int pid;
    struct made *next;
} * made;

static ncclResult_t get_unique_id(ncclUniqueId *ret_id)
{
    struct made *entry;
    if (!ret_id)
        return fail(ncclInvalidArgument, "no place for the id");
    const struct id id = {ID_MAGIC, world_new_id()};
    if (!(entry = malloc(sizeof *entry)) || world_create(id.number) < 0) {
        free(entry);
        return fail(ncclSystemError, "no shared memory for a communicator");
    }
    pthread_mutex_lock(&made_lock);
    *entry = (struct made){id.number, getpid(), made};
    made = entry;
    pthread_mutex_unlock(&made_lock);
    memset(ret_id, 0, sizeof *ret_id);
    memcpy(ret_id->internal, &id, sizeof id);
    return ncclSuccess;
}

static void last_words(struct place *place)
{
    const uint32_t all = all_of(place->world->size);
    if (place->world->joined != all || world_gone(place->world))
        return;
    for (struct comm *comm = place->comms; comm; comm = comm->next) {
        if (!comm->is_local && !comm->queue)
            comm_drain(comm, EXIT_NS);
    }
}

__attribute__((destructor)) static void end_process(void)
{
    if (!driver_known())
        return;
    place_for_each(last_words);
    for (struct made *entry = made; entry; entry = entry->next) {
        if (entry->pid == getpid())
            world_forget_name(entry->id);
    }
}

struct comm *comm_of(ncclComm_t handle)
{
    struct comm *comm = (struct comm *)handle;
    if (comm && comm->magic == COMM_MAGIC)
        return comm;
    fail(ncclInvalidArgument, "no communicator");
    return NULL;
}

ncclComm_t comm_handle(struct comm *comm)
{
    return (ncclComm_t)comm;
}

int comm_error(const struct comm *comm)
{
    return __atomic_load_n(&comm->async_error, __ATOMIC_ACQUIRE);
}

void comm_set_error(struct comm *comm, ncclResult_t error)
{
    int none = ncclSuccess;
    __atomic_compare_exchange_n(&comm->async_error, &none, (int)error, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// The context of the calling thread, made current as the runtime does where there is none.
static ncclResult_t current_context(CUcontext *ret_context, unsigned *ret_device, char bus_id[20])
{
    const struct driver *driver = driver_get();
    CUdevice device = 0;
    if (driver->init(0) || driver->ctx_get_current(ret_context))
        return fail(ncclUnhandledCudaError, "no driver");
    if (!*ret_context && (driver->primary_ctx_retain(ret_context, 0) || driver->ctx_set_current(*ret_context)))
        return fail(ncclUnhandledCudaError, "no context");
    if (driver->ctx_get_device(&device) || driver->device_get_bus_id(bus_id, 20, device))
        return fail(ncclUnhandledCudaError, "no device");
    *ret_device = (unsigned)device;
    return ncclSuccess;
}

ncclResult_t comm_join(uint64_t id, int rank, int size, bool is_blocking, struct comm **ret_comm)
{
    char bus_id[20];
    struct comm *comm = NULL;
    CUcontext context = NULL;
    unsigned device = 0;
    if (size < 1 || size > MAX_RANKS || rank < 0 || rank >= size)
        return fail(ncclInvalidArgument, "the rank must be below the number of ranks, which is at most 16");
    ncclResult_t result = current_context(&context, &device, bus_id);
    if (result)
        return result;
    struct place *place = place_open(id);
    if (!place)
        return fail(ncclInvalidArgument, "the id is none of a communicator that is being made on this machine");
    const int joined = world_join(place, rank, size, device, bus_id);
    if (joined < 0) {
        place_close(place);
        return fail(ncclInvalidUsage, joined == -EBUSY ? "a rank or device takes part twice"
                                                       : "the ranks say different numbers of ranks");
    }
    if (!(comm = calloc(1, sizeof *comm)))
        abort();
    comm->magic = COMM_MAGIC;
    comm->place = place;
    comm->rank = rank;
    comm->size = size;
    comm->device = device;
    comm->context = context;
    driver_kernel(context, "ncclDevKernel_Generic"); // loads the module now: a capture later forbids that
    comm->is_blocking = is_blocking;
    *ret_comm = comm;
    return ncclSuccess;
}

bool comm_try_complete(struct comm *comm)
{
    struct world *world = comm->place->world;
    if (comm->is_complete)
        return true;
    if (!world_complete(world))
        return false;
    world_forget_name(comm->place->id);
    comm->is_local = true;
    for (int i = 0; i < comm->size; i++)
        comm->is_local = comm->is_local && world->members[i].pid == getpid();
    if (place_start(comm->place)) {
        comm_set_error(comm, ncclSystemError);
        return false;
    }
    driver_get()->lock();
    comm->next = comm->place->comms;
    comm->place->comms = comm;
    driver_get()->unlock();
    comm->is_complete = true;
    return true;
}

ncclResult_t comm_complete(struct comm *comm)
{
    struct place *place = comm->place;
    for (;;) {
        const uint32_t heard = world_heard(place->world);
        if (comm_try_complete(comm))
            return ncclSuccess;
        if (comm_error(comm))
            return (ncclResult_t)comm_error(comm);
        if (__atomic_load_n(&comm->is_aborted, __ATOMIC_ACQUIRE) || place_look_for_gone(place)) {
            comm_set_error(comm, ncclRemoteError);
            return fail(ncclRemoteError, "a rank ended before all had joined");
        }
        world_wait(place->world, heard, LOOK_NS);
    }
}

void comm_free(struct comm *comm)
{
    driver_get()->lock();
    for (struct comm **at = &comm->place->comms; *at; at = &(*at)->next) {
        if (*at == comm) {
            *at = comm->next;
            break;
        }
    }
    const bool is_kept = comm->queue || comm->draining || comm->captured;
    driver_get()->unlock();
    comm->magic = 0;
    // A graph may still hold launches of it.
    if (is_kept)
        return;
    place_close(comm->place);
    free(comm);
}

static ncclResult_t number_of(const ncclUniqueId *unique, uint64_t *ret_number)
{
    struct id id;
    memcpy(&id, unique->internal, sizeof id);
    if (id.magic != ID_MAGIC)
        return fail(ncclInvalidArgument, "the id was not made by ncclGetUniqueId");
    *ret_number = id.number;
    return ncclSuccess;
}

static ncclResult_t init_rank(ncclComm_t *handle, int size, const ncclUniqueId *unique, int rank,
                              const ncclConfig_t *config)
{
    struct comm *comm;
    uint64_t number = 0;
    if (!handle || !unique)
        return group_note(fail(ncclInvalidArgument, "no place for the communicator, or no id"));
    ncclResult_t result = number_of(unique, &number);
    if (!result)
        result = comm_join(number, rank, size, !config || config->blocking != 0, &comm);
    if (!result)
        result = group_add_comm(comm, handle);
    return group_note(result);
}

static ncclResult_t init_scalable(ncclComm_t *handle, int size, int rank, int ids, const ncclUniqueId *uniques,
                                  const ncclConfig_t *config)
{
    if (ids < 1 || ids > size || !uniques)
        return group_note(fail(ncclInvalidArgument, "one id at least is needed, and no more than ranks"));
    return init_rank(handle, size, &uniques[0], rank, config);
}

static ncclResult_t init_all_on(ncclComm_t *handles, int count, const int *devices)
{
    const struct driver *driver = driver_get();
    struct comm *comms[MAX_RANKS];
    const uint64_t id = world_new_id();
    ncclResult_t result = ncclSuccess;
    int joined = 0;
    if (world_create(id) < 0)
        return fail(ncclSystemError, "no shared memory for a communicator");
    for (; joined < count && !result; joined += !result) {
        CUcontext context;
        if (driver->primary_ctx_retain(&context, devices ? devices[joined] : joined) ||
            driver->ctx_set_current(context))
            result = fail(ncclUnhandledCudaError, "no context of a device");
        else
            result = comm_join(id, joined, count, true, &comms[joined]);
    }
    world_forget_name(id);
    for (int i = 0; i < joined; i++) {
        if (!result)
            result = comm_complete(comms[i]);
        handles[i] = comm_handle(comms[i]);
    }
    for (int i = 0; i < joined && result; i++)
        comm_free(comms[i]);
    return result;
}

static ncclResult_t init_all(ncclComm_t *handles, int count, const int *devices)
{
    const struct driver *driver = driver_get();
    CUcontext before = NULL;
    int device_count = 0;
    if (!handles || count < 1 || count > MAX_RANKS)
        return fail(ncclInvalidArgument, "from 1 to 16 devices, and a place for their communicators");
    if (driver->init(0) || driver->device_get_count(&device_count))
        return fail(ncclUnhandledCudaError, "no driver");
    for (int i = 0; i < count; i++) {
        const int device = devices ? devices[i] : i;
        if (device < 0 || device >= device_count)
            return fail(ncclUnhandledCudaError, "no such device");
    }
    driver->ctx_get_current(&before);
    const ncclResult_t result = init_all_on(handles, count, devices);
    driver->ctx_set_current(before);
    return result;
}

static ncclResult_t finalize(ncclComm_t handle)
{
    struct comm *comm = comm_of(handle);
    if (!comm)
        return ncclInvalidArgument;
    if (comm->is_complete)
        comm_drain(comm, FOREVER);
    return ncclSuccess;
}

static ncclResult_t destroy(ncclComm_t handle)
{
    struct comm *comm;
    if (!handle)
        return ncclSuccess;
    if (!(comm = comm_of(handle)))
        return ncclInvalidArgument;
    if (comm->is_complete)
        comm_drain(comm, FOREVER);
    comm_free(comm);
    return ncclSuccess;
}

static ncclResult_t abort_comm(ncclComm_t handle)
{
    struct comm *comm;
    if (!handle)
        return ncclSuccess;
    if (!(comm = comm_of(handle)))
        return ncclInvalidArgument;
    __atomic_store_n(&comm->is_aborted, true, __ATOMIC_RELEASE);
    world_give_up(comm->place->world, comm->rank);
    if (comm->is_complete)
        comm_drain(comm, EXIT_NS);
    comm_free(comm);
    return ncclSuccess;
}

static ncclResult_t async_error(ncclComm_t handle, ncclResult_t *ret_error)
{
    struct comm *comm = comm_of(handle);
    if (!comm || !ret_error)
        return fail(ncclInvalidArgument, "no communicator, or no place for its error");
    *ret_error = (ncclResult_t)comm_error(comm);
    if (*ret_error == ncclSuccess && !comm_try_complete(comm))
        *ret_error = ncclInProgress;
    return ncclSuccess;
}

static ncclResult_t ask(ncclComm_t handle, int *ret_value, size_t offset)
{
    const struct comm *comm = comm_of(handle);
    if (!comm || !ret_value)
        return fail(ncclInvalidArgument, "no communicator, or no place for the answer");
    memcpy(ret_value, (const char *)comm + offset, sizeof *ret_value);
    return ncclSuccess;
}

ENTRY(GetUniqueId, get_unique_id, (ncclUniqueId * uniqueId), (uniqueId))
ENTRY(CommInitRank, init_rank, (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank),
      (comm, nranks, &commId, rank, NULL))
ENTRY(CommInitRankConfig, init_rank,
      (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config),
      (comm, nranks, &commId, rank, config))
ENTRY(CommInitRankScalable, init_scalable,
      (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds, ncclConfig_t *config),
      (newcomm, nranks, myrank, nId, commIds, config))
ENTRY(CommInitAll, init_all, (ncclComm_t * comm, int ndev, const int *devlist), (comm, ndev, devlist))
ENTRY(CommFinalize, finalize, (ncclComm_t comm), (comm))
ENTRY(CommDestroy, destroy, (ncclComm_t comm), (comm))
ENTRY(CommAbort, abort_comm, (ncclComm_t comm), (comm))
ENTRY(CommGetAsyncError, async_error, (ncclComm_t comm, ncclResult_t *asyncError), (comm, asyncError))
ENTRY(CommCount, ask, (const ncclComm_t comm, int *count), (comm, count, offsetof(struct comm, size)))
ENTRY(CommCuDevice, ask, (const ncclComm_t comm, int *device), (comm, device, offsetof(struct comm, device)))
ENTRY(CommUserRank, ask, (const ncclComm_t comm, int *rank), (comm, rank, offsetof(struct comm, rank)))
