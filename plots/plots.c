#include "plots/plots.h"

#include <errno.h>
#include <string.h>

#include "plots/layouts.h"

const struct gw_plot gw_plots[] = {
    {"overview", "one picture for a bug report: run, verdicts, budget, step", gw_layout_overview, false},
    {"timeline", "the median step: threads, streams, why the GPU is idle", gw_layout_timeline, false},
    {"budget", "where the time of every step goes", gw_layout_budget, false},
    {"gaps", "time lost by the length of gaps and their cause", gw_layout_gaps, false},
    {"kernels", "the kernels with most time, and how often they run", gw_layout_kernels, false},
    {"copies", "size and rate of every copy, pageable and page-locked", gw_layout_copies, false},
    {"comm", "bus bandwidth against size, and exposed communication", gw_layout_comm, false},
    {"ranks", "how late each rank comes to its collectives", gw_layout_ranks, false},
    {"memory", "device memory over time, and allocations by size", gw_layout_memory, false},
    {"diff", "with --against: from a step of RUN to one of the other run", gw_layout_diff, true},
    {"scaling", "with --against: what more devices give, and what is lost", gw_layout_scaling, true},
};
const size_t gw_plots_count = sizeof(gw_plots) / sizeof(gw_plots[0]);

struct gw_plot_options gw_plot_default_options(void)
{
    return (struct gw_plot_options){
        .width = 1600.0, .scale = 1.0, .theme = gw_theme_find("light"), .format = GW_PLOT_PNG};
}

const struct gw_plot *gw_plot_find(const char *name)
{
    for (size_t i = 0; i < gw_plots_count; i++)
        if (!strcmp(gw_plots[i].name, name))
            return &gw_plots[i];
    return NULL;
}

bool gw_plot_applies(const struct gw_plot *plot, const struct gw_plot_source *source)
{
    return !plot->compares || (source->side && source->against);
}

const char *gw_plot_extension(enum gw_plot_format format)
{
    static const char *const extensions[] = {"png", "svg", "pdf"};
    return extensions[format];
}

int gw_plot_layout(const struct gw_plot *plot, const struct gw_plot_source *source,
                   const struct gw_plot_options *options, gw_text_width_fn text_width, void *text_context,
                   struct gw_scene *scene)
{
    struct gw_page page = {source, options, options->theme, text_width, text_context, scene};

    scene->background = options->theme->background;
    plot->layout(&page);
    return scene->error;
}

static double canvas_text_width(void *context, const char *text, double size, bool bold)
{
    return gw_canvas_text_width(context, text, size, bold);
}

int gw_plot_write(const struct gw_plot *plot, const struct gw_plot_source *source,
                  const struct gw_plot_options *options, const char *path)
{
    struct gw_canvas *canvas = NULL;
    struct gw_scene scene = {.width = 0.0};
    int error = gw_canvas_create(&canvas);

    if (!error)
        error = gw_plot_layout(plot, source, options, canvas_text_width, canvas, &scene);
    if (!error)
        error = gw_canvas_write(canvas, &scene, options->format, options->scale, path);
    gw_scene_clear(&scene);
    gw_canvas_destroy(canvas);
    return error;
}
