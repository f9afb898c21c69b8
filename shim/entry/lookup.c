// Look-ups of CUDA and NCCL functions by name: dlsym, dlvsym, cuGetProcAddress, cudaGetDriverEntryPoint.
#include "shim/entry/shim.h"

#include <dlfcn.h>

#include "shim/api/text.h"

// What the assembly in dlsym.S does with a call: jump to `jump` with the program's arguments and return address intact,
// so that the real function sees the program as its caller, or return `value`.
struct gw_dlsym_route {
    void *jump;
    void *value;
};

struct gw_dlsym_route gw_route_dlsym(void *handle, const char *name, const void *caller);
struct gw_dlsym_route gw_route_dlvsym(void *handle, const char *name, const char *version, const void *caller);
struct gw_dlsym_route gw_route_dlopen(const char *path, int mode, const void *caller);

// Fails as a search without the shim would have failed, so that dlerror has something to say.
static void *not_found(const char *name)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))gw_real_dlsym();

    return real(RTLD_NEXT, name);
}

// The program asked for a name of the table and the real library answered `real` (NULL: it has none, and dlerror is
// set).
static void *answer(unsigned function, void *real, const void *caller)
{
    if (!real)
        return NULL;
    if (gw_address_is_shim(real)) {
        // Found in the global scope, which the shim is part of. Without the shim the answer would have been a library's
        // own function, or nothing.
        if (!gw_real(function))
            return not_found(gw_function_name(function));
    } else if (gw_address_is_api(real)) {
        void *decided = gw_real_decided(function, caller);

        // One wrapper cannot lead to two libraries for one caller: the second one's function stays bare.
        if (decided && decided != real) {
            gw_note_passed(gw_function_name(function), GW_NOTE_SECOND_LIBRARY);
            return real;
        }
        gw_real_set(function, real);
    } else {
        return real;
    }
    gw_note_route(gw_function_row(function)->api, GW_ROUTE_DLSYM);
    return gw_wrapper(function);
}

struct gw_dlsym_route gw_route_dlsym(void *handle, const char *name, const void *caller)
{
    void *(*real)(void *, const char *) = (void *(*)(void *, const char *))gw_real_dlsym();
    unsigned function = name ? gw_function_find(name) : GW_FUNCTION_NONE;

    // The tool's own look-ups want the real functions.
    if (function == GW_FUNCTION_NONE || handle == RTLD_NEXT || gw_thread.busy)
        return (struct gw_dlsym_route){.jump = (void *)real};
    if (handle == RTLD_DEFAULT && !gw_real(function))
        return (struct gw_dlsym_route){.value = not_found(name)};
    if (handle == RTLD_DEFAULT) {
        gw_note_route(gw_function_row(function)->api, GW_ROUTE_DLSYM);
        return (struct gw_dlsym_route){.value = gw_wrapper(function)};
    }
    return (struct gw_dlsym_route){.value = answer(function, real(handle, name), caller)};
}

struct gw_dlsym_route gw_route_dlvsym(void *handle, const char *name, const char *version, const void *caller)
{
    void *(*real)(void *, const char *, const char *) = (void *(*)(void *, const char *, const char *))gw_real_dlvsym();
    unsigned function = name ? gw_function_find(name) : GW_FUNCTION_NONE;

    if (function == GW_FUNCTION_NONE || handle == RTLD_NEXT || handle == RTLD_DEFAULT)
        return (struct gw_dlsym_route){.jump = (void *)real};
    return (struct gw_dlsym_route){.value = answer(function, real(handle, name, version), caller)};
}

// A library that prefers its own dependencies is not linked to the wrappers; what it looks up is seen all the same.
struct gw_dlsym_route gw_route_dlopen(const char *path, int mode, const void *caller)
{
    (void)caller;
    if (path && mode & RTLD_DEEPBIND)
        gw_note_passed(gw_text_file(path), GW_NOTE_DEEP_BINDING);
    return (struct gw_dlsym_route){.jump = gw_next_dlopen()};
}

// The row whose real function the driver answered, or GW_FUNCTION_NONE. The version asked for says which one it is; the
// addresses of exported symbols decide where the driver is newer than the table.
static unsigned row_of_answer(const char *base, unsigned version, bool per_thread, void *answered)
{
    const unsigned newest_known = 13000;
    unsigned expected = gw_function_lookup(base, version, per_thread);

    if (expected != GW_FUNCTION_NONE && gw_real(expected) == answered)
        return expected;
    for (unsigned id = gw_function_first(base); id < GW_FUNCTION_COUNT && gw_function_row(id)->api == GW_API_DRV;
         id++) {
        if (gw_function_first(gw_function_row(id)->base) != gw_function_first(base))
            break;
        if (gw_real(id) == answered)
            return id;
    }
    return version <= newest_known ? expected : GW_FUNCTION_NONE;
}

void gw_lookup_answer(unsigned function, const uint64_t *words, int32_t result)
{
    const char *base = (const char *)words[0];
    void **answered = (void **)words[1];
    bool runtime = gw_function_row(function)->api == GW_API_RT;
    bool by_version = function == GW_FUNCTION_cudaGetDriverEntryPointByVersion ||
                      function == GW_FUNCTION_cudaGetDriverEntryPointByVersion_ptsz;
    // cudaGetDriverEntryPoint asks for the version of the runtime, which the caller does not name; its own look-up
    // inside passes the wrapper of cuGetProcAddress, so what comes back here is mostly a wrapper already.
    unsigned version = runtime && !by_version ? UINT32_MAX : (uint32_t)words[2];
    uint64_t flags = runtime && !by_version ? words[2] : words[3];
    bool per_thread =
        flags & 2 || (!(flags & 1) && gw_function_row(function)->stream_mode == GW_STREAM_MODE_PER_THREAD);

    if (result != 0 || !base || !answered || !*answered || gw_address_is_shim(*answered))
        return;

    unsigned row = row_of_answer(base, version, per_thread, *answered);

    if (row == GW_FUNCTION_NONE) {
        gw_note_passed(base, version);
        return;
    }
    void *interposed = gw_interposed(row);
    if (interposed && interposed != *answered) {
        gw_note_passed(base, GW_NOTE_SECOND_LIBRARY);
        return;
    }
    gw_real_set(row, *answered);
    gw_note_route(GW_API_DRV, GW_ROUTE_PROC_ADDRESS);
    *answered = gw_wrapper(row);
}
