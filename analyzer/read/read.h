/*
 * Reading a recorded run: run.json, functions.txt and the CTF traces below it. Stream files, in parts where they are
 * long, are read by a pool of threads, one per online CPU. Times are raw clock values: CLOCK_MONOTONIC.
 */
#ifndef GW_ANALYZER_READ_READ_H
#define GW_ANALYZER_READ_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/read/error.h"
#include "analyzer/read/records.h"

/* Called from reading threads, one at a time, with the bytes of stream files read so far. */
struct gw_read_progress {
    void (*update)(void *user, uint64_t done_bytes, uint64_t total_bytes); /* NULL: none */
    void *user;
};

/* A time in which events were recorded; end_ns is UINT64_MAX while nothing is known of its end. */
struct gw_run_window {
    uint64_t begin_ns, end_ns;
    uint64_t steps_ns; /* the steps asked for began then; what lies before leads up to them; 0: no such */
};

#define GW_ANCESTORS_MAX 16u

/* A compiler that the program executed, as the recorder saw it from outside. */
struct gw_run_compiler {
    char name[32]; /* of its file */
    uint32_t pid;
    uint64_t begin_ns, end_ns;        /* end_ns is UINT64_MAX when it still ran */
    uint64_t input_bytes, input_hash; /* of what it was given; 0: not known */
    uint32_t ancestors[GW_ANCESTORS_MAX]
                      [2]; /* process and its thread (0: not known) that made the next one; parent first */
    uint32_t ancestor_count;
};

/* A clock against another, see clock_shift.h. */
struct gw_clock_shift {
    int64_t offset_ns;
    double ppm;
    uint64_t about_ns;
};

/* More ranks than any job has: what says more is damaged, and says nothing of ranks. */
#define GW_RANKS_MAX (1u << 20)

/* What run.json and functions.txt say. Strings are owned; NULL when absent. */
struct gw_run_file {
    char *path;      /* the directory that holds run.json, or the name it had when it was summed up */
    char *text;      /* run.json itself */
    char **command;  /* NULL-terminated, never NULL */
    char **problems; /* lines in which the recorder said what went wrong, likewise */
    char **not_seen; /* … which processes it saw that are not in the trace, likewise */
    char *host, *boot_id, *device, *gpu_timing, *trace_path;
    char *step_mark; /* what steps began with while they were counted during the run, as in gw_model_options */
    char *versions_json, *environment_json;
    char *job;                    /* what tells the recorder's job from others, by the launcher's variables */
    int exit_status, exit_signal; /* of the program; the signal is 0 when it exited */
    uint32_t rank, ranks; /* of the recorder among those of its job, by the launcher's variables; 0, 0: no job */
    uint64_t excerpt_steps, excerpt_of, excerpt_bytes; /* an excerpt: its steps, of how many, its limit; else 0 */
    bool complete, still_running;                      /* the second: a snapshot of a program that ran on */
    int64_t realtime_offset_ns;
    uint64_t begin_monotonic_ns, end_monotonic_ns; /* 0 when unknown */
    struct gw_clock_shift test_shift;              /* a test's, see record --clock-offset: all times have it already */
    uint64_t discarded_events;
    uint64_t trace_bytes;                /* of the trace when it was finished, 0 when unknown */
    uint64_t timed_ns, timing_period_ns; /* period above 0: the GPU's times were taken in the first part of each */
    uint64_t ring_ns;                    /* what a flight recorder was asked to keep, else 0 */
    /* Of a snapshot that was taken for a slow step: how long that and the steps before it lasted, when it ended; else 0
     */
    uint64_t slow_step_ns, slow_step_median_ns, slow_step_end_ns;
    bool windowed; /* only what lies in windows was recorded, apart from events about the program's context */
    struct gw_run_window *windows; /* in order of time */
    size_t window_count;
    bool watched_compilers;            /* else nothing is known of them */
    struct gw_run_compiler *compilers; /* in order of begin */
    size_t compiler_count;
    uint64_t compilers_left_out; /* beyond the most that is kept */
    char **functions; /* name by id of the recorded trace, NULL for gaps; NULL array when there is no functions.txt */
    size_t function_count;
    size_t *function_users; /* how many run files have these very functions; NULL: this one alone */
};

/* Parts of a run: path itself when it has run.json, else its rank-* directories that have one and its rank-* files that
 * are summaries (summary.h), sorted by name.
 * Stores a NULL-terminated array in *ret_paths; release with gw_run_paths_free. Returns 0, -ENOENT when there is no
 * such directory or it holds no run, or another negative errno, with *error filled. */
int gw_run_paths(const char *path, char ***ret_paths, struct gw_error *error);
void gw_run_paths_free(char **paths);

/* Reads run.json and functions.txt of one run directory. Returns 0 or a negative errno with *error filled: -EPROTO for
 * another version, -EBADMSG for what is no JSON or lacks a field. Release with gw_run_file_destroy (NULL allowed). */
int gw_run_file_read(const char *path, struct gw_run_file **ret_run, struct gw_error *error);
void gw_run_file_destroy(struct gw_run_file *run);

/* Lets a run file use the functions of another, and frees its own, where they are the same: ranks of a job were
 * recorded with one build. Returns 0 or -ENOMEM. */
int gw_run_file_share_functions(struct gw_run_file *run, struct gw_run_file *other);

/* The same from the text of a run.json; path is what the run is called. Function names are for the caller to add. */
int gw_run_file_parse(const char *path, const char *text, struct gw_run_file **ret_run, struct gw_error *error);

/* Reads every CTF trace below path into *ret_records (release with gw_records_destroy). A damaged stream file is read
 * as far as it is whole, the rest becomes a loss. Without any trace the records are empty. Returns 0 or a negative
 * errno with *error filled: -EBADMSG when metadata cannot be parsed, -EPROTO when events lack fields this version
 * needs. */
int gw_records_read(const char *path, const struct gw_read_progress *progress, struct gw_records **ret_records,
                    struct gw_error *error);

#endif
