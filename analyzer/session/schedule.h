/* When a recording is on: decided by the time since the program's start and by SIGUSR2, without a clock of its own. */
#ifndef GW_SESSION_SCHEDULE_H
#define GW_SESSION_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define GW_SCHEDULE_NEVER INT64_MAX

/* What SIGUSR2 to the recorder means. */
enum gw_usr2 { GW_USR2_PASS_ON, GW_USR2_WINDOW, GW_USR2_SNAPSHOT };

struct gw_schedule_settings {
    int64_t delay_ns;    /* from the program's start to the first window */
    int64_t duration_ns; /* of a window; 0: to the end */
    enum gw_usr2 usr2;   /* with GW_USR2_WINDOW no window begins by itself */
};

struct gw_schedule {
    struct gw_schedule_settings settings;
    bool recording;
    int64_t due_ns; /* when the next step is to be asked for; GW_SCHEDULE_NEVER */
};

enum gw_schedule_step { GW_STEP_NONE, GW_STEP_RECORD, GW_STEP_PAUSE, GW_STEP_SNAPSHOT };

/* True when the recording begins paused. */
bool gw_schedule_begins_paused(const struct gw_schedule_settings *settings);

/* The state at the program's start. */
struct gw_schedule gw_schedule_begin(const struct gw_schedule_settings *settings, int64_t now_ns);

/* What is to be done at `now_ns`; `usr2`: the signal has arrived. */
enum gw_schedule_step gw_schedule_next(struct gw_schedule *schedule, int64_t now_ns, bool usr2);

#endif
