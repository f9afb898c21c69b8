#include "analyzer/session/session.h"

#include "analyzer/session/leftover.h"
#include "analyzer/session/messages.h"
#include "analyzer/session/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 60000
#define FINISH_MS (10 * 60000) /* as long as the consumer makes progress; the keeper has the finer bounds */
#define KEEPER_FD 3

struct gw_session {
    const struct gw_paths *paths;
    char run[PATH_MAX], buffers[PATH_MAX];
    char home[GW_HOME_MAX_BYTES];
    int home_held; /* a descriptor, or -1 */
    struct gw_session_mode mode;
    int socket;
    pid_t keeper;
};

int gw_session_create(const struct gw_paths *paths, const char *run, const struct gw_buffer_plan *plan,
                      const struct gw_session_mode *mode, struct gw_session **ret_session, char *ret_error,
                      size_t error_size)
{
    int result;
    struct gw_session *session = calloc(1, sizeof(*session));
    if (session == NULL) {
        snprintf(ret_error, error_size, "out of memory");
        return -ENOMEM;
    }
    session->paths = paths;
    session->socket = -1;
    session->home_held = -1;
    session->mode = *mode;
    session->mode.subbuffer_bytes = plan->subbuffer_bytes;
    snprintf(session->run, sizeof(session->run), "%s", run);
    result = gw_home_make(session->home);
    if (result == 0)
        session->home_held = gw_home_hold(session->home);
    if (result != 0) {
        snprintf(ret_error, error_size, "no private directory for the LTTng sockets could be made in /tmp: %s",
                 strerror(-result));
        goto fail;
    }
    if (snprintf(session->buffers, sizeof(session->buffers), "%s/gpuwitness-XXXXXX", plan->path) >=
            (int)sizeof(session->buffers) ||
        mkdtemp(session->buffers) == NULL) {
        result = -errno;
        session->buffers[0] = '\0';
        snprintf(ret_error, error_size, "no trace buffers could be made in %s: %s", plan->path, strerror(-result));
        goto fail;
    }
    gw_home_note(session->home, session->run, session->buffers);
    *ret_session = session;
    return 0;
fail:
    gw_session_destroy(session);
    return result;
}

const char *gw_session_buffers_path(const struct gw_session *session)
{
    return session->buffers;
}

const char *gw_session_home(const struct gw_session *session)
{
    return session->home;
}

pid_t gw_session_pid(const struct gw_session *session)
{
    return session->keeper;
}

/* What the user has set for other recordings (other places of sockets, no waiting at start) is not for this one. */
static void forget_lttng_settings(void)
{
    for (char **entry = environ; *entry != NULL;) {
        char name[64];
        size_t length = strcspn(*entry, "=");
        if (strncmp(*entry, "LTTNG_", 6) != 0 || length >= sizeof(name)) {
            entry++;
            continue;
        }
        memcpy(name, *entry, length);
        name[length] = '\0';
        unsetenv(name); /* moves the later ones up */
    }
}

/* In the child: everything of the terminal and of the program's surroundings is left behind. */
static void become_keeper(const struct gw_session *session, int socket)
{
    char log[PATH_MAX + 16], fd[8];
    sigset_t none;
    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* Meant for the program and for the recorder; it ends when the recorder says so or is gone. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2};
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_IGN);

    snprintf(log, sizeof(log), "%s/session.log", session->run);
    int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
    int messages = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    dup2(quiet, STDIN_FILENO);
    dup2(messages >= 0 ? messages : quiet, STDOUT_FILENO);
    dup2(messages >= 0 ? messages : quiet, STDERR_FILENO);
    if (socket == KEEPER_FD)
        fcntl(socket, F_SETFD, 0);
    else
        dup2(socket, KEEPER_FD);
    /* A pipe of the user's would otherwise stay open as long as the daemons live. */
    close_range(KEEPER_FD + 1, ~0u, 0);

    forget_lttng_settings();
    setenv("LTTNG_HOME", session->home, 1);
    /* LTTng 2.15 writes CTF 2 unless told; the analyzer reads CTF 1.8, the only one of LTTng 2.13 and 2.14. */
    setenv("LTTNG_SESSIOND_DEFAULT_TRACE_FORMAT", "ctf-1.8", 1);
    setenv("LD_PRELOAD", session->paths->border, 1);
    snprintf(fd, sizeof(fd), "%d", KEEPER_FD);
    char *mode = gw_session_mode_json(&session->mode);
    execl(session->paths->keeper, "gpuwitness-session", fd, session->run, session->home, session->buffers, mode,
          (char *)NULL);
    _exit(1);
}

int gw_session_start(struct gw_session *session, char *ret_error, size_t error_size)
{
    int sockets[2];
    if (session->paths->keeper[0] == '\0' || session->paths->border[0] == '\0') {
        snprintf(ret_error, error_size,
                 "gpuwitness-session or libgpuwitness-daemon.so is missing beside gpuwitness: "
                 "install or build it again");
        return -ENOENT;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        int result = -errno;
        snprintf(ret_error, error_size, "no socket could be made: %s", strerror(-result));
        return result;
    }
    pid_t keeper = fork();
    if (keeper == 0)
        become_keeper(session, sockets[1]);
    int result = keeper < 0 ? -errno : 0;
    close(sockets[1]);
    if (result != 0) {
        close(sockets[0]);
        snprintf(ret_error, error_size, "no process could be started: %s", strerror(-result));
        return result;
    }
    session->socket = sockets[0];
    session->keeper = keeper;
    return 0;
}

int gw_session_wait_ready(struct gw_session *session, char *ret_error, size_t error_size)
{
    json_t *message = NULL;
    int result = gw_message_receive(session->socket, READY_MS, &message);
    const char *error = json_string_value(json_object_get(message, "error"));
    if (error != NULL) {
        snprintf(ret_error, error_size, "%s", error);
        result = -EIO;
    } else if (result != 0) {
        snprintf(ret_error, error_size, "gpuwitness-session did not start");
    }
    json_decref(message);
    return result;
}

static int ask(const struct gw_session *session, const char *what, bool value)
{
    json_t *message = json_pack("{s:b}", what, value);
    int result = gw_message_send(session->socket, message);
    json_decref(message);
    return result;
}

int gw_session_record(struct gw_session *session, bool on)
{
    return ask(session, "record", on);
}

int gw_session_snapshot(struct gw_session *session)
{
    return ask(session, "snapshot", true);
}

int gw_session_finish(struct gw_session *session, const json_t *end_fields, struct gw_session_end *ret_end)
{
    json_t *message = json_pack("{s:O}", "end", end_fields);
    json_t *answer = NULL;
    int result = gw_message_send(session->socket, message);
    json_decref(message);
    if (result == 0)
        result = gw_message_receive(session->socket, FINISH_MS, &answer);
    if (result != 0)
        return result;
    ret_end->events_discarded = (uint64_t)json_integer_value(json_object_get(answer, "events_discarded"));
    ret_end->packets_lost = (uint64_t)json_integer_value(json_object_get(answer, "packets_lost"));
    ret_end->trace_bytes = (uint64_t)json_integer_value(json_object_get(answer, "trace_bytes"));
    ret_end->problems = json_incref(json_object_get(answer, "problems"));
    json_decref(answer);
    return 0;
}

void gw_session_destroy(struct gw_session *session)
{
    if (session == NULL)
        return;
    if (session->socket >= 0)
        close(session->socket);
    if (session->home_held >= 0)
        close(session->home_held);
    if (session->keeper > 0) {
        while (waitpid(session->keeper, NULL, 0) < 0 && errno == EINTR)
            ;
    } else {
        if (session->home[0] != '\0')
            gw_remove_tree(session->home);
        if (session->buffers[0] != '\0')
            gw_remove_tree(session->buffers);
    }
    free(session);
}
