/*
 * gpuwitness record: makes the run directory, starts the recording, runs the program, ends the recording.
 * Whatever goes wrong before the program starts is said, and the program is not started; afterwards its exit status
 * counts.
 */
#include "analyzer/cli/cli.h"
#include "analyzer/cli/record_options.h"
#include "analyzer/cli/simgpu_check.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/session/execs.h"
#include "analyzer/session/job.h"
#include "analyzer/session/leftover.h"
#include "analyzer/session/program.h"
#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"
#include "analyzer/session/session.h"
#include "analyzer/session/unseen.h"
#include "shim/api/exec_note.h"
#include "shim/api/functions.h"
#include "shim/api/steps.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DESCENDANTS_MS 10000

struct recording {
    const char *command; /* "gpuwitness record", for messages */
    struct gw_record_options options;
    struct gw_paths paths;
    struct gw_job job;
    bool has_job;
    char *simgpu_config; /* absolute; NULL: none */
    const char *output;  /* RUN as the user will name it */
    struct gw_buffer_plan plan;
    struct gw_run_dir dir;
    struct gw_session *session;
    struct gw_signals signals;
    struct gw_schedule schedule;
    struct gw_unseen *unseen; /* made just before the program is started */
    struct gw_execs *execs;   /* likewise; NULL: compilers that are executed are not watched */
    bool ran;                 /* the program was started */
};

/* gpuwitness-PROGRAM-YYYYmmdd-HHMMSS; ranks of one job must come to the same name, so theirs ends in the job's. */
static void make_name(const struct recording *recording, char ret_name[288])
{
    char when[192];
    const char *slash = strrchr(recording->options.command[0], '/');
    const char *program = slash != NULL ? slash + 1 : recording->options.command[0];
    if (recording->has_job) {
        snprintf(when, sizeof(when), "%s", recording->job.id);
        for (char *c = when; *c != '\0'; c++) {
            if (!isalnum((unsigned char)*c))
                *c = '-';
        }
    } else {
        time_t now = time(NULL);
        struct tm local;
        localtime_r(&now, &local);
        strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &local);
    }
    snprintf(ret_name, 288, "gpuwitness-%.64s-%s", program, when);
}

static int check_request(struct recording *recording)
{
    const char *program = recording->options.command[0];
    const char *config = recording->options.simgpu_config;
    int status = gw_program_look_up(program);
    if (status != 0) {
        gw_complain(recording->command, status == GW_STATUS_NOT_FOUND ? "%s: program not found" : "%s: not executable",
                    program);
        return status;
    }
    int result = gw_paths_find(&recording->paths);
    if (result != 0 || recording->paths.shim[0] == '\0') {
        gw_complain(recording->command,
                    "libgpuwitness-shim.so is missing beside gpuwitness: install or build it again");
        return GW_STATUS_CANNOT_RECORD;
    }
    if (!gw_paths_can_be_preloaded(&recording->paths)) {
        gw_complain(recording->command,
                    "%s cannot be preloaded, for its path has a space or a colon: move gpuwitness to another folder",
                    recording->paths.shim);
        return GW_STATUS_CANNOT_RECORD;
    }
    if (!gw_paths_shim_fits(&recording->paths)) {
        gw_complain(recording->command,
                    "%s is of another build than gpuwitness, functions would be misnamed: install both from one build",
                    recording->paths.shim);
        return GW_STATUS_CANNOT_RECORD;
    }
    if (recording->options.simulated && recording->paths.simgpu[0] == '\0') {
        gw_complain(recording->command, "the simulated GPU's libraries are missing beside gpuwitness: build it again");
        return GW_STATUS_CANNOT_RECORD;
    }
    if (config != NULL && *config != '\0') {
        recording->simgpu_config = realpath(config, NULL);
        if (recording->simgpu_config == NULL || access(recording->simgpu_config, R_OK) != 0) {
            gw_complain(recording->command, "%s: the simulated GPU's settings cannot be read: %s", config,
                        strerror(errno));
            return GW_STATUS_CANNOT_RECORD;
        }
        if (gw_simgpu_check(recording->paths.simgpu, recording->simgpu_config) == -EINVAL)
            return GW_STATUS_CANNOT_RECORD; /* the simulated GPU has said what is wrong */
    }
    return 0;
}

static int plan_buffers(struct recording *recording)
{
    const char *output = recording->output;
    char parent[PATH_MAX], needed_text[32], memory_text[32], disk_text[32];
    uint64_t needed = 0;
    const char *slash = strrchr(output, '/');
    int length = slash == NULL ? 1 : slash == output ? 1 : (int)(slash - output);
    snprintf(parent, sizeof(parent), "%.*s", length, slash == NULL ? "." : output);
    struct gw_buffer_place memory = {"/dev/shm", gw_space_for_buffers("/dev/shm")};
    struct gw_buffer_place disk = {parent, gw_space_for_buffers(parent)};

    int result = gw_buffer_plan(recording->options.buffer_bytes, recording->options.ring_ns, gw_possible_cpus(),
                                gw_memory_available(), memory, disk, &recording->plan, &needed);
    if (result == 0) {
        /* `parent` ends here; from now on it is the run directory itself. */
        recording->plan.path = recording->plan.path == parent ? recording->dir.path : memory.path;
        return 0;
    }
    gw_complain(
        recording->command,
        "no room for the trace buffers of %u CPUs: %s must be free, /dev/shm has %s and %s has %s; enlarge /dev/shm "
        "(docker run --shm-size=1g) or give a smaller --buffer-size",
        gw_possible_cpus(), gw_format_size(needed, needed_text), gw_format_size(memory.available, memory_text), parent,
        gw_format_size(disk.available, disk_text));
    return GW_STATUS_CANNOT_RECORD;
}

static int make_directory(struct recording *recording)
{
    const char *output = recording->output;
    int result = gw_run_dir_create(output, recording->has_job ? &recording->job : NULL, &recording->dir);
    if (result == -EEXIST)
        gw_complain(recording->command, "%s exists already; remove it or choose another with -o", output);
    else if (result != 0)
        gw_complain(recording->command, "%s: the directory of the run cannot be made: %s", output, strerror(-result));
    return result == 0 ? 0 : GW_STATUS_CANNOT_RECORD;
}

static int write_functions(const char *dir)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/functions.txt", dir);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return -errno;
    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++)
        fprintf(file, "%u %s\n", id, gw_function_name(id));
    int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return errno != 0 ? -errno : -EIO;
    return 0;
}

static bool has_windows(const struct recording *recording)
{
    const struct gw_schedule_settings *settings = &recording->options.schedule;
    return gw_schedule_begins_paused(settings) || settings->duration_ns > 0 || recording->options.steps != NULL;
}

static int write_start(struct recording *recording)
{
    struct gw_run_settings settings = {
        .command = recording->options.command,
        .gpu_timing = recording->options.gpu_timing,
        .timed_ns = recording->options.timed_ns,
        .timing_period_ns = recording->options.timing_period_ns,
        .clock_offset_ns = recording->options.clock_offset_ns,
        .clock_ppm = recording->options.clock_ppm,
        .hash = recording->options.hash,
        .simulated = recording->options.simulated,
        .simgpu_config = recording->simgpu_config,
        .buffers_path = gw_session_buffers_path(recording->session),
        .buffers = &recording->plan,
        .job = recording->has_job ? &recording->job : NULL,
        .windows = has_windows(recording),
        .step_mark = recording->options.step_mark,
        .steps = recording->options.steps,
        .slow_factor = recording->options.slow_factor,
        .ring_ns = recording->options.ring_ns,
        .rotate_bytes = recording->options.rotate_bytes,
        .rotate_ns = recording->options.rotate_ns,
        .keep = recording->options.keep,
    };
    json_t *info = gw_run_info_create(&settings);
    int result = info != NULL ? gw_run_info_write(recording->dir.path, info) : -ENOMEM;
    json_decref(info);
    return result != 0 ? result : write_functions(recording->dir.path);
}

/* The last thing the daemons said: often the reason. */
static void last_log_line(const struct recording *recording, char ret_line[256])
{
    char path[PATH_MAX + 32], line[256];
    ret_line[0] = '\0';
    snprintf(path, sizeof(path), "%s/session.log", recording->dir.path);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            memcpy(ret_line, line, sizeof(line));
    }
    fclose(file);
}

static int start_session(struct recording *recording)
{
    char error[512], log_line[256];
    struct gw_session_mode mode = {.windows = has_windows(recording),
                                   .paused = gw_schedule_begins_paused(&recording->options.schedule),
                                   .steps = recording->options.step_mark != NULL,
                                   .ring = recording->options.ring_ns > 0,
                                   .rotate_bytes = recording->options.rotate_bytes,
                                   .rotate_ns = recording->options.rotate_ns,
                                   .keep = recording->options.keep};
    if (gw_session_create(&recording->paths, recording->dir.path, &recording->plan, &mode, &recording->session, error,
                          sizeof(error)) != 0 ||
        gw_session_start(recording->session, error, sizeof(error)) != 0) {
        gw_complain(recording->command, "%s", error);
        return GW_STATUS_CANNOT_RECORD;
    }
    /* While the daemons come up. */
    int written = write_start(recording);
    if (written != 0) {
        gw_complain(recording->command, "%s cannot be written: %s", recording->dir.path, strerror(-written));
        return GW_STATUS_CANNOT_RECORD;
    }
    if (gw_session_wait_ready(recording->session, error, sizeof(error)) != 0) {
        last_log_line(recording, log_line);
        gw_complain(recording->command, log_line[0] != '\0' ? "%s (%s)" : "%s", error, log_line);
        return GW_STATUS_CANNOT_RECORD;
    }
    return 0;
}

enum end { FRONT, BACK };

/* Puts an entry at an end of the colon-separated list in the variable `name`. */
static int add_to_list(const char *name, enum end end, const char *entry)
{
    const char *old = getenv(name);
    char *list = NULL;
    if (old == NULL || *old == '\0')
        return setenv(name, entry, 1) == 0 ? 0 : -errno;
    if (asprintf(&list, "%s:%s", end == FRONT ? entry : old, end == FRONT ? old : entry) < 0)
        return -ENOMEM;
    int result = setenv(name, list, 1) == 0 ? 0 : -errno;
    free(list);
    return result;
}

/*
 * Has all of the simulated GPU's libraries loaded. The library path alone would not do: a framework's DT_RPATH, which
 * leads to the NVIDIA libraries in its wheels, comes before it, whereas a library that is loaded is taken by its name.
 * What the user preloads stays before them, as it stands between a program and the real ones.
 */
static int simulate(const struct recording *recording)
{
    char pattern[PATH_MAX + 16];
    glob_t libraries = {0};
    int result = add_to_list("LD_LIBRARY_PATH", FRONT, recording->paths.simgpu);
    snprintf(pattern, sizeof(pattern), "%s/lib*.so.*", recording->paths.simgpu);
    if (glob(pattern, 0, NULL, &libraries) != 0)
        result = -ENOENT;
    /* Sorted by name: the newest version of each comes to stand first. */
    for (size_t i = libraries.gl_pathc; i-- > 0;)
        result |= add_to_list("LD_PRELOAD", BACK, libraries.gl_pathv[i]);
    globfree(&libraries);
    if (recording->simgpu_config != NULL)
        result |= setenv("SIMGPU_CONFIG", recording->simgpu_config, 1);
    return result;
}

/* This process starts nothing but the program from here on, so it can take on the program's environment itself. */
static int set_environment(const struct recording *recording)
{
    int result = 0;
    if (recording->options.simulated)
        result |= simulate(recording);
    result |= add_to_list("LD_PRELOAD", FRONT, recording->paths.shim);
    result |= setenv("LTTNG_HOME", gw_session_home(recording->session), 1);
    result |= setenv("NVTX_INJECTION64_PATH", recording->paths.shim, 0); /* a tool of the program's own stays */
    result |= setenv("GPUWITNESS_RUN_DIR", recording->dir.path, 1);
    result |= setenv("GPUWITNESS_GPU_TIMING", recording->options.gpu_timing, 1);
    result |= setenv("GPUWITNESS_HASH", recording->options.hash, 1);
    result |= setenv("GPUWITNESS_QUERIES", recording->options.queries, 1);
    if (recording->options.timing_period_ns > 0) {
        char window[64];
        snprintf(window, sizeof(window), "%lld/%lld", (long long)recording->options.timed_ns,
                 (long long)recording->options.timing_period_ns);
        result |= setenv("GPUWITNESS_TIMING_WINDOW", window, 1);
    }
    if (recording->execs != NULL)
        result |= setenv(GW_EXEC_VARIABLE, gw_execs_path(recording->execs), 1);
    if (recording->options.step_mark != NULL)
        result |= setenv(GW_STEPS_MARK_VARIABLE, recording->options.step_mark, 1);
    if (recording->options.steps != NULL)
        result |= setenv(GW_STEPS_RANGE_VARIABLE, recording->options.steps, 1);
    if (recording->options.slow_factor > 0) {
        char slow[64];
        snprintf(slow, sizeof(slow), "%.17g,%lld", recording->options.slow_factor,
                 (long long)recording->options.ring_ns);
        result |= setenv(GW_STEPS_SLOW_VARIABLE, slow, 1);
    }
    return result;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Turns the recording on and off in its time, or asks for a snapshot, and looks after the program's processes; see
 * struct gw_program_hook. */
static int keep_to_schedule(bool usr2, void *context)
{
    struct recording *recording = context;
    struct gw_schedule *schedule = &recording->schedule;
    enum gw_schedule_step step = gw_schedule_next(schedule, now_ns(), usr2);
    if (step == GW_STEP_RECORD || step == GW_STEP_PAUSE) {
        gw_session_record(recording->session, step == GW_STEP_RECORD);
        if (usr2 && !recording->options.quiet)
            gw_complain(recording->command, step == GW_STEP_RECORD ? "recording begins" : "recording stops");
    }
    if (step == GW_STEP_SNAPSHOT && gw_session_snapshot(recording->session) == 0 && !recording->options.quiet)
        gw_complain(recording->command, "a snapshot is being written into %s", recording->output);
    int64_t due_ns = gw_unseen_look(recording->unseen, now_ns());
    if (schedule->due_ns != GW_SCHEDULE_NEVER && schedule->due_ns < due_ns)
        due_ns = schedule->due_ns;
    int64_t left_ns = due_ns - now_ns();
    return left_ns <= 0 ? 0 : left_ns > INT_MAX / 2 * 1000000ll ? INT_MAX / 2 : (int)(left_ns / 1000000) + 1;
}

static void say_waiting(int processes, void *context)
{
    const struct recording *recording = context;
    if (!recording->options.quiet)
        gw_complain(recording->command,
                    "the program has ended and left %d process%s running; recording up to %d s more", processes,
                    processes == 1 ? "" : "es", DESCENDANTS_MS / 1000);
}

static json_t *end_fields(pid_t program, const struct gw_program_end *end, json_t *left_running, json_t *not_seen,
                          json_t *compilers)
{
    return json_pack("{s:i, s:o, s:{s:s, s:i, s:i}, s:o, s:o, s:o*}", "program_pid", (int)program, "end",
                     gw_run_info_clocks(), "exit", "how", end->signal != 0 ? "signalled" : "exited", "status",
                     end->status, "signal", end->signal, "left_running", left_running, "not_seen", not_seen,
                     "compilers", compilers);
}

static void print_summary(const struct recording *recording, const struct gw_session_end *end, size_t left_running)
{
    char size[32];
    size_t i;
    json_t *problem;
    json_array_foreach(end->problems, i, problem)
        gw_complain(recording->command, "%s: %s", recording->dir.root, json_string_value(problem));
    if (recording->options.quiet)
        return;
    if (left_running > 0)
        gw_complain(recording->command, "%zu process%s of the program %s still running and no longer recorded",
                    left_running, left_running == 1 ? "" : "es", left_running == 1 ? "is" : "are");
    char lost[48] = "";
    /* How many events are missing for a problem, as a full disk, nobody counted. */
    if (end->events_discarded > 0 || json_array_size(end->problems) == 0)
        snprintf(lost, sizeof(lost), ", %llu event%s lost", (unsigned long long)end->events_discarded,
                 end->events_discarded == 1 ? "" : "s");
    fprintf(stderr, "%s: %s: %s%s; next: gpuwitness report %s\n", recording->command, recording->output,
            gw_format_size(end->trace_bytes, size), lost, recording->output);
}

/* Runs the program to its end and returns its exit status. */
static int run_program(struct recording *recording)
{
    struct gw_program_end end = {0};
    struct gw_session_end session_end = {0};
    bool keeper_died = false;
    pid_t program = 0;
    pid_t keeper = gw_session_pid(recording->session);
    const char *name = recording->options.command[0];

    if (gw_execs_create(gw_session_home(recording->session), &recording->execs) != 0)
        recording->execs = NULL; /* run.json is silent of compilers then */
    if (set_environment(recording) != 0) {
        gw_complain(recording->command, "out of memory");
        return GW_STATUS_CANNOT_RECORD;
    }
    recording->unseen = gw_unseen_create(recording->paths.shim, keeper);
    if (recording->unseen == NULL) {
        gw_complain(recording->command, "out of memory");
        return GW_STATUS_CANNOT_RECORD;
    }
    int result = gw_program_start(recording->options.command, environ, &recording->signals, &program);
    if (result != 0) {
        gw_complain(recording->command, "%s: cannot be started: %s", name, strerror(-result));
        return result == -ENOENT ? GW_STATUS_NOT_FOUND : GW_STATUS_NOT_EXECUTABLE;
    }
    recording->ran = true;
    recording->schedule = gw_schedule_begin(&recording->options.schedule, now_ns());
    struct gw_program_hook hook = {
        .takes_usr2 = recording->schedule.settings.usr2 != GW_USR2_PASS_ON, keep_to_schedule, recording};
    gw_program_wait(program, keeper, &hook, &end, &keeper_died);
    json_t *left_running = gw_program_wait_descendants(keeper, DESCENDANTS_MS, &hook, say_waiting, recording);
    size_t left_count = json_array_size(left_running);
    json_t *fields = end_fields(program, &end, left_running, gw_unseen_lines(recording->unseen),
                                recording->execs != NULL ? gw_execs_json(recording->execs) : NULL);
    if (keeper_died || gw_session_finish(recording->session, fields, &session_end) != 0)
        gw_complain(recording->command,
                    "%s: the recording was killed before its end; `gpuwitness report` recovers what it can",
                    recording->dir.root);
    else
        print_summary(recording, &session_end, left_count);
    json_decref(fields);
    json_decref(session_end.problems);
    return end.status;
}

int gw_verb_record(int argc, char **argv)
{
    struct recording recording = {.command = argv[0]};
    char name[288];
    bool made = false;
    int status = gw_record_options_parse(argc, argv, &recording.options);
    if (status != 0)
        return status;
    recording.has_job = gw_job_find(&recording.job);
    make_name(&recording, name);
    recording.output = recording.options.output != NULL ? recording.options.output : name;

    status = check_request(&recording);
    if (status == 0) {
        gw_leftovers_remove(NULL, NULL); /* of recordings that were killed: they may hold the memory this one needs */
        status = plan_buffers(&recording);
    }
    if (status == 0) {
        status = make_directory(&recording);
        made = status == 0;
    }
    if (status == 0) {
        gw_signals_take(&recording.signals);
        status = start_session(&recording);
    }
    if (status == 0)
        status = run_program(&recording);
    gw_execs_destroy(recording.execs); /* before the folder it has its FIFO in */
    gw_session_destroy(recording.session);
    gw_unseen_destroy(recording.unseen);
    if (made && !recording.ran)
        gw_remove_tree(recording.dir.path);
    free(recording.simgpu_config);
    return status;
}
