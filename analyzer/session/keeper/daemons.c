#include "analyzer/session/keeper/daemons.h"

#include "analyzer/session/children.h"
#include "analyzer/session/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_SECONDS 10
#define EXEC_FAILED 127

/* SIGTERM and the like reach every process of a job; the recording has to outlive the program to keep its last events.
 */
static void be_deaf(void)
{
    static const int deaf_to[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR2};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < sizeof(deaf_to) / sizeof(deaf_to[0]); i++)
        sigaddset(&mask, deaf_to[i]);
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

int gw_daemons_start(pid_t *ret_sessiond)
{
    struct timespec patience = {.tv_sec = START_SECONDS};
    struct gw_runtime runtime;
    char path[PATH_MAX];
    sigset_t ready;
    pid_t self = getpid();

    sigemptyset(&ready);
    sigaddset(&ready, SIGUSR1);
    sigaddset(&ready, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ready, NULL);
    pid_t sessiond = fork();
    if (sessiond < 0)
        return -errno;
    if (sessiond == 0) {
        be_deaf();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(EXEC_FAILED);
        gw_runtime_find(&runtime);
        gw_runtime_program(&runtime, "lttng-sessiond", path);
        gw_runtime_enter(&runtime);
        execlp(path, "lttng-sessiond", "--no-kernel", "--sig-parent", (char *)NULL);
        _exit(EXEC_FAILED);
    }

    int signal_number;
    do {
        signal_number = sigtimedwait(&ready, NULL, &patience);
    } while (signal_number < 0 && errno == EINTR);
    if (signal_number == SIGUSR1) {
        *ret_sessiond = sessiond;
        return 0;
    }
    int status;
    if (signal_number == SIGCHLD && waitpid(sessiond, &status, WNOHANG) == sessiond)
        return WIFEXITED(status) && WEXITSTATUS(status) == EXEC_FAILED ? -ENOENT : -ECHILD;
    gw_daemons_kill();
    return -ETIMEDOUT;
}

void gw_daemons_kill(void)
{
    struct timespec pause = {.tv_nsec = 1000000};
    /* What a killed daemon leaves behind becomes our child (we are a subreaper): again until there is nobody. */
    for (int round = 0; round < 2000; round++) {
        pid_t children[64];
        int count = gw_children(children, 64);
        for (int i = 0; i < count; i++)
            kill(children[i], SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (count == 0)
            return;
        nanosleep(&pause, NULL);
    }
}
