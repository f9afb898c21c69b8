/* The direct children of this process, from /proc. */
#ifndef GW_SESSION_CHILDREN_H
#define GW_SESSION_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/* Fills `ret_pids` with at most `capacity` children of this process, zombies included; returns how many. */
int gw_children(pid_t *ret_pids, int capacity);

/* The name of process `pid` as ps shows it, "?" when it is gone. */
void gw_process_name(pid_t pid, char ret_name[64]);

/* The parent of a process, 0 when it is gone. */
pid_t gw_parent_of(pid_t pid);

/* Calls visit for each child of a process with the thread that made it, until it returns true; returns whether it did.
 */
bool gw_each_child(pid_t parent, bool (*visit)(pid_t child, pid_t thread, void *data), void *data);

#endif
