/*
 * gw-bench-plots [MILLIONS]: what it takes to draw each plot of a step of so many million operations (10). The figures
 * are printed and none is asserted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plots/plots.h"
#include "tests/plots/plot_fixture.h"

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double text_width(void *canvas, const char *text, double size, bool bold)
{
    return gw_canvas_text_width(canvas, text, size, bold);
}

int main(int argc, char **argv)
{
    unsigned long millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
    struct gw_plot_options options = gw_plot_default_options();
    struct plot_fixture fixture;
    struct gw_canvas *canvas;
    int status = 0;

    if (millions < 1 || millions > 100 || gw_canvas_create(&canvas) != 0) {
        fprintf(stderr, "usage: gw-bench-plots [MILLIONS, 1 to 100]\n");
        return 2;
    }
    plot_fixture_many(&fixture, (unsigned int)millions * 1000000u);
    printf("%lu million calls and operations\n", millions);
    for (size_t i = 0; i < gw_plots_count && status == 0; i++) {
        struct gw_scene scene = {.width = 0.0};
        double begin = seconds(), laid_out;
        if (!gw_plot_applies(&gw_plots[i], &fixture.source))
            continue;
        status = gw_plot_layout(&gw_plots[i], &fixture.source, &options, text_width, canvas, &scene);
        laid_out = seconds();
        if (status == 0)
            status = gw_canvas_write(canvas, &scene, GW_PLOT_PNG, 1.0, "bench-plots.png");
        printf("%-9s %5.2f s to lay out, %5.2f s to draw %zu items\n", gw_plots[i].name, laid_out - begin,
               seconds() - laid_out, scene.items_count);
        gw_scene_clear(&scene);
    }
    if (status)
        fprintf(stderr, "gw-bench-plots: %s\n", strerror(-status));
    unlink("bench-plots.png");
    plot_fixture_destroy(&fixture);
    gw_canvas_destroy(canvas);
    return status != 0;
}
