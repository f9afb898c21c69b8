#include "analyzer/session/program.h"

#include "analyzer/session/children.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int forwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};

static void fill_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
        sigaddset(set, forwarded[i]);
}

static int executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno == EACCES ? GW_STATUS_NOT_EXECUTABLE : GW_STATUS_NOT_FOUND;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : GW_STATUS_NOT_EXECUTABLE;
}

int gw_program_look_up(const char *name)
{
    char path[PATH_MAX];
    return gw_program_find(name, path);
}

int gw_program_find(const char *name, char ret_path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    int best = GW_STATUS_NOT_FOUND;
    if (strchr(name, '/') != NULL) {
        snprintf(ret_path, PATH_MAX, "%s", name);
        return executable(name);
    }
    if (*name == '\0')
        return GW_STATUS_NOT_FOUND;
    if (folders == NULL)
        folders = "/bin:/usr/bin";
    for (;;) {
        char path[PATH_MAX];
        int length = (int)strcspn(folders, ":");
        if (snprintf(path, sizeof(path), "%.*s%s%s", length, folders, length > 0 ? "/" : "./", name) <
            (int)sizeof(path)) {
            int result = executable(path);
            if (result == 0) {
                memcpy(ret_path, path, sizeof(path));
                return 0;
            }
            /* A folder that may not be searched holds nothing, as for a shell. */
            if (result < best && access(path, F_OK) == 0)
                best = result;
        }
        if (folders[length] == '\0')
            return best;
        folders += length + 1;
    }
}

void gw_signals_take(struct gw_signals *ret_saved)
{
    /* A parent that ignores SIGCHLD would have us lose the program's status. */
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t set;
    fill_set(&set);
    sigaction(SIGCHLD, &standard, &ret_saved->child_action);
    sigprocmask(SIG_BLOCK, &set, &ret_saved->mask);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int gw_program_start(char *const *argv, char *const *environment, const struct gw_signals *saved, pid_t *ret_pid)
{
    int failure[2];
    int error = 0;
    if (pipe2(failure, O_CLOEXEC) != 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGCHLD, &saved->child_action, NULL);
        sigprocmask(SIG_SETMASK, &saved->mask, NULL);
        execvpe(argv[0], argv, environment);
        error = errno;
        if (write(failure[1], &error, sizeof(error)) < 0)
            _exit(GW_STATUS_NOT_EXECUTABLE);
        _exit(GW_STATUS_NOT_FOUND);
    }
    if (pid < 0)
        error = errno;
    close(failure[1]);
    ssize_t length;
    if (pid > 0) {
        do {
            length = read(failure[0], &error, sizeof(error));
        } while (length < 0 && errno == EINTR);
        if (length > 0)
            waitpid(pid, NULL, 0);
    }
    close(failure[0]);
    if (error != 0)
        return -error;
    *ret_pid = pid;
    return 0;
}

static void pass_on(int signal_number, const siginfo_t *info, pid_t program)
{
    /* The terminal sends to its whole foreground process group, in which the program is, too. */
    if (info->si_code != SI_KERNEL && info->si_pid != program)
        kill(program, signal_number);
    if (signal_number == SIGTSTP)
        raise(SIGSTOP);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t tick(const struct gw_program_hook *hook, bool usr2)
{
    int wait_ms = hook->tick(usr2, hook->context);
    return wait_ms < 0 ? INT64_MAX : now_ms() + wait_ms;
}

/* Waits for a signal of the set, at most until `due_ms`. Returns its number, or a negative number. */
static int wait_for_signal(const sigset_t *set, int64_t due_ms, siginfo_t *ret_info)
{
    if (due_ms == INT64_MAX)
        return sigwaitinfo(set, ret_info);
    int64_t left = due_ms - now_ms();
    struct timespec patience = {.tv_sec = left > 0 ? left / 1000 : 0, .tv_nsec = left > 0 ? left % 1000 * 1000000 : 0};
    return sigtimedwait(set, ret_info, &patience);
}

void gw_program_wait(pid_t program, pid_t keeper, const struct gw_program_hook *hook, struct gw_program_end *ret_end,
                     bool *ret_keeper_died)
{
    sigset_t set;
    fill_set(&set);
    int64_t due_ms = tick(hook, false);
    for (;;) {
        siginfo_t info;
        int status;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid == keeper)
                *ret_keeper_died = true;
            if (pid != program)
                continue;
            ret_end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            ret_end->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            return;
        }
        int signal_number = wait_for_signal(&set, due_ms, &info);
        bool usr2 = signal_number == SIGUSR2 && hook->takes_usr2;
        if (usr2 || now_ms() >= due_ms)
            due_ms = tick(hook, usr2);
        if (signal_number > 0 && signal_number != SIGCHLD && !usr2)
            pass_on(signal_number, &info, program);
    }
}

static int count_others(pid_t keeper, pid_t *pids, int capacity)
{
    int kept = 0;
    int count = gw_children(pids, capacity);
    for (int i = 0; i < count; i++) {
        if (pids[i] != keeper)
            pids[kept++] = pids[i];
    }
    return kept;
}

json_t *gw_program_wait_descendants(pid_t keeper, int timeout_ms, const struct gw_program_hook *hook,
                                    void (*say)(int processes, void *context), void *context)
{
    pid_t pids[64];
    int64_t deadline = now_ms() + timeout_ms;
    int64_t due_ms = tick(hook, false);
    bool said = false;
    sigset_t set;
    int count;
    fill_set(&set);
    for (;;) {
        /* The keeper, if it died, stays to be reaped by its owner. */
        count = count_others(keeper, pids, 64);
        for (int i = 0; i < count; i++)
            waitpid(pids[i], NULL, WNOHANG);
        count = count_others(keeper, pids, 64);
        if (count == 0 || now_ms() >= deadline)
            break;
        if (!said && say != NULL)
            say(count, context);
        said = true;
        siginfo_t info;
        int signal_number = wait_for_signal(&set, due_ms < deadline ? due_ms : deadline, &info);
        bool usr2 = signal_number == SIGUSR2 && hook->takes_usr2;
        if (usr2 || now_ms() >= due_ms)
            due_ms = tick(hook, usr2);
        if (signal_number == SIGTERM || signal_number == SIGINT || signal_number == SIGHUP || signal_number == SIGQUIT)
            break;
    }
    json_t *running = json_array();
    for (int i = 0; i < count; i++) {
        char name[64];
        gw_process_name(pids[i], name);
        json_array_append_new(running, json_pack("{s:i, s:s}", "pid", (int)pids[i], "name", name));
    }
    return running;
}
