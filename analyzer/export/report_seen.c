#include "analyzer/export/report_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/api/codes.h"
#include "shim/api/functions.h"

#define APIS 3u /* as the shim calls them in its route events */
static const char *const api_names[APIS] = {"driver", "runtime", "nccl"};
static const char *const api_titles[APIS] = {"driver", "runtime", "NCCL"};

struct seen {
    char roads[APIS][96]; /* "linked, dlsym"; empty: none */
    uint64_t calls[APIS]; /* recorded */
    uint64_t missed_calls;
    size_t silent_processes; /* that announced themselves, but of which no call was recorded */
    bool nccl_kernels;
};

static void add_road(char *roads, size_t size, const char *road)
{
    size_t length = strlen(roads);
    if (!strstr(roads, road)) {
        snprintf(roads + length, size - length, "%s%s", length ? ", " : "", road);
    }
}

static void count_calls(const struct gw_model *model, struct seen *seen)
{
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_function *row = gw_function_row(model->calls[i].function);
        if (row && row->api < APIS) {
            seen->calls[row->api]++;
        }
    }
    seen->calls[GW_API_DRV] += model->merged_calls;
    for (size_t i = 0; i < model->counted_count; i++) {
        const struct gw_function *row = gw_function_row(model->counted[i].function);
        if (row && row->api < APIS) {
            seen->calls[row->api] += model->counted[i].count;
        }
    }
    for (uint32_t p = 0; p < model->processes_count; p++) {
        uint64_t calls = 0;
        for (size_t t = 0; t < model->threads_count; t++) {
            calls += model->threads[t].process == p ? model->threads[t].call_count : 0;
        }
        for (size_t i = 0; i < model->counted_count; i++) {
            calls += model->threads[model->counted[i].thread].process == p ? model->counted[i].count : 0;
        }
        seen->silent_processes += !calls;
    }
}

static void look(const struct gw_model *model, struct seen *seen)
{
    *seen = (struct seen){0};
    count_calls(model, seen);
    for (size_t i = 0; i < model->coverages_count; i++) {
        const struct gw_coverage *item = &model->coverages[i];
        for (size_t api = 0; api < APIS && item->name; api++) {
            if (item->kind == GW_COVERAGE_ROUTE && strcmp(item->name, api_names[api]) == 0 && item->detail) {
                add_road(seen->roads[api], sizeof(seen->roads[api]), item->detail);
            }
        }
        if (item->kind == GW_COVERAGE_MISSED && item->name) {
            seen->missed_calls += strtoull(item->name, NULL, 10);
        }
    }
    for (size_t i = 0; i < model->ops_count && !seen->nccl_kernels; i++) {
        const struct gw_op *op = &model->ops[i];
        const char *library =
            op->kind == GW_OP_COMM && op->name != GW_NONE ? gw_comm_kernel_library(model->names[op->name]) : NULL;
        seen->nccl_kernels = library && strcmp(library, "NCCL") == 0;
    }
}

/* What is in the run without a library of its own: it is part of another file. A program may use the driver without any
 * runtime, so that is said only of one that asks the driver for its functions as a runtime does. */
static const char *linked_in(const struct seen *seen, unsigned api)
{
    if (api == GW_API_NCCL && seen->nccl_kernels && !seen->calls[api]) {
        return "NCCL is part of another library: its kernels are seen, its calls are not";
    }
    if (api == GW_API_RT && !seen->calls[api] && strstr(seen->roads[GW_API_DRV], "cuGetProcAddress")) {
        return "the runtime is part of the program or there is none: its calls of the driver are seen";
    }
    return NULL;
}

static int put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

static json_t *text_json(const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    return value ? value : json_null();
}

static bool is_listed(const json_t *array, const char *key, const char *value)
{
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        const char *known = json_string_value(json_object_get(item, key));
        if (known && value && strcmp(known, value) == 0) {
            return true;
        }
    }
    return false;
}

/* Items of one kind as {name_key, detail_key}, each detail once. */
static json_t *items_json(const struct gw_model *model, enum gw_coverage_kind kind, const char *name_key,
                          const char *detail_key)
{
    json_t *array = json_array();
    for (size_t i = 0; i < model->coverages_count && array; i++) {
        const struct gw_coverage *item = &model->coverages[i];
        if (item->kind != kind ||
            (is_listed(array, detail_key, item->detail) && is_listed(array, name_key, item->name))) {
            continue;
        }
        json_t *object = json_object();
        if (put(object, name_key, text_json(item->name)) || put(object, detail_key, text_json(item->detail)) ||
            json_array_append(array, object)) {
            json_decref(array);
            array = NULL;
        }
        json_decref(object);
    }
    return array;
}

json_t *gw_seen_json(const struct gw_model *model)
{
    struct seen seen;
    json_t *object = json_object(), *routes = json_object(), *parts = json_array(), *processes = json_object(),
           *not_seen = json_array();
    int failed = 0;
    look(model, &seen);
    for (unsigned api = 0; api < APIS; api++) {
        const char *part = linked_in(&seen, api);
        if (*seen.roads[api]) {
            failed |= put(routes, api_names[api], json_string(seen.roads[api]));
        }
        if (part) {
            failed |= json_array_append_new(parts, json_string(part));
        }
    }
    failed |= put(processes, "announced", json_integer((json_int_t)model->processes_count));
    failed |= put(processes, "without_calls", json_integer((json_int_t)seen.silent_processes));
    for (char **line = model->run.not_seen; line && *line; line++) {
        failed |= json_array_append_new(not_seen, text_json(*line));
    }
    failed |= put(processes, "not_seen", not_seen);
    failed |= put(object, "routes", routes);
    failed |= put(object, "libraries", items_json(model, GW_COVERAGE_LIBRARY, "name", "path"));
    failed |= put(object, "linked_in", parts);
    failed |= put(object, "missed_calls", json_integer((json_int_t)seen.missed_calls));
    failed |= put(object, "disabled", items_json(model, GW_COVERAGE_DISABLED, "what", "why"));
    failed |= put(object, "processes", processes);
    if (failed) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

static void say_slow_step(const struct gw_run_info *run, const struct gw_page *page, unsigned indent)
{
    if (run->slow_step_ns)
        gw_page_item(page, "snapshot", indent,
                     "taken for a slow step, which ended at %.3f ms after %s; the median of those before is %s",
                     (double)(int64_t)(run->slow_step_end_ns - run->begin_ns) / 1e6,
                     gw_duration_words((double)run->slow_step_ns / 1e6).text,
                     gw_duration_words((double)run->slow_step_median_ns / 1e6).text);
}

void gw_seen_text(const struct gw_model *model, const struct gw_page *page, unsigned indent)
{
    struct seen seen;
    char line[512] = "";
    size_t at = 0;
    look(model, &seen);
    for (unsigned api = 0; api < APIS; api++) {
        const char *part = linked_in(&seen, api);
        if (*seen.roads[api] && at < sizeof(line)) {
            at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s (%s)", at ? "; " : "", api_titles[api],
                                   seen.roads[api]);
        }
        if (part && at < sizeof(line)) {
            at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s", at ? "; " : "", part);
        }
    }
    if (at) {
        gw_page_item(page, "reached", indent, "%s", line);
    }
    for (size_t i = 0; i < model->coverages_count; i++) {
        const struct gw_coverage *item = &model->coverages[i];
        if (item->kind == GW_COVERAGE_MISSED && item->name && item->detail) {
            gw_page_item(page, "not seen", indent, "%s %s", item->name, item->detail);
        }
    }
    for (char **unseen = model->run.not_seen; unseen && *unseen; unseen++) {
        gw_page_item(page, "not seen", indent, "%s", *unseen);
    }
    say_slow_step(&model->run, page, indent);
}
