/* Every plot of every run is drawn into a file that is whole; what cannot be written is an error. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "plots/plots.h"
#include "tests/plots/plot_fixture.h"

static const char *directory; /* from the command line: pictures stay there to be looked at */

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* A PNG begins with its signature and size and ends with IEND. */
static void assert_png(const char *path, uint32_t width)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char head[24], tail[12];
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fread(head, 1, sizeof(head), file), sizeof(head));
    assert_int_equal(fseek(file, -12, SEEK_END), 0);
    assert_int_equal(fread(tail, 1, sizeof(tail), file), sizeof(tail));
    fclose(file);
    assert_memory_equal(head, signature, sizeof(signature));
    assert_int_equal(big_endian(head + 16), width);
    assert_in_range(big_endian(head + 20), 150, 4000);
    assert_memory_equal(tail + 4, "IEND", 4);
}

static void draw_all(const char *run, struct plot_fixture *fixture, const char *theme)
{
    struct gw_plot_options options = gw_plot_default_options();
    char path[512];

    options.theme = gw_theme_find(theme);
    for (size_t i = 0; i < gw_plots_count; i++) {
        if (!gw_plot_applies(&gw_plots[i], &fixture->source))
            continue;
        snprintf(path, sizeof(path), "%s/%s-%s-%s.png", directory, run, gw_plots[i].name, theme);
        assert_int_equal(gw_plot_write(&gw_plots[i], &fixture->source, &options, path), 0);
        assert_png(path, 1600);
    }
    plot_fixture_destroy(fixture);
}

static void draws_training(void **state)
{
    struct plot_fixture fixture;
    (void)state;
    plot_fixture_training(&fixture, 50);
    draw_all("training", &fixture, "light");
    plot_fixture_pair(&fixture);
    draw_all("training", &fixture, "dark");
}

static void draws_corner_cases(void **state)
{
    struct plot_fixture fixture;
    (void)state;
    plot_fixture_empty(&fixture);
    draw_all("empty", &fixture, "light");
    plot_fixture_untimed(&fixture);
    draw_all("untimed", &fixture, "light");
    plot_fixture_crowded(&fixture);
    draw_all("crowded", &fixture, "light");
    plot_fixture_memory(&fixture);
    draw_all("memory", &fixture, "dark");
    plot_fixture_ranks(&fixture, 8, 40);
    draw_all("ranks", &fixture, "light");
    plot_fixture_many(&fixture, 300000);
    draw_all("many", &fixture, "light");
}

static void assert_begins(const char *path, const char *head)
{
    char text[64] = "";
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > strlen(head));
    fclose(file);
    assert_memory_equal(text, head, strlen(head));
}

static void draws_vectors(void **state)
{
    static const char *const heads[] = {[GW_PLOT_SVG] = "<?xml", [GW_PLOT_PDF] = "%PDF-"};
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    char path[512];
    (void)state;

    plot_fixture_pair(&fixture);
    for (options.format = GW_PLOT_SVG; options.format <= GW_PLOT_PDF; options.format++)
        for (size_t i = 0; i < gw_plots_count; i++) {
            snprintf(path, sizeof(path), "%s/%s.%s", directory, gw_plots[i].name, gw_plot_extension(options.format));
            assert_int_equal(gw_plot_write(&gw_plots[i], &fixture.source, &options, path), 0);
            assert_begins(path, heads[options.format]);
        }
    plot_fixture_destroy(&fixture);
}

static void says_what_cannot_be_written(void **state)
{
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    char path[512];
    struct stat found;
    (void)state;

    plot_fixture_training(&fixture, 5);
    snprintf(path, sizeof(path), "%s/no-such-directory/timeline.png", directory);
    assert_int_equal(gw_plot_write(gw_plot_find("timeline"), &fixture.source, &options, path), -ENOENT);
    /* A full disk, at the end of a link. */
    snprintf(path, sizeof(path), "%s/full.png", directory);
    unlink(path);
    assert_int_equal(symlink("/dev/full", path), 0);
    assert_int_equal(gw_plot_write(gw_plot_find("timeline"), &fixture.source, &options, path), -ENOSPC);
    unlink(path);
    options.scale = GW_PLOT_SCALE_MAX * 10.0;
    snprintf(path, sizeof(path), "%s/huge.png", directory);
    assert_int_equal(gw_plot_write(gw_plot_find("timeline"), &fixture.source, &options, path), -E2BIG);
    assert_int_equal(stat(path, &found), -1);
    plot_fixture_destroy(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_training),
        cmocka_unit_test(draws_corner_cases),
        cmocka_unit_test(draws_vectors),
        cmocka_unit_test(says_what_cannot_be_written),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_pictures DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "test_pictures: cannot make %s: %s\n", directory, strerror(errno));
        return 1;
    }
    return cmocka_run_group_tests_name("plots.pictures", tests, NULL, NULL);
}
