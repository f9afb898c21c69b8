/* run.json of a bundled trace. */
#include "analyzer/export/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum how { AS_IT_IS, JOB, HOST, SERIAL, VARIABLES, WORDS, TEXTS, TEXT };

/* What is not here tells of the machine or of the recorder's own files. */
static const struct {
    const char *key;
    enum how how;
} keys[] = {{"schema", AS_IT_IS},
            {"complete", AS_IT_IS},
            {"recovered", AS_IT_IS},
            {"command", WORDS},
            {"host", HOST},
            {"boot_id", SERIAL},
            {"clock_offset", AS_IT_IS},
            {"timing_window", AS_IT_IS},
            {"excerpt", AS_IT_IS},
            {"start", AS_IT_IS},
            {"end", AS_IT_IS},
            {"environment", VARIABLES},
            {"versions", TEXT},
            {"gpu_timing", AS_IT_IS},
            {"hash", AS_IT_IS},
            {"device", AS_IT_IS},
            {"windows", AS_IT_IS},
            {"flight_recorder", AS_IT_IS},
            {"recorded_steps", AS_IT_IS},
            {"slow_step", AS_IT_IS},
            {"rotation", AS_IT_IS},
            {"removed", AS_IT_IS},
            {"job", JOB},
            {"exit", AS_IT_IS},
            {"events_discarded", AS_IT_IS},
            {"packets_lost", AS_IT_IS},
            {"problems", TEXTS},
            {"not_seen", TEXTS},
            {"compilers", AS_IT_IS}};

static int redact_string(struct gw_redactor *redactor, enum gw_private what, json_t *value)
{
    char *text = strdup(json_string_value(value) ? json_string_value(value) : "");
    int status = text ? gw_redact_field(redactor, what, &text) : -ENOMEM;
    if (!status && json_string_set(value, text) != 0)
        status = -ENOMEM;
    free(text);
    return status;
}

/* An object by way of its text. */
static int redact_object(struct gw_redactor *redactor, enum gw_private what, json_t **value)
{
    char *text = json_dumps(*value, JSON_COMPACT);
    int status = text ? gw_redact_field(redactor, what, &text) : -ENOMEM;
    json_t *shown = status ? NULL : json_loads(text, 0, NULL);
    if (shown) {
        json_decref(*value);
        *value = shown;
    }
    free(text);
    return status ? status : shown ? 0 : -ENOMEM;
}

static int redact(struct gw_redactor *redactor, enum how how, json_t **value)
{
    size_t i;
    json_t *item;
    int status = 0;
    switch (how) {
    case AS_IT_IS:
        break;
    case JOB: /* its id is the launcher's */
        return json_is_object(*value) && json_object_set_new(*value, "id", json_string("{job}")) != 0 ? -ENOMEM : 0;
    case HOST:
        return redact_string(redactor, GW_PRIVATE_HOST, *value);
    case SERIAL:
        return redact_string(redactor, GW_PRIVATE_SERIAL, *value);
    case VARIABLES:
        return redact_object(redactor, GW_PRIVATE_VARIABLES, value);
    case TEXT:
        return redact_object(redactor, GW_PRIVATE_TEXT, value);
    case WORDS:
    case TEXTS:
        json_array_foreach(*value, i, item)
        {
            status = status ? status
                            : redact_string(redactor,
                                            how == TEXTS ? GW_PRIVATE_TEXT
                                            : i          ? GW_PRIVATE_ARGUMENT
                                                         : GW_PRIVATE_PROGRAM,
                                            item);
        }
        break;
    }
    return status;
}

/* The parts of the recording's own windows within the cut. */
static json_t *cut_windows(const json_t *windows, const struct gw_trace_cut *cut)
{
    size_t i;
    json_t *window, *kept = json_array();
    if (!windows)
        json_array_append_new(kept, json_pack("[I, I]", (json_int_t)cut->begin_ns, (json_int_t)cut->end_ns));
    json_array_foreach(windows, i, window)
    {
        uint64_t begin_ns = (uint64_t)json_integer_value(json_array_get(window, 0));
        json_int_t end = json_integer_value(json_array_get(window, 1));
        uint64_t end_ns = end > 0 && (uint64_t)end < cut->end_ns ? (uint64_t)end : cut->end_ns;
        begin_ns = begin_ns > cut->begin_ns ? begin_ns : cut->begin_ns;
        if (begin_ns < end_ns)
            json_array_append_new(kept, json_pack("[I, I]", (json_int_t)begin_ns, (json_int_t)end_ns));
    }
    return kept;
}

int gw_trace_run_json(const json_t *run, const struct gw_trace_cut *cut, struct gw_redactor *redactor,
                      uint64_t discarded_events, json_t **ret_run)
{
    json_t *shown = json_pack("{s:s}", "trace", "trace");
    int status = shown ? 0 : -ENOMEM;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !status; i++) {
        json_t *value = json_deep_copy(json_object_get(run, keys[i].key));
        status = value ? redact(redactor, keys[i].how, &value) : 0;
        if (value && json_object_set_new(shown, keys[i].key, value) != 0)
            status = -ENOMEM;
    }
    if (!status && !gw_trace_cut_is_whole(cut) &&
        (json_object_set_new(shown, "windows", cut_windows(json_object_get(run, "windows"), cut)) != 0 ||
         json_object_set_new(shown, "events_discarded", json_integer((json_int_t)discarded_events)) != 0))
        status = -ENOMEM;
    if (status)
        json_decref(shown);
    else
        *ret_run = shown;
    return status;
}
