#include "plots/memory_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/map.h"
#include "shim/api/functions.h"

/* A call that allocates or releases, at the time it counts from. */
struct request {
    uint64_t t_ns, ptr, size_bytes, call_ns;
    uint32_t process;
    uint8_t group;
    bool release;
};

const char *gw_memory_group_words(enum gw_memory_group group)
{
    static const char *const words[GW_MEMORY_GROUP_COUNT] = {
        [GW_MEMORY_GROUP_DEVICE] = "cudaMalloc and its kin",
        [GW_MEMORY_GROUP_POOL] = "cudaMallocAsync (pools)",
        [GW_MEMORY_GROUP_MANAGED] = "managed",
        [GW_MEMORY_GROUP_PHYSICAL] = "cuMemCreate (mapped)",
        [GW_MEMORY_GROUP_HOST] = "page-locked, on the host",
    };
    return words[group];
}

uint32_t gw_memory_bin(uint64_t size_bytes)
{
    uint32_t bin = size_bytes ? (63u - (uint32_t)__builtin_clzll(size_bytes)) / 2u : 0;

    return bin < GW_MEMORY_BINS ? bin : GW_MEMORY_BINS - 1;
}

void gw_memory_data_clear(struct gw_memory_data *data)
{
    free(data->changes);
    free(data->processes);
    memset(data, 0, sizeof(*data));
}

/* The group of a kind of call, GW_MEMORY_GROUP_COUNT for those that move no memory of a known size. Reserving an
 * address range and mapping are of the same kind as making physical memory; only that takes any. */
static enum gw_memory_group group_of(const struct gw_call *call, uint32_t kind)
{
    switch (kind % GW_MEMORY_FREE) {
    case GW_MEMORY_DEVICE:
        return GW_MEMORY_GROUP_DEVICE;
    case GW_MEMORY_ASYNC:
        return GW_MEMORY_GROUP_POOL;
    case GW_MEMORY_MANAGED:
        return GW_MEMORY_GROUP_MANAGED;
    case GW_MEMORY_HOST:
    case GW_MEMORY_REGISTER:
        return GW_MEMORY_GROUP_HOST;
    case GW_MEMORY_VIRTUAL:
        return call->function == GW_FUNCTION_cuMemCreate || call->function == GW_FUNCTION_cuMemRelease
                   ? GW_MEMORY_GROUP_PHYSICAL
                   : GW_MEMORY_GROUP_COUNT;
    default:
        return GW_MEMORY_GROUP_COUNT;
    }
}

/* The requests of the program itself: the runtime's call stands for the driver's calls within it. */
static size_t collect(const struct gw_model *model, struct request *requests, uint64_t *inside_until_ns,
                      struct gw_memory_data *data)
{
    size_t count = 0;

    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        const struct gw_memory *memory;
        enum gw_memory_group group;
        bool release;
        if (call->detail_kind != GW_DETAIL_MEMORY || call->detail >= model->memories_count ||
            call->begin_ns < inside_until_ns[call->thread])
            continue;
        memory = &model->memories[call->detail];
        release = memory->kind >= GW_MEMORY_FREE;
        inside_until_ns[call->thread] = call->end_ns;
        if (call->result != 0) {
            data->failed += !release;
            continue;
        }
        data->unsized += memory->kind == GW_MEMORY_ARRAY;
        group = group_of(call, memory->kind);
        if (group == GW_MEMORY_GROUP_COUNT || memory->ptr == 0 || call->flags & GW_CALL_NO_END)
            continue;
        requests[count++] = (struct request){.t_ns = release ? call->begin_ns : call->end_ns,
                                             .ptr = memory->ptr,
                                             .size_bytes = memory->size_bytes,
                                             .call_ns = call->end_ns - call->begin_ns,
                                             .process = model->threads[call->thread].process,
                                             .group = (uint8_t)group,
                                             .release = release};
    }
    return count;
}

static int compare_requests(const void *left, const void *right)
{
    const struct request *a = left, *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    return (int)b->release - (int)a->release;
}

static void add_change(struct gw_memory_data *data, const struct request *request, uint8_t group, int64_t bytes)
{
    data->changes[data->changes_count++] =
        (struct gw_memory_change){.t_ns = request->t_ns, .bytes = bytes, .process = request->process, .group = group};
}

/* Pairs releases with allocations by pointer. Handles of physical memory are no pointers; all other memory is released
 * by whatever call the program likes: cudaFree takes pool memory too. */
static int pair(const struct request *requests, size_t count, struct gw_memory_data *data)
{
    struct gw_map live = {NULL}; /* pointer to the request that allocated it, GW_NONE once released */
    int error = 0;

    for (size_t i = 0; i < count && !error; i++) {
        const struct request *request = &requests[i];
        uint64_t space = (uint64_t)request->process * 2 + (request->group == GW_MEMORY_GROUP_PHYSICAL);
        uint32_t *found = gw_map_find(&live, space, request->ptr);
        const struct request *before = found && *found != GW_NONE ? &requests[*found] : NULL;
        struct gw_memory_sum *sum = &data->sums[before ? before->group : request->group];
        if (before) {
            /* An allocation where one still is: its release was not seen. */
            add_change(data, request, before->group, -(int64_t)before->size_bytes);
            sum->releases += request->release;
            *found = GW_NONE;
        }
        if (request->release) {
            sum->call_ns += before ? request->call_ns : 0;
            data->unmatched += !before;
            continue;
        }
        sum = &data->sums[request->group];
        sum->allocations++;
        sum->call_ns += request->call_ns;
        sum->bytes += request->size_bytes;
        sum->by_size[gw_memory_bin(request->size_bytes)]++;
        add_change(data, request, request->group, (int64_t)request->size_bytes);
        if (found)
            *found = (uint32_t)i;
        else
            error = gw_map_insert(&live, space, request->ptr, (uint32_t)i);
    }
    gw_map_clear(&live);
    return error;
}

/* Finds each process's changes and what it has at once. */
static void sum_up(struct gw_memory_data *data)
{
    int64_t live[GW_MEMORY_GROUP_COUNT] = {0};

    for (size_t i = 0; i < data->changes_count; i++) {
        const struct gw_memory_change *change = &data->changes[i];
        struct gw_memory_sum *sum = &data->sums[change->group];
        struct gw_memory_process *process;
        uint64_t device_bytes = 0;
        if (i == 0 || change->process != data->changes[i - 1].process) {
            memset(live, 0, sizeof(live));
            data->processes[data->processes_count++] =
                (struct gw_memory_process){.process = change->process, .change_first = i};
        }
        process = &data->processes[data->processes_count - 1];
        process->change_count++;
        live[change->group] += change->bytes;
        if ((uint64_t)live[change->group] > sum->most_bytes)
            sum->most_bytes = (uint64_t)live[change->group];
        for (uint32_t group = 0; group < GW_MEMORY_GROUP_HOST; group++)
            device_bytes += (uint64_t)live[group];
        process->left_bytes = device_bytes;
        if (device_bytes > process->most_bytes)
            process->most_bytes = device_bytes;
    }
}

/* Calls that are alike share their arguments, so there are more of them than of these. */
static size_t count_calls(const struct gw_model *model)
{
    size_t count = 0;

    for (size_t i = 0; i < model->calls_count; i++)
        count += model->calls[i].detail_kind == GW_DETAIL_MEMORY;
    return count;
}

int gw_memory_data_create(const struct gw_model *model, struct gw_memory_data *data)
{
    struct request *requests = calloc(count_calls(model) + 1, sizeof(*requests));
    uint64_t *inside_until_ns = calloc(model->threads_count + 1, sizeof(*inside_until_ns));
    size_t count;
    int error = -ENOMEM;

    memset(data, 0, sizeof(*data));
    if (!requests || !inside_until_ns)
        goto end;
    count = collect(model, requests, inside_until_ns, data);
    qsort(requests, count, sizeof(*requests), compare_requests);
    /* An allocation may also end one whose release was not seen. */
    data->changes = calloc(2 * count + 1, sizeof(*data->changes));
    data->processes = calloc(model->processes_count + 1, sizeof(*data->processes));
    if (!data->changes || !data->processes)
        goto end;
    error = pair(requests, count, data);
    if (!error)
        sum_up(data);
end:
    free(requests);
    free(inside_until_ns);
    return error;
}
