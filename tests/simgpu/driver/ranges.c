#include "tests/simgpu/driver/ranges.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>

// Address space for each device, far more than its memory where possible: sizes are rounded to classes and never
// merged. Less where a limit or a sanitizer leaves less.
#define ARENA_MOST_BYTES ((size_t)1 << 40)
#define ARENA_LEAST_BYTES ((size_t)1 << 30)
#define ALIGNMENT 512u
#define CLASS_COUNT 256
#define RELEASE_BYTES (32u << 20) // freed blocks at least this big give their pages back

struct arena {
    char *base;
    size_t size, used;
    struct free_block {
        uintptr_t base;
        struct free_block *next;
    } * free[CLASS_COUNT];
};

static void *ranges; // search.h tree; ranges that overlap compare equal
static struct arena arenas[SIMGPU_MAX_DEVICES];
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_id;

static int compare_ranges(const void *a, const void *b)
{
    const struct range *left = a, *right = b;
    if (left->base + left->size <= right->base)
        return -1;
    return left->base >= right->base + right->size;
}

struct range *range_find(const void *address)
{
    const struct range key = {.base = (uintptr_t)address, .size = 1};
    struct range *const *found = tfind(&key, &ranges, compare_ranges);
    return found ? *found : NULL;
}

struct range *range_add(uintptr_t base, size_t size, enum range_kind kind)
{
    struct range *range = calloc(1, sizeof *range);
    if (!range)
        return NULL;
    *range = (struct range){.base = base, .size = size, .kind = kind, .id = ++last_id};
    struct range *const *found = tsearch(range, &ranges, compare_ranges);
    if (!found || *found != range) {
        free(range);
        return NULL;
    }
    return range;
}

void range_remove(struct range *range)
{
    tdelete(range, &ranges, compare_ranges);
    free(range);
}

struct walk {
    void (*visit)(struct range *range, void *argument);
    void *argument;
};

static void walk_node(const void *node, VISIT which, void *closure)
{
    const struct walk *walk = closure;
    if (which == postorder || which == leaf)
        walk->visit(*(struct range *const *)node, walk->argument);
}

void range_for_each(void (*visit)(struct range *range, void *argument), void *argument)
{
    struct walk walk = {visit, argument};
    twalk_r(ranges, walk_node, &walk);
}

// The class of a size: four to each power of two, from ALIGNMENT up. Rounds *size up to the class's.
static unsigned size_class(size_t *size)
{
    size_t step = ALIGNMENT / 4;
    unsigned class = 0;
    while (4 * step < (size_t)1 << 62 && 8 * step < *size) {
        step *= 2;
        class += 4;
    }
    // Blocks of 4 to 8 steps; the smallest is one ALIGNMENT.
    size_t steps = (*size + step - 1) / step;
    if (steps < 4)
        steps = 4;
    const size_t rounded = (steps * step + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *size = rounded;
    return class + (unsigned)(steps - 4);
}

static uintptr_t arena_take(struct arena *arena, size_t size)
{
    const unsigned class = size_class(&size);
    uintptr_t base = 0;
    pthread_mutex_lock(&arena_lock);
    for (size_t bytes = ARENA_MOST_BYTES; !arena->base && bytes >= ARENA_LEAST_BYTES; bytes /= 4) {
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED)
            continue;
        // As on a real device, a child process does not see it, and neither does a core dump.
        madvise(mapped, bytes, MADV_DONTFORK);
        madvise(mapped, bytes, MADV_DONTDUMP);
        // Few page faults, so that a copy takes little longer than it is computed to take.
        madvise(mapped, bytes, MADV_HUGEPAGE);
        arena->base = mapped;
        arena->size = bytes;
    }
    struct free_block *block = class < CLASS_COUNT ? arena->free[class] : NULL;
    if (block) {
        arena->free[class] = block->next;
        base = block->base;
        free(block);
    } else if (arena->base && size <= arena->size - arena->used) {
        base = (uintptr_t)arena->base + arena->used;
        arena->used += size;
    }
    pthread_mutex_unlock(&arena_lock);
    return base;
}

// An effect: makes the block free again once everything that may still touch it is done.
static void arena_give(void *base, size_t size)
{
    struct free_block *block = malloc(sizeof *block);
    const unsigned class = size_class(&size);
    if (size >= RELEASE_BYTES)
        madvise(base, size, MADV_DONTNEED);
    if (!block || class >= CLASS_COUNT) {
        free(block);
        return;
    }
    pthread_mutex_lock(&arena_lock);
    for (unsigned i = 0; i < SIMGPU_MAX_DEVICES; i++) {
        struct arena *arena = &arenas[i];
        if ((char *)base < arena->base || (char *)base >= arena->base + arena->size || !arena->base)
            continue;
        *block = (struct free_block){(uintptr_t)base, arena->free[class]};
        arena->free[class] = block;
        break;
    }
    pthread_mutex_unlock(&arena_lock);
}

CUresult device_memory_take(struct device *device, size_t size, struct range **ret_range)
{
    if (size > device->memory_bytes - device->used_bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const uintptr_t base = arena_take(&arenas[device->index], size);
    struct range *range = base ? range_add(base, size, RANGE_DEVICE) : NULL;
    if (!range)
        return CUDA_ERROR_OUT_OF_MEMORY;
    range->device = device;
    range->context = context_current();
    device->used_bytes += size;
    *ret_range = range;
    return CUDA_SUCCESS;
}

void device_memory_give(struct range *range)
{
    const struct effect give = {
        .type = EFFECT_CALL, .to = (char *)range->base, .width_bytes = range->size, .call = arena_give};
    range->device->used_bytes -= range->size;
    effect_start(&give);
    range_remove(range);
}

void device_memory_give_id(uintptr_t base, uint64_t id)
{
    struct range *range = range_find((void *)base);
    if (range && range->id == id)
        device_memory_give(range);
}

void *address_space_take(size_t size, size_t alignment)
{
    if (alignment < 4096)
        alignment = 4096;
    char *mapped = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    const uintptr_t aligned = ((uintptr_t)mapped + alignment - 1) / alignment * alignment;
    if (aligned > (uintptr_t)mapped)
        munmap(mapped, aligned - (uintptr_t)mapped);
    const uintptr_t end = (uintptr_t)mapped + size + alignment;
    if (end > aligned + size)
        munmap((void *)(aligned + size), end - aligned - size);
    return (void *)aligned;
}
