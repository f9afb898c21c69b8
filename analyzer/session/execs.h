/*
 * Compilers that the program executes: ptxas, nvcc, gcc … (shim/api/exec_note.h). The preloaded library in the process
 * that executes one says so, and a thread of the recorder watches the compiler from outside until it ends, and looks at
 * its input. Nothing in it is touched. What a statically linked program executes, or one by a bare system call, is not
 * seen.
 */
#ifndef GW_SESSION_EXECS_H
#define GW_SESSION_EXECS_H

#include <jansson.h>

struct gw_execs;

/* Makes a FIFO in `folder` and the thread that reads it. Returns 0 or -errno; the caller owns *ret_execs. */
int gw_execs_create(const char *folder, struct gw_execs **ret_execs);

/* The value of the program's GW_EXEC_VARIABLE; borrowed. */
const char *gw_execs_path(const struct gw_execs *execs);

/* What was executed so far, in order of begin, as run.json has it in "compilers" (CONTRIBUTING.md); one that still runs
 * has null for its end. The caller owns a reference; NULL without memory. */
json_t *gw_execs_json(struct gw_execs *execs);

/* Ends the thread; NULL is allowed. */
void gw_execs_destroy(struct gw_execs *execs);

#endif
