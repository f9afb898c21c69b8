/* The directory of a run: made once, private to one recorder or shared by the ranks of one job. */
#ifndef GW_SESSION_RUN_DIR_H
#define GW_SESSION_RUN_DIR_H

#include "analyzer/session/job.h"

#include <limits.h>

struct gw_run_dir {
    char root[PATH_MAX]; /* absolute RUN */
    char path[PATH_MAX]; /* absolute folder of this recorder: root, or root/rank-HOST-PID */
};

/*
 * Makes the directory `name` for this recorder; with `job` not NULL, makes or joins it and makes this rank's folder
 * inside. Returns 0; -EEXIST when `name` exists and is not the directory of this job; else -errno of what could not be
 * made.
 */
int gw_run_dir_create(const char *name, const struct gw_job *job, struct gw_run_dir *ret_dir);

/* Removes `path` and everything below it; symbolic links are not followed. Returns 0 or -errno. */
int gw_remove_tree(const char *path);

/*
 * Sets some space of the disk aside in `dir`, and gives it back, so that the end of a run can be written when the trace
 * has filled the disk.
 */
void gw_run_dir_reserve(const char *dir);
void gw_run_dir_release(const char *dir);

/* Bytes of the files below `path`. */
unsigned long long gw_tree_bytes(const char *path);

#endif
