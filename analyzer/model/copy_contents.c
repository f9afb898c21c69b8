/*
 * Which copies carry bytes that another one has carried. The host hashes before an upload; a download's bytes are known
 * only later, so one that does not block has no hash.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/copies.h"
#include "analyzer/model/sorted.h"

/* Smaller ones are flags and counters, equal by chance. */
#define TELLING_BYTES 4096u
#define DEVICES_LOOKED_AT 64u

struct content {
    uint64_t hash, size_bytes, host_ptr, device_ptr, t_ns;
    uint32_t op, process, device;
};

struct release {
    uint64_t ptr, t_ns;
    uint32_t process;
};

/* A download without a hash. */
struct unseen {
    uint64_t host_ptr, size_bytes, t_ns;
    uint32_t process, op;
};

static int by_content(const void *left, const void *right)
{
    const struct content *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    if (a->t_ns != b->t_ns)
        return a->t_ns < b->t_ns ? -1 : 1;
    return a->op < b->op ? -1 : a->op > b->op;
}

static int by_pointer(const void *left, const void *right)
{
    const struct release *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->ptr != b->ptr)
        return a->ptr < b->ptr ? -1 : 1;
    return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

static int by_place(const void *left, const void *right)
{
    const struct unseen *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->host_ptr != b->host_ptr)
        return a->host_ptr < b->host_ptr ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

static const struct gw_copy *host_copy(const struct gw_model *model, const struct gw_op *op)
{
    if (op->call == GW_NONE || (op->kind != GW_OP_H2D && op->kind != GW_OP_D2H))
        return NULL;
    const struct gw_call *call = &model->calls[op->call];
    return call->detail_kind == GW_DETAIL_COPY && call->detail != GW_NONE ? &model->copies[call->detail] : NULL;
}

static const struct gw_copy *hashed_copy(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_copy *copy = host_copy(model, op);
    return copy && copy->hash ? copy : NULL;
}

/* Returns 0 or -ENOMEM; the caller frees. */
static int list_contents(const struct gw_model *model, struct content **ret_list, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < model->ops_count; i++)
        count += hashed_copy(model, &model->ops[i]) != NULL;
    struct content *list = malloc((count + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    count = 0;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        const struct gw_copy *copy = hashed_copy(model, op);
        if (copy)
            list[count++] =
                (struct content){.hash = copy->hash,
                                 .size_bytes = copy->size_bytes,
                                 .host_ptr = op->kind == GW_OP_H2D ? copy->src : copy->dst,
                                 .device_ptr = op->kind == GW_OP_H2D ? copy->dst : copy->src,
                                 .t_ns = model->calls[op->call].begin_ns,
                                 .op = (uint32_t)i,
                                 .process = model->threads[model->calls[op->call].thread].process,
                                 .device = op->stream == GW_NONE ? GW_NONE : model->streams[op->stream].device};
    }
    qsort(list, count, sizeof *list, by_content);
    *ret_list = list;
    *ret_count = count;
    return 0;
}

static const struct gw_memory *released(const struct gw_model *model, const struct gw_call *call)
{
    if (call->detail_kind != GW_DETAIL_MEMORY || call->detail == GW_NONE)
        return NULL;
    const struct gw_memory *memory = &model->memories[call->detail];
    return memory->kind >= GW_MEMORY_FREE ? memory : NULL;
}

/* Returns 0 or -ENOMEM; the caller frees. */
static int list_releases(const struct gw_model *model, struct release **ret_list, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < model->calls_count; i++)
        count += released(model, &model->calls[i]) != NULL;
    struct release *list = malloc((count + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    count = 0;
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_memory *memory = released(model, &model->calls[i]);
        if (memory)
            list[count++] =
                (struct release){memory->ptr, model->calls[i].begin_ns, model->threads[model->calls[i].thread].process};
    }
    qsort(list, count, sizeof *list, by_pointer);
    *ret_list = list;
    *ret_count = count;
    return 0;
}

/* Whether the memory that the first copy filled was released before the second. */
static bool released_between(const struct release *list, size_t count, const struct content *first,
                             const struct content *second)
{
    const struct release key = {first->device_ptr, first->t_ns, first->process};
    const size_t low = GW_FIRST_NOT(0, count, middle, by_pointer(&list[middle], &key) < 0);
    return low < count && list[low].process == key.process && list[low].ptr == key.ptr && list[low].t_ns < second->t_ns;
}

static const struct gw_copy *unseen_download(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_copy *copy = op->kind == GW_OP_D2H ? host_copy(model, op) : NULL;
    return copy && !copy->hash && copy->size_bytes >= TELLING_BYTES ? copy : NULL;
}

/* Returns 0 or -ENOMEM; the caller frees. */
static int list_unseen(const struct gw_model *model, struct unseen **ret_list, size_t *ret_count)
{
    size_t count = 0;
    for (size_t i = 0; i < model->ops_count; i++)
        count += unseen_download(model, &model->ops[i]) != NULL;
    struct unseen *list = malloc((count + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    count = 0;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        const struct gw_copy *copy = unseen_download(model, op);
        if (copy)
            list[count++] = (struct unseen){.host_ptr = copy->dst,
                                            .size_bytes = copy->size_bytes,
                                            .t_ns = model->calls[op->call].begin_ns,
                                            .process = model->threads[model->calls[op->call].thread].process,
                                            .op = (uint32_t)i};
    }
    qsort(list, count, sizeof *list, by_place);
    *ret_list = list;
    *ret_count = count;
    return 0;
}

/* The last download to where the second upload comes from, after the first upload of the same bytes; NULL: none. It
 * wrote these bytes again, or the second upload would bring others. */
static const struct unseen *download_between(const struct unseen *list, size_t count, const struct content *first,
                                             const struct content *second)
{
    const struct unseen key = {second->host_ptr, second->size_bytes, second->t_ns, second->process, 0};
    const size_t low = GW_FIRST_NOT(0, count, middle, by_place(&list[middle], &key) < 0);
    const struct unseen *last = low ? &list[low - 1] : NULL;
    return last && last->process == key.process && last->host_ptr == key.host_ptr &&
                   last->size_bytes == key.size_bytes && last->t_ns > first->t_ns
               ? last
               : NULL;
}

static bool same_bytes(const struct content *a, const struct content *b)
{
    return a->process == b->process && a->hash == b->hash && a->size_bytes == b->size_bytes;
}

/* Whether equal bytes mean that the same thing was copied: few bytes only from or to the same place. */
static bool tells(const struct content *first, const struct content *second)
{
    return second->size_bytes >= TELLING_BYTES || first->host_ptr == second->host_ptr ||
           first->device_ptr == second->device_ptr;
}

/* The copy of the same bytes before contents[at] on the same device, NULL: none. Only so many are looked through: each
 * of very many devices may have got them. */
static const struct content *before_on_device(const struct content *contents, size_t at)
{
    for (size_t back = 1; back <= DEVICES_LOOKED_AT && back <= at; back++) {
        const struct content *before = &contents[at - back];
        if (!same_bytes(before, &contents[at]))
            return NULL;
        if (before->device == contents[at].device && tells(before, &contents[at]))
            return before;
    }
    return NULL;
}

int gw_copy_repeats(const struct gw_model *model, struct gw_repeat **ret_repeats, size_t *ret_count)
{
    struct content *contents = NULL;
    struct release *releases = NULL;
    struct unseen *unseen = NULL;
    struct gw_repeat *repeats = NULL;
    size_t count = 0, release_count = 0, unseen_count = 0, found = 0;
    int ret = list_contents(model, &contents, &count);
    if (ret < 0)
        goto end;
    for (size_t i = 1; i < count; i++)
        found += same_bytes(&contents[i - 1], &contents[i]);
    repeats = malloc((found + 1) * sizeof *repeats);
    ret = !repeats ? -ENOMEM : found ? list_releases(model, &releases, &release_count) : 0;
    if (ret < 0 || (found && (ret = list_unseen(model, &unseen, &unseen_count)) < 0))
        goto end;
    found = 0;
    for (size_t i = 1; i < count; i++) {
        const struct content *last = &contents[i - 1], *second = &contents[i], *first = before_on_device(contents, i);
        const uint8_t now = model->ops[second->op].kind;
        if (!same_bytes(last, second))
            continue;
        const struct unseen *download = now == GW_OP_H2D ? download_between(unseen, unseen_count, last, second) : NULL;
        if (download)
            repeats[found++] = (struct gw_repeat){download->op, second->op, GW_REPEAT_BACK};
        else if (first && model->ops[first->op].kind == now &&
                 (now == GW_OP_D2H || !released_between(releases, release_count, first, second)))
            repeats[found++] = (struct gw_repeat){first->op, second->op, GW_REPEAT_SAME};
        else if (model->ops[last->op].kind == GW_OP_D2H && now == GW_OP_H2D && second->size_bytes >= TELLING_BYTES)
            repeats[found++] = (struct gw_repeat){last->op, second->op, GW_REPEAT_BACK};
    }
    *ret_repeats = repeats;
    *ret_count = found;
    repeats = NULL;
end:
    free(contents);
    free(releases);
    free(unseen);
    free(repeats);
    return ret;
}
