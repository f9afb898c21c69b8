/*
 * What every plot is made of: margins, title, legend, axes, footnotes; text that is measured before it is placed.
 */
#ifndef GW_PLOTS_PAGE_H
#define GW_PLOTS_PAGE_H

#include "plots/plots.h"
#include "plots/units.h"

#define GW_PAGE_MARGIN 28.0
#define GW_SIZE_TITLE 21.0
#define GW_SIZE_TEXT 13.0
#define GW_SIZE_SMALL 11.5

struct gw_page {
    const struct gw_plot_source *source;
    const struct gw_plot_options *options;
    const struct gw_theme *theme;
    gw_text_width_fn text_width;
    void *text_context;
    struct gw_scene *scene;
};

struct gw_legend_entry {
    uint32_t colour;
    const char *text; /* borrowed */
    bool hatched;
};

double gw_page_text_width(const struct gw_page *page, const char *text, double size, bool bold);

/* Text of one line in the theme's colours. */
void gw_page_text(struct gw_page *page, double x, double y, double w, double h, double size, enum gw_align align,
                  const char *text);
void gw_page_muted(struct gw_page *page, double x, double y, double w, double h, double size, enum gw_align align,
                   const char *text);
void gw_page_bold(struct gw_page *page, double x, double y, double w, double h, double size, enum gw_align align,
                  const char *text);

/* A bar with its label: the label is left out where less than least_px of it could be shown; it is cut with an ellipsis
 * between that and its width. */
void gw_page_bar(struct gw_page *page, double x, double y, double w, double h, uint32_t colour, bool hatched,
                 const char *label, double size, double least_px);

/* Title, and below it the program, the device, the host and the time of the run. Returns the y below. */
double gw_page_title(struct gw_page *page, const char *title);

/* The heading of a plot that compares: both steps, and below which runs they are of. Returns the y below. */
double gw_page_two_runs(struct gw_page *page);

/* "a step takes 1.7 ms, the GPU computes for 77 % of it", or what is not known of it. */
void gw_page_describe_step(double total_ns, double compute_ns, double unknown_ns, char *text, size_t size);

/* A heading and swatches with texts, flowing in lines from (x, y). Returns the y below; nothing without entries. */
double gw_page_legend(struct gw_page *page, double x, double y, double w, const char *heading,
                      const struct gw_legend_entry *entries, size_t count);

/* Small muted text, broken into lines at spaces. Returns the y below. */
double gw_page_paragraph(struct gw_page *page, double x, double y, double w, double size, uint32_t colour,
                         const char *text);

/* A panel that says why there is nothing to draw. Returns the y below. */
double gw_page_empty(struct gw_page *page, double y, const char *why);

/* Adds a part to a note, set off by a dot; NULL or empty: nothing. */
void gw_page_add_part(char *note, size_t size, const char *part);

/* The page's height, after an optional note. */
void gw_page_end(struct gw_page *page, double y, const char *note);

/* What this run's data does not show (lost events, untimed operations, clock error), and the page's height. */
void gw_page_finish(struct gw_page *page, double y, const char *note);

/* "NVIDIA H100 (GPU 0)", "simulated GPU 0": short, for row labels and titles. */
void gw_page_device_name(const struct gw_page *page, uint32_t device, char *text, size_t size);

/* "rank 3" by its largest communicator or else its process; the device's name where there are no ranks. */
void gw_page_rank_name(const struct gw_page *page, uint32_t device, char *text, size_t size);

/* The device's model name, or NULL where it says no more than gw_page_device_name. */
const char *gw_page_device_model(const struct gw_model *model, uint32_t device);

#endif
