/* The traced program as a child process: started and ended as a shell would have done it. */
#ifndef GW_SESSION_PROGRAM_H
#define GW_SESSION_PROGRAM_H

#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define GW_STATUS_CANNOT_RECORD 125
#define GW_STATUS_NOT_EXECUTABLE 126
#define GW_STATUS_NOT_FOUND 127

struct gw_signals {
    sigset_t mask;                 /* the program's, as this process got it */
    struct sigaction child_action; /* likewise SIGCHLD's */
};

/* What else is done while the program runs. */
struct gw_program_hook {
    bool takes_usr2; /* SIGUSR2 is for the hook and not passed on */
    /* Called at the beginning, when its time has come and when SIGUSR2 (`usr2`) arrives. Returns in how many
     * milliseconds its time comes, -1 for never. */
    int (*tick)(bool usr2, void *context);
    void *context;
};

struct gw_program_end {
    int status; /* as the shell sees it: 128 + signal */
    int signal; /* 0 when it exited */
};

/* Looks `name` up as execvp does. Returns 0, or GW_STATUS_NOT_FOUND or GW_STATUS_NOT_EXECUTABLE. The second one also
 * tells where it is. */
int gw_program_look_up(const char *name);
int gw_program_find(const char *name, char ret_path[PATH_MAX]);

/*
 * Blocks the signals that gw_program_wait handles, and makes this process the one that orphans of the program come to.
 * What was there before goes to *ret_saved and from there to the program.
 */
void gw_signals_take(struct gw_signals *ret_saved);

/*
 * Starts argv[0] with `environment`, and with the signal mask and dispositions saved. Returns 0, or -errno of fork or
 * of exec.
 */
int gw_program_start(char *const *argv, char *const *environment, const struct gw_signals *saved, pid_t *ret_pid);

/*
 * Waits for the program's end; passes on SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT and SIGTSTP,
 * except those that the terminal has sent to the program itself and what `hook` takes. `keeper` is left alone; its
 * death is noticed: *ret_keeper_died.
 */
void gw_program_wait(pid_t program, pid_t keeper, const struct gw_program_hook *hook, struct gw_program_end *ret_end,
                     bool *ret_keeper_died);

/*
 * Waits at most `timeout_ms` for processes that the program left behind, less when a signal to end arrives. `say`, if
 * not NULL, is called once with their number when there are some. Returns an array of {"pid", "name"} of those still
 * running; the caller owns it.
 */
json_t *gw_program_wait_descendants(pid_t keeper, int timeout_ms, const struct gw_program_hook *hook,
                                    void (*say)(int processes, void *context), void *context);

#endif
