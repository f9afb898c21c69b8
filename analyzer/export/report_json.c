#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "analyzer/export/report_comm.h"
#include "analyzer/export/report_compiles.h"
#include "analyzer/export/report_copies.h"
#include "analyzer/export/report_facts.h"
#include "analyzer/export/report_seen.h"
#include "analyzer/model/perturbation.h"

/* jansson's _new setters take the value even when they fail, and NULL makes them fail: one flag is enough. */
struct json {
    bool failed;
};

static void put(struct json *json, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) < 0)
        json->failed = true;
}

static void append(struct json *json, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) < 0)
        json->failed = true;
}

/* A string, or null when there is none or it is not UTF-8. */
static json_t *string_or_null(const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    return value ? value : json_null();
}

static json_t *index_or_null(uint32_t index)
{
    return index == GW_NONE ? json_null() : json_integer(index);
}

static json_t *processes_json(struct json *json, const struct gw_model *model)
{
    json_t *array = json_array();
    for (size_t i = 0; i < model->processes_count; i++) {
        const struct gw_process *process = &model->processes[i];
        json_t *object = json_object();
        put(json, object, "pid", json_integer(process->pid));
        put(json, object, "rank", process->rank < 0 ? json_null() : json_integer(process->rank));
        put(json, object, "host", string_or_null(process->host));
        put(json, object, "exe", string_or_null(process->exe));
        put(json, object, "command", string_or_null(process->command));
        append(json, array, object);
    }
    return array;
}

static json_t *devices_json(struct json *json, const struct gw_model *model)
{
    json_t *array = json_array();
    bool simulated = model->run.device_kind && strcmp(model->run.device_kind, "simulated") == 0;
    for (size_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        json_t *object = json_object();
        put(json, object, "process", json_integer(device->process));
        put(json, object, "number", json_integer(device->number));
        put(json, object, "name", string_or_null(device->name));
        put(json, object, "uuid", string_or_null(device->uuid));
        put(json, object, "pci", string_or_null(device->pci));
        put(json, object, "memory_bytes", json_integer((json_int_t)device->memory_bytes));
        put(json, object, "simulated", json_boolean(simulated));
        append(json, array, object);
    }
    return array;
}

static json_t *run_json(struct json *json, const struct gw_model *model)
{
    json_t *run = json_object(), *command = json_array();
    for (char **word = model->run.command; word && *word; word++)
        append(json, command, string_or_null(*word));
    put(json, run, "command", command);
    put(json, run, "processes", processes_json(json, model));
    put(json, run, "devices", devices_json(json, model));
    json_t *versions = model->run.versions_json ? json_loads(model->run.versions_json, 0, NULL) : NULL;
    put(json, run, "versions", versions ? versions : json_object());
    put(json, run, "exit_status", json_integer(model->run.exit_status));
    put(json, run, "finished", json_boolean(model->run.finished));
    json_t *ranks = json_object(), *problems = json_array();
    put(json, ranks, "expected", json_integer(model->run.ranks));
    put(json, ranks, "missing", json_integer(model->run.ranks_missing));
    put(json, run, "ranks", ranks);
    for (char **problem = model->run.problems; problem && *problem; problem++)
        append(json, problems, string_or_null(*problem));
    put(json, run, "problems", problems);
    if (model->run.slow_step_ns) {
        json_t *slow = json_object();
        put(json, slow, "length_ms", json_real((double)model->run.slow_step_ns / 1e6));
        put(json, slow, "median_ms", json_real((double)model->run.slow_step_median_ns / 1e6));
        put(json, slow, "end_ns", json_integer((json_int_t)model->run.slow_step_end_ns));
        put(json, run, "slow_step", slow);
    }
    return run;
}

static json_t *causality_json(struct json *json, const struct gw_model *model)
{
    const struct gw_causality causality = model->causality;
    json_t *object = json_object();
    put(json, object, "checked", json_integer((json_int_t)causality.checked));
    put(json, object, "before_launch", json_integer((json_int_t)causality.before_launch));
    put(json, object, "overlapping", json_integer((json_int_t)causality.overlapping));
    put(json, object, "after_wait", json_integer((json_int_t)causality.after_wait));
    put(json, object, "clock_off_ns", json_integer((json_int_t)causality.clock_off_ns));
    return object;
}

static json_t *perturbation_json(struct json *json, const struct gw_model *model)
{
    const struct gw_perturbation *perturbation = &model->perturbation;
    bool known = perturbation->method != GW_PERTURBATION_UNKNOWN;
    json_t *object = json_object();
    put(json, object, "percent", known ? json_real(perturbation->percent) : json_null());
    put(json, object, "plus_minus_percent", known ? json_real(perturbation->plus_minus_percent) : json_null());
    put(json, object, "method", json_string(gw_perturbation_method_name(perturbation->method)));
    put(json, object, "or_more", json_boolean(gw_perturbation_is_least(model)));
    put(json, object, "call_ns", known ? json_real(perturbation->call_ns) : json_null());
    if (model->run.timing_period_ns) {
        put(json, object, "timed_steps", json_integer(perturbation->timed_steps));
        put(json, object, "untimed_steps", json_integer(perturbation->untimed_steps));
        put(json, object, "mixed_steps", json_integer(perturbation->mixed_steps));
    }
    return object;
}

static json_t *coverage_json(struct json *json, const struct gw_model *model)
{
    json_t *coverage = json_object(), *ranges = json_array(), *not_wrapped = json_array();
    uint64_t lost = model->run.discarded_events, in_ranges = 0, half_ns, floor_ns = gw_timing_floor(model, &half_ns);
    for (size_t i = 0; i < model->losses_count; i++) {
        json_t *range = json_object();
        put(json, range, "begin_ns", json_integer((json_int_t)model->losses[i].begin_ns));
        put(json, range, "end_ns", json_integer((json_int_t)model->losses[i].end_ns));
        put(json, range, "count", json_integer((json_int_t)model->losses[i].count));
        put(json, range, "reason", json_string(gw_loss_reason_name(&model->losses[i])));
        append(json, ranges, range);
        in_ranges += model->losses[i].count;
    }
    for (size_t i = 0; i < model->coverages_count; i++) {
        const struct gw_coverage *item = &model->coverages[i];
        if (item->kind == GW_COVERAGE_NOT_WRAPPED)
            append(json, not_wrapped, string_or_null(item->name));
    }
    put(json, coverage, "calls", json_integer((json_int_t)(gw_calls_recorded(model) + gw_counted_calls(model))));
    put(json, coverage, "counted_calls", json_integer((json_int_t)gw_counted_calls(model)));
    put(json, coverage, "lost_events", json_integer((json_int_t)(lost > in_ranges ? lost : in_ranges)));
    put(json, coverage, "lost_ranges", ranges);
    put(json, coverage, "gpu_timing", json_string(gw_timing_name(model->timing)));
    put(json, coverage, "timing_floor_ns", floor_ns ? json_integer((json_int_t)floor_ns) : json_null());
    put(json, coverage, "timing_half_ns", floor_ns ? json_integer((json_int_t)half_ns) : json_null());
    uint64_t told;
    put(json, coverage, "untimed_operations", json_integer((json_int_t)gw_untimed_operations(model, &told)));
    put(json, coverage, "not_wrapped", not_wrapped);
    json_t *seen = gw_seen_json(model);
    if (!seen || json_object_update(coverage, seen) < 0)
        json->failed = true;
    json_decref(seen);
    put(json, coverage, "causality", causality_json(json, model));
    put(json, coverage, "perturbation", perturbation_json(json, model));
    return coverage;
}

static json_t *other_steps_json(struct json *json, const struct gw_other_steps *other)
{
    json_t *object = json_object();
    put(json, object, "count", json_integer((json_int_t)other->count));
    put(json, object, "step", string_or_null(other->step));
    put(json, object, "every", other->step ? json_integer(other->every) : json_null());
    return object;
}

static json_t *steps_json(struct json *json, const struct gw_model *model, const struct gw_step_facts *facts)
{
    json_t *steps = json_object();
    put(json, steps, "count", json_integer(facts->count));
    put(json, steps, "warmup", json_integer(facts->warmup));
    put(json, steps, "median_ms", facts->analysed ? json_real(facts->median_ms) : json_null());
    put(json, steps, "mean_ms", facts->analysed ? json_real(facts->mean_ms) : json_null());
    put(json, steps, "p95_ms", facts->analysed ? json_real(facts->p95_ms) : json_null());
    put(json, steps, "method", facts->count ? string_or_null(model->steps_method) : json_null());
    put(json, steps, "confidence", json_real(facts->count ? model->steps_confidence : 0));
    put(json, steps, "micro_steps", model->micro_steps ? json_integer(model->micro_steps) : json_null());
    put(json, steps, "other", model->steps_other.count ? other_steps_json(json, &model->steps_other) : json_null());
    return steps;
}

static json_t *budget_json(struct json *json, const double ms[GW_CLASS_COUNT], double total)
{
    json_t *object = json_object();
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        put(json, object, gw_class_name((enum gw_class)c), json_real(ms[c]));
    put(json, object, "total", json_real(total));
    return object;
}

static json_t *per_device_json(struct json *json, const struct gw_report *report)
{
    json_t *array = json_array();
    for (uint32_t d = 0; d < report->model->devices_count; d++) {
        double ms[GW_CLASS_COUNT], total = gw_budget_of_device(report, d, ms);
        json_t *object = json_object();
        put(json, object, "process", json_integer(report->model->devices[d].process));
        put(json, object, "device", json_integer(d));
        put(json, object, "budget_ms", budget_json(json, ms, total));
        append(json, array, object);
    }
    return array;
}

static json_t *verdict_json(struct json *json, const struct gw_model *model, const struct gw_verdict *verdict)
{
    json_t *object = json_object(), *where = json_object(), *evidence = json_array(), *shares = json_array();
    bool confirmed = verdict->state == GW_CONFIRMED;
    put(json, object, "id", json_string(verdict->id));
    put(json, object, "verdict", json_string(gw_state_name(verdict->state)));
    put(json, object, "saving_ms", confirmed ? json_real(verdict->saving_ms) : json_null());
    put(json, object, "saving_percent", confirmed ? json_real(verdict->saving_percent) : json_null());
    put(json, object, "bound_ms", verdict->state == GW_RULED_OUT ? json_real(verdict->bound_ms) : json_null());
    put(json, object, "per_step", json_real(verdict->per_step));
    put(json, object, "steps_affected", json_integer(verdict->steps_affected));
    put(json, where, "process", index_or_null(verdict->process));
    put(json, where, "device", index_or_null(verdict->device));
    put(json, where, "stream",
        index_or_null(verdict->stream == GW_NONE ? GW_NONE : model->streams[verdict->stream].number));
    put(json, where, "thread",
        index_or_null(verdict->thread == GW_NONE ? GW_NONE : model->threads[verdict->thread].tid));
    put(json, object, "where", where);
    for (uint32_t i = 0; i < verdict->evidence_count; i++) {
        json_t *item = json_object();
        put(json, item, "t_ns", json_integer((json_int_t)verdict->evidence[i].t_ns));
        put(json, item, "dur_ns", json_integer((json_int_t)verdict->evidence[i].duration_ns));
        put(json, item, "what", string_or_null(verdict->evidence[i].what));
        append(json, evidence, item);
    }
    put(json, object, "evidence", evidence);
    for (uint32_t i = 0; i < verdict->shares_count; i++) {
        json_t *item = json_object();
        put(json, item, "id", json_string(verdict->shares[i].id));
        put(json, item, "ms", json_real(verdict->shares[i].ms));
        append(json, shares, item);
    }
    put(json, object, "shares", shares);
    put(json, object, "why", string_or_null(verdict->why));
    put(json, object, "fix", string_or_null(verdict->fix));
    return object;
}

/* What the repairs of all confirmed verdicts that have one save at once. */
static json_t *together_json(struct json *json, const struct gw_report *report)
{
    const struct gw_verdicts *verdicts = report->verdicts;
    json_t *object = json_object(), *ids = json_array();
    if (verdicts->together_ms < 0) {
        json_decref(object);
        json_decref(ids);
        return json_null();
    }
    for (size_t i = 0; i < verdicts->list_count; i++) {
        if (verdicts->list[i].together)
            append(json, ids, json_string(verdicts->list[i].id));
    }
    put(json, object, "verdicts", ids);
    put(json, object, "saving_ms", json_real(verdicts->together_ms));
    put(json, object, "saving_percent", json_real(verdicts->together_percent));
    return object;
}

int gw_report_json(const struct gw_report *report, FILE *out)
{
    const struct gw_model *model = report->model;
    struct json json = {false};
    struct gw_step_facts facts;
    double ms[GW_CLASS_COUNT], total = gw_budget_of_median_step(report, ms);
    int ret = gw_step_facts_init(&facts, report);
    if (ret < 0)
        return ret;
    json_t *root = json_object(), *replay = json_object(), *verdicts = json_array();
    put(&json, root, "schema", json_string("gpuwitness.report/1"));
    put(&json, root, "run", run_json(&json, model));
    put(&json, root, "coverage", coverage_json(&json, model));
    put(&json, root, "steps", steps_json(&json, model, &facts));
    put(&json, root, "budget_ms", budget_json(&json, ms, total));
    put(&json, root, "per_device", per_device_json(&json, report));
    double error = report->verdicts->replay_error_percent;
    put(&json, replay, "error_percent", error < 0 ? json_null() : json_real(error));
    put(&json, root, "replay", replay);
    put(&json, root, "clocks", gw_clocks_json(model));
    put(&json, root, "copies", gw_copies_json(report));
    put(&json, root, "compilation", gw_compiles_json(report));
    put(&json, root, "communication", gw_communication_json(model));
    for (size_t i = 0; i < report->verdicts->list_count; i++)
        append(&json, verdicts, verdict_json(&json, model, &report->verdicts->list[i]));
    put(&json, root, "verdicts", verdicts);
    put(&json, root, "together", together_json(&json, report));
    ret = json.failed ? -ENOMEM : 0;
    errno = 0;
    if (ret == 0 && (json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) < 0 || fputc('\n', out) == EOF ||
                     fflush(out) == EOF))
        ret = errno ? -errno : -EIO;
    json_decref(root);
    return ret;
}
