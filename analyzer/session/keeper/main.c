/*
 * gpuwitness-session FD RUN HOME BUFFERS MODE: owns the LTTng session of one recording, for `gpuwitness record`. MODE
 * is what gw_session_mode_json writes.
 *
 * A process of its own, because the session has to be ended properly even when the recorder is killed, and because it
 * is seen under another user id than the program (daemon_border.c). It talks to the recorder over the socket FD in JSON
 * messages. It sends {"ready": true} or {"error": TEXT} when recording has or has not begun. It receives any number of
 * {"record": true or false}, to open or close a window, and {"snapshot": true}, and {"end": {fields of run.json}} when
 * the program has ended; end of file means that the recorder was killed. It sends {"problems": [...],
 * "events_discarded", "packets_lost", "trace_bytes"}, and exits.
 *
 * gpuwitness-session prime: loads liblttng-ust and ends, so that the per-user buffers exist before the program starts.
 */
#include "analyzer/session/buffers.h"
#include "analyzer/session/keeper/control.h"
#include "analyzer/session/keeper/daemons.h"
#include "analyzer/session/keeper/steps.h"
#include "analyzer/session/keeper/tracing.h"
#include "analyzer/session/leftover.h"
#include "analyzer/session/messages.h"
#include "analyzer/session/recover.h"
#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PRIME_SECONDS 10
#define LEAST_FREE_BYTES (1 << 20)

struct recording {
    int socket;
    const char *run, *home, *buffers;
    char trace[PATH_MAX];
    struct gw_session_mode mode;
    struct gw_tracing *tracing;
    struct gw_control *control;
    bool buffers_needed; /* they could not be emptied: they stay, and a reader tries again */
};

/* The buffers of a user are made when the first traced process of that user registers; this one is it. */
static int prime(void)
{
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        unsetenv("LD_PRELOAD");
        alarm(PRIME_SECONDS);
        execl("/proc/self/exe", "gpuwitness-session", "prime", (char *)NULL);
        _exit(1);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int load_tracer_library(void)
{
    return dlopen("liblttng-ust.so.1", RTLD_NOW) != NULL ? 0 : 1;
}

static int begin(struct recording *recording, char *ret_error, size_t error_size)
{
    const struct gw_session_mode *mode = &recording->mode;
    struct gw_tracing_settings settings = {.trace_path = recording->trace,
                                           .buffers_path = recording->buffers,
                                           .subbuffer_bytes = mode->subbuffer_bytes,
                                           .subbuffers = GW_SUBBUFFERS,
                                           .context_apart = mode->windows || mode->ring || mode->keep > 0,
                                           .ring = mode->ring};
    pid_t sessiond;
    char made[PATH_MAX + 8];
    int result = gw_daemons_start(&sessiond);
    if (result != 0) {
        snprintf(ret_error, error_size, "%s",
                 result == -ENOENT ? "lttng-sessiond was not found: install lttng-tools"
                                   : "lttng-sessiond did not start");
        return result;
    }
    result = gw_tracing_start(&settings, &recording->tracing, ret_error, error_size);
    if (result != 0)
        return result;
    if (prime() != 0) {
        snprintf(ret_error, error_size, "liblttng-ust could not be loaded: install liblttng-ust1");
        return -EIO;
    }
    snprintf(made, sizeof(made), "%s/ust", recording->buffers);
    if (access(made, F_OK) != 0) {
        snprintf(ret_error, error_size,
                 "LTTng made no buffers in %s; is a file /dev/shm/lttng-ust-wait-* of another user in the way?",
                 recording->buffers);
        return -EIO;
    }
    if (mode->ring && gw_keep_buffers(recording->buffers) != 0) {
        snprintf(ret_error, error_size, "the buffers in %s cannot be given second names", recording->buffers);
        return -EIO;
    }
    int steps_socket = mode->steps ? gw_steps_listen(recording->home) : -1;
    if (mode->steps && steps_socket < 0) {
        snprintf(ret_error, error_size, "no socket could be made in %s: %s", recording->home, strerror(-steps_socket));
        return steps_socket;
    }
    /* Only now: the buffers are made for channels that are on. */
    recording->control = gw_control_create(recording->run, mode, recording->tracing, steps_socket);
    if (recording->control == NULL) {
        snprintf(ret_error, error_size, "the recording could not be paused before the program's start");
        return -EIO;
    }
    return 0;
}

static void add_problem(json_t *problems, const char *text)
{
    json_array_append_new(problems, json_string(text));
}

/* The fields that the recorder would have sent, had it not been killed. */
static json_t *fields_without_recorder(void)
{
    return json_pack("{s:o, s:{s:s}}", "end", gw_run_info_clocks(), "exit", "how", "recorder-died");
}

/* Completes run.json with the recorder's fields, NULL when it was killed, and ours. */
static json_t *finish(struct recording *recording, json_t *recorder_fields)
{
    struct gw_tracing_end end = {0};
    json_t *problems = gw_control_finish(recording->control);
    json_t *end_fields = recorder_fields ? json_incref(recorder_fields) : fields_without_recorder();
    json_t *info = NULL;
    gw_tracing_stop(recording->tracing, &end);
    recording->tracing = NULL;
    gw_daemons_kill();
    if (!recorder_fields)
        add_problem(problems, "the recorder was killed: how the program ended is not known");
    if (!end.drained)
        add_problem(problems, "the session daemon did not end properly; the last events were taken from the buffers");
    bool full = gw_space_available(recording->run) < LEAST_FREE_BYTES;
    gw_run_dir_release(recording->run);
    if (full)
        add_problem(problems, "the disk is full: events are missing at the end of the trace");
    /*
     * Also after a proper end: a process that dies while it writes an event blocks its CPU's buffer for everybody, and
     * LTTng calls that buffer empty.
     */
    bool whole = !full && end.drained && gw_trace_has_metadata(recording->trace);
    /* A snapshot leaves in the ring what it has taken from it; half a snapshot would be there twice. */
    if (recording->mode.ring && !whole)
        gw_remove_tree(recording->trace);
    int recovered = whole && recording->mode.ring ? 0 : gw_recover_buffers(recording->buffers, recording->trace, whole);
    recording->buffers_needed = !whole && recovered == -ENOENT;
    if (whole && recovered > 0)
        add_problem(problems, "a process died while it wrote an event; later events on that CPU may be missing");
    else if (!whole && recovered == -ENOENT)
        add_problem(problems,
                    "lttng-crash was not found (package lttng-tools): the last events are still in the buffers");
    else if (!whole && !full && recovered < 0)
        add_problem(problems, "not all of the last events could be taken from the buffers");

    int written = gw_run_info_read(recording->run, &info);
    if (written == 0) {
        json_object_update(info, end_fields);
        json_object_set_new(info, "events_discarded", json_integer((json_int_t)end.events_discarded));
        json_object_set_new(info, "packets_lost", json_integer((json_int_t)end.packets_lost));
        json_object_set_new(info, "trace_bytes", json_integer((json_int_t)gw_tree_bytes(recording->trace)));
        json_object_set_new(info, "complete", json_boolean(!recording->buffers_needed));
        json_object_set(info, "problems", problems);
        written = gw_run_info_write(recording->run, info);
    }
    if (written != 0) {
        char text[PATH_MAX + 64];
        snprintf(text, sizeof(text), "run.json could not be completed: %s", strerror(-written));
        add_problem(problems, text);
    }
    json_decref(info);
    json_decref(end_fields);
    return json_pack("{s:o, s:I, s:I, s:I}", "problems", problems, "events_discarded", (json_int_t)end.events_discarded,
                     "packets_lost", (json_int_t)end.packets_lost, "trace_bytes",
                     (json_int_t)gw_tree_bytes(recording->trace));
}

int main(int argc, char **argv)
{
    struct recording recording = {0};
    char error[512] = "";
    char log[PATH_MAX];
    json_t *message = NULL;

    if (argc == 2 && strcmp(argv[1], "prime") == 0)
        return load_tracer_library();
    if (argc != 6 || gw_session_mode_parse(argv[5], &recording.mode) != 0)
        return 2;
    recording.socket = atoi(argv[1]);
    recording.run = argv[2];
    recording.home = argv[3];
    recording.buffers = argv[4];
    snprintf(recording.trace, sizeof(recording.trace), "%s/trace", recording.run);
    snprintf(log, sizeof(log), "%s/session.log", recording.run);
    fcntl(recording.socket, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);

    /* Held as long as this process lives: readers see that the run is still being recorded. */
    int lock = open(recording.run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0)
        flock(lock, LOCK_SH);

    gw_home_hold(recording.home);
    gw_run_dir_reserve(recording.run);
    int result = begin(&recording, error, sizeof(error));
    message = result == 0 ? json_pack("{s:b}", "ready", 1) : json_pack("{s:s}", "error", error);
    gw_message_send(recording.socket, message);
    json_decref(message);
    message = NULL;
    if (result == 0) {
        gw_control_run(recording.control, recording.socket, &message);
        json_t *answer = finish(&recording, json_object_get(message, "end"));
        if (json_array_size(json_object_get(answer, "problems")) == 0)
            unlink(log);
        gw_message_send(recording.socket, answer);
        json_decref(answer);
        json_decref(message);
    }
    gw_control_destroy(recording.control);
    gw_daemons_kill();
    gw_remove_tree(recording.home);
    if (!recording.buffers_needed)
        gw_remove_tree(recording.buffers);
    return result == 0 ? 0 : 1;
}
