/*
 * Real functions behind the wrappers: which library's, and where.
 *
 * Whose function a wrapper stands in front of depends on who calls it. Lane 0 is that of callers without ties: what was
 * looked up, else the first there is. A caller that needs a library by name (DT_NEEDED), or that carries the API
 * itself, gets the lane of that library. The lane of a caller is kept in one word, so that reading it takes no lock.
 *
 * Another preloaded library that defines the function stands between the program and CUDA, as it would without the
 * shim.
 */
#include "shim/entry/shim.h"

#include <string.h>
#include <unistd.h>

#define LANES 8u
#define CALLERS_MAX 64u
#define SOURCES_MAX 32u
#define PAGE_BITS 12

struct range {
    uintptr_t low, high;
};

static void *cache[LANES][GW_FUNCTION_COUNT];
static struct range lanes[LANES];         // the library of each lane but 0; low 0: free
static struct range sources[SOURCES_MAX]; // objects that addresses in the cache lie in
static bool unloaded;                     // libraries were, and what is known of them is not forgotten yet
static int changing; // lanes, sources or callers: the process that does, or 0. Whoever meets it does without the cache.

// Callers of the runtime and of NCCL. First page of the object, its length in pages, its lane; 0: free.
static uint64_t callers[GW_API_COUNT][CALLERS_MAX];
#define CALLER(page, pages, lane) ((uint64_t)(page) << 28 | (uint64_t)(pages) << 4 | (lane))
#define CALLER_PAGE(word) ((word) >> 28)
#define CALLER_PAGES(word) ((word) >> 4 & 0xffffff)
#define CALLER_LANE(word) ((unsigned)(word)&0xf)

static const char *const api_stem[GW_API_COUNT] = {[GW_API_DRV] = "libcuda.so",
                                                   [GW_API_RT] = "libcudart.so",
                                                   [GW_API_NCCL] = "libnccl.so",
                                                   [GW_API_CUPTI] = "libcupti.so"};
// Who defines this one carries the API.
static const char *const api_sign[GW_API_COUNT] = {[GW_API_DRV] = "cuInit",
                                                   [GW_API_RT] = "cudaGetDevice",
                                                   [GW_API_NCCL] = "ncclGetVersion",
                                                   [GW_API_CUPTI] = "cuptiGetVersion"};

static bool is_shim(const struct gw_elf *elf)
{
    return (uintptr_t)cache >= elf->low && (uintptr_t)cache < elf->high;
}

static void forget_if_asked(void);

// A process that changed them when it was forked does not go on in the child.
static bool begin_change(void)
{
    int process = getpid(), holder = 0;

    while (!__atomic_compare_exchange_n(&changing, &holder, process, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        if (holder == process)
            return false;
    return true;
}

static void end_change(void)
{
    __atomic_store_n(&changing, 0, __ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&unloaded, __ATOMIC_SEQ_CST), 0))
        forget_if_asked();
}

struct interposer_search {
    const char *name, *stem;
    struct gw_elf program;
    bool after_shim;
    void *found;
};

static bool visit_for_interposer(const struct gw_elf *elf, void *data)
{
    struct interposer_search *search = data;

    if (!search->program.dynamic) {
        search->program = *elf;
        return false;
    }
    // Preloaded objects come before all that the program needs.
    const void *entry = NULL;
    for (const char *needed; (needed = gw_elf_next_needed(&search->program, &entry));)
        if (gw_elf_answers_to(elf, needed))
            return true;
    if (search->after_shim && !gw_elf_is(elf->path, search->stem))
        search->found = gw_elf_symbol(elf, search->name);
    search->after_shim = search->after_shim || is_shim(elf);
    return search->found;
}

void *gw_interposed(unsigned function)
{
    const struct gw_function *row = gw_function_row(function);
    struct interposer_search search = {.name = row->symbol, .stem = api_stem[row->api]};

    gw_elf_each(visit_for_interposer, &search);
    return search.found;
}

struct search {
    const char *name;
    const char *stem; // NULL: any object but the shim
    void *found;
};

static bool visit_for_symbol(const struct gw_elf *elf, void *data)
{
    struct search *search = data;

    if (search->stem ? !gw_elf_is(elf->path, search->stem) : is_shim(elf))
        return false;
    search->found = gw_elf_symbol(elf, search->name);
    return search->found;
}

static void *find(unsigned function)
{
    const struct gw_function *row = gw_function_row(function);
    struct search search = {.name = row->symbol, .stem = api_stem[row->api], .found = gw_interposed(function)};

    // A framework may carry the runtime or NCCL inside a library of its own: then that one's is the real function.
    if (!search.found && !gw_elf_each(visit_for_symbol, &search)) {
        search.stem = NULL;
        gw_elf_each(visit_for_symbol, &search);
    }
    return search.found;
}

struct place {
    uintptr_t address;
    struct gw_elf elf; // valid when `found`
    bool found;
};

static bool visit_for_place(const struct gw_elf *elf, void *data)
{
    struct place *place = data;

    if (place->address < elf->low || place->address >= elf->high)
        return false;
    place->elf = *elf;
    place->found = true;
    return true;
}

static struct place place_of(const void *address)
{
    struct place place = {.address = (uintptr_t)address};

    gw_elf_each(visit_for_place, &place);
    return place;
}

// Keeps an address, if what it lies in can be kept as well: an address whose object went unnoticed must not stay.
static void keep(unsigned lane, unsigned function, void *address)
{
    struct place place = place_of(address);
    unsigned i = 0;

    if (!place.found || !begin_change())
        return;
    while (i < SOURCES_MAX && sources[i].low && sources[i].low != place.elf.low)
        i++;
    if (i < SOURCES_MAX) {
        sources[i] = (struct range){place.elf.low, place.elf.high};
        __atomic_store_n(&cache[lane][function], address, __ATOMIC_RELAXED);
    }
    end_change();
}

void *gw_real(unsigned function)
{
    void *address = __atomic_load_n(&cache[0][function], __ATOMIC_RELAXED);

    if (GW_LIKELY(address))
        return address;
    address = find(function);
    if (address)
        keep(0, function, address);
    return address;
}

void gw_real_set(unsigned function, void *address)
{
    __atomic_store_n(&cache[0][function], address, __ATOMIC_RELAXED);
    keep(0, function, address);
}

struct needed_search {
    const char *needed;
    struct range found;
};

static bool visit_for_needed(const struct gw_elf *elf, void *data)
{
    struct needed_search *search = data;

    if (is_shim(elf) || !gw_elf_answers_to(elf, search->needed))
        return false;
    search->found = (struct range){elf->low, elf->high};
    return true;
}

// The library that an object is tied to for an API; low 0: none.
static struct range tie_of(const struct gw_elf *elf, unsigned api)
{
    struct needed_search search = {.found = {0}};
    const void *entry = NULL;

    while ((search.needed = gw_elf_next_needed(elf, &entry)))
        if (gw_elf_is(search.needed, api_stem[api])) {
            gw_elf_each(visit_for_needed, &search);
            return search.found;
        }
    if (gw_elf_symbol(elf, api_sign[api]) && !is_shim(elf))
        search.found = (struct range){elf->low, elf->high};
    return search.found;
}

// The lane of a library; 0 when there is none left. Called while changing.
static unsigned lane_of(struct range library)
{
    unsigned free_lane = 0;

    if (!library.low)
        return 0;
    for (unsigned lane = 1; lane < LANES; lane++) {
        if (lanes[lane].low == library.low)
            return lane;
        if (!lanes[lane].low && !free_lane)
            free_lane = lane;
    }
    lanes[free_lane] = free_lane ? library : lanes[0];
    return free_lane;
}

static unsigned find_lane(unsigned api, const void *caller)
{
    struct place place = place_of(caller);
    struct range tie = place.found ? tie_of(&place.elf, api) : (struct range){0};
    unsigned lane, i = 0;

    if (!place.found || !begin_change())
        return 0;
    lane = lane_of(tie);
    while (i < CALLERS_MAX && callers[api][i])
        i++;
    if (i < CALLERS_MAX) {
        uintptr_t page = place.elf.low >> PAGE_BITS, end = (place.elf.high + (1u << PAGE_BITS) - 1) >> PAGE_BITS;

        __atomic_store_n(&callers[api][i], CALLER(page, end - page, lane), __ATOMIC_RELEASE);
    }
    end_change();
    return lane;
}

static inline unsigned caller_lane(unsigned api, const void *caller)
{
    uintptr_t page = (uintptr_t)caller >> PAGE_BITS;

    if (api == GW_API_DRV) // there is one driver
        return 0;
    for (unsigned i = 0; i < CALLERS_MAX; i++) {
        uint64_t word = __atomic_load_n(&callers[api][i], __ATOMIC_ACQUIRE);

        if (GW_LIKELY(page - CALLER_PAGE(word) < CALLER_PAGES(word)))
            return CALLER_LANE(word);
        if (!word)
            break;
    }
    return find_lane(api, caller);
}

static void *find_in_lane(unsigned lane, unsigned function)
{
    void *address = gw_interposed(function);
    struct place place = place_of((const void *)lanes[lane].low);

    if (!address && place.found)
        address = gw_elf_symbol(&place.elf, gw_function_row(function)->symbol);
    if (address)
        keep(lane, function, address);
    return address ? address : gw_real(function);
}

static void *real_in_lane(unsigned lane, unsigned function)
{
    void *address = __atomic_load_n(&cache[lane][function], __ATOMIC_RELAXED);

    if (GW_LIKELY(address))
        return address;
    return lane ? find_in_lane(lane, function) : gw_real(function);
}

void *gw_real_linked(unsigned function, unsigned api, const void *caller)
{
    unsigned lane = caller_lane(api, caller);
    void *address = __atomic_load_n(&cache[lane][function], __ATOMIC_RELAXED);

    if (GW_LIKELY(address))
        return address;
    // Nobody looked the function up: the program reached its wrapper by being linked to it.
    address = real_in_lane(lane, function);
    if (address)
        gw_note_route(api, GW_ROUTE_LINKED);
    return address;
}

void *gw_real_decided(unsigned function, const void *caller)
{
    const struct gw_function *row = gw_function_row(function);
    unsigned lane = caller_lane(row->api, caller);

    if (row->api == GW_API_DRV) // one library, which may answer a name in several ways
        return gw_interposed(function);
    if (lane)
        return real_in_lane(lane, function);
    void *address = __atomic_load_n(&cache[0][function], __ATOMIC_RELAXED);
    return address ? address : gw_interposed(function);
}

static bool is_loaded(struct range range)
{
    struct place place = place_of((const void *)range.low);

    return place.found && place.elf.low == range.low && place.elf.high == range.high;
}

static void forget_unloaded(void)
{
    for (unsigned api = 0; api < GW_API_COUNT; api++)
        for (unsigned i = 0; i < CALLERS_MAX; i++)
            __atomic_store_n(&callers[api][i], 0, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < SOURCES_MAX; i++) {
        if (!sources[i].low || is_loaded(sources[i]))
            continue;
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned function = 0; function < GW_FUNCTION_COUNT; function++) {
                uintptr_t address = (uintptr_t)__atomic_load_n(&cache[lane][function], __ATOMIC_RELAXED);

                if (address >= sources[i].low && address < sources[i].high)
                    __atomic_store_n(&cache[lane][function], NULL, __ATOMIC_RELAXED);
            }
        sources[i].high = sources[i].low = 0;
    }
    for (unsigned lane = 1; lane < LANES; lane++)
        if (lanes[lane].low && !is_loaded(lanes[lane])) {
            memset(cache[lane], 0, sizeof(cache[lane]));
            lanes[lane] = (struct range){0};
        }
}

static void forget_if_asked(void)
{
    while (__atomic_load_n(&unloaded, __ATOMIC_SEQ_CST) && begin_change()) {
        if (__atomic_exchange_n(&unloaded, false, __ATOMIC_SEQ_CST))
            forget_unloaded();
        __atomic_store_n(&changing, 0, __ATOMIC_SEQ_CST);
    }
}

// Waits for nobody: whoever changes may wait for the loader's lock, which a destructor that closes a library holds. It
// is asked to do this, too, when it is done.
void gw_forget_unloaded(void)
{
    __atomic_store_n(&unloaded, true, __ATOMIC_SEQ_CST);
    forget_if_asked();
}

bool gw_address_is_api(const void *address)
{
    struct place place = place_of(address);

    for (unsigned api = 0; place.found && api < GW_API_COUNT; api++)
        if (gw_elf_is(place.elf.path, api_stem[api]))
            return true;
    return false;
}

bool gw_address_is_shim(const void *address)
{
    struct place place = place_of(address);

    return place.found && is_shim(&place.elf);
}
