// Real functions behind the wrappers: which loaded library has them, and where.
#include "shim/entry/shim.h"

#include <string.h>

void *gw_real_cache[GW_FUNCTION_COUNT];
struct gw_notes gw_notes;

static const char *const api_stem[] = {
    [GW_API_DRV] = "libcuda.so", [GW_API_RT] = "libcudart.so", [GW_API_NCCL] = "libnccl.so"};

struct search {
    const char *name;
    const char *stem; // NULL: any object but the shim
    void *found;
};

static bool visit_for_symbol(const struct gw_elf *elf, void *data)
{
    struct search *search = data;

    if (search->stem ? !gw_elf_is(elf->path, search->stem)
                     : (uintptr_t)gw_real_cache >= elf->low && (uintptr_t)gw_real_cache < elf->high)
        return false;
    search->found = gw_elf_symbol(elf, search->name);
    return search->found;
}

void *gw_real(unsigned function)
{
    void *address = __atomic_load_n(&gw_real_cache[function], __ATOMIC_RELAXED);

    if (GW_LIKELY(address))
        return address;

    const struct gw_function *row = gw_function_row(function);
    struct search search = {.name = row->symbol, .stem = api_stem[row->api]};

    // A framework may carry the runtime or NCCL inside a library of its own: then that one's is the real function.
    if (!gw_elf_each(visit_for_symbol, &search)) {
        search.stem = NULL;
        gw_elf_each(visit_for_symbol, &search);
    }
    if (search.found)
        __atomic_store_n(&gw_real_cache[function], search.found, __ATOMIC_RELAXED);
    return search.found;
}

void *gw_real_linked(unsigned function)
{
    void *address = __atomic_load_n(&gw_real_cache[function], __ATOMIC_RELAXED);

    if (GW_LIKELY(address))
        return address;
    // Nobody looked the function up: the program reached its wrapper by being linked to it.
    address = gw_real(function);
    if (address)
        gw_note_route(gw_function_row(function)->api, GW_ROUTE_LINKED);
    return address;
}

void gw_real_set(unsigned function, void *address)
{
    __atomic_store_n(&gw_real_cache[function], address, __ATOMIC_RELAXED);
}

struct owner {
    uintptr_t address;
    bool is_api, is_shim;
};

static bool visit_for_owner(const struct gw_elf *elf, void *data)
{
    struct owner *owner = data;

    if (owner->address < elf->low || owner->address >= elf->high)
        return false;
    owner->is_shim = (uintptr_t)gw_real_cache >= elf->low && (uintptr_t)gw_real_cache < elf->high;
    for (unsigned api = 0; api < sizeof(api_stem) / sizeof(api_stem[0]); api++)
        owner->is_api = owner->is_api || gw_elf_is(elf->path, api_stem[api]);
    return true;
}

bool gw_address_is_api(const void *address)
{
    struct owner owner = {.address = (uintptr_t)address};

    return gw_elf_each(visit_for_owner, &owner) && owner.is_api;
}

bool gw_address_is_shim(const void *address)
{
    struct owner owner = {.address = (uintptr_t)address};

    return gw_elf_each(visit_for_owner, &owner) && owner.is_shim;
}

void gw_note_route(unsigned api, enum gw_route route)
{
    uint32_t bit = 1u << (api * 3 + route);

    if (!(__atomic_fetch_or(&gw_notes.routes, bit, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_add(&gw_notes.changes, 1, __ATOMIC_RELEASE);
}

void gw_note_passed(const char *name, unsigned version)
{
    uint32_t index = __atomic_fetch_add(&gw_notes.passed_count, 1, __ATOMIC_RELAXED);

    if (index >= sizeof(gw_notes.passed) / sizeof(gw_notes.passed[0]))
        return;
    // A reader may see the name half written; it is only shown to a person.
    strncpy(gw_notes.passed[index].name, name, sizeof(gw_notes.passed[index].name) - 1);
    gw_notes.passed[index].version = version;
    __atomic_fetch_add(&gw_notes.changes, 1, __ATOMIC_RELEASE);
}

int32_t gw_missing_status(unsigned function)
{
    const struct gw_function *row = gw_function_row(function);

    // A program that holds a weak reference to cuInit or cudaGetDeviceCount finds the wrapper where it would have found
    // nothing; these answers send it down its road for machines without a GPU.
    if (function == GW_FUNCTION_cuInit)
        return 100; // CUDA_ERROR_NO_DEVICE
    if (function == GW_FUNCTION_cudaGetDeviceCount)
        return 35;                            // cudaErrorInsufficientDriver
    return row->api == GW_API_NCCL ? 2 : 500; // ncclSystemError; CUDA_ERROR_NOT_FOUND, cudaErrorSymbolNotFound
}
