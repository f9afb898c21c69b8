// The process event, and what was seen of libraries, routes and names.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/api/text.h"
#include "shim/tracer/events.h"
#include "shim/tracer/tracer.h"

static const char *const rank_variables[] = {"RANK",
                                             "LOCAL_RANK",
                                             "WORLD_SIZE",
                                             "LOCAL_WORLD_SIZE",
                                             "MASTER_ADDR",
                                             "OMPI_COMM_WORLD_RANK",
                                             "OMPI_COMM_WORLD_SIZE",
                                             "OMPI_COMM_WORLD_LOCAL_RANK",
                                             "PMI_RANK",
                                             "PMI_SIZE",
                                             "SLURM_PROCID",
                                             "SLURM_LOCALID",
                                             "SLURM_NTASKS",
                                             "SLURM_JOB_ID",
                                             "JAX_PROCESS_ID",
                                             "JAX_NUM_PROCESSES",
                                             "JAX_COORDINATOR_ADDRESS",
                                             "CUDA_VISIBLE_DEVICES"};

static const char *const libraries[] = {"libcuda.so",   "libcudart.so", "libnccl.so", "libcupti.so",
                                        "libcublas.so", "libcudnn.so",  "libcufft.so"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define LIBRARIES_MAX 32u
static uint64_t libraries_seen[LIBRARIES_MAX]; // hashes of their paths
static uint32_t library_count, routes_seen, passed_seen, missed_seen;

void gw_coverage(enum gw_coverage_kind kind, const char *name, const char *detail)
{
    lttng_ust_tracepoint(gpuwitness, coverage, gw_tracer.pid, (uint32_t)kind, name, detail);
}

static void read_command(char *command, size_t size)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length = file ? fread(command, 1, size - 1, file) : 0;

    if (file)
        fclose(file);
    for (size_t i = 0; i + 1 < length; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    command[length] = '\0';
}

// A program's own tool for NVTX is left alone; then its ranges are not here.
static void say_of_nvtx(void)
{
    const char *injection = getenv("NVTX_INJECTION64_PATH");
    Dl_info shim;

    if (injection && dladdr((const void *)gw_tracer.host->thread, &shim) && strcmp(injection, shim.dli_fname) != 0)
        gw_coverage(GW_COVERAGE_DISABLED, "NVTX", "NVTX_INJECTION64_PATH leads to another tool");
}

void gw_process_enter(void)
{
    char exe[4096] = "", command[4096] = "", host[256] = "", environment[4096] = "";
    ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    size_t at = 0;

    exe[length > 0 ? length : 0] = '\0';
    gethostname(host, sizeof(host) - 1);
    read_command(command, sizeof(command));
    for (unsigned i = 0; i < sizeof(rank_variables) / sizeof(rank_variables[0]); i++) {
        const char *value = getenv(rank_variables[i]);
        int added =
            value ? snprintf(environment + at, sizeof(environment) - at, "%s=%s\n", rank_variables[i], value) : 0;

        if (added > 0 && (size_t)added < sizeof(environment) - at)
            at += (size_t)added;
        environment[at] = '\0';
    }
    lttng_ust_tracepoint(gpuwitness, process, gw_tracer.pid, (uint32_t)getppid(), exe, command, host, environment);
    say_of_nvtx();
}

void gw_nccl_version(int version)
{
    // As NCCL_VERSION() of its header encodes it: with more digits from 2.9 on.
    const unsigned number = (unsigned)version, unit = number >= 10000 ? 10000 : 1000;
    char text[32];

    snprintf(text, sizeof(text), "%u.%u.%u", number / unit, number % unit / 100, number % 100);
    gw_coverage(GW_COVERAGE_VERSION, "NCCL", text);
}

__attribute__((no_sanitize("thread"))) static bool is_new_library(const char *path)
{
    uint64_t hash = 14695981039346656037u; // FNV-1a

    for (const char *c = path; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    for (uint32_t i = 0; i < library_count; i++)
        if (libraries_seen[i] == hash)
            return false;
    if (library_count == LIBRARIES_MAX)
        return false;
    libraries_seen[library_count++] = hash;
    return true;
}

#define PATH_KEPT 1024u

// Copies the path of a library that was not seen before. Not for ThreadSanitizer: the loader's lock, which is held, is
// unknown to it.
__attribute__((no_sanitize("thread"))) static int visit_library(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    char *kept = data;

    (void)size;
    for (unsigned i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (gw_text_after(gw_text_file(path), libraries[i]) && is_new_library(path)) {
            size_t at = 0;

            for (; path[at] && at + 1 < PATH_KEPT; at++)
                kept[at] = path[at];
            kept[at] = '\0';
            return 1;
        }
    return 0;
}

static void say_libraries(void)
{
    char path[PATH_KEPT];

    while (dl_iterate_phdr(visit_library, path))
        gw_coverage(GW_COVERAGE_LIBRARY, gw_text_file(path), path);
}

static void say_missed(uint32_t count, uint32_t *seen, const char *why)
{
    char text[16];

    if (count == *seen)
        return;
    snprintf(text, sizeof(text), "%u", count - *seen);
    *seen = count;
    gw_coverage(GW_COVERAGE_MISSED, text, why);
}

void gw_process_suppressed(void)
{
    static uint32_t seen;

    say_missed(__atomic_load_n(&gw_tracer.suppressed, __ATOMIC_RELAXED), &seen,
               "calls of a signal handler that interrupted the tool");
}

void gw_process_notes(struct gw_thread *thread)
{
    static const char *const apis[GW_API_COUNT] = {"driver", "runtime", "nccl", "cupti"};
    static const char *const roads[] = {"linked", "dlsym", "cuGetProcAddress"};
    const struct gw_notes *notes = gw_tracer.host->notes;
    uint32_t changes = __atomic_load_n(&notes->changes, __ATOMIC_ACQUIRE);

    // Busy elsewhere, or held by a thread that a fork left behind: then not now.
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    thread->notes_seen = changes;
    say_libraries();
    uint32_t routes = __atomic_load_n(&notes->routes, __ATOMIC_RELAXED);
    for (unsigned bit = 0; bit < 3 * GW_API_COUNT; bit++)
        if (routes >> bit & 1 && !(routes_seen >> bit & 1)) {
            routes_seen |= 1u << bit;
            gw_coverage(GW_COVERAGE_ROUTE, apis[bit / 3], roads[bit % 3]);
        }
    uint32_t passed = __atomic_load_n(&notes->passed_count, __ATOMIC_RELAXED);
    for (; passed_seen < passed && passed_seen < 64; passed_seen++) {
        char version[32];

        if (!__atomic_load_n(&notes->passed[passed_seen].written, __ATOMIC_ACQUIRE))
            break;
        if (notes->passed[passed_seen].version == GW_NOTE_SECOND_LIBRARY)
            snprintf(version, sizeof(version), "in a second library");
        else
            snprintf(version, sizeof(version), "asked for version %u", notes->passed[passed_seen].version);
        if (notes->passed[passed_seen].version == GW_NOTE_DEEP_BINDING)
            gw_coverage(GW_COVERAGE_DISABLED, notes->passed[passed_seen].name,
                        "was opened with RTLD_DEEPBIND: what it and its libraries call by being linked is not seen");
        else
            gw_coverage(GW_COVERAGE_NOT_WRAPPED, notes->passed[passed_seen].name, version);
    }
    say_missed(__atomic_load_n(&notes->missed, __ATOMIC_RELAXED), &missed_seen,
               "calls made while the tracer was being loaded");
    gw_process_suppressed();
    pthread_mutex_unlock(&lock);
}
