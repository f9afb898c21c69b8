#include "analyzer/session/mode.h"

#include <errno.h>
#include <jansson.h>

char *gw_session_mode_json(const struct gw_session_mode *mode)
{
    json_t *object = json_pack("{s:I, s:b, s:b, s:b, s:b, s:I, s:I, s:I}", "subbuffer_bytes",
                               (json_int_t)mode->subbuffer_bytes, "windows", mode->windows, "paused", mode->paused,
                               "steps", mode->steps, "ring", mode->ring, "rotate_bytes", (json_int_t)mode->rotate_bytes,
                               "rotate_ns", (json_int_t)mode->rotate_ns, "keep", (json_int_t)mode->keep);
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

int gw_session_mode_parse(const char *text, struct gw_session_mode *ret_mode)
{
    json_int_t subbuffer_bytes, rotate_bytes, rotate_ns, keep;
    int windows, paused, steps, ring;
    json_t *object = json_loads(text, 0, NULL);
    int failed = json_unpack(object, "{s:I, s:b, s:b, s:b, s:b, s:I, s:I, s:I}", "subbuffer_bytes", &subbuffer_bytes,
                             "windows", &windows, "paused", &paused, "steps", &steps, "ring", &ring, "rotate_bytes",
                             &rotate_bytes, "rotate_ns", &rotate_ns, "keep", &keep);
    json_decref(object);
    if (failed != 0)
        return -EINVAL;
    *ret_mode = (struct gw_session_mode){.subbuffer_bytes = (uint64_t)subbuffer_bytes,
                                         .windows = windows != 0,
                                         .paused = paused != 0,
                                         .steps = steps != 0,
                                         .ring = ring != 0,
                                         .rotate_bytes = (uint64_t)rotate_bytes,
                                         .rotate_ns = (uint64_t)rotate_ns,
                                         .keep = (unsigned)keep};
    return 0;
}
