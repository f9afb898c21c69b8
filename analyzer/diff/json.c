#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/diff.h"
#include "analyzer/export/report_facts.h"

/* jansson's _new setters take the value even when they fail, and NULL makes them fail: one flag is enough. */
static void put(bool *failed, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        *failed = true;
}

static void append(bool *failed, json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) < 0)
        *failed = true;
}

/* null when it is not known */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text(const char *value)
{
    json_t *string = value ? json_string(value) : NULL;
    return string ? string : json_null();
}

static json_t *side_json(bool *failed, const struct gw_diff_side *side)
{
    json_t *object = json_object();
    put(failed, object, "run", text(side->path));
    put(failed, object, "device", text(side->device));
    put(failed, object, "simulated", json_boolean(side->simulated));
    put(failed, object, "processes", json_integer(side->processes));
    put(failed, object, "devices", json_integer(side->devices));
    put(failed, object, "steps", json_integer(side->steps));
    put(failed, object, "warmup", json_integer(side->warmup));
    put(failed, object, "per", json_real(side->per));
    put(failed, object, "kernels_ms", json_real(side->kernels_ms));
    return object;
}

static json_t *change_json(bool *failed, const struct gw_diff_mean *a, const struct gw_diff_mean *b)
{
    struct gw_diff_change change = gw_diff_change(a, b);
    json_t *object = json_object();
    put(failed, object, "a_ms", json_real(a->ms));
    put(failed, object, "b_ms", json_real(b->ms));
    put(failed, object, "change_ms", json_real(change.ms));
    put(failed, object, "error_ms", real(change.error_ms));
    put(failed, object, "within_noise", json_boolean(change.is_noise));
    return object;
}

static json_t *role_json(bool *failed, const struct gw_diff_side *side, int role)
{
    const struct gw_diff_role *from = &side->roles[role];
    json_t *object = json_object(), *names = json_array();
    put(failed, object, "ms", json_real(from->ms));
    put(failed, object, "count", json_real(from->count));
    put(failed, object, "share_percent", json_real(side->kernels_ms > 0 ? from->ms / side->kernels_ms * 100 : 0));
    for (size_t i = 0; i < GW_DIFF_NAMES && from->names[i]; i++)
        append(failed, names, text(from->names[i]));
    put(failed, object, "names", names);
    return object;
}

static json_t *verdicts_json(bool *failed, const struct gw_diff_side *a, const struct gw_diff_side *b)
{
    const char *const *ids;
    size_t count = gw_verdict_ids(&ids);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        bool in_a = a->states[i] == GW_CONFIRMED, in_b = b->states[i] == GW_CONFIRMED;
        json_t *object = json_object();
        put(failed, object, "id", json_string(ids[i]));
        put(failed, object, "a", json_string(gw_state_name(a->states[i])));
        put(failed, object, "b", json_string(gw_state_name(b->states[i])));
        put(failed, object, "change", json_string(gw_diff_change_name(a->states[i], b->states[i])));
        put(failed, object, "a_saving_ms", in_a ? json_real(a->savings_ms[i]) : json_null());
        put(failed, object, "b_saving_ms", in_b ? json_real(b->savings_ms[i]) : json_null());
        append(failed, list, object);
    }
    return list;
}

static json_t *loss_json(bool *failed, const struct gw_scaling_loss *loss)
{
    json_t *object = json_object();
    put(failed, object, "ms", json_real(loss->ms));
    put(failed, object, "error_ms", real(loss->error_ms));
    put(failed, object, "within_noise", json_boolean(loss->is_noise));
    return object;
}

/* null when both use as many devices */
static json_t *scaling_json(bool *failed, const struct gw_diff_side *a, const struct gw_diff_side *b, const char *unit)
{
    struct gw_scaling scaling;
    if (!gw_scaling_of(a, b, strcmp(unit, "step") != 0, &scaling))
        return json_null();
    json_t *object = json_object(), *parts = json_object();
    char *answer = gw_scaling_answer(&scaling, unit);
    put(failed, object, "id", json_string("scaling"));
    put(failed, object, "verdict", json_string(gw_state_name(scaling.state)));
    put(failed, object, "why", answer ? json_string(answer) : NULL);
    put(failed, object, "devices_a", json_integer(scaling.devices_a));
    put(failed, object, "devices_b", json_integer(scaling.devices_b));
    put(failed, object, "ideal_ms", json_real(scaling.ideal_ms));
    put(failed, object, "efficiency_percent", json_real(100 * scaling.efficiency));
    put(failed, object, "loss", loss_json(failed, &scaling.loss));
    for (int p = 0; p < GW_SCALING_PARTS; p++)
        put(failed, parts, gw_scaling_part_name((enum gw_scaling_part)p), loss_json(failed, &scaling.parts[p]));
    put(failed, object, "parts", parts);
    free(answer);
    return object;
}

int gw_diff_json(const struct gw_diff_side *a, const struct gw_diff_side *b, const char *unit, FILE *out)
{
    bool failed = false;
    json_t *root = json_object(), *classes = json_object(), *roles = json_array();
    char *answer = gw_diff_answer(a, b, unit);
    put(&failed, root, "schema", json_string("gpuwitness.diff/1"));
    put(&failed, root, "unit", json_string(unit));
    put(&failed, root, "answer", answer ? json_string(answer) : NULL);
    put(&failed, root, "a", side_json(&failed, a));
    put(&failed, root, "b", side_json(&failed, b));
    put(&failed, root, "step", change_json(&failed, &a->step, &b->step));
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        put(&failed, classes, gw_class_name((enum gw_class)c), change_json(&failed, &a->classes[c], &b->classes[c]));
    put(&failed, root, "classes", classes);
    put(&failed, root, "scaling", scaling_json(&failed, a, b, unit));
    for (int r = 0; r < GW_ROLE_COUNT; r++) {
        json_t *role = json_object();
        put(&failed, role, "role", json_string(gw_role_name((enum gw_role)r)));
        put(&failed, role, "a", role_json(&failed, a, r));
        put(&failed, role, "b", role_json(&failed, b, r));
        put(&failed, role, "change_ms", json_real(b->roles[r].ms - a->roles[r].ms));
        append(&failed, roles, role);
    }
    put(&failed, root, "roles", roles);
    put(&failed, root, "verdicts", verdicts_json(&failed, a, b));
    free(answer);
    int status = failed ? -ENOMEM : 0;
    errno = 0;
    if (status == 0 && (json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) < 0 ||
                        fputc('\n', out) == EOF || fflush(out) == EOF))
        status = errno ? -errno : -EIO;
    json_decref(root);
    return status;
}
