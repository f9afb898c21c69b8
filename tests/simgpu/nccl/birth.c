// Communicators made of others: by color, or by leaving ranks out.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/nccl/group.h"

#define LOOK_NS 20000000u

// Ranks of the same color, in the order of their keys, get a world. World lock held; by the last to arrive.
static int give_birth(struct birth *birth)
{
    int result = 0;
    for (int i = 0; i < MAX_RANKS; i++)
        birth->id[i] = 0;
    for (int i = 0; i < MAX_RANKS && !result; i++) {
        if (!(birth->wanted >> i & 1) || birth->color[i] < 0 || birth->id[i])
            continue;
        const uint64_t id = world_new_id();
        int size = 0;
        result = world_create(id);
        for (int j = 0; j < MAX_RANKS; j++) {
            if (!(birth->wanted >> j & 1) || birth->color[j] != birth->color[i])
                continue;
            birth->id[j] = id;
            birth->rank[j] = 0;
            size++;
            for (int k = 0; k < MAX_RANKS; k++) {
                if (!(birth->wanted >> k & 1) || birth->color[k] != birth->color[i])
                    continue;
                birth->rank[j] += birth->key[k] < birth->key[j] || (birth->key[k] == birth->key[j] && k < j);
            }
        }
        for (int j = 0; j < MAX_RANKS; j++) {
            if (birth->id[j] == id)
                birth->size[j] = size;
        }
    }
    birth->is_born = true;
    return result;
}

static ncclResult_t wish_for(struct comm *parent, uint32_t wanted, int color, int key, ncclComm_t *handle,
                             const ncclConfig_t *config)
{
    struct world *world = parent->place->world;
    const struct wish wish = {.parent = parent,
                              .ticket = parent->births++,
                              .handle = handle,
                              .is_blocking = !config || config->blocking != 0};
    struct birth *birth = &world->births[wish.ticket % BIRTHS];
    int result = 0;
    *handle = NULL;
    world_lock(world);
    birth->wanted = wanted;
    birth->arrived |= 1u << parent->rank;
    birth->color[parent->rank] = color;
    birth->key[parent->rank] = key;
    if (birth->arrived == wanted)
        result = give_birth(birth);
    world_unlock(world);
    world_ring(world);
    return result < 0 ? fail(ncclSystemError, "no shared memory for a communicator") : group_add_wish(&wish);
}

ncclResult_t wish_grant(const struct wish *wish, struct comm **ret_comm)
{
    struct comm *parent = wish->parent;
    struct place *place = parent->place;
    struct birth *birth = &place->world->births[wish->ticket % BIRTHS];
    const struct driver *driver = driver_get();
    for (;;) {
        const uint32_t heard = world_heard(place->world);
        // Looked for first: a rank that takes no part may end as soon as the communicator is made.
        const uint32_t gone = place_look_for_gone(place);
        world_lock(place->world);
        const bool is_born = birth->is_born;
        const uint32_t wanted = birth->wanted;
        world_unlock(place->world);
        if (is_born)
            break;
        if (gone & wanted)
            return fail(ncclRemoteError, "a rank ended before the new communicator was made");
        world_wait(place->world, heard, LOOK_NS);
    }
    world_lock(place->world);
    const uint64_t id = birth->id[parent->rank];
    const int rank = birth->rank[parent->rank], size = birth->size[parent->rank];
    birth->left |= 1u << parent->rank;
    if (birth->left == birth->wanted) {
        birth->ticket += BIRTHS;
        birth->wanted = birth->arrived = birth->left = 0;
        birth->is_born = false;
    }
    world_unlock(place->world);
    if (!id)
        return ncclSuccess; // of no color
    CUcontext before = NULL;
    driver->ctx_get_current(&before);
    driver->ctx_set_current(parent->context);
    const ncclResult_t result = comm_join(id, rank, size, wish->is_blocking, ret_comm);
    driver->ctx_set_current(before);
    return result;
}

static ncclResult_t split(ncclComm_t handle, int color, int key, ncclComm_t *ret_handle, const ncclConfig_t *config)
{
    struct comm *comm = comm_of(handle);
    if (!comm || !comm->is_complete || !ret_handle || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
        return group_note(fail(ncclInvalidArgument, "a communicator, a place for another, and a color"));
    return group_note(wish_for(comm, all_of(comm->size), color, key, ret_handle, config));
}

static ncclResult_t shrink(ncclComm_t handle, const int *excluded, int count, ncclComm_t *ret_handle,
                           const ncclConfig_t *config)
{
    struct comm *comm = comm_of(handle);
    if (!comm || !comm->is_complete || !ret_handle || count < 0 || (count && !excluded))
        return group_note(fail(ncclInvalidArgument, "a communicator, a place for another, and ranks to leave out"));
    uint32_t wanted = all_of(comm->size);
    for (int i = 0; i < count; i++) {
        if (excluded[i] < 0 || excluded[i] >= comm->size || excluded[i] == comm->rank)
            return group_note(fail(ncclInvalidArgument, "ranks left out are others of the communicator"));
        wanted &= ~(1u << excluded[i]);
    }
    return group_note(wish_for(comm, wanted, 0, comm->rank, ret_handle, config));
}

ENTRY(CommSplit, split, (ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config),
      (comm, color, key, newcomm, config))
ENTRY(CommShrink, shrink,
      (ncclComm_t comm, int *excludeRanksList, int excludeRanksCount, ncclComm_t *newcomm, ncclConfig_t *config,
       int shrinkFlags),
      (((void)shrinkFlags, comm), excludeRanksList, excludeRanksCount, newcomm, config))
