#include "analyzer/model/compiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/map.h"
#include "analyzer/model/sorted.h"
#include "shim/api/functions.h"

struct list {
    struct gw_compile *items;
    size_t count;
};

static int push(struct list *list, struct gw_compile compile)
{
    if (GW_GROW(list->items, list->count))
        return -ENOMEM;
    list->items[list->count++] = compile;
    return 0;
}

const char *gw_compile_kind_name(enum gw_compile_kind kind)
{
    static const char *const names[] = {
        [GW_COMPILE_LOAD] = "load",     [GW_COMPILE_JIT] = "jit",     [GW_COMPILE_LINK] = "link",
        [GW_COMPILE_LOOKUP] = "lookup", [GW_COMPILE_CHILD] = "child",
    };
    return names[kind];
}

const char *gw_compile_phase_name(enum gw_compile_phase phase)
{
    static const char *const names[] = {
        [GW_PHASE_COLD] = "cold", [GW_PHASE_STEADY] = "steady", [GW_PHASE_ELSEWHERE] = "elsewhere"};
    return names[phase];
}

const char *gw_compile_name(const struct gw_model *model, const struct gw_compile *compile)
{
    return compile->call != GW_NONE ? gw_function_name(model->calls[compile->call].function)
                                    : model->compilers[compile->compiler].name;
}

/* ---- calls ---- */

/* What a function of class GW_CALL_COMPILE does; GW_COMPILE_KIND_COUNT for one that brings no code: unloads, and what
 * opens and closes a link. */
static enum gw_compile_kind kind_of(uint16_t function)
{
    static const struct {
        const char *begin;
        enum gw_compile_kind kind;
    } kinds[] = {
        {"cuModuleLoad", GW_COMPILE_LOAD},
        {"cuLibraryLoad", GW_COMPILE_LOAD},
        {"cudaLibraryLoad", GW_COMPILE_LOAD},
        {"cuLinkAdd", GW_COMPILE_LINK},
        {"cuLinkComplete", GW_COMPILE_LINK},
        {"cuLink", GW_COMPILE_KIND_COUNT},
        {"cuModuleUnload", GW_COMPILE_KIND_COUNT},
        {"cuLibraryUnload", GW_COMPILE_KIND_COUNT},
        {"cudaLibraryUnload", GW_COMPILE_KIND_COUNT},
    };
    const char *base = gw_function_row(function)->base;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strncmp(base, kinds[i].begin, strlen(kinds[i].begin)) == 0)
            return kinds[i].kind;
    }
    return GW_COMPILE_LOOKUP;
}

/* The image that a call was given, which of a runtime's function the driver's within it tells. */
static void take_image(const struct gw_model *model, const struct gw_call *call, struct gw_compile *compile)
{
    if (call->detail_kind != GW_DETAIL_MODULE || call->detail == GW_NONE || compile->size_bytes)
        return;
    const struct gw_module *module = &model->modules[call->detail];
    compile->size_bytes = module->size_bytes;
    compile->hash = module->hash;
    if (module->image == GW_IMAGE_PTX)
        compile->kind = GW_COMPILE_JIT;
}

/* Those of a thread: calls that load within another that does belong to it. */
static int list_calls(const struct gw_model *model, uint32_t thread, struct list *list)
{
    const struct gw_thread *of = &model->threads[thread];
    uint64_t end_ns = 0;
    bool open = false; /* the last one of the list is of this thread and may hold others */
    int ret = 0;
    for (uint32_t i = 0; i < of->call_count && ret == 0; i++) {
        const uint32_t index = model->thread_calls[of->call_first + i];
        const struct gw_call *call = &model->calls[index];
        if (call->function >= GW_FUNCTION_COUNT || gw_call_class(call->function) != GW_CALL_COMPILE)
            continue;
        if (open && call->begin_ns < end_ns && call->depth > 1) {
            take_image(model, call, &list->items[list->count - 1]);
            continue;
        }
        const enum gw_compile_kind kind = kind_of(call->function);
        if (kind == GW_COMPILE_KIND_COUNT)
            continue;
        struct gw_compile compile = {.begin_ns = call->begin_ns,
                                     .end_ns = call->end_ns,
                                     .held_ns = call->end_ns - call->begin_ns,
                                     .process = of->process,
                                     .thread = thread,
                                     .call = index,
                                     .compiler = GW_NONE,
                                     .kind = (uint8_t)kind};
        take_image(model, call, &compile);
        ret = push(list, compile);
        open = true;
        end_ns = call->end_ns;
    }
    return ret;
}

/* ---- compilers ---- */

/* The longest stretch of [begin, end) without a call of the thread. */
static uint64_t longest_pause(const struct gw_model *model, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
    const struct gw_thread *of = &model->threads[thread];
    const uint32_t *calls = model->thread_calls + of->call_first;
    uint64_t longest = 0;
    uint32_t low = GW_FIRST_NOT(0, of->call_count, middle, model->calls[calls[middle]].begin_ns < begin_ns);
    /* The outermost call before may reach into it. */
    uint64_t from_ns = begin_ns;
    for (uint32_t i = low; i-- > 0;) {
        const struct gw_call *call = &model->calls[calls[i]];
        if (call->depth <= 1) {
            from_ns = call->end_ns > from_ns ? call->end_ns : from_ns;
            break;
        }
    }
    for (; low < of->call_count && from_ns < end_ns; low++) {
        const struct gw_call *call = &model->calls[calls[low]];
        if (call->depth > 1)
            continue;
        const uint64_t until_ns = call->begin_ns < end_ns ? call->begin_ns : end_ns;
        if (until_ns > from_ns && until_ns - from_ns > longest)
            longest = until_ns - from_ns;
        if (call->begin_ns >= end_ns)
            return longest;
        from_ns = call->end_ns > from_ns ? call->end_ns : from_ns;
    }
    return from_ns < end_ns && end_ns - from_ns > longest ? end_ns - from_ns : longest;
}

static uint32_t busiest_thread(const struct gw_model *model, uint32_t process)
{
    uint32_t best = GW_NONE;
    for (uint32_t t = 0; t < model->threads_count; t++) {
        if (model->threads[t].process == process &&
            (best == GW_NONE || model->threads[t].call_count > model->threads[best].call_count))
            best = t;
    }
    return best;
}

static int list_compilers(const struct gw_model *model, struct list *list)
{
    int ret = 0;
    for (uint32_t c = 0; c < model->compilers_count && ret == 0; c++) {
        const struct gw_compiler *from = &model->compilers[c];
        struct gw_compile compile = {.begin_ns = from->begin_ns,
                                     .end_ns = from->end_ns,
                                     .size_bytes = from->input_bytes,
                                     .hash = from->input_hash,
                                     .process = from->process,
                                     .thread = from->thread,
                                     .call = GW_NONE,
                                     .compiler = c,
                                     .kind = GW_COMPILE_CHILD};
        if (compile.thread == GW_NONE && compile.process != GW_NONE)
            compile.thread = busiest_thread(model, compile.process);
        if (compile.thread != GW_NONE)
            compile.held_ns = longest_pause(model, compile.thread, compile.begin_ns, compile.end_ns);
        ret = push(list, compile);
    }
    return ret;
}

/* ---- all ---- */

static int by_begin(const void *left, const void *right)
{
    const struct gw_compile *a = left, *b = right;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

static void place(const struct gw_model *model, struct gw_compile *compile)
{
    compile->step = GW_NONE;
    compile->phase = GW_PHASE_ELSEWHERE;
    if (compile->process == GW_NONE)
        return;
    compile->step = gw_step_at(model, compile->process, compile->begin_ns);
    if (compile->step != GW_NONE) {
        compile->phase = model->steps[compile->step].warmup ? GW_PHASE_COLD : GW_PHASE_STEADY;
        return;
    }
    const size_t after = gw_step_after(model, compile->process, compile->begin_ns);
    for (size_t s = after; s-- > 0 && model->steps[s].process == compile->process;) {
        if (!model->steps[s].warmup)
            return; /* after an analysed step */
    }
    if (after < model->steps_count && model->steps[after].process == compile->process)
        compile->phase = GW_PHASE_COLD;
}

/* What tells two of different names apart, though their input is the same. */
static uint64_t family(const struct gw_model *model, const struct gw_compile *compile)
{
    if (compile->kind != GW_COMPILE_CHILD)
        return compile->process;
    const char *name = model->compilers[compile->compiler].name;
    return XXH3_64bits(name, strlen(name)) ^ compile->process;
}

static int find_new(const struct gw_model *model, struct list *list)
{
    struct gw_map seen = {0};
    int ret = 0;
    for (size_t i = 0; i < list->count && ret == 0; i++) {
        struct gw_compile *compile = &list->items[i];
        const uint64_t key = family(model, compile);
        if (!compile->hash || gw_map_find(&seen, compile->hash, key))
            continue;
        compile->is_new = true;
        ret = gw_map_insert(&seen, compile->hash, key, 0);
    }
    gw_map_clear(&seen);
    return ret;
}

/* Hands out the list, which is freed when ret is below 0, or what else goes wrong. */
static int finish(const struct gw_model *model, struct list *list, int ret, struct gw_compile **ret_list,
                  size_t *ret_count)
{
    if (ret == 0 && list->count)
        qsort(list->items, list->count, sizeof *list->items, by_begin);
    for (size_t i = 0; i < list->count && ret == 0; i++)
        place(model, &list->items[i]);
    ret = ret ? ret : find_new(model, list);
    if (ret < 0) {
        free(list->items);
        return ret;
    }
    *ret_list = list->items;
    *ret_count = list->count;
    return 0;
}

int gw_compiles_list(const struct gw_model *model, struct gw_compile **ret_list, size_t *ret_count)
{
    struct list list = {0};
    int ret = 0;
    for (uint32_t t = 0; t < model->threads_count && ret == 0; t++)
        ret = list_calls(model, t, &list);
    ret = ret ? ret : list_compilers(model, &list);
    return finish(model, &list, ret, ret_list, ret_count);
}

int gw_compilers_list(const struct gw_model *model, struct gw_compile **ret_list, size_t *ret_count)
{
    struct list list = {0};
    return finish(model, &list, list_compilers(model, &list), ret_list, ret_count);
}
