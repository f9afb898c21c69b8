#include "analyzer/session/keeper/control.h"

#include "analyzer/session/keeper/archives.h"
#include "analyzer/session/messages.h"
#include "analyzer/session/run_dir.h"
#include "analyzer/session/run_info.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROTATION_CHECK_MS 100

struct gw_control {
    const char *run;
    const struct gw_session_mode *mode;
    struct gw_tracing *tracing;
    int steps_socket; /* -1: none */
    json_t *windows;  /* [begin, end] each; the last one's end is null while it is open */
    json_t *problems; /* array of strings */
    bool recording;
    int snapshots;
    int64_t chunk_since_ns;
    unsigned chunks_removed;
    unsigned long long bytes_removed;
    bool rotation_failed;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* At once, so that it is known when this process is killed. Takes `value`. */
static void write_field(const struct gw_control *control, const char *name, json_t *value)
{
    json_t *info = NULL;
    if (gw_run_info_read(control->run, &info) == 0) {
        json_object_set(info, name, value);
        gw_run_info_write(control->run, info);
    }
    json_decref(info);
    json_decref(value);
}

static void write_windows(const struct gw_control *control)
{
    write_field(control, "windows", json_incref(control->windows));
}

static void open_window(struct gw_control *control)
{
    /* After the events were turned on and before they are turned off: within a window all of them are there. */
    json_array_append_new(control->windows, json_pack("[I, n]", (json_int_t)now_ns()));
    control->recording = true;
}

static void close_window(struct gw_control *control, int64_t end_ns)
{
    json_t *window = json_array_get(control->windows, json_array_size(control->windows) - 1);
    json_array_set_new(window, 1, json_integer((json_int_t)end_ns));
    control->recording = false;
}

static void record(struct gw_control *control, bool on)
{
    if (!control->mode->windows || on == control->recording)
        return;
    int64_t before_ns = now_ns();
    if (gw_tracing_record(control->tracing, on) != 0) {
        json_array_append_new(control->problems, json_string(on ? "LTTng could not go on recording"
                                                                : "LTTng could not pause the recording"));
        return;
    }
    if (on)
        open_window(control);
    else
        close_window(control, before_ns);
    write_windows(control);
}

/* Fills RUN/snapshot-N, a run by itself; slow_step: why, NULL when somebody asked. Returns 0 or -errno. */
static int make_snapshot(struct gw_control *control, const char *path, json_t *slow_step)
{
    char trace[PATH_MAX], from[PATH_MAX], to[PATH_MAX];
    json_t *info = NULL;
    if (snprintf(trace, sizeof(trace), "%s/trace", path) >= (int)sizeof(trace) ||
        snprintf(from, sizeof(from), "%s/functions.txt", control->run) >= (int)sizeof(from) ||
        snprintf(to, sizeof(to), "%s/functions.txt", path) >= (int)sizeof(to))
        return -ENAMETOOLONG;
    if (mkdir(path, 0777) != 0 || mkdir(trace, 0777) != 0 || link(from, to) != 0)
        return -errno;
    int result = gw_tracing_snapshot(control->tracing, trace);
    if (result == 0)
        result = gw_run_info_read(control->run, &info);
    if (result == 0) {
        json_object_set_new(info, "complete", json_true());
        json_object_set_new(info, "end", gw_run_info_clocks());
        json_object_set_new(info, "exit", json_pack("{s:s}", "how", "running"));
        json_object_set_new(info, "trace_bytes", json_integer((json_int_t)gw_tree_bytes(trace)));
        if (slow_step != NULL)
            json_object_set(info, "slow_step", slow_step);
        result = gw_run_info_write(path, info);
    }
    json_decref(info);
    return result;
}

static void snapshot(struct gw_control *control, json_t *slow_step)
{
    char path[PATH_MAX], problem[PATH_MAX + 64];
    if (!control->mode->ring ||
        snprintf(path, sizeof(path), "%s/snapshot-%d", control->run, ++control->snapshots) >= (int)sizeof(path))
        return;
    int result = make_snapshot(control, path, slow_step);
    if (result == 0)
        return;
    snprintf(problem, sizeof(problem), "%s could not be written: %s", path, strerror(-result));
    json_array_append_new(control->problems, json_string(problem));
    gw_remove_tree(path);
}

static bool chunk_is_full(const struct gw_control *control)
{
    const struct gw_session_mode *mode = control->mode;
    char trace[PATH_MAX], archives[PATH_MAX];
    if (mode->rotate_ns > 0)
        return now_ns() - control->chunk_since_ns >= (int64_t)mode->rotate_ns;
    return snprintf(trace, sizeof(trace), "%s/trace", control->run) < (int)sizeof(trace) &&
           snprintf(archives, sizeof(archives), "%s/trace/archives", control->run) < (int)sizeof(archives) &&
           gw_tree_bytes(trace) - gw_tree_bytes(archives) >= mode->rotate_bytes;
}

static void rotate(struct gw_control *control)
{
    char trace[PATH_MAX];
    if (control->rotation_failed || !chunk_is_full(control))
        return;
    control->chunk_since_ns = now_ns();
    int result = gw_tracing_rotate(control->tracing);
    if (result == 0 && control->mode->keep > 0 &&
        snprintf(trace, sizeof(trace), "%s/trace", control->run) < (int)sizeof(trace))
        result = gw_archives_trim(trace, control->mode->keep, &control->chunks_removed, &control->bytes_removed);
    if (result != 0) {
        /* Said once; recording goes on without. */
        control->rotation_failed = true;
        json_array_append_new(control->problems, json_string("the trace could not be rotated any more: old events "
                                                             "were no longer removed"));
    }
    write_field(
        control, "removed",
        json_pack("{s:i, s:I}", "chunks", (int)control->chunks_removed, "bytes", (json_int_t)control->bytes_removed));
}

struct gw_control *gw_control_create(const char *run, const struct gw_session_mode *mode, struct gw_tracing *tracing,
                                     int steps_socket)
{
    struct gw_control *control = calloc(1, sizeof(*control));
    if (control == NULL)
        return NULL;
    *control = (struct gw_control){.run = run,
                                   .mode = mode,
                                   .tracing = tracing,
                                   .steps_socket = steps_socket,
                                   .windows = json_array(),
                                   .problems = json_array(),
                                   .chunk_since_ns = now_ns()};
    if (mode->windows && !mode->paused && !mode->steps)
        open_window(control);
    if (mode->windows && mode->paused && gw_tracing_record(tracing, false) != 0) {
        gw_control_destroy(control);
        return NULL;
    }
    return control;
}

static void obey(struct gw_control *control, const json_t *message)
{
    const json_t *on = json_object_get(message, "record");
    if (json_is_boolean(on))
        record(control, json_is_true(on));
    if (json_is_true(json_object_get(message, "snapshot")))
        snapshot(control, NULL);
}

/*
 * A process of the program records the steps asked for, or has done so. Where several do at once, a window is what all
 * of them recorded. steps_ns: the first of the steps began then; what lies before in the window leads up to it. Times
 * are 0 where the message has none.
 */
static void take_window(struct gw_control *control, json_int_t begin_ns, json_int_t steps_ns, json_int_t end_ns)
{
    json_t *last = json_array_get(control->windows, json_array_size(control->windows) - 1);
    bool open = last != NULL && json_is_null(json_array_get(last, 1));
    if (begin_ns > 0 && !open)
        json_array_append_new(control->windows, json_pack("[I, n, I]", begin_ns, begin_ns));
    else if (begin_ns > json_integer_value(json_array_get(last, 0)))
        json_array_set_new(last, 0, json_integer(begin_ns));
    if (open && steps_ns > json_integer_value(json_array_get(last, 2)))
        json_array_set_new(last, 2, json_integer(steps_ns));
    if (end_ns > 0 && open)
        json_array_set_new(last, 1, json_integer(end_ns));
    last = json_array_get(control->windows, json_array_size(control->windows) - 1);
    control->recording = last != NULL && json_is_null(json_array_get(last, 1));
    write_windows(control);
}

/* Whatever else somebody sends is left alone. */
static void obey_program(struct gw_control *control, json_t *message)
{
    json_int_t begin_ns = json_integer_value(json_object_get(message, "window_begin_ns"));
    json_int_t end_ns = json_integer_value(json_object_get(message, "window_end_ns"));
    json_int_t steps_ns = json_integer_value(json_object_get(message, "steps_begin_ns"));
    if (control->mode->windows && (begin_ns > 0 || steps_ns > 0 || end_ns > 0))
        take_window(control, begin_ns, steps_ns, end_ns);
    if (json_is_integer(json_object_get(message, "slow_step")))
        snapshot(control, message);
}

static void hear_program(struct gw_control *control)
{
    int result;
    do {
        json_t *message = NULL;
        result = gw_message_receive(control->steps_socket, 0, &message);
        if (result == 0)
            obey_program(control, message);
        json_decref(message);
    } while (result == 0 || result == -EPROTO);
}

/* Waits at most `timeout_ms` for a message of the recorder; meanwhile does what the program says. */
static int next_message(struct gw_control *control, int socket, int timeout_ms, json_t **ret_message)
{
    struct pollfd readable[] = {{.fd = socket, .events = POLLIN}, {.fd = control->steps_socket, .events = POLLIN}};
    if (control->steps_socket < 0)
        return gw_message_receive(socket, timeout_ms, ret_message);
    while (poll(readable, 2, timeout_ms) < 0 && errno == EINTR)
        ;
    /* First: what the program said before it ended. */
    hear_program(control);
    return gw_message_receive(socket, 0, ret_message);
}

void gw_control_run(struct gw_control *control, int socket, json_t **ret_end)
{
    bool rotates = control->mode->rotate_bytes > 0 || control->mode->rotate_ns > 0;
    for (;;) {
        json_t *message = NULL;
        int result = next_message(control, socket, rotates ? ROTATION_CHECK_MS : -1, &message);
        if (result != -ETIMEDOUT && (result != 0 || json_object_get(message, "end") != NULL)) {
            *ret_end = message;
            return;
        }
        if (result == 0)
            obey(control, message);
        if (rotates)
            rotate(control);
        json_decref(message);
    }
}

json_t *gw_control_finish(struct gw_control *control)
{
    if (control->mode->windows) {
        if (control->recording)
            close_window(control, now_ns());
        write_windows(control);
    }
    return json_incref(control->problems);
}

void gw_control_destroy(struct gw_control *control)
{
    if (control == NULL)
        return;
    json_decref(control->windows);
    json_decref(control->problems);
    free(control);
}
