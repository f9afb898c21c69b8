/* The private lttng-sessiond and its consumer: everything below this process is theirs. */
#ifndef GW_KEEPER_DAEMONS_H
#define GW_KEEPER_DAEMONS_H

#include <sys/types.h>

/*
 * Starts lttng-sessiond with the environment of this process and waits until it takes commands. It is deaf to the
 * signals a job scheduler sends to everybody, and is killed when this process ends. Call from the main thread. Returns
 * 0 and its process id; -ENOENT when there is no such program, -ETIMEDOUT or -ECHILD when it did not come up.
 */
int gw_daemons_start(pid_t *ret_sessiond);

/* Ends every process below this one, however deep, and waits for them: at most two seconds. Takes no lock. */
void gw_daemons_kill(void);

#endif
