/*
 * check_runs DIRECTORY RUN…: lays out every plot of recorded runs at two widths, says what is wrong with them, and
 * draws them into DIRECTORY/NAME-PLOT.png, to be looked at. Ends with 1 when something is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/build.h"
#include "plots/plots.h"
#include "tests/plots/scene_checks.h"

static double text_width(void *canvas, const char *text, double size, bool bold)
{
    return gw_canvas_text_width(canvas, text, size, bold);
}

static int check_plot(const struct gw_plot *plot, const struct gw_plot_source *source, struct gw_canvas *canvas,
                      const char *directory, const char *name)
{
    struct gw_plot_options options = gw_plot_default_options();
    static const double widths[] = {GW_PLOT_WIDTH_MIN, 1600.0};
    char path[4096], fault[512];
    int faults = 0, error;

    for (size_t i = 0; i < 2; i++) {
        struct gw_scene scene = {.width = 0.0};
        options.width = widths[i];
        error = gw_plot_layout(plot, source, &options, text_width, canvas, &scene);
        if (error)
            snprintf(fault, sizeof(fault), "%s", strerror(-error));
        if (error || scene_has_fault(canvas, &scene, fault, sizeof(fault))) {
            printf("%s: %s at %g: %s\n", name, plot->name, widths[i], fault);
            faults++;
        }
        gw_scene_clear(&scene);
    }
    snprintf(path, sizeof(path), "%s/%s-%s.png", directory, name, plot->name);
    error = gw_plot_write(plot, source, &options, path);
    if (error) {
        printf("%s: %s: %s\n", path, plot->name, strerror(-error));
        faults++;
    }
    return faults;
}

static int check_run(const char *run, struct gw_canvas *canvas, const char *directory)
{
    struct gw_plot_source source = {.unit = "step"};
    struct gw_model *model = NULL;
    struct gw_budget *budget = NULL;
    struct gw_verdicts *verdicts = NULL;
    struct gw_error error = {""};
    const char *slash = strrchr(run, '/');
    int faults = 0;

    if (gw_model_build(run, NULL, &model, &error) != 0 || gw_budget_create(model, &budget) != 0 ||
        gw_verdicts_create(model, budget, &verdicts) != 0) {
        printf("%s: %s\n", run, *error.text ? error.text : "no memory");
        faults = 1;
        goto end;
    }
    source.model = model;
    source.budget = budget;
    source.verdicts = verdicts;
    for (size_t i = 0; i < gw_plots_count; i++)
        if (gw_plot_applies(&gw_plots[i], &source))
            faults += check_plot(&gw_plots[i], &source, canvas, directory, slash ? slash + 1 : run);
end:
    gw_verdicts_destroy(verdicts);
    gw_budget_destroy(budget);
    gw_model_destroy(model);
    return faults;
}

int main(int argc, char **argv)
{
    struct gw_canvas *canvas;
    int faults = 0;

    if (argc < 3 || gw_canvas_create(&canvas) != 0) {
        fprintf(stderr, "usage: check_runs DIRECTORY RUN...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        faults += check_run(argv[i], canvas, argv[1]);
    gw_canvas_destroy(canvas);
    printf("%d runs, %d faults\n", argc - 2, faults);
    return faults > 0;
}
