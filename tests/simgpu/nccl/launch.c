// Launches: from a task to a kernel whose end is found together with the other ranks'. Launches of one communicator
// follow one another, whatever their streams.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/engine/clock.h"
#include "tests/simgpu/nccl/data.h"

#define LOOK_NS 20000000u
#define IDLE_NS 1000000000u
#define CHANNEL_BYTES 65536u // what makes NCCL use one more channel, about
#define MOST_CHANNELS 24u
#define THREADS 512u
#define WORKER_BYTES (1u << 20) // at least this: an effect that may wait, so never on the caller's thread

static double pair_gbps(const struct comm *comm, int from, int to)
{
    const struct member *members = comm->place->world->members;
    const double gbps = driver_get()->link_gbps(members[from].device, members[to].device);
    return gbps > 0 ? gbps : driver_number("nccl_gbps");
}

// A ring is as fast as its slowest link.
static double ring_gbps(const struct comm *comm)
{
    double least = pair_gbps(comm, 0, 1 % comm->size);
    for (int i = 1; i < comm->size; i++) {
        const double gbps = pair_gbps(comm, i, (i + 1) % comm->size);
        least = gbps < least ? gbps : least;
    }
    return least;
}

uint64_t task_least_ns(const struct task *task)
{
    const struct comm *comm = task->comm;
    const double size = comm->size;
    double bytes = (double)task->count * (double)type_bytes(task->type);
    double least_ns = 0;
    switch (task->exchange) {
    case ALL_REDUCE:
        bytes *= 2 * (size - 1) / size;
        break;
    case REDUCE_SCATTER:
    case ALL_GATHER:
    case ALL_TO_ALL:
    case GATHER:
    case SCATTER:
        bytes *= size - 1;
        break;
    case REDUCE:
    case BROADCAST:
        break;
    case MESSAGES:
        for (unsigned i = 0; i < task->message_count; i++) {
            const double message_ns =
                (double)task->messages[i].bytes / pair_gbps(comm, comm->rank, task->messages[i].peer);
            least_ns = message_ns > least_ns ? message_ns : least_ns;
        }
        return (uint64_t)(driver_number("nccl_latency_ns") + least_ns);
    }
    return (uint64_t)(driver_number("nccl_latency_ns") + bytes / ring_gbps(comm));
}

static const char *kernel_name(const struct task *task, char name[96])
{
    static const char *const names[] = {"AllReduce", "Reduce",   "ReduceScatter", "Broadcast", "AllGather",
                                        "SendRecv",  "SendRecv", "SendRecv",      "SendRecv"};
    static const char *const reductions[] = {"Sum", "Prod", "MinMax", "MinMax", "SumPostDiv"};
    if (task->exchange > ALL_GATHER) {
        snprintf(name, 96, "ncclDevKernel_SendRecv");
        return name;
    }
    if (task->exchange > REDUCE_SCATTER) {
        snprintf(name, 96, "ncclDevKernel_%s_RING_LL", names[task->exchange]);
        return name;
    }
    const char *type = type_short_name(task->type), *reduction = reductions[task->reduction];
    const bool is_integer = *type != 'f' && *type != 'b';
    if (task->custom.is_used || (task->reduction == REDUCE_AVG && !is_integer))
        reduction = "PreMulSum";
    // Sums and products of signed integers are those of unsigned ones.
    const bool is_unsigned = *type == 'i' && task->reduction != REDUCE_MAX && task->reduction != REDUCE_MIN;
    snprintf(name, 96, "ncclDevKernel_%s_%s_%s%s_RING_LL", names[task->exchange], reduction, is_unsigned ? "u" : "",
             type + is_unsigned);
    return name;
}

static unsigned task_channels(const struct task *task)
{
    uint64_t bytes = task->exchange == MESSAGES ? 0 : task_send_bytes(task);
    for (unsigned i = 0; i < task->message_count; i++)
        bytes += task->messages[i].bytes;
    const uint64_t channels = bytes / CHANNEL_BYTES + 1;
    return channels < MOST_CHANNELS ? (unsigned)channels : MOST_CHANNELS;
}

void task_free(struct task *task)
{
    free(task->messages);
    free(task);
}

static void leg_of_collective(struct launch *launch, struct leg *leg)
{
    const struct task *task = &launch->task;
    struct comm *comm = launch->comm;
    struct slot *ring = comm->place->world->collectives;
    const uint32_t all = all_of(comm->size), root = 1u << task->root;
    const bool is_root = comm->rank == task->root;
    const bool from_root = task->exchange == BROADCAST || task->exchange == SCATTER;
    const bool to_root = task->exchange == REDUCE || task->exchange == GATHER;
    const uint64_t ticket = comm->collectives++;
    *leg = (struct leg){.launch = launch,
                        .slot = &ring[ticket % COLLECTIVE_SLOTS],
                        .slots = COLLECTIVE_SLOTS,
                        .ticket = ticket,
                        .member = (unsigned)comm->rank,
                        .members = (unsigned)comm->size,
                        .ranks = all,
                        .sources = from_root             ? root
                                   : to_root && !is_root ? 0
                                                         : all,
                        .send = from_root && !is_root ? NULL : task->send,
                        .send_bytes = task_send_bytes(task),
                        .least_ns = task_least_ns(task),
                        .file = -1};
}

static void leg_of_message(struct launch *launch, const struct message *message, struct leg *leg)
{
    struct comm *comm = launch->comm;
    const int from = message->is_send ? comm->rank : message->peer, to = message->is_send ? message->peer : comm->rank;
    const uint64_t ticket = message->is_send ? comm->sent[to]++ : comm->received[from]++;
    *leg = (struct leg){
        .launch = launch,
        .slot = &comm->place->world->channels[from][to][ticket % CHANNEL_SLOTS],
        .slots = CHANNEL_SLOTS,
        .ticket = ticket,
        .member = message->is_send ? 0 : 1,
        .members = 2,
        .ranks = 1u << message->peer,
        .sources = message->is_send ? 0 : 1,
        .send = message->is_send ? message->buffer : NULL,
        .send_bytes = message->is_send ? message->bytes : 0,
        .recv = message->is_send ? NULL : message->buffer,
        .recv_bytes = message->is_send ? 0 : message->bytes,
        .least_ns = (uint64_t)(driver_number("nccl_latency_ns") + (double)message->bytes / pair_gbps(comm, from, to)),
        .file = -1};
}

// Without data nobody gives anything, and nobody waits for what others give.
static void empty(struct leg *leg)
{
    leg->sources = 0;
    leg->send = leg->recv = NULL;
    leg->send_bytes = leg->recv_bytes = 0;
}

static void launch_ready(struct simgpu_launch *base, uint64_t ready_ns)
{
    struct launch *launch = (struct launch *)base;
    launch->is_ready = true;
    launch->ready_ns = ready_ns;
    place_progress(launch->comm->place);
}

// A launch of the task, whether on a stream or by a graph. Engine lock held.
static struct simgpu_launch *task_submit(void *argument)
{
    struct task *task = argument;
    struct launch *launch = calloc(1, sizeof *launch);
    const unsigned legs = task->exchange == MESSAGES ? task->message_count : 1;
    if (!launch || !(launch->legs = calloc(legs, sizeof *launch->legs)))
        abort();
    task->is_launched = true;
    launch->base.ready = launch_ready;
    launch->comm = task->comm;
    launch->task = *task;
    launch->task.messages = NULL;
    launch->leg_count = legs;
    if (task->exchange != MESSAGES)
        leg_of_collective(launch, &launch->legs[0]);
    for (unsigned i = 0; i < task->message_count; i++)
        leg_of_message(launch, &task->messages[i], &launch->legs[i]);
    launch->moves_data = driver_number("nccl_data") != 0;
    for (unsigned i = 0; i < legs && !launch->moves_data; i++)
        empty(&launch->legs[i]);
    struct launch **last = &launch->comm->queue;
    while (*last)
        last = &(*last)->next;
    *last = launch;
    return &launch->base;
}

// A communicator of one rank needs no kernel unless a scalar is applied.
static bool is_plain_copy(const struct task *task)
{
    return task->comm->size == 1 && task->exchange != MESSAGES && !task->custom.is_used;
}

ncclResult_t task_launch(struct task *task)
{
    const struct driver *driver = driver_get();
    struct comm *comm = task->comm;
    CUcontext before = NULL;
    CUresult result = CUDA_SUCCESS;
    char name[96];
    void *unused = NULL, *parameters[] = {&unused};
    driver->ctx_get_current(&before);
    if (before != comm->context)
        driver->ctx_set_current(comm->context);
    if (is_plain_copy(task)) {
        if (task->send != task->recv)
            result = driver->copy_async((CUdeviceptr)task->recv, (CUdeviceptr)task->send,
                                        task->count * type_bytes(task->type), task->stream);
        task->is_launched = true;
    } else {
        const struct simgpu_external external = {
            .submit = task_submit, .argument = task, .least_ns = task_least_ns(task), .sms = task_channels(task)};
        CUfunction function = driver_kernel(comm->context, kernel_name(task, name));
        driver->next_kernel(&external);
        result = function ? driver->launch_kernel(function, external.sms, 1, 1, THREADS, 1, 1, 0, task->stream,
                                                  parameters, NULL)
                          : CUDA_ERROR_NOT_FOUND;
        driver->next_kernel(NULL);
    }
    if (before != comm->context)
        driver->ctx_set_current(before);
    if (result || task->is_launched) {
        task_free(task);
    } else {
        driver->lock();
        task->next = comm->captured;
        comm->captured = task;
        driver->unlock();
    }
    return result ? fail(ncclUnhandledCudaError, "the kernel of a collective could not be launched") : ncclSuccess;
}

static bool leg_arrive(struct leg *leg, uint64_t start_ns)
{
    struct launch *launch = leg->launch;
    struct world *world = launch->comm->place->world;
    struct slot *slot = leg->slot;
    world_lock(world);
    const bool is_mine = slot->ticket == leg->ticket;
    bool is_last = false;
    if (is_mine) {
        slot->arrived |= 1u << leg->member;
        slot->start_ns = start_ns > slot->start_ns ? start_ns : slot->start_ns;
        slot->least_ns = leg->least_ns > slot->least_ns ? leg->least_ns : slot->least_ns;
        is_last = slot->arrived == all_of((int)leg->members);
        if (is_last)
            slot->end_ns = slot->start_ns + slot->least_ns;
    }
    world_unlock(world);
    if (!is_mine)
        return false;
    leg->has_arrived = true;
    if (launch->moves_data) {
        __atomic_add_fetch(&launch->effects, 1, __ATOMIC_RELAXED);
        driver_get()->effect(leg_publish, leg, leg->send_bytes);
    }
    if (is_last)
        world_ring(world);
    return true;
}

// The end of all the launch's legs, or 0 while one is unknown. Sets has_failed when it will never be known.
static uint64_t launch_end(struct launch *launch)
{
    struct world *world = launch->comm->place->world;
    uint64_t end_ns = launch->start_ns;
    bool is_complete = true;
    launch->has_failed = __atomic_load_n(&launch->comm->is_aborted, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < launch->leg_count && !launch->has_failed; i++) {
        struct leg *leg = &launch->legs[i];
        uint64_t leg_end_ns = 0;
        if (leg->has_arrived || leg_arrive(leg, launch->start_ns)) {
            world_lock(world);
            leg_end_ns = leg->slot->end_ns;
            world_unlock(world);
        }
        if (!leg_end_ns) {
            is_complete = false;
            launch->has_failed = world_gone(world) & leg->ranks;
        }
        end_ns = leg_end_ns > end_ns ? leg_end_ns : end_ns;
    }
    return is_complete && !launch->has_failed ? end_ns : 0;
}

// Whether nothing refers to the launch any more.
static bool launch_is_over(const struct launch *launch)
{
    if (__atomic_load_n(&launch->effects, __ATOMIC_ACQUIRE))
        return false;
    struct world *world = launch->comm->place->world;
    bool is_over = true;
    world_lock(world);
    for (unsigned i = 0; i < launch->leg_count && !launch->has_failed; i++) {
        const struct leg *leg = &launch->legs[i];
        is_over = is_over && (!leg->staging || leg->slot->ticket != leg->ticket || world_gone(world) & leg->ranks);
    }
    world_unlock(world);
    return is_over;
}

static void launch_free(struct launch *launch)
{
    for (unsigned i = 0; i < launch->leg_count; i++) {
        if (launch->legs[i].staging)
            leg_unstage(&launch->legs[i]);
    }
    free(launch->legs);
    free(launch);
}

static void comm_progress(struct comm *comm)
{
    struct launch *launch;
    while ((launch = comm->queue) && launch->is_ready) {
        if (!launch->has_started) {
            launch->has_started = true;
            const uint64_t last_ns = comm->last_end_ns;
            launch->start_ns =
                driver_get()->start(&launch->base, launch->ready_ns > last_ns ? launch->ready_ns : last_ns);
        }
        uint64_t end_ns = launch_end(launch);
        if (!end_ns && !launch->has_failed)
            break;
        if (launch->has_failed) {
            const uint64_t now_ns = clock_now_ns();
            end_ns = now_ns > launch->start_ns ? now_ns : launch->start_ns;
            comm_set_error(comm, ncclRemoteError);
        }
        comm->queue = launch->next;
        launch->next = comm->draining;
        comm->draining = launch;
        comm->last_end_ns = end_ns;
        const bool has_effect = !launch->has_failed;
        if (has_effect)
            __atomic_add_fetch(&launch->effects, 1, __ATOMIC_RELAXED);
        const size_t bytes = launch->legs[0].send_bytes;
        const bool may_wait = !comm->is_local && launch->moves_data;
        driver_get()->finish(&launch->base, end_ns, has_effect ? launch_consume : NULL, launch,
                             may_wait && bytes < WORKER_BYTES ? WORKER_BYTES : bytes);
    }
    for (struct launch **at = &comm->draining; *at;) {
        launch = *at;
        if (!launch_is_over(launch)) {
            at = &launch->next;
            continue;
        }
        *at = launch->next;
        launch_free(launch);
    }
}

void place_progress(struct place *place)
{
    // Ending a launch makes others ready, which come here again: they are seen to by the loop below.
    place->rounds++;
    if (place->is_progressing)
        return;
    place->is_progressing = true;
    for (uint64_t seen = 0; seen != place->rounds;) {
        seen = place->rounds;
        const uint32_t heard = world_heard(place->world);
        for (struct comm *comm = place->comms; comm; comm = comm->next)
            comm_progress(comm);
        place->rounds += world_heard(place->world) != heard;
    }
    place->is_progressing = false;
}

static void *progress_main(void *argument)
{
    struct place *place = argument;
    while (!__atomic_load_n(&place->is_stopping, __ATOMIC_ACQUIRE)) {
        const uint32_t heard = world_heard(place->world);
        bool is_waiting = false;
        driver_get()->lock();
        place_progress(place);
        for (const struct comm *comm = place->comms; comm; comm = comm->next)
            is_waiting |= comm->queue || comm->draining;
        driver_get()->unlock();
        if (__atomic_load_n(&place->is_stopping, __ATOMIC_ACQUIRE))
            break;
        world_wait(place->world, heard, is_waiting ? LOOK_NS : IDLE_NS);
        if (is_waiting && world_heard(place->world) == heard)
            place_look_for_gone(place);
    }
    return NULL;
}

ncclResult_t place_start(struct place *place)
{
    ncclResult_t result = ncclSuccess;
    driver_get()->lock();
    if (!place->thread) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (pthread_create(&place->thread, NULL, progress_main, place) != 0) {
            place->thread = 0;
            result = fail(ncclSystemError, "no thread could be started");
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    driver_get()->unlock();
    return result;
}

void comm_drain(struct comm *comm, uint64_t most_ns)
{
    struct place *place = comm->place;
    const uint64_t until_ns = clock_now_ns() + most_ns;
    bool is_over = false;
    __atomic_add_fetch(&place->drainers, 1, __ATOMIC_ACQ_REL);
    while (!is_over && clock_now_ns() < until_ns) {
        const uint32_t heard = world_heard(place->world);
        driver_get()->lock();
        place_progress(place);
        is_over = !comm->queue && !comm->draining;
        driver_get()->unlock();
        if (is_over)
            break;
        world_wait(place->world, heard, LOOK_NS);
        if (world_heard(place->world) == heard)
            place_look_for_gone(place);
    }
    __atomic_sub_fetch(&place->drainers, 1, __ATOMIC_ACQ_REL);
}
