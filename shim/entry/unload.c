// What of libc the shim stands in front of, and libraries that the program takes away.
#include "shim/entry/shim.h"

#include <dlfcn.h>

struct next_search {
    const char *name;
    bool after_shim;
    void *found;
};

static bool visit_for_next(const struct gw_elf *elf, void *data)
{
    struct next_search *search = data;

    if (search->after_shim)
        search->found = gw_elf_symbol(elf, search->name);
    search->after_shim = search->after_shim || ((uintptr_t)&gw_sink >= elf->low && (uintptr_t)&gw_sink < elf->high);
    return search->found;
}

void *gw_next(void **known, const char *name)
{
    struct next_search search = {.name = name, .found = __atomic_load_n(known, __ATOMIC_RELAXED)};

    if (!search.found) {
        gw_elf_each(visit_for_next, &search);
        __atomic_store_n(known, search.found, __ATOMIC_RELAXED);
    }
    return search.found;
}

static void *next_dlopen, *next_dlclose;

void *gw_next_dlopen(void)
{
    return gw_next(&next_dlopen, "dlopen");
}

GW_EXPORT int dlclose(void *handle)
{
    int (*real)(void *) = (int (*)(void *))gw_next(&next_dlclose, "dlclose");
    unsigned long long before = gw_elf_unloads();
    int result = real ? real(handle) : -1;

    if (gw_elf_unloads() != before)
        gw_forget_unloaded();
    return result;
}
