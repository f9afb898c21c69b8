#include "tests/simgpu/nccl/group.h"

#include <stdlib.h>

struct beginning {
    struct comm *comm;
    struct beginning *next;
};

static __thread struct {
    unsigned depth;
    ncclResult_t result;
    struct task *tasks;
    struct beginning *beginnings;
    struct wish *wishes;
} group;

ncclResult_t group_note(ncclResult_t result)
{
    if (group.depth && result != ncclSuccess && result != ncclInProgress && group.result == ncclSuccess)
        group.result = result;
    return result;
}

static void add_last(struct task **list, struct task *task)
{
    while (*list)
        list = &(*list)->next;
    task->next = NULL;
    *list = task;
}

ncclResult_t group_add_task(struct task *task)
{
    if (!group.depth)
        return task_launch(task);
    add_last(&group.tasks, task);
    return ncclSuccess;
}

// Messages of one group, communicator and stream are one kernel, so that they need no order among the ranks.
ncclResult_t group_add_message(struct comm *comm, CUstream stream, const struct message *message)
{
    struct task *task = group.tasks;
    while (task && (task->exchange != MESSAGES || task->comm != comm || task->stream != stream))
        task = task->next;
    const bool is_new = !task;
    if (is_new) {
        if (!(task = calloc(1, sizeof *task)))
            return fail(ncclSystemError, "out of memory");
        *task = (struct task){.comm = comm, .stream = stream, .exchange = MESSAGES};
    }
    struct message *grown = realloc(task->messages, (task->message_count + 1) * sizeof *grown);
    if (!grown) {
        if (is_new)
            task_free(task);
        return fail(ncclSystemError, "out of memory");
    }
    task->messages = grown;
    grown[task->message_count++] = *message;
    return is_new ? group_add_task(task) : ncclSuccess;
}

ncclResult_t group_add_comm(struct comm *comm, ncclComm_t *handle)
{
    *handle = comm_handle(comm);
    if (!group.depth) {
        if (!comm->is_blocking)
            return comm_try_complete(comm) ? ncclSuccess : ncclInProgress;
        return comm_complete(comm);
    }
    struct beginning *beginning = malloc(sizeof *beginning);
    if (!beginning)
        return fail(ncclSystemError, "out of memory");
    *beginning = (struct beginning){.comm = comm, .next = group.beginnings};
    group.beginnings = beginning;
    return ncclSuccess;
}

ncclResult_t group_add_wish(const struct wish *given)
{
    struct comm *comm = NULL;
    if (!group.depth) {
        const ncclResult_t result = wish_grant(given, &comm);
        if (result == ncclSuccess && comm) {
            *given->handle = comm_handle(comm);
            return comm_complete(comm);
        }
        return result;
    }
    struct wish *wish = malloc(sizeof *wish);
    if (!wish)
        return fail(ncclSystemError, "out of memory");
    *wish = *given;
    wish->next = group.wishes;
    group.wishes = wish;
    return ncclSuccess;
}

static void keep(ncclResult_t *result, ncclResult_t next)
{
    if (*result == ncclSuccess || (*result == ncclInProgress && next != ncclSuccess))
        *result = next;
}

static ncclResult_t start(void)
{
    group.depth++;
    return ncclSuccess;
}

// All ranks of this thread join before any is waited for.
static ncclResult_t finish_beginnings(void)
{
    ncclResult_t result = ncclSuccess;
    while (group.wishes) {
        struct wish *wish = group.wishes;
        struct comm *comm = NULL;
        group.wishes = wish->next;
        const ncclResult_t granted = wish_grant(wish, &comm);
        keep(&result, granted);
        if (granted == ncclSuccess && comm) {
            keep(&result, group_add_comm(comm, wish->handle));
        }
        free(wish);
    }
    while (group.beginnings) {
        struct beginning *beginning = group.beginnings;
        group.beginnings = beginning->next;
        if (beginning->comm->is_blocking)
            keep(&result, comm_complete(beginning->comm));
        else if (!comm_try_complete(beginning->comm))
            keep(&result, ncclInProgress);
        free(beginning);
    }
    return result;
}

// Collectives first, then messages.
static ncclResult_t finish_tasks(ncclResult_t result)
{
    struct task *messages = NULL;
    while (group.tasks) {
        struct task *task = group.tasks;
        group.tasks = task->next;
        task->next = NULL;
        if (result != ncclSuccess && result != ncclInProgress)
            task_free(task);
        else if (task->exchange == MESSAGES)
            add_last(&messages, task);
        else
            keep(&result, task_launch(task));
    }
    while (messages) {
        struct task *task = messages;
        messages = task->next;
        task->next = NULL;
        keep(&result, task_launch(task));
    }
    return result;
}

static ncclResult_t end(void)
{
    if (!group.depth)
        return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
    if (group.depth > 1) {
        group.depth--;
        return ncclSuccess;
    }
    ncclResult_t result = finish_beginnings();
    keep(&result, group.result);
    result = finish_tasks(result);
    group.result = ncclSuccess;
    group.depth = 0;
    return result;
}

// Says how long the group would take, and forgets it.
static ncclResult_t simulate_end(ncclSimInfo_t *info)
{
    if (!group.depth || !info)
        return fail(ncclInvalidUsage, "ncclGroupSimulateEnd needs a group and where to put its result");
    double total_us = 0;
    while (group.tasks) {
        struct task *task = group.tasks;
        group.tasks = task->next;
        total_us += (double)task_least_ns(task) / 1000;
        task_free(task);
    }
    info->estimatedTime = (float)total_us;
    group.depth--;
    group.result = ncclSuccess;
    return ncclSuccess;
}

ENTRY(GroupStart, start, (void), ())
ENTRY(GroupEnd, end, (void), ())
ENTRY(GroupSimulateEnd, simulate_end, (ncclSimInfo_t * simInfo), (simInfo))
