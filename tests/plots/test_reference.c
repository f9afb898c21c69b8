/*
 * One picture of each plot against the one that was looked at and committed: tests/plots/reference/NAME.png. Fonts are
 * those of tests/plots/fonts, so that machines agree but for the rounding of their libraries.
 *
 *   test_reference REFERENCE_DIRECTORY WORK_DIRECTORY
 *
 * To accept new pictures after looking at them: UPDATE=1 build/bin/test_reference tests/plots/reference DIRECTORY, with
 * FONTCONFIG_FILE as ctest sets it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cairo.h>
#include <cmocka.h>

#include "plots/plots.h"
#include "tests/plots/plot_fixture.h"

/* A channel of a pixel is another when it is off by this much, of 255; less is how edges are smoothed. */
#define OTHER 48
/* This share of all channels may be other. */
#define MOST_OTHER 0.001

static const char *reference_directory, *work_directory; /* from the command line */

static void make_source(const char *plot, struct plot_fixture *fixture)
{
    if (!strcmp(plot, "memory"))
        plot_fixture_memory(fixture);
    else if (!strcmp(plot, "comm") || !strcmp(plot, "ranks"))
        plot_fixture_ranks(fixture, 4, 24);
    else
        plot_fixture_pair(fixture);
}

static void draw(const char *name, const struct plot_fixture *fixture, const char *path)
{
    struct gw_plot_options options = gw_plot_default_options();

    options.width = GW_PLOT_WIDTH_MIN;
    assert_int_equal(gw_plot_write(gw_plot_find(name), &fixture->source, &options, path), 0);
}

static cairo_surface_t *load(const char *path)
{
    cairo_surface_t *surface = cairo_image_surface_create_from_png(path);

    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        fail_msg("%s: %s", path, cairo_status_to_string(cairo_surface_status(surface)));
    return surface;
}

/* The share of channels that differ; 1 for pictures of different sizes. */
static double difference(const char *left, const char *right)
{
    cairo_surface_t *a = load(left), *b = load(right);
    int width = cairo_image_surface_get_width(a), height = cairo_image_surface_get_height(a);
    uint64_t other = 0;
    double share = 1.0;

    if (width == cairo_image_surface_get_width(b) && height == cairo_image_surface_get_height(b)) {
        for (int y = 0; y < height; y++) {
            const unsigned char *row_a = cairo_image_surface_get_data(a) + y * cairo_image_surface_get_stride(a);
            const unsigned char *row_b = cairo_image_surface_get_data(b) + y * cairo_image_surface_get_stride(b);
            for (int x = 0; x < 4 * width; x++)
                if (x % 4 != 3) /* the fourth byte of a pixel is not used */
                    other += abs((int)row_a[x] - (int)row_b[x]) > OTHER;
        }
        share = (double)other / (3.0 * width * height);
    }
    cairo_surface_destroy(a);
    cairo_surface_destroy(b);
    return share;
}

static void plots_look_as_they_did(void **state)
{
    bool update = getenv("UPDATE") != NULL;
    unsigned int faults = 0;
    (void)state;

    for (size_t i = 0; i < gw_plots_count; i++) {
        const char *name = gw_plots[i].name;
        char reference[512], path[512];
        struct plot_fixture fixture;
        double other;
        snprintf(reference, sizeof(reference), "%s/%s.png", reference_directory, name);
        snprintf(path, sizeof(path), "%s/%s.png", work_directory, name);
        make_source(name, &fixture);
        draw(name, &fixture, update ? reference : path);
        plot_fixture_destroy(&fixture);
        if (update)
            continue;
        other = difference(reference, path);
        if (other <= MOST_OTHER)
            continue;
        print_message("%s differs from %s in %.2f %%\n", path, reference, other * 100.0);
        faults++;
    }
    assert_int_equal(faults, 0);
}

/* The comparison sees a step that is a fifth longer, and a label that reads otherwise. */
static void small_differences_are_seen(void **state)
{
    char paths[3][512];
    struct plot_fixture fixture;
    (void)state;

    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof(paths[i]), "%s/difference-%d.png", work_directory, i);
    plot_fixture_ranks(&fixture, 4, 24);
    draw("ranks", &fixture, paths[0]);
    draw("ranks", &fixture, paths[1]);
    assert_true(difference(paths[0], paths[1]) == 0.0);
    fixture.model->communicators[1].rank = 7;
    draw("ranks", &fixture, paths[2]);
    assert_true(difference(paths[0], paths[2]) > MOST_OTHER);
    plot_fixture_destroy(&fixture);
    plot_fixture_training(&fixture, 10);
    draw("budget", &fixture, paths[0]);
    for (size_t i = 0; i < fixture.budget->cells_count; i++)
        fixture.budget->cells[i].ns[GW_CLASS_COMPUTE] += i == 6 ? 300000 : 0;
    draw("budget", &fixture, paths[1]);
    assert_true(difference(paths[0], paths[1]) > MOST_OTHER);
    plot_fixture_destroy(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plots_look_as_they_did),
        cmocka_unit_test(small_differences_are_seen),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: test_reference REFERENCE_DIRECTORY WORK_DIRECTORY\n");
        return 2;
    }
    reference_directory = argv[1];
    work_directory = argv[2];
    if (mkdir(work_directory, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "test_reference: cannot make %s: %s\n", work_directory, strerror(errno));
        return 1;
    }
    return cmocka_run_group_tests_name("plots.reference", tests, NULL, NULL);
}
