/*
 * Measures text and draws scenes. The only part that knows Cairo and Pango.
 */
#ifndef GW_PLOTS_CANVAS_H
#define GW_PLOTS_CANVAS_H

#include "plots/scene.h"

struct gw_canvas;

enum gw_plot_format { GW_PLOT_PNG, GW_PLOT_SVG, GW_PLOT_PDF };

/* Stores a canvas in *ret_canvas. Returns 0 or -ENOMEM. */
int gw_canvas_create(struct gw_canvas **ret_canvas);
void gw_canvas_destroy(struct gw_canvas *canvas);

/* Width in pixels of one line of text. */
double gw_canvas_text_width(struct gw_canvas *canvas, const char *text, double size, bool bold);

/* Draws the scene into path, scale pixels (PNG) or points (SVG, PDF) a scene pixel. The file appears whole or not at
 * all. Returns 0 or a negative errno: that of the file, -ENOMEM, or -E2BIG for an image larger than Cairo can hold. */
int gw_canvas_write(struct gw_canvas *canvas, const struct gw_scene *scene, enum gw_plot_format format, double scale,
                    const char *path);

#endif
