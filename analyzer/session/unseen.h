/*
 * Which processes of the program's do not carry the preloaded library, and why. The recorder looks at its descendants
 * now and then, from outside: nothing in them is touched. One that lived for less than about two seconds may not have
 * been looked at; with thousands of threads below it, for which a look takes more than 10 ms, longer.
 */
#ifndef GW_SESSION_UNSEEN_H
#define GW_SESSION_UNSEEN_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct gw_unseen;

/* Looks for that library, among all descendants of this process but the keeper's. NULL without memory. */
struct gw_unseen *gw_unseen_create(const char *library, pid_t keeper);

/* Looks if it is time to. now_ns: CLOCK_MONOTONIC. Returns when the next look is due. */
int64_t gw_unseen_look(struct gw_unseen *unseen, int64_t now_ns);

/* A line for each such process, of the first 64: "process PID (NAME): WHY". The caller owns a reference. */
json_t *gw_unseen_lines(const struct gw_unseen *unseen);

void gw_unseen_destroy(struct gw_unseen *unseen); /* NULL is allowed */

#endif
