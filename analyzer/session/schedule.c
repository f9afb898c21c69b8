#include "analyzer/session/schedule.h"

bool gw_schedule_begins_paused(const struct gw_schedule_settings *settings)
{
    return settings->delay_ns > 0 || settings->usr2 == GW_USR2_WINDOW;
}

static int64_t end_of_window(const struct gw_schedule *schedule, int64_t begin_ns)
{
    return schedule->settings.duration_ns > 0 ? begin_ns + schedule->settings.duration_ns : GW_SCHEDULE_NEVER;
}

struct gw_schedule gw_schedule_begin(const struct gw_schedule_settings *settings, int64_t now_ns)
{
    struct gw_schedule schedule = {.settings = *settings, .recording = !gw_schedule_begins_paused(settings)};
    if (schedule.recording)
        schedule.due_ns = end_of_window(&schedule, now_ns);
    else
        schedule.due_ns = settings->usr2 == GW_USR2_WINDOW ? GW_SCHEDULE_NEVER : now_ns + settings->delay_ns;
    return schedule;
}

enum gw_schedule_step gw_schedule_next(struct gw_schedule *schedule, int64_t now_ns, bool usr2)
{
    if (usr2 && schedule->settings.usr2 == GW_USR2_SNAPSHOT)
        return GW_STEP_SNAPSHOT;
    if (!(usr2 && schedule->settings.usr2 == GW_USR2_WINDOW) && now_ns < schedule->due_ns)
        return GW_STEP_NONE;
    schedule->recording = !schedule->recording;
    schedule->due_ns = schedule->recording ? end_of_window(schedule, now_ns) : GW_SCHEDULE_NEVER;
    return schedule->recording ? GW_STEP_RECORD : GW_STEP_PAUSE;
}
