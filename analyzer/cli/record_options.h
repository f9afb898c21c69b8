/* The command line of `gpuwitness record`. */
#ifndef GW_CLI_RECORD_OPTIONS_H
#define GW_CLI_RECORD_OPTIONS_H

#include "analyzer/session/schedule.h"

#include <stdbool.h>
#include <stdint.h>

struct gw_record_options {
    const char *output; /* NULL: a name is made */
    bool simulated, quiet;
    const char *simgpu_config;          /* NULL: none */
    const char *gpu_timing;             /* "auto", "cupti", "events" or "off" */
    int64_t clock_offset_ns;            /* for tests: all times are shifted by that, … */
    double clock_ppm;                   /* … and go so much faster */
    int64_t timed_ns, timing_period_ns; /* the GPU's times are taken in the first part of each period; 0: always */
    const char *hash;                   /* "off", "sample" or "full" */
    const char *queries;                /* "all" or "count" */
    uint64_t buffer_bytes;              /* 0: the default */
    struct gw_schedule_settings schedule;
    const char *step_mark;            /* what a step begins with: an extended regular expression; NULL: none */
    const char *steps;                /* FIRST..LAST: only these are recorded; NULL: all */
    double slow_factor;               /* above 0: take a snapshot when a step lasts so many times the median */
    int64_t ring_ns;                  /* flight recorder: about how much is kept; 0: everything */
    uint64_t rotate_bytes, rotate_ns; /* as in struct gw_session_mode */
    unsigned keep;
    char **command; /* NULL at the end */
};

/* Returns 0 or, after printing what is wrong, GW_EXIT_USAGE. The strings are argv's. */
int gw_record_options_parse(int argc, char **argv, struct gw_record_options *ret_options);

#endif
