/*
 * LTTng's programs and other libraries that a relocatable package carries with it, in the folder `runtime` beside
 * gpuwitness's own libraries. Where there is none, as in a build tree or a distribution's package, the system's are
 * used.
 */
#ifndef GW_SESSION_RUNTIME_H
#define GW_SESSION_RUNTIME_H

#include <limits.h>

struct gw_runtime {
    char folder[PATH_MAX]; /* empty: there is none */
};

/* Looks for the folder beside the running executable: gpuwitness, or gpuwitness-session. */
void gw_runtime_find(struct gw_runtime *ret_runtime);

/* Path of one of LTTng's programs, or its bare name, to be found in PATH. */
void gw_runtime_program(const struct gw_runtime *runtime, const char *name, char ret_path[PATH_MAX]);

/* For a process about to become one of LTTng's programs: sets the variables by which they and their libraries are
 * found. A traced program must not see them. */
void gw_runtime_enter(const struct gw_runtime *runtime);

/* For verbs that start no program: sets the variables by which this process finds plug-ins and fonts, except those
 * that are set. */
void gw_runtime_use(const struct gw_runtime *runtime);

#endif
