#include "tests/simgpu/nccl/data.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOOK_NS 20000000u // how often a wait looks whether those waited for still live

size_t task_send_bytes(const struct task *task)
{
    const size_t bytes = task->count * type_bytes(task->type);
    switch (task->exchange) {
    case REDUCE_SCATTER:
    case ALL_TO_ALL:
    case SCATTER:
        return bytes * (size_t)task->comm->size;
    default:
        return bytes;
    }
}

// Memory for a share: plain where all ranks are in this process, else a file that others open through this process.
// Kept for the next shares, since new memory costs a page fault for each page.
struct staging {
    void *memory;
    int file; // or -1
    size_t bytes;
};

#define KEPT 16

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct staging kept[KEPT];
static unsigned kept_count;

static bool take_kept(struct leg *leg, bool is_local)
{
    bool is_found = false;
    pthread_mutex_lock(&kept_lock);
    for (unsigned i = 0; i < kept_count && !is_found; i++) {
        if ((kept[i].file < 0) != is_local || kept[i].bytes < leg->send_bytes || kept[i].bytes / 4 > leg->send_bytes)
            continue;
        leg->staging = kept[i].memory;
        leg->file = kept[i].file;
        leg->staging_bytes = kept[i].bytes;
        kept[i] = kept[--kept_count];
        is_found = true;
    }
    pthread_mutex_unlock(&kept_lock);
    return is_found;
}

static bool stage(struct leg *leg, bool is_local)
{
    if (take_kept(leg, is_local))
        return true;
    leg->file = is_local ? -1 : memfd_create("simgpu-nccl", MFD_CLOEXEC);
    leg->staging_bytes = leg->send_bytes;
    if (!is_local && (leg->file < 0 || ftruncate(leg->file, (off_t)leg->send_bytes) != 0))
        goto fail;
    void *mapped = mmap(NULL, leg->send_bytes, PROT_READ | PROT_WRITE,
                        is_local ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, leg->file, 0);
    if (mapped == MAP_FAILED)
        goto fail;
    leg->staging = mapped;
    return true;
fail:
    if (leg->file >= 0)
        close(leg->file);
    leg->file = -1;
    return false;
}

void leg_unstage(struct leg *leg)
{
    pthread_mutex_lock(&kept_lock);
    const bool is_kept = kept_count < KEPT;
    if (is_kept)
        kept[kept_count++] = (struct staging){leg->staging, leg->file, leg->staging_bytes};
    pthread_mutex_unlock(&kept_lock);
    if (!is_kept) {
        munmap(leg->staging, leg->staging_bytes);
        if (leg->file >= 0)
            close(leg->file);
    }
    leg->staging = NULL;
    leg->file = -1;
}

void leg_publish(void *argument, size_t unused)
{
    struct leg *leg = argument;
    struct launch *launch = leg->launch;
    const struct task *task = &launch->task;
    struct world *world = launch->comm->place->world;
    struct share share = {.pid = getpid(), .file = -1};
    (void)unused;
    if (leg->send && leg->send_bytes && stage(leg, launch->comm->is_local)) {
        if (task->custom.is_used)
            scale(leg->staging, leg->send, leg->send_bytes / type_bytes(task->type), task->type,
                  task->custom.pointer ? task->custom.pointer : task->custom.value);
        else
            memcpy(leg->staging, leg->send, leg->send_bytes);
        share.address = leg->staging;
        share.file = leg->file;
        share.bytes = leg->send_bytes;
    }
    leg->slot->share[leg->member] = share;
    const uint32_t all = all_of((int)leg->members);
    const bool is_whole = __atomic_or_fetch(&leg->slot->published, 1u << leg->member, __ATOMIC_RELEASE) == all;
    // Who reads what a root or a sender gives waits for nobody else; the others wait for all.
    const bool is_wanted =
        is_whole || task->exchange == BROADCAST || task->exchange == SCATTER || task->exchange == MESSAGES;
    const bool is_awaited = __atomic_load_n(&launch->comm->place->drainers, __ATOMIC_ACQUIRE);
    __atomic_sub_fetch(&launch->effects, 1, __ATOMIC_RELEASE);
    if (is_wanted || is_awaited)
        world_ring(world);
}

// Waits for the shares the leg reads. False when one will never come.
static bool wait_for_sources(const struct leg *leg)
{
    struct comm *comm = leg->launch->comm;
    struct world *world = comm->place->world;
    for (;;) {
        const uint32_t heard = world_heard(world);
        if ((__atomic_load_n(&leg->slot->published, __ATOMIC_ACQUIRE) & leg->sources) == leg->sources)
            return true;
        if (__atomic_load_n(&comm->is_aborted, __ATOMIC_ACQUIRE) || world_gone(world) & leg->ranks)
            return false;
        world_wait(world, heard, LOOK_NS);
        if (world_heard(world) == heard)
            place_look_for_gone(comm->place);
    }
}

// A share as readable memory; NULL when it cannot be had. `*ret_mapped` is to be unmapped, where not NULL.
static const void *open_share(const struct share *share, void **ret_mapped)
{
    char path[64];
    *ret_mapped = NULL;
    if (share->pid == getpid())
        return share->address;
    if (!share->bytes)
        return NULL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", share->pid, share->file);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    void *mapped = mmap(NULL, share->bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    close(file);
    if (mapped == MAP_FAILED)
        return NULL;
    *ret_mapped = mapped;
    return mapped;
}

// Takes the collective's result from what each rank gave; `from[r]` is NULL for ranks not read.
static void take(const struct task *task, const void *const from[MAX_RANKS])
{
    const size_t bytes = task->count * type_bytes(task->type);
    const unsigned size = (unsigned)task->comm->size, rank = (unsigned)task->comm->rank;
    const void *parts[MAX_RANKS];
    switch (task->exchange) {
    case REDUCE_SCATTER:
        for (unsigned i = 0; i < size; i++)
            parts[i] = (const char *)from[i] + rank * bytes;
        reduce(task->recv, parts, size, task->count, task->type, task->reduction);
        break;
    case ALL_REDUCE:
    case REDUCE:
        reduce(task->recv, from, size, task->count, task->type, task->reduction);
        break;
    case BROADCAST:
        memcpy(task->recv, from[task->root], bytes);
        break;
    case SCATTER:
        memcpy(task->recv, (const char *)from[task->root] + rank * bytes, bytes);
        break;
    case ALL_GATHER:
    case GATHER:
        for (unsigned i = 0; i < size; i++)
            memcpy((char *)task->recv + i * bytes, from[i], bytes);
        break;
    case ALL_TO_ALL:
        for (unsigned i = 0; i < size; i++)
            memcpy((char *)task->recv + i * bytes, (const char *)from[i] + rank * bytes, bytes);
        break;
    case MESSAGES:
        break;
    }
}

static void leg_consume(struct leg *leg)
{
    const struct task *task = &leg->launch->task;
    const void *from[MAX_RANKS] = {NULL};
    void *mapped[MAX_RANKS] = {NULL};
    bool do_agree = true, has_all = true;
    if (!leg->sources)
        return;
    if (!wait_for_sources(leg)) {
        comm_set_error(leg->launch->comm, ncclRemoteError);
        return;
    }
    for (unsigned i = 0; i < leg->members; i++) {
        if (!(leg->sources >> i & 1))
            continue;
        const struct share *share = &leg->slot->share[i];
        from[i] = open_share(share, &mapped[i]);
        // A collective needs of everybody what it gives itself: less means that the program's ranks disagree.
        const size_t needed_bytes = task->exchange == MESSAGES ? 0 : task_send_bytes(task);
        do_agree = do_agree && share->bytes >= needed_bytes;
        has_all = has_all && (from[i] || !needed_bytes);
    }
    const uint64_t given_bytes = leg->slot->share[0].bytes;
    if (!do_agree)
        comm_set_error(leg->launch->comm, ncclInvalidUsage);
    else if (!has_all) // its process ended, and its memory with it
        comm_set_error(leg->launch->comm, ncclRemoteError);
    else if (task->exchange != MESSAGES)
        take(task, from);
    else if (from[0])
        memcpy(leg->recv, from[0], leg->recv_bytes < given_bytes ? leg->recv_bytes : given_bytes);
    for (unsigned i = 0; i < leg->members; i++) {
        if (mapped[i])
            munmap(mapped[i], leg->slot->share[i].bytes);
    }
}

// The last to leave, for which it is true, makes the slot ready for a later exchange.
static bool leg_leave(struct leg *leg, struct world *world)
{
    struct slot *slot = leg->slot;
    world_lock(world);
    slot->left |= 1u << leg->member;
    const bool is_last = slot->left == all_of((int)leg->members);
    if (is_last) {
        slot->arrived = slot->left = 0;
        __atomic_store_n(&slot->published, 0, __ATOMIC_RELEASE);
        slot->start_ns = slot->least_ns = slot->end_ns = 0;
        slot->ticket += leg->slots;
    }
    world_unlock(world);
    return is_last;
}

void launch_consume(void *argument, size_t unused)
{
    struct launch *launch = argument;
    struct place *place = launch->comm->place;
    struct world *world = place->world;
    bool is_last = false;
    (void)unused;
    for (unsigned i = 0; i < launch->leg_count; i++)
        leg_consume(&launch->legs[i]);
    for (unsigned i = 0; i < launch->leg_count; i++)
        is_last |= leg_leave(&launch->legs[i], world);
    is_last |= __atomic_load_n(&place->drainers, __ATOMIC_ACQUIRE) != 0;
    __atomic_sub_fetch(&launch->effects, 1, __ATOMIC_RELEASE);
    // A bell wakes every process of the communicator: it is rung for those who can go on only.
    if (is_last)
        world_ring(world);
}
