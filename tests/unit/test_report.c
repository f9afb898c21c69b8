/*
 * The report: JSON has its form and its numbers agree, text answers in its first lines and fits the page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/report_words.h"
#include "tests/unit/report_runs.h"

static const char *const runs[] = {"faulty", "healthy", "stepless", "failing", "own-kernels", "empty"};

static char *written(const char *name, bool json, const struct gw_report_text_options *options)
{
    struct report_run run;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(report_run_create(&run, name));
    struct gw_report report = {run.model, run.budget, run.verdicts};
    assert_int_equal(json ? gw_report_json(&report, out) : gw_report_text(&report, options, out), 0);
    fclose(out);
    report_run_release(&run);
    return text;
}

static json_t *report_json(const char *name)
{
    json_error_t error;
    char *text = written(name, true, NULL);
    json_t *root = json_loads(text, 0, &error);
    if (!root)
        fail_msg("%s: %s", name, error.text);
    free(text);
    return root;
}

static void json_has_all_parts(void **state)
{
    (void)state;
    static const char *const parts[] = {"run", "coverage", "steps", "budget_ms", "replay"};
    const char *const *ids;
    size_t id_count = gw_verdict_ids(&ids);
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        json_t *root = report_json(runs[r]);
        assert_string_equal(json_string_value(json_object_get(root, "schema")), "gpuwitness.report/1");
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
            assert_true(json_is_object(json_object_get(root, parts[p])));
        assert_true(json_is_array(json_object_get(root, "per_device")));
        json_t *verdicts = json_object_get(root, "verdicts"), *verdict;
        size_t index, found = 0;
        assert_int_equal(json_array_size(verdicts), id_count);
        json_array_foreach(verdicts, index, verdict)
        {
            assert_true(json_is_string(json_object_get(verdict, "why")));
            for (size_t i = 0; i < id_count; i++)
                found += strcmp(json_string_value(json_object_get(verdict, "id")), ids[i]) == 0;
        }
        assert_int_equal(found, id_count);
        json_decref(root);
    }
}

static void budget_sums_to_the_step(void **state)
{
    (void)state;
    json_t *root = report_json("faulty"), *budget = json_object_get(root, "budget_ms"), *value;
    double sum = 0, total = json_number_value(json_object_get(budget, "total"));
    const char *key;
    json_object_foreach(budget, key, value)
    {
        if (strcmp(key, "total") != 0)
            sum += json_number_value(value);
    }
    assert_true(total > 0);
    assert_true(fabs(sum - total) < 1e-9);
    assert_true(fabs(total - json_number_value(json_object_get(json_object_get(root, "steps"), "median_ms"))) < 1e-9);
    json_decref(root);
}

static void first_verdict_is_the_planted_fault(void **state)
{
    (void)state;
    json_t *root = report_json("faulty"), *first = json_array_get(json_object_get(root, "verdicts"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "id")), "host-sync");
    assert_string_equal(json_string_value(json_object_get(first, "verdict")), "confirmed");
    assert_true(json_number_value(json_object_get(first, "saving_ms")) > 0.1);
    assert_true(json_array_size(json_object_get(first, "evidence")) == GW_EVIDENCE_MAX);
    assert_true(json_is_null(json_object_get(first, "bound_ms")));
    json_decref(root);
}

static void kernels_without_calls_are_listed(void **state)
{
    (void)state;
    json_t *root = report_json("own-kernels"), *communication = json_object_get(root, "communication");
    json_t *kernel = json_array_get(json_object_get(communication, "kernels"), 0);
    assert_int_equal(json_array_size(json_object_get(communication, "kernels")), 1);
    assert_int_equal(json_array_size(json_object_get(communication, "collectives")), 0);
    assert_string_equal(json_string_value(json_object_get(kernel, "library")), "XLA");
    assert_int_equal(json_integer_value(json_object_get(kernel, "count")), 12);
    assert_true(fabs(json_number_value(json_object_get(kernel, "mean_ms")) - 0.04) < 1e-9);
    assert_true(json_number_value(json_object_get(json_object_get(root, "budget_ms"), "comm_exposed")) > 0.03);
    json_decref(root);
    char *text = written("own-kernels", false, &(struct gw_report_text_options){.width = 100});
    assert_non_null(strstr(text, "all_reduce_start_fusion_1 of XLA: 12 times, 40.0 us each"));
    free(text);
}

/* No line is wider than the page, and none ends in a blank. */
static void check_page(const char *text, unsigned width)
{
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        if (length > width || (length && line[length - 1] == ' '))
            fail_msg("line of %zu columns on a page of %u: %.*s", length, width, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void text_answers_first(void **state)
{
    (void)state;
    const struct gw_report_text_options options = {.width = 90};
    char *text = written("faulty", false, &options);
    const char *answer = strstr(text, "A step takes "), *loss = strstr(text, "The largest loss: ");
    const char *budget = strstr(text, "Where the time of a step goes");
    assert_non_null(answer);
    assert_non_null(loss);
    assert_non_null(budget);
    assert_true(answer < loss && loss < budget);
    assert_non_null(strstr(text, "SIMULATED GPU"));
    assert_null(strchr(text, '\033'));
    check_page(text, 90);
    free(text);
}

static void uneven_steps_are_said(void **state)
{
    (void)state;
    assert_string_equal(gw_uneven_words(90.3, 4180).text, " (half of them less than 90.3 ms)");
    assert_string_equal(gw_uneven_words(90.3, 100).text, "");
}

/* Time that belongs to no step is not judged, and said. */
static void time_between_steps_is_said(void **state)
{
    (void)state;
    const struct gw_report_text_options options = {.width = 200};
    char *text = written("evaluating", false, &options), *usual = written("faulty", false, &options);
    assert_non_null(strstr(text, "between them"));
    assert_non_null(strstr(text, "are in no step and not judged"));
    assert_null(strstr(usual, "between them"));
    assert_null(strstr(usual, "after the last"));
    free(text);
    free(usual);
}

/* Why nothing is known of the GPU stands in the first lines: what was lost before what was not asked for. */
static void missing_times_are_explained(void **state)
{
    (void)state;
    static const struct {
        const char *name, *why, *advice;
    } cases[] = {
        {"untimed", "its operations carry no times", "(record --gpu-timing=auto)"},
        {"overrun", "events were lost while buffers were full", "(record with a larger --buffer-size)"},
        {"damaged", "a part of the trace is damaged", "(copy it again, or record again)"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = written(cases[i].name, false, &(struct gw_report_text_options){.width = 200});
        const char *why = strstr(text, cases[i].why), *advice = strstr(text, cases[i].advice);
        assert_non_null(why);
        assert_non_null(advice);
        assert_true(why < advice && advice < strstr(text, "Where the time"));
        assert_int_equal(strstr(text, "--gpu-timing=auto") != NULL, i == 0);
        free(text);
    }
}

/* What follows the steps is not judged either, and said. */
static void work_behind_the_steps_is_said(void **state)
{
    (void)state;
    char *text = written("two-phases", false, &(struct gw_report_text_options){.width = 200});
    assert_non_null(strstr(text, "7.20 ms of GPU work, 50 % of all, lie before the first or after the last"));
    free(text);
}

static void every_text_fits_its_page(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        for (unsigned width = 80; width <= 100; width += 10) {
            const struct gw_report_text_options options = {.width = width, .verbose = true};
            char *text = written(runs[r], false, &options);
            check_page(text, width);
            free(text);
        }
    }
}

static void runs_without_steps_say_so(void **state)
{
    (void)state;
    const struct gw_report_text_options options = {.width = 90};
    char *text = written("empty", false, &options);
    assert_non_null(strstr(text, "No CUDA call was seen"));
    free(text);
    text = written("stepless", false, &options);
    assert_non_null(strstr(text, "no repeating steps"));
    /* Where the run's time goes is known all the same: 72 kernels of 100 us. */
    assert_non_null(strstr(text, "between the first and the last GPU operation"));
    assert_non_null(strstr(text, "compute                 7.200 ms"));
    assert_null(strstr(text, "of a step goes"));
    free(text);
    text = written("failing", false, &options);
    assert_non_null(strstr(text, "12 of its CUDA calls failed"));
    assert_non_null(strstr(text, "error 35"));
    free(text);
    text = written("healthy", false, &options);
    assert_non_null(strstr(text, "No suspect is confirmed"));
    free(text);
}

static void one_verdict_alone(void **state)
{
    (void)state;
    const struct gw_report_text_options options = {.width = 90, .only_verdict = "alloc-churn"};
    char *text = written("faulty", false, &options);
    assert_true(strncmp(text, "alloc-churn: ruled-out", 22) == 0);
    assert_null(strstr(text, "host-sync"));
    free(text);
}

static void colours_only_where_asked(void **state)
{
    (void)state;
    const struct gw_report_text_options options = {.width = 90, .color = true};
    char *text = written("faulty", false, &options);
    assert_non_null(strchr(text, '\033'));
    free(text);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    struct report_run run;
    FILE *out = fopen("/dev/full", "w");
    if (!out)
        skip();
    assert_true(report_run_create(&run, "faulty"));
    struct gw_report report = {run.model, run.budget, run.verdicts};
    const struct gw_report_text_options options = {.width = 90};
    assert_int_equal(gw_report_text(&report, &options, out), -ENOSPC);
    clearerr(out);
    assert_int_equal(gw_report_json(&report, out), -ENOSPC);
    fclose(out);
    report_run_release(&run);
}

static void durations_in_fitting_units(void **state)
{
    (void)state;
    static const struct {
        double ms;
        const char *words;
    } cases[] = {{0, "0 ms"},          {1.7349, "1.73 ms"}, {17.349, "17.3 ms"}, {173.49, "173 ms"},
                 {0.01234, "12.3 us"}, {0.00005, "50 ns"},  {2500, "2.50 s"},    {0.9999, "1.00 ms"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(gw_duration_words(cases[i].ms).text, cases[i].words);
}

static void sizes_have_three_digits(void **state)
{
    static const struct {
        double bytes;
        const char *words;
    } cases[] = {{0, "0 B"},           {7, "7 B"},          {0.5, "0.50 B"},     {999, "999 B"},   {999.5, "1.00 kB"},
                 {13685, "13.7 kB"},   {9995, "10.0 kB"},   {99950, "100 kB"},   {1e6, "1.00 MB"}, {2097152, "2.10 MB"},
                 {5.25e10, "52.5 GB"}, {1.5e12, "1.50 TB"}, {1.5e16, "15000 TB"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(gw_size_words(cases[i].bytes).text, cases[i].words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_all_parts),
        cmocka_unit_test(budget_sums_to_the_step),
        cmocka_unit_test(first_verdict_is_the_planted_fault),
        cmocka_unit_test(kernels_without_calls_are_listed),
        cmocka_unit_test(text_answers_first),
        cmocka_unit_test(uneven_steps_are_said),
        cmocka_unit_test(time_between_steps_is_said),
        cmocka_unit_test(work_behind_the_steps_is_said),
        cmocka_unit_test(missing_times_are_explained),
        cmocka_unit_test(every_text_fits_its_page),
        cmocka_unit_test(runs_without_steps_say_so),
        cmocka_unit_test(one_verdict_alone),
        cmocka_unit_test(colours_only_where_asked),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(durations_in_fitting_units),
        cmocka_unit_test(sizes_have_three_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
