// Loads the tracer at the first recorded call.
#include "shim/entry/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/api/functions_mark.h"

#define TRACER_FILE "libgpuwitness-tracer.so"

static const int always = 1, never = 0;

enum { NOT_LOADED, LOADING, LOADED, LATE };

static bool load_and_begin(struct gw_thread *thread, struct gw_call *call, unsigned function, const uint64_t *words);

// The call that loaded the tracer was begun by the tracer's sink; its wrapper still holds the loading one. Others were
// begun by nobody, because the loading took long: the tracer takes them over, if it is there by now.
static void end_loading_call(struct gw_thread *thread, struct gw_call *call, const uint64_t *words, int32_t result);

static const struct gw_sink sink_loading = {.recording = &always, .begin = load_and_begin, .end = end_loading_call};
static const struct gw_sink sink_off = {.recording = &never, .begin = load_and_begin, .end = end_loading_call};
const struct gw_sink *gw_sink = &sink_loading;

static void end_loading_call(struct gw_thread *thread, struct gw_call *call, const uint64_t *words, int32_t result)
{
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);

    if (!call->early) {
        sink->end(thread, call, words, result);
    } else if (sink->end_early) {
        sink->end_early(thread, call, words, result);
    } else {
        thread->depth--;
        if (sink == &sink_loading)
            gw_note_missed();
    }
}

static bool begin_early(struct gw_thread *thread, struct gw_call *call, unsigned function)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    *call = (struct gw_call){.begin_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                             .function = (uint16_t)function,
                             .depth = ++thread->depth,
                             .early = 1};
    return true;
}

static struct gw_thread *this_thread(void)
{
    return &gw_thread;
}

static const struct gw_host host = {.version = GW_SINK_VERSION,
                                    .functions_mark = GW_FUNCTIONS_MARK, // the recorder looks for it in this library
                                    .real = gw_real,
                                    .thread = this_thread,
                                    .notes = &gw_notes};

static bool visit_for_path(const struct gw_elf *elf, void *data)
{
    if ((uintptr_t)&gw_sink < elf->low || (uintptr_t)&gw_sink >= elf->high)
        return false;
    *(const char **)data = elf->path;
    return true;
}

static void say(const char *what)
{
    if (getenv("GPUWITNESS_DEBUG")) {
        ssize_t written = write(STDERR_FILENO, what, strlen(what));

        (void)written;
    }
}

// A program in a container may have an older glibc than the one this was built with; the loader must take this library
// all the same. Before glibc 2.34 the function lies in libdl, which a program without dlopen has not loaded: hence
// weak.
#ifdef __x86_64__
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");
#endif
#pragma weak dlerror

static const struct gw_sink *load(void)
{
    char path[4096];
    const char *own = NULL;

    if (!gw_elf_each(visit_for_path, &own))
        return NULL;

    const char *slash = strrchr(own, '/');
    size_t folder = slash ? (size_t)(slash + 1 - own) : 0;

    if (folder + sizeof(TRACER_FILE) > sizeof(path))
        return NULL;
    memcpy(path, own, folder);
    memcpy(path + folder, TRACER_FILE, sizeof(TRACER_FILE));

    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *(*real_dlsym)(void *, const char *) = (void *(*)(void *, const char *))gw_real_dlsym();
    gw_tracer_start_fn *start = library ? (gw_tracer_start_fn *)real_dlsym(library, GW_TRACER_START) : NULL;

    if (!start) {
        const char *why = dlerror ? dlerror() : NULL; // also takes the error away from the program's next dlerror

        say("gpuwitness: not tracing: ");
        say(why ? why : "the tracer has no entry");
        say("\n");
        return NULL;
    }
    return start(&host);
}

// Another thread is loading. What this one does is best not begun without the tracer, so it waits; but not for long,
// because it may hold the loader's lock, which the other needs (a library's constructor that calls CUDA). Returns the
// sink in use afterwards.
static const struct gw_sink *wait_for_load(int *loading)
{
    const struct timespec longest = {.tv_nsec = 200000000};

    // Once is enough: in a child forked meanwhile, nobody is loading any more.
    if (syscall(SYS_futex, loading, FUTEX_WAIT_PRIVATE, LOADING, &longest, NULL, 0) != 0 && errno == ETIMEDOUT) {
        int expected = LOADING;

        __atomic_compare_exchange_n(loading, &expected, LATE, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);
}

bool gw_sink_is_loading(const struct gw_sink *sink)
{
    return sink == &sink_loading;
}

const struct gw_sink *gw_load_tracer(struct gw_thread *thread)
{
    static int loading = NOT_LOADED;
    const struct gw_sink *sink = __atomic_load_n(&gw_sink, __ATOMIC_ACQUIRE);
    int before = NOT_LOADED;

    if (sink != &sink_loading)
        return sink;
    if (__atomic_compare_exchange_n(&loading, &before, LOADING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        int cancel_state;

        // Loading opens files, where a thread that is to be cancelled would end with the loader's lock held.
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        thread->busy = 1;
        sink = load();
        thread->busy = 0;
        pthread_setcancelstate(cancel_state, NULL);
        sink = sink ? sink : &sink_off;
        __atomic_store_n(&gw_sink, sink, __ATOMIC_RELEASE);
        __atomic_store_n(&loading, LOADED, __ATOMIC_RELEASE);
        syscall(SYS_futex, &loading, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
        gw_nvtx_attach_waiting(sink);
        return sink;
    }
    return wait_for_load(&loading);
}

static bool is_driver(const struct gw_elf *elf, void *data)
{
    (void)data;
    return gw_elf_is(elf->path, "libcuda.so");
}

// A process that used CUDA by a road that leads round the wrappers only is to be known of at least.
__attribute__((destructor)) static void say_at_exit(void)
{
    bool deep = false;

    for (uint32_t i = 0; i < gw_notes.passed_count && i < sizeof(gw_notes.passed) / sizeof(gw_notes.passed[0]); i++)
        deep = deep || gw_notes.passed[i].version == GW_NOTE_DEEP_BINDING;
    if (deep && gw_sink_is_loading(gw_sink) && gw_elf_each(is_driver, NULL))
        gw_load_tracer(&gw_thread);
}

static bool load_and_begin(struct gw_thread *thread, struct gw_call *call, unsigned function, const uint64_t *words)
{
    int saved_errno = errno;

    if (thread->busy)
        return false;
    const struct gw_sink *sink = gw_load_tracer(thread);
    bool begun = false;

    call->early = 0;
    if (sink == &sink_loading)
        begun = begin_early(thread, call, function);
    else if (sink != &sink_off && (*sink->recording || sink->watched[function]))
        begun = sink->begin(thread, call, function, words);
    errno = saved_errno;
    return begun;
}
