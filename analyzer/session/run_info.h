/* RUN/run.json: what was recorded, from where, and how it ended. The fields are listed in CONTRIBUTING.md. */
#ifndef GW_SESSION_RUN_INFO_H
#define GW_SESSION_RUN_INFO_H

#include "analyzer/session/buffers.h"
#include "analyzer/session/job.h"

#include <jansson.h>
#include <stdbool.h>

struct gw_run_settings {
    char *const *command; /* program and arguments, NULL at the end */
    const char *gpu_timing;
    int64_t clock_offset_ns;            /* for tests: who reads the run shifts its times by that, … */
    double clock_ppm;                   /* … and lets them go so much faster */
    int64_t timed_ns, timing_period_ns; /* period above 0: the GPU's times are taken in the first part of each */
    const char *hash;
    int simulated;
    const char *simgpu_config; /* NULL: none given */
    const char *buffers_path;
    const struct gw_buffer_plan *buffers;
    const struct gw_job *job;         /* NULL: a run of one recorder */
    bool windows;                     /* only what lies in windows is recorded */
    uint64_t rotate_bytes, rotate_ns; /* as in struct gw_session_mode */
    unsigned keep;
    int64_t ring_ns;       /* above 0: only about the last of it is kept */
    const char *step_mark; /* what a step begins with; NULL: steps are not counted while the program runs */
    const char *steps;     /* FIRST..LAST: only these are recorded; NULL: all */
    double slow_factor;    /* above 0: a step that lasts so many times the median is a reason for a snapshot */
};

/* {"monotonic_ns", "realtime_ns"}: the pair read closest together of ten. The caller owns it; NULL without memory. */
json_t *gw_run_info_clocks(void);

/* The object of run.json at the start of a recording. The caller owns it; NULL without memory. */
json_t *gw_run_info_create(const struct gw_run_settings *settings);

/* Replaces DIR/run.json as a whole or leaves it as it was. Returns 0 or -errno. */
int gw_run_info_write(const char *dir, const json_t *info);

/* Reads DIR/run.json and checks its schema. The caller owns *ret_info. Returns 0, -errno, or -EINVAL for anything else
 * than this schema. */
int gw_run_info_read(const char *dir, json_t **ret_info);

#endif
