/*
 * What no picture may have: texts that overlap, anything outside the picture, a picture that is too large.
 */
#ifndef GW_TESTS_PLOTS_SCENE_CHECKS_H
#define GW_TESTS_PLOTS_SCENE_CHECKS_H

#include "plots/canvas.h"

/* Whether the scene has one, and which; the canvas is that by which it was laid out. */
bool scene_has_fault(struct gw_canvas *canvas, const struct gw_scene *scene, char *text, size_t size);

#endif
