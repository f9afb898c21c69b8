/* Layout as numbers: nothing overlaps or leaves the picture, bars add up to the steps, no time is lost by merging. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plots/budget_data.h"
#include "plots/page.h"
#include "plots/timeline_data.h"
#include "plots/units.h"
#include "plots/waterfall.h"
#include "tests/plots/plot_fixture.h"
#include "tests/plots/scene_checks.h"

/* Half a pixel: rounding of positions. */
#define TOLERANCE 0.51

static double text_width(void *canvas, const char *text, double size, bool bold)
{
    return gw_canvas_text_width(canvas, text, size, bold);
}

static void lay_out(const char *plot, const struct plot_fixture *fixture, double width, struct gw_canvas *canvas,
                    struct gw_scene *scene)
{
    struct gw_plot_options options = gw_plot_default_options();

    options.width = width;
    memset(scene, 0, sizeof(*scene));
    assert_int_equal(gw_plot_layout(gw_plot_find(plot), &fixture->source, &options, text_width, canvas, scene), 0);
}

static void make_run(size_t run, struct plot_fixture *fixture)
{
    static void (*const corners[])(struct plot_fixture *) = {
        plot_fixture_empty, plot_fixture_untimed, plot_fixture_crowded, plot_fixture_memory, plot_fixture_pair};

    if (run < 5)
        corners[run](fixture);
    else if (run < 7)
        plot_fixture_training(fixture, run == 5 ? 50 : 2000);
    else
        plot_fixture_ranks(fixture, run == 7 ? 4 : 300, run == 7 ? 40 : 12);
}

static void texts_do_not_overlap(void **state)
{
    static const double widths[] = {GW_PLOT_WIDTH_MIN, 1600.0, 3000.0};
    struct gw_canvas *canvas;
    (void)state;

    assert_int_equal(gw_canvas_create(&canvas), 0);
    for (size_t run = 0; run < 9; run++) {
        struct plot_fixture fixture;
        make_run(run, &fixture);
        for (size_t i = 0; i < gw_plots_count; i++)
            for (size_t k = 0; k < 3; k++) {
                struct gw_scene scene;
                char what[64], fault[512];
                if (!gw_plot_applies(&gw_plots[i], &fixture.source))
                    continue;
                snprintf(what, sizeof(what), "run %zu, %s at %g", run, gw_plots[i].name, widths[k]);
                lay_out(gw_plots[i].name, &fixture, widths[k], canvas, &scene);
                if (scene_has_fault(canvas, &scene, fault, sizeof(fault)))
                    fail_msg("%s: %s", what, fault);
                gw_scene_clear(&scene);
            }
        plot_fixture_destroy(&fixture);
    }
    gw_canvas_destroy(canvas);
}

/* Bars of the timeline lie in a row, and labels within a bar's row. */
static void bars_lie_in_rows(void **state)
{
    struct plot_fixture fixture;
    struct gw_canvas *canvas;
    struct gw_scene scene;
    size_t bars = 0;
    (void)state;

    assert_int_equal(gw_canvas_create(&canvas), 0);
    plot_fixture_training(&fixture, 50);
    lay_out("timeline", &fixture, 1600.0, canvas, &scene);
    for (size_t i = 0; i < scene.items_count; i++) {
        const struct gw_item *item = &scene.items[i];
        bool inside = false;
        if (item->purpose != GW_FOR_BAR)
            continue;
        bars++;
        for (size_t k = 0; k < scene.items_count && !inside; k++) {
            const struct gw_item *row = &scene.items[k];
            inside = row->purpose == GW_FOR_ROW && item->y >= row->y - TOLERANCE &&
                     item->y + item->h <= row->y + row->h + TOLERANCE && item->x >= row->x - TOLERANCE &&
                     item->x + item->w <= row->x + row->w + TOLERANCE;
        }
        assert_true(inside);
    }
    assert_true(bars > 60);
    gw_scene_clear(&scene);
    plot_fixture_destroy(&fixture);
    gw_canvas_destroy(canvas);
}

/* The window is the median step with two neighbours that are not warm-up, without holes. */
static void window_is_the_median_with_neighbours(void **state)
{
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    struct gw_timeline_data data;
    uint32_t median;
    (void)state;

    plot_fixture_training(&fixture, 50);
    median = fixture.budget->median_step;
    assert_true(gw_timeline_window(&fixture.source, &options, 1, &data));
    assert_int_equal(data.step_end - data.step_first, 3);
    assert_in_range(median, data.step_first, data.step_end - 1);
    for (uint32_t i = data.step_first; i < data.step_end; i++)
        assert_false(fixture.model->steps[i].warmup);
    assert_int_equal(data.begin_ns, fixture.model->steps[data.step_first].begin_ns);
    assert_int_equal(data.end_ns, fixture.model->steps[data.step_end - 1].end_ns);

    options.have_steps = true;
    options.first_step = 10;
    options.last_step = 12;
    assert_true(gw_timeline_window(&fixture.source, &options, 1, &data));
    assert_int_equal(data.begin_ns, fixture.model->steps[10].begin_ns);
    assert_int_equal(data.end_ns, fixture.model->steps[12].end_ns);
    options.last_step = 100000;
    assert_false(gw_timeline_window(&fixture.source, &options, 1, &data));
    plot_fixture_destroy(&fixture);
}

/* On every device of the window, busy streams and gaps together cover the window exactly. */
static void rows_cover_the_window(void **state)
{
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    struct gw_timeline_data data;
    uint8_t *covered;
    size_t length;
    (void)state;

    plot_fixture_training(&fixture, 20);
    assert_true(gw_timeline_window(&fixture.source, &options, 1, &data));
    assert_int_equal(gw_timeline_fill(&fixture.source, &data), 0);
    length = data.end_ns - data.begin_ns;
    covered = calloc(length, 1);
    assert_non_null(covered);
    for (uint32_t i = 0; i < data.rows_count; i++) {
        const struct gw_lane *lane = &data.rows[i].lanes[0];
        uint8_t bit = data.rows[i].kind == GW_ROW_GAPS ? 2 : 1;
        for (size_t k = 0; k < lane->spans_count && data.rows[i].kind != GW_ROW_THREAD; k++)
            for (uint64_t ns = lane->spans[k].begin_ns; ns < lane->spans[k].end_ns; ns++)
                if (ns >= data.begin_ns && ns < data.end_ns)
                    covered[ns - data.begin_ns] |= bit;
    }
    for (size_t i = 0; i < length; i++)
        if (covered[i] != 1 && covered[i] != 2)
            fail_msg("at %zu ns the device is %s", i, covered[i] ? "busy and idle" : "neither busy nor idle");
    free(covered);
    gw_timeline_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* Of more ranks than fit, those that compute most are shown whole: among them the one that the others wait for. */
static void the_busiest_devices_are_shown(void **state)
{
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    struct gw_timeline_data data;
    uint32_t gaps = 0, late = 0;
    (void)state;

    plot_fixture_ranks(&fixture, 20, 12);
    assert_true(gw_timeline_window(&fixture.source, &options, 0, &data));
    assert_int_equal(gw_timeline_fill(&fixture.source, &data), 0);
    assert_int_equal(data.devices_dropped, 20 - GW_TIMELINE_DEVICES_MAX);
    for (uint32_t i = 0; i < data.rows_count; i++) {
        gaps += data.rows[i].kind == GW_ROW_GAPS;
        late += data.rows[i].kind == GW_ROW_STREAM && data.rows[i].device == 2;
    }
    assert_int_equal(gaps, GW_TIMELINE_DEVICES_MAX);
    assert_int_equal(late, 2);
    gw_timeline_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* A collective's bar is cut where its last rank arrives, for each rank at the same time; the last one does not wait. */
static void collectives_wait_then_transfer(void **state)
{
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    struct gw_timeline_data data;
    uint64_t transfer_ns[4] = {0}, wait_ns[4] = {0}, begin_ns[4] = {0};
    (void)state;

    plot_fixture_ranks(&fixture, 4, 20);
    assert_true(gw_timeline_window(&fixture.source, &options, 0, &data));
    assert_int_equal(gw_timeline_fill(&fixture.source, &data), 0);
    for (uint32_t i = 0; i < data.rows_count; i++)
        for (size_t k = 0; k < data.rows[i].lanes[0].spans_count && data.rows[i].kind == GW_ROW_STREAM; k++) {
            const struct gw_span *span = &data.rows[i].lanes[0].spans[k];
            assert_int_not_equal(span->key, GW_PAINT_KEY(GW_PAINT_OP, GW_OP_COMM));
            if (span->key == GW_PAINT_KEY(GW_PAINT_COMM, GW_COMM_WAITS))
                wait_ns[data.rows[i].device] += span->end_ns - span->begin_ns;
            if (span->key != GW_PAINT_KEY(GW_PAINT_COMM, GW_COMM_TRANSFERS))
                continue;
            transfer_ns[data.rows[i].device] += span->end_ns - span->begin_ns;
            begin_ns[data.rows[i].device] += span->begin_ns;
        }
    for (uint32_t device = 0; device < 4; device++) {
        assert_true(transfer_ns[device] > 0);
        assert_int_equal(transfer_ns[device], transfer_ns[0]);
        assert_int_equal(begin_ns[device], begin_ns[0]);
        assert_int_equal(wait_ns[device] == 0, device == 2);
    }
    for (uint32_t i = 1; i < data.links_count; i++)
        assert_true(data.links[i].to_row != data.links[i - 1].to_row || data.links[i].to_ns != data.links[i - 1].to_ns);
    gw_timeline_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* Each bar of a waterfall begins where the one before ends, and the last ends where the total does. */
static void waterfalls_join_up(void **state)
{
    static const struct gw_waterfall_step steps[] = {
        {.name = "more", .ns = 3e6}, {.name = "less", .ns = -4e6}, {.name = "unsure", .ns = 0.5e6, .uncertain = true}};
    const struct gw_waterfall waterfall = {"from", "to", 2e6, 1.5e6, steps, 3};
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    struct gw_scene scene = {.width = 0.0};
    const struct gw_item *bars[5];
    struct gw_canvas *canvas;
    double px_per_ns, at;
    size_t count = 0;
    (void)state;

    assert_int_equal(gw_canvas_create(&canvas), 0);
    plot_fixture_empty(&fixture);
    struct gw_page page = {&fixture.source, &options, options.theme, text_width, canvas, &scene};
    gw_page_end(&page, gw_waterfall_draw(&page, &waterfall, 80.0), NULL);
    for (size_t i = 0; i < scene.items_count; i++)
        if (scene.items[i].purpose == GW_FOR_BAR) {
            assert_true(count < 5);
            bars[count++] = &scene.items[i];
        }
    assert_int_equal(count, 5);
    px_per_ns = bars[0]->w / waterfall.from_ns;
    at = bars[0]->x + bars[0]->w;
    for (size_t i = 0; i < 3; i++) {
        assert_true(fabs(bars[i + 1]->w - fabs(steps[i].ns) * px_per_ns) < 0.01);
        assert_true(fabs((steps[i].ns > 0 ? bars[i + 1]->x : bars[i + 1]->x + bars[i + 1]->w) - at) < 0.01);
        assert_int_equal(bars[i + 1]->hatched, steps[i].uncertain);
        at += steps[i].ns * px_per_ns;
    }
    assert_true(fabs(bars[4]->x + bars[4]->w - at) < 0.01);
    gw_scene_clear(&scene);
    plot_fixture_destroy(&fixture);
    gw_canvas_destroy(canvas);
}

/* The classes of every step add up to its length, and so do the bars of the median step's stack. */
static void budget_adds_up(void **state)
{
    struct plot_fixture fixture;
    struct gw_budget_data data;
    (void)state;

    plot_fixture_training(&fixture, 50);
    assert_int_equal(gw_budget_data_create(&fixture.source, &data), 0);
    assert_int_equal(data.rows_count, fixture.model->steps_count);
    for (size_t i = 0; i < data.rows_count; i++) {
        const struct gw_step *step = &fixture.model->steps[i];
        double sum_ns = 0.0;
        for (uint32_t cls = 0; cls < GW_CLASS_COUNT; cls++)
            sum_ns += data.rows[i].ns[cls];
        assert_true(fabs(sum_ns - (double)(step->end_ns - step->begin_ns)) < 0.5);
        assert_true(fabs(data.rows[i].total_ns - sum_ns) < 0.5);
        assert_int_equal(data.rows[i].warmup, step->warmup);
    }
    assert_int_equal(data.median_number, fixture.model->steps[fixture.budget->median_step].number);
    gw_budget_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* Random spans at random scales: what is drawn covers exactly what the spans cover within the window. */
static void merging_loses_no_time(void **state)
{
    enum { SPANS = 4000 };
    struct gw_span *spans = calloc(SPANS, sizeof(*spans));
    (void)state;

    assert_non_null(spans);
    srandom(20261130);
    for (int round = 0; round < 200; round++) {
        struct gw_scale scale = {
            .begin_ns = 1000 + (uint64_t)random() % 100000, .x = 100.0, .width = 50.0 + (double)(random() % 2000)};
        uint64_t at_ns = 0, expected_ns = 0, drawn_ns = 0;
        double shown = 0.0;
        struct gw_bar *bars;
        size_t count;
        scale.end_ns = scale.begin_ns + 1 + (uint64_t)random() % 10000000;
        for (int i = 0; i < SPANS; i++) {
            uint64_t length_ns = random() % 50 ? (uint64_t)random() % 500 : (uint64_t)random() % 90000, from, to;
            at_ns += (uint64_t)random() % 3000;
            spans[i] = (struct gw_span){at_ns, at_ns + length_ns, (uint32_t)random() % 7, (uint32_t)i};
            at_ns += length_ns;
            from = spans[i].begin_ns > scale.begin_ns ? spans[i].begin_ns : scale.begin_ns;
            to = spans[i].end_ns < scale.end_ns ? spans[i].end_ns : scale.end_ns;
            expected_ns += from < to ? to - from : 0;
        }
        assert_int_equal(gw_lod_bars(&scale, spans, SPANS, &bars, &count), 0);
        for (size_t i = 0; i < count; i++) {
            drawn_ns += bars[i].covered_ns;
            shown += bars[i].w * bars[i].fraction;
            assert_true(bars[i].x >= scale.x - 1e-6 && bars[i].x + bars[i].w <= scale.x + scale.width + 1e-6);
            assert_true(bars[i].fraction > 0.0 && bars[i].fraction <= 1.0);
        }
        assert_int_equal(drawn_ns, expected_ns);
        /* The same as area: a nanosecond of rounding in each pixel. */
        assert_true(fabs(shown / scale.width * (double)(scale.end_ns - scale.begin_ns) - (double)expected_ns) <=
                    2.0 * scale.width + 1.0);
        free(bars);
    }
    free(spans);
}

/* A million operations become a bounded number of rectangles. */
static void detail_is_bounded(void **state)
{
    struct plot_fixture fixture;
    struct gw_canvas *canvas;
    struct gw_scene scene;
    (void)state;

    assert_int_equal(gw_canvas_create(&canvas), 0);
    plot_fixture_many(&fixture, 1000000);
    lay_out("timeline", &fixture, 1600.0, canvas, &scene);
    assert_in_range(scene.items_count, 1000, 10000);
    gw_scene_clear(&scene);
    plot_fixture_destroy(&fixture);
    gw_canvas_destroy(canvas);
}

/* Paragraphs break at spaces, keep every word, and survive words that are too long and bytes that are no UTF-8. */
static void paragraphs_keep_their_words(void **state)
{
    struct plot_fixture fixture;
    struct gw_plot_options options = gw_plot_default_options();
    struct gw_scene scene = {.width = 0.0};
    char joined[256] = "";
    size_t used = 0;
    struct gw_canvas *canvas;
    (void)state;

    assert_int_equal(gw_canvas_create(&canvas), 0);
    plot_fixture_empty(&fixture);
    struct gw_page page = {&fixture.source, &options, options.theme, text_width, canvas, &scene};
    const char *text = "one two three Fünfundzwanzig aWordThatIsLongerThanTheWholeLineIsWide six \xff\xfe seven";
    gw_page_paragraph(&page, 10.0, 10.0, 120.0, 13.0, 0xff, text);
    assert_in_range(scene.items_count, 4, 8);
    for (size_t i = 0; i < scene.items_count; i++) {
        used += (size_t)snprintf(joined + used, sizeof(joined) - used, "%s%s", i ? " " : "", scene.items[i].text);
        assert_true(used < sizeof(joined));
        if (strchr(scene.items[i].text, ' '))
            assert_true(gw_canvas_text_width(canvas, scene.items[i].text, 13.0, false) <= 120.0);
    }
    assert_string_equal(joined, text);
    gw_scene_clear(&scene);
    gw_page_paragraph(&page, 10.0, 10.0, 120.0, 13.0, 0xff, "");
    assert_int_equal(scene.items_count, 0);
    plot_fixture_destroy(&fixture);
    gw_canvas_destroy(canvas);
}

static void assert_text(void (*format)(double, char[GW_UNIT_TEXT]), double value, const char *expected)
{
    char text[GW_UNIT_TEXT];

    format(value, text);
    assert_string_equal(text, expected);
}

static void units_are_human(void **state)
{
    char text[GW_UNIT_TEXT];
    (void)state;

    assert_text(gw_format_duration, 0.0, "0 ns");
    assert_text(gw_format_duration, 840.0, "840 ns");
    assert_text(gw_format_duration, 999.7, "1.00 µs");
    assert_text(gw_format_duration, 152400.0, "152 µs");
    assert_text(gw_format_duration, 2310000.0, "2.31 ms");
    assert_text(gw_format_duration, 14.04e9, "14.0 s");
    assert_text(gw_format_bytes, 512.0, "512 B");
    assert_text(gw_format_bytes, 2097152.0, "2 MiB");
    assert_text(gw_format_bytes, 1500000.0, "1.43 MiB");
    assert_text(gw_format_rate, 11.04, "11.0 GB/s");
    assert_text(gw_format_rate, 0.00133, "1.33 MB/s");
    assert_text(gw_format_rate, 0.00026, "260 kB/s");
    gw_format_count(1234567, text);
    assert_string_equal(text, "1 234 567");
    gw_format_tick(12.5e6, 0.5e6, text);
    assert_string_equal(text, "12.5 ms");
    assert_true(fabs(gw_axis_step(3.9e6, 8) - 5e5) < 1.0);
    assert_true(fabs(gw_axis_step(100.0, 10) - 10.0) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_do_not_overlap),
        cmocka_unit_test(bars_lie_in_rows),
        cmocka_unit_test(window_is_the_median_with_neighbours),
        cmocka_unit_test(rows_cover_the_window),
        cmocka_unit_test(the_busiest_devices_are_shown),
        cmocka_unit_test(collectives_wait_then_transfer),
        cmocka_unit_test(waterfalls_join_up),
        cmocka_unit_test(budget_adds_up),
        cmocka_unit_test(merging_loses_no_time),
        cmocka_unit_test(detail_is_bounded),
        cmocka_unit_test(paragraphs_keep_their_words),
        cmocka_unit_test(units_are_human),
    };
    return cmocka_run_group_tests_name("plots.layout", tests, NULL, NULL);
}
