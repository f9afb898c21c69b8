#include "analyzer/cli/doctor.h"

#include "analyzer/cli/cli.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/session/leftover.h"
#include "analyzer/session/program.h"
#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"
#include "analyzer/session/runtime.h"
#include "analyzer/session/session.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCKED_ENOUGH_BYTES (64ull << 20)

bool gw_doctor_say(enum gw_finding finding, const char *subject, const char *format, ...)
{
    static const char *const words[] = {"ok", "note", "PROBLEM"};
    va_list arguments;
    printf("%-8s %-16s ", words[finding], subject);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return finding == GW_PROBLEM;
}

static bool check_tools(void)
{
    struct gw_runtime runtime;
    char path[PATH_MAX];
    bool bad = false;
    gw_runtime_find(&runtime);
    gw_runtime_program(&runtime, "lttng-sessiond", path);
    bad |= gw_program_look_up(path) == 0
               ? gw_doctor_say(GW_FINE, "lttng-sessiond", "found")
               : gw_doctor_say(GW_PROBLEM, "lttng-sessiond", "not found: install the package lttng-tools");
    gw_runtime_program(&runtime, "lttng-crash", path);
    if (gw_program_look_up(path) == 0)
        gw_doctor_say(GW_FINE, "lttng-crash", "found");
    else
        gw_doctor_say(GW_NOTE, "lttng-crash",
                      "not found: runs whose recorder is killed cannot be recovered; it is in lttng-tools");
    return bad;
}

static bool check_buffers(struct gw_buffer_plan *ret_plan)
{
    char room[32], each[32], needed_text[32];
    uint64_t needed = 0;
    struct gw_buffer_place memory = {"/dev/shm", gw_space_for_buffers("/dev/shm")};
    struct gw_buffer_place disk = {".", gw_space_for_buffers(".")};
    gw_format_size(memory.available, room);
    if (gw_buffer_plan(0, 0, gw_possible_cpus(), gw_memory_available(), memory, disk, ret_plan, &needed) != 0)
        return gw_doctor_say(GW_PROBLEM, "buffers",
                             "/dev/shm has %s free, %s are needed: enlarge it (docker run --shm-size=1g)", room,
                             gw_format_size(needed, needed_text));
    gw_format_size(ret_plan->subbuffer_bytes * GW_SUBBUFFERS, each);
    if (ret_plan->path == disk.path)
        gw_doctor_say(GW_NOTE, "buffers", "%s for each of %u CPUs, on disk beside the run: /dev/shm has only %s free",
                      each, ret_plan->cpus, room);
    else if (ret_plan->subbuffer_bytes * GW_SUBBUFFERS < GW_BUFFER_ENOUGH_BYTES)
        gw_doctor_say(GW_NOTE, "buffers",
                      "only %s for each of %u CPUs: busy programs may lose events; /dev/shm has %s free", each,
                      ret_plan->cpus, room);
    else
        gw_doctor_say(GW_FINE, "buffers", "%s for each of %u CPUs; /dev/shm has %s free", each, ret_plan->cpus, room);
    return false;
}

static bool check_recording(const struct gw_paths *paths, const struct gw_buffer_plan *plan)
{
    char run[] = "/tmp/gpuwitness-doctor-XXXXXX";
    char error[512];
    struct gw_session *session = NULL;
    struct gw_buffer_plan in_run = *plan;
    struct gw_session_mode mode = {.windows = false};
    struct timespec begin, ready;
    bool bad;
    if (mkdtemp(run) == NULL)
        return gw_doctor_say(GW_PROBLEM, "recording", "no directory can be made in /tmp");
    if (strcmp(plan->path, "/dev/shm") != 0)
        in_run.path = run;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (gw_session_create(paths, run, &in_run, &mode, &session, error, sizeof(error)) != 0 ||
        gw_session_start(session, error, sizeof(error)) != 0 ||
        gw_session_wait_ready(session, error, sizeof(error)) != 0) {
        bad = gw_doctor_say(GW_PROBLEM, "recording", "%s", error);
    } else {
        clock_gettime(CLOCK_MONOTONIC, &ready);
        bad =
            gw_doctor_say(GW_FINE, "recording", "a trial recording was ready after %.0f ms",
                          (double)(ready.tv_sec - begin.tv_sec) * 1e3 + (double)(ready.tv_nsec - begin.tv_nsec) / 1e6);
    }
    gw_session_destroy(session);
    gw_remove_tree(run);
    return bad;
}

/* A program that cannot load it says so on stderr and runs on: loaded means that nothing is said. */
static bool check_shim(const struct gw_paths *paths)
{
    char preload[PATH_MAX + 16];
    char *const arguments[] = {"true", NULL};
    char *const environment[] = {preload, NULL};
    int output[2], status = -1;
    char said[8];
    ssize_t length = -1;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    if (paths->shim[0] == '\0')
        return gw_doctor_say(GW_PROBLEM, "preload library",
                             "libgpuwitness-shim.so is missing beside gpuwitness: install it again");
    if (!gw_paths_can_be_preloaded(paths))
        return gw_doctor_say(GW_PROBLEM, "preload library",
                             "%s cannot be preloaded, for its path has a space or a colon: move gpuwitness to another "
                             "folder",
                             paths->shim);
    if (pipe2(output, O_CLOEXEC) != 0)
        return gw_doctor_say(GW_PROBLEM, "preload library", "no pipe could be made");
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", paths->shim);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output[1], STDERR_FILENO);
    int failed = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(output[1]);
    if (failed == 0) {
        length = read(output[0], said, sizeof(said));
        waitpid(pid, &status, 0);
    }
    close(output[0]);
    if (length != 0 || status != 0)
        return gw_doctor_say(GW_PROBLEM, "preload library", "%s cannot be loaded into a program", paths->shim);
    if (!gw_paths_shim_fits(paths))
        return gw_doctor_say(GW_PROBLEM, "preload library",
                             "%s is of another build than gpuwitness: install both from one build", paths->shim);
    if (paths->tracer[0] == '\0')
        return gw_doctor_say(GW_PROBLEM, "preload library",
                             "libgpuwitness-tracer.so is missing beside it: install it again");
    return gw_doctor_say(GW_FINE, "preload library", "%s", paths->shim);
}

static void say_left(const struct gw_leftover *leftover, void *context)
{
    char size[32];
    (void)context;
    gw_format_size(gw_tree_bytes(leftover->buffers), size);
    if (leftover->readable)
        gw_doctor_say(GW_NOTE, "left over", "%s of a recording that was killed: gpuwitness report %s takes it", size,
                      leftover->run);
    else
        gw_doctor_say(GW_NOTE, "left over", "%s of a recording whose run is gone, %s: rm -r %s %s", size, leftover->run,
                      leftover->buffers, leftover->home);
}

static void check_device(const struct gw_paths *paths)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = driver != NULL ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
    int (*get_count)(int *) = driver != NULL ? (int (*)(int *))dlsym(driver, "cuDeviceGetCount") : NULL;
    int devices = 0;
    if (init == NULL || get_count == NULL)
        gw_doctor_say(GW_NOTE, "NVIDIA driver",
                      "libcuda.so.1 was not found: only recordings with --simgpu are possible here");
    else if (init(0) != 0 || get_count(&devices) != 0 || devices == 0)
        gw_doctor_say(GW_NOTE, "NVIDIA driver",
                      "libcuda.so.1 was found but offers no device (in a container: --gpus all)");
    else
        gw_doctor_say(GW_FINE, "NVIDIA driver", "%d device%s", devices, devices == 1 ? "" : "s");
    if (paths->simgpu[0] != '\0')
        gw_doctor_say(GW_FINE, "simulated GPU", "%s", paths->simgpu);
    else
        gw_doctor_say(GW_NOTE, "simulated GPU", "not built: record --simgpu and demo do not work");
}

/* Each stream of the trace costs the session's daemons some open files, and so does each traced process. */
static void check_limits(void)
{
    struct rlimit files, locked;
    rlim_t enough_files = 16 * (rlim_t)gw_possible_cpus() + 256;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        if (files.rlim_cur >= enough_files)
            gw_doctor_say(GW_FINE, "open files", "%llu allowed", (unsigned long long)files.rlim_cur);
        else
            gw_doctor_say(GW_NOTE, "open files",
                          "only %llu allowed: raise them to %llu (ulimit -n, docker --ulimit nofile)",
                          (unsigned long long)files.rlim_cur, (unsigned long long)enough_files);
    }
    if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
        char size[32];
        if (locked.rlim_cur >= LOCKED_ENOUGH_BYTES)
            gw_doctor_say(GW_FINE, "locked memory", "%s",
                          locked.rlim_cur == RLIM_INFINITY ? "unlimited" : gw_format_size(locked.rlim_cur, size));
        else
            gw_doctor_say(GW_NOTE, "locked memory",
                          "only %s: recording does without, but NCCL over InfiniBand needs more "
                          "(ulimit -l, docker --ulimit memlock=-1)",
                          gw_format_size(locked.rlim_cur, size));
    }
}

/* The driver says in /proc who may read its counters and activity records. */
static void check_profiling(void)
{
    char line[256];
    int admin_only = -1;
    FILE *file = fopen("/proc/driver/nvidia/params", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        sscanf(line, "RmProfilingAdminOnly: %d", &admin_only);
    if (file != NULL)
        fclose(file);
    if (admin_only < 0)
        return; /* there is no such driver, which has been said */
    if (admin_only > 0 && geteuid() != 0)
        gw_doctor_say(GW_NOTE, "CUPTI",
                      "for root only here: GPU times come from CUDA events then, unless the driver is loaded with "
                      "NVreg_RestrictProfilingToAdminUsers=0");
    else
        gw_doctor_say(GW_FINE, "CUPTI", "allowed for %s", admin_only > 0 ? "root, who this is" : "everybody");
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    const char **program = state->input;
    (void)value;
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    /* What follows are the program's own arguments. */
    *program = state->argv[state->next - 1];
    state->next = state->argc;
    return 0;
}

int gw_verb_doctor(int argc, char **argv)
{
    static const struct argp argp = {
        NULL,
        take_option,
        "[[--] PROGRAM [ARGUMENT...]]",
        "Checks whether this machine or container can record, and says what to do where it cannot; with PROGRAM, also "
        "what would be missed of it. PROGRAM is not run.\v"
        "Prints one line a check: ok, note (recording works, something would be missed) or PROBLEM.\n\n"
        "Exit status: 0 when recording works, 1 when there is a PROBLEM, 2 for a wrong command line.",
        NULL,
        NULL,
        NULL};
    struct gw_paths paths;
    struct gw_buffer_plan plan;
    const char *program = NULL;
    bool bad;
    if (gw_parse_options(&argp, argc, argv, ARGP_IN_ORDER, &program) != 0)
        return GW_EXIT_USAGE;
    if (gw_paths_find(&paths) != 0) {
        gw_complain(argv[0], "/proc is not mounted");
        return GW_EXIT_FAILURE;
    }
    bad = check_tools();
    bad |= check_shim(&paths);
    if (check_buffers(&plan))
        bad = true;
    else
        bad |= check_recording(&paths, &plan);
    gw_leftovers_remove(say_left, NULL);
    check_limits();
    check_device(&paths);
    check_profiling();
    if (program != NULL)
        bad |= gw_doctor_check_program(program);
    return gw_end_output(argv[0]) != GW_EXIT_OK || bad ? GW_EXIT_FAILURE : GW_EXIT_OK;
}
