/*
 * Pictures of a run. Each plot turns model, budget and verdicts into a scene (numbers only); gw_plot_write draws it.
 */
#ifndef GW_PLOTS_PLOTS_H
#define GW_PLOTS_PLOTS_H

#include "analyzer/diff/diff.h"
#include "analyzer/verdicts/verdicts.h"
#include "plots/canvas.h"
#include "plots/scene.h"
#include "plots/theme.h"

#define GW_PLOT_WIDTH_MIN 1000u
#define GW_PLOT_WIDTH_MAX 8000u
#define GW_PLOT_SCALE_MAX 4.0

struct gw_plot_source {
    const struct gw_model *model;
    const struct gw_budget *budget;
    const struct gw_verdicts *verdicts;
    /* Two runs summed up, where they are compared: the first is that of model. Else NULL. */
    const struct gw_diff_side *side, *against;
    const char *unit; /* what the sides' figures are for one of: "step", "sample", … */
};

struct gw_plot_options {
    double width; /* pixels before scaling, GW_PLOT_WIDTH_MIN…MAX */
    double scale; /* above 0, at most GW_PLOT_SCALE_MAX */
    const struct gw_theme *theme;
    enum gw_plot_format format;
    bool have_steps; /* timeline of steps first_step…last_step (numbers) instead of the median step */
    uint32_t first_step, last_step;
    bool have_range; /* timeline of this range, ns from the begin of the trace */
    uint64_t range_begin_ns, range_end_ns;
};

/* 1600 pixels, scale 1, light, PNG. */
struct gw_plot_options gw_plot_default_options(void);

/* Width in pixels of one line of text. */
typedef double (*gw_text_width_fn)(void *context, const char *text, double size, bool bold);

struct gw_page; /* page.h */

struct gw_plot {
    const char *name; /* of the plot and of its file */
    const char *help; /* one line */
    /* Fills page->scene; failures are kept there. Data that is missing is said in words in the picture. */
    void (*layout)(struct gw_page *page);
    bool compares; /* wants source.side and source.against */
};

extern const struct gw_plot gw_plots[];
extern const size_t gw_plots_count;

/* The plot called name, or NULL. */
const struct gw_plot *gw_plot_find(const char *name);

/* Whether source has what the plot wants: one that compares needs two runs. */
bool gw_plot_applies(const struct gw_plot *plot, const struct gw_plot_source *source);

/* File name extension of a format, without a dot. */
const char *gw_plot_extension(enum gw_plot_format format);

/* Lays a plot that applies out into *scene, which is empty (zeroed) and is cleared by the caller with gw_scene_clear in
 * any case. Returns 0, -ENOMEM or -E2BIG. */
int gw_plot_layout(const struct gw_plot *plot, const struct gw_plot_source *source,
                   const struct gw_plot_options *options, gw_text_width_fn text_width, void *text_context,
                   struct gw_scene *scene);

/* Draws a plot that applies into the file path. Returns 0 or a negative errno, as gw_canvas_write. */
int gw_plot_write(const struct gw_plot *plot, const struct gw_plot_source *source,
                  const struct gw_plot_options *options, const char *path);

#endif
