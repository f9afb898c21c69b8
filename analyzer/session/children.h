/* The direct children of this process, from /proc. */
#ifndef GW_SESSION_CHILDREN_H
#define GW_SESSION_CHILDREN_H

#include <sys/types.h>

/* Fills `ret_pids` with at most `capacity` children of this process, zombies included; returns how many. */
int gw_children(pid_t *ret_pids, int capacity);

/* The name of process `pid` as ps shows it, "?" when it is gone. */
void gw_process_name(pid_t pid, char ret_name[64]);

#endif
