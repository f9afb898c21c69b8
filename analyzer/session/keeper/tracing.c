#include "analyzer/session/keeper/tracing.h"

#include "analyzer/session/keeper/watchdog.h"
#include "analyzer/session/run_dir.h"

#include <errno.h>
#include <limits.h>
#include <lttng/lttng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME "gpuwitness"
#define START_SECONDS 20
#define STOP_SECONDS 20
#define SNAPSHOT_SECONDS 120 /* for gigabytes on a slow disk */
#define PROGRESS_ROUNDS 100
#define DRAIN_SECONDS 5 /* without anything new on disk */

/* Context events are few, but one with four strings of 4 KiB has to fit. */
#define CONTEXT_NAME NAME "-context"
#define CONTEXT_SUBBUFFER_BYTES (64u << 10)
#define CONTEXT_SUBBUFFERS 4

struct gw_tracing {
    struct lttng_handle *handle;
    char trace_path[PATH_MAX];
    bool ring;
};

static const char *const context_events[] = {"process",  "thread",   "device",       "stream",
                                             "function", "coverage", "communicator", "nvtx_name"};

#define CONTEXT_EVENTS (sizeof(context_events) / sizeof(context_events[0]))

static int make_channel(struct lttng_handle *handle, struct lttng_domain *domain, const char *name,
                        uint64_t subbuffer_bytes, unsigned subbuffers, bool overwrite)
{
    struct lttng_channel *channel = lttng_channel_create(domain);
    if (channel == NULL)
        return -LTTNG_ERR_NOMEM;
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    channel->attr.overwrite = overwrite;
    channel->attr.subbuf_size = subbuffer_bytes;
    channel->attr.num_subbuf = subbuffers;
    channel->attr.switch_timer_interval = 0;
    channel->attr.read_timer_interval = 0; /* with a timer the consumer wakes too rarely for short bursts */
    channel->attr.output = LTTNG_EVENT_MMAP;
    int result = lttng_enable_channel(handle, channel);
    lttng_channel_destroy(channel);
    return result;
}

static int enable_event(struct lttng_handle *handle, const char *channel, const char *name, int exclusion_count,
                        char **exclusions)
{
    struct lttng_event *event = lttng_event_create();
    if (event == NULL)
        return -LTTNG_ERR_NOMEM;
    snprintf(event->name, sizeof(event->name), "%s:%s", NAME, name);
    event->type = LTTNG_EVENT_TRACEPOINT;
    event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
    event->loglevel = -1;
    int result = lttng_enable_event_with_exclusions(handle, event, channel, NULL, exclusion_count, exclusions);
    lttng_event_destroy(event);
    return result;
}

static int enable_events(struct lttng_handle *handle, bool context_apart)
{
    char names[CONTEXT_EVENTS][64];
    char *exclusions[CONTEXT_EVENTS];
    int result = 0;
    for (size_t i = 0; i < CONTEXT_EVENTS && context_apart && result >= 0; i++) {
        snprintf(names[i], sizeof(names[i]), "%s:%s", NAME, context_events[i]);
        exclusions[i] = names[i];
        result = enable_event(handle, CONTEXT_NAME, context_events[i], 0, NULL);
    }
    return result < 0 ? result : enable_event(handle, NAME, "*", context_apart ? CONTEXT_EVENTS : 0, exclusions);
}

int gw_tracing_start(const struct gw_tracing_settings *settings, struct gw_tracing **ret_tracing, char *ret_error,
                     size_t error_size)
{
    struct lttng_domain domain = {.type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_UID};
    struct lttng_session_descriptor *descriptor = NULL;
    const char *step = "session";
    int result = -LTTNG_ERR_NOMEM;
    struct gw_tracing *tracing = calloc(1, sizeof(*tracing));
    struct gw_watchdog *watchdog = gw_watchdog_start(START_SECONDS);
    if (tracing == NULL || watchdog == NULL)
        goto end;

    snprintf(tracing->trace_path, sizeof(tracing->trace_path), "%s", settings->trace_path);
    tracing->ring = settings->ring;
    descriptor = settings->ring ? lttng_session_descriptor_snapshot_local_create(NAME, settings->trace_path)
                                : lttng_session_descriptor_local_create(NAME, settings->trace_path);
    if (descriptor == NULL)
        goto end;
    enum lttng_error_code created = lttng_create_session_ext(descriptor);
    result = created == LTTNG_OK ? 0 : -(int)created;
    if (result < 0)
        goto end;
    step = "buffers";
    result = lttng_set_session_shm_path(NAME, settings->buffers_path);
    if (result < 0)
        goto end;
    step = "channel";
    tracing->handle = lttng_create_handle(NAME, &domain);
    result = tracing->handle != NULL ? make_channel(tracing->handle, &domain, NAME, settings->subbuffer_bytes,
                                                    settings->subbuffers, settings->ring)
                                     : -LTTNG_ERR_NOMEM;
    if (result >= 0 && settings->context_apart)
        result =
            make_channel(tracing->handle, &domain, CONTEXT_NAME, CONTEXT_SUBBUFFER_BYTES, CONTEXT_SUBBUFFERS, false);
    if (result < 0)
        goto end;
    step = "events";
    result = enable_events(tracing->handle, settings->context_apart);
    if (result < 0)
        goto end;
    step = "start";
    result = lttng_start_tracing(NAME);
end:
    if (gw_watchdog_stop(watchdog) && result < 0) {
        snprintf(ret_error, error_size, "the LTTng session daemon did not answer within %d s (%s)", START_SECONDS,
                 step);
    } else if (result < 0) {
        snprintf(ret_error, error_size, "LTTng refused to make the recording (%s): %s", step, lttng_strerror(result));
    }
    lttng_session_descriptor_destroy(descriptor);
    if (result < 0) {
        if (tracing != NULL)
            lttng_destroy_handle(tracing->handle);
        free(tracing);
        return -EIO;
    }
    *ret_tracing = tracing;
    return 0;
}

int gw_tracing_record(struct gw_tracing *tracing, bool on)
{
    struct lttng_domain domain = {.type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_UID};
    struct lttng_channel *channel = lttng_channel_create(&domain);
    int result = -LTTNG_ERR_NOMEM;
    if (channel != NULL) {
        snprintf(channel->name, sizeof(channel->name), "%s", NAME);
        struct gw_watchdog *watchdog = gw_watchdog_start(STOP_SECONDS);
        result = on ? lttng_enable_channel(tracing->handle, channel) : lttng_disable_channel(tracing->handle, NAME);
        gw_watchdog_stop(watchdog);
    }
    lttng_channel_destroy(channel);
    return result < 0 ? -EIO : 0;
}

int gw_tracing_snapshot(struct gw_tracing *tracing, const char *path)
{
    struct lttng_snapshot_output *output = lttng_snapshot_output_create();
    int result = -LTTNG_ERR_NOMEM;
    (void)tracing;
    if (output != NULL && lttng_snapshot_output_set_local_path(path, output) == 0) {
        struct gw_watchdog *watchdog = gw_watchdog_start(SNAPSHOT_SECONDS);
        result = lttng_snapshot_record(NAME, output, 0);
        gw_watchdog_stop(watchdog);
    }
    lttng_snapshot_output_destroy(output);
    return result < 0 ? -EIO : 0;
}

int gw_tracing_rotate(struct gw_tracing *tracing)
{
    struct timespec pause = {.tv_nsec = 1000000};
    struct lttng_rotation_handle *handle = NULL;
    enum lttng_rotation_state state = LTTNG_ROTATION_STATE_ONGOING;
    struct gw_watchdog *watchdog = gw_watchdog_start(SNAPSHOT_SECONDS);
    (void)tracing;
    int result = lttng_rotate_session(NAME, NULL, &handle);
    while (result >= 0 && state == LTTNG_ROTATION_STATE_ONGOING) {
        nanosleep(&pause, NULL);
        if (lttng_rotation_handle_get_state(handle, &state) != LTTNG_ROTATION_STATUS_OK)
            result = -LTTNG_ERR_UNK;
    }
    gw_watchdog_stop(watchdog);
    lttng_rotation_handle_destroy(handle);
    return result >= 0 && state == LTTNG_ROTATION_STATE_COMPLETED ? 0 : -EIO;
}

static void count_losses(struct lttng_handle *handle, struct gw_tracing_end *end)
{
    struct lttng_channel *channels = NULL;
    int count = lttng_list_channels(handle, &channels);
    for (int i = 0; i < count; i++) {
        uint64_t events = 0, packets = 0;
        lttng_channel_get_discarded_event_count(&channels[i], &events);
        lttng_channel_get_lost_packet_count(&channels[i], &packets);
        /* LTTng 2.13 sometimes sets the sign bit of per-user counts. */
        end->events_discarded += events & INT64_MAX;
        end->packets_lost += packets & INT64_MAX;
    }
    if (count > 0)
        free(channels);
}

/* Waits until the consumer has written everything; gives up when it makes no progress. Returns true when it has. */
static bool drain(const char *trace_path)
{
    struct timespec pause = {.tv_nsec = 1000000};
    unsigned long long written = 0;
    int pending;
    struct gw_watchdog *watchdog = gw_watchdog_start(DRAIN_SECONDS);
    if (watchdog == NULL)
        return false;
    for (unsigned round = 1; (pending = lttng_data_pending(NAME)) == 1; round++) {
        nanosleep(&pause, NULL);
        if (round % PROGRESS_ROUNDS != 0)
            continue;
        unsigned long long now = gw_tree_bytes(trace_path);
        if (now != written)
            gw_watchdog_extend(watchdog, DRAIN_SECONDS);
        written = now;
    }
    return !gw_watchdog_stop(watchdog) && pending == 0;
}

void gw_tracing_stop(struct gw_tracing *tracing, struct gw_tracing_end *ret_end)
{
    struct gw_tracing_end end = {0};
    struct gw_watchdog *watchdog = gw_watchdog_start(STOP_SECONDS);
    int stopped = lttng_stop_tracing_no_wait(NAME);
    gw_watchdog_stop(watchdog);
    end.drained = stopped >= 0 &&
                  (tracing->ring ? gw_tracing_snapshot(tracing, tracing->trace_path) == 0 : drain(tracing->trace_path));
    if (end.drained) {
        watchdog = gw_watchdog_start(STOP_SECONDS);
        count_losses(tracing->handle, &end);
        gw_watchdog_stop(watchdog);
    }
    lttng_destroy_handle(tracing->handle);
    free(tracing);
    *ret_end = end;
}
