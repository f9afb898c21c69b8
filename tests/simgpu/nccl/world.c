#include "tests/simgpu/nccl/world.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x6e63636c73696d31u

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *places;

static void name_of(uint64_t id, char name[64])
{
    snprintf(name, 64, "/simgpu-nccl-%016llx", (unsigned long long)id);
}

uint64_t world_new_id(void)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        id = ((uint64_t)getpid() << 40) ^ ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    }
    return id | 1;
}

static void world_init(struct world *world)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&world->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    for (unsigned i = 0; i < COLLECTIVE_SLOTS; i++)
        world->collectives[i].ticket = i;
    for (unsigned i = 0; i < BIRTHS; i++)
        world->births[i].ticket = i;
    for (int from = 0; from < MAX_RANKS; from++) {
        for (int to = 0; to < MAX_RANKS; to++) {
            for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
                world->channels[from][to][i].ticket = i;
        }
    }
    __atomic_store_n(&world->magic, MAGIC, __ATOMIC_RELEASE);
}

static struct world *map(int file)
{
    void *mapped = mmap(NULL, sizeof(struct world), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

int world_create(uint64_t id)
{
    char name[64];
    struct world *world;
    int result = 0;
    name_of(id, name);
    const int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return -errno;
    if (ftruncate(file, sizeof *world) != 0 || !(world = map(file))) {
        result = -errno;
        shm_unlink(name);
        goto end;
    }
    world_init(world);
    munmap(world, sizeof *world);
end:
    close(file);
    return result;
}

void world_forget_name(uint64_t id)
{
    char name[64];
    name_of(id, name);
    shm_unlink(name);
}

struct place *place_open(uint64_t id)
{
    char name[64];
    struct place *place;
    int file = -1;
    pthread_mutex_lock(&places_lock);
    for (place = places; place; place = place->next) {
        if (place->id == id) {
            place->users++;
            goto end;
        }
    }
    name_of(id, name);
    file = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (file < 0 || !(place = calloc(1, sizeof *place)))
        goto end;
    place->world = map(file);
    if (!place->world || __atomic_load_n(&place->world->magic, __ATOMIC_ACQUIRE) != MAGIC) {
        if (place->world)
            munmap(place->world, sizeof *place->world);
        free(place);
        place = NULL;
        goto end;
    }
    place->id = id;
    place->users = 1;
    place->next = places;
    places = place;
end:
    if (file >= 0)
        close(file);
    pthread_mutex_unlock(&places_lock);
    return place;
}

void place_close(struct place *place)
{
    pthread_mutex_lock(&places_lock);
    const bool is_last = --place->users == 0;
    for (struct place **at = &places; is_last && *at; at = &(*at)->next) {
        if (*at == place) {
            *at = place->next;
            break;
        }
    }
    pthread_mutex_unlock(&places_lock);
    if (!is_last)
        return;
    if (place->thread) {
        __atomic_store_n(&place->is_stopping, true, __ATOMIC_RELEASE);
        world_ring(place->world);
        pthread_join(place->thread, NULL);
    }
    for (int i = 0; i < MAX_RANKS; i++) {
        if (place->watched[i] > 0)
            close(place->watched[i]);
    }
    munmap(place->world, sizeof *place->world);
    free(place);
}

void place_for_each(void (*visit)(struct place *place))
{
    pthread_mutex_lock(&places_lock);
    for (struct place *place = places; place; place = place->next)
        visit(place);
    pthread_mutex_unlock(&places_lock);
}

void world_lock(struct world *world)
{
    // What a rank that died left half done is a bit or a time of its own, and it is gone: nothing to repair.
    if (pthread_mutex_lock(&world->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&world->lock);
}

void world_unlock(struct world *world)
{
    pthread_mutex_unlock(&world->lock);
}

void world_ring(struct world *world)
{
    __atomic_add_fetch(&world->bell, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &world->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t world_heard(struct world *world)
{
    return __atomic_load_n(&world->bell, __ATOMIC_ACQUIRE);
}

void world_wait(struct world *world, uint32_t heard, uint64_t most_ns)
{
    const struct timespec most = {.tv_sec = (time_t)(most_ns / 1000000000u), .tv_nsec = (long)(most_ns % 1000000000u)};
    syscall(SYS_futex, &world->bell, FUTEX_WAIT, heard, &most, NULL, 0);
}

int world_join(struct place *place, int rank, int size, unsigned device, const char *bus_id)
{
    struct world *world = place->world;
    int result = 0;
    world_lock(world);
    if (world->size && world->size != size)
        result = -EINVAL;
    for (int i = 0; i < MAX_RANKS; i++) {
        if (world->joined >> i & 1 && (i == rank || strcmp(world->members[i].bus_id, bus_id) == 0))
            result = -EBUSY;
    }
    if (!result) {
        world->size = size;
        world->members[rank] = (struct member){.pid = getpid(), .device = device};
        snprintf(world->members[rank].bus_id, sizeof world->members[rank].bus_id, "%s", bus_id);
        world->joined |= 1u << rank;
    }
    world_unlock(world);
    world_ring(world);
    return result;
}

bool world_complete(struct world *world)
{
    world_lock(world);
    const bool is_complete = world->size && world->joined == all_of(world->size);
    world_unlock(world);
    return is_complete;
}

uint32_t world_gone(struct world *world)
{
    return __atomic_load_n(&world->gone, __ATOMIC_ACQUIRE);
}

void world_give_up(struct world *world, int rank)
{
    __atomic_or_fetch(&world->gone, 1u << rank, __ATOMIC_ACQ_REL);
    world_ring(world);
}

uint32_t place_look_for_gone(struct place *place)
{
    struct world *world = place->world;
    world_lock(world);
    const uint32_t joined = world->joined;
    world_unlock(world);
    for (int rank = 0; rank < MAX_RANKS; rank++) {
        const int pid = world->members[rank].pid;
        if (!(joined >> rank & 1) || pid == getpid() || world_gone(world) >> rank & 1)
            continue;
        int file = __atomic_load_n(&place->watched[rank], __ATOMIC_ACQUIRE), none = 0;
        if (file == 0) {
            file = (int)syscall(SYS_pidfd_open, pid, 0);
            if (file < 0 && errno == ESRCH)
                world_give_up(world, rank);
            if (file < 0)
                continue;
            if (!__atomic_compare_exchange_n(&place->watched[rank], &none, file, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE)) {
                close(file);
                file = none;
            }
        }
        struct pollfd watched = {.fd = file, .events = POLLIN};
        if (poll(&watched, 1, 0) == 1)
            world_give_up(world, rank);
    }
    return world_gone(world);
}
