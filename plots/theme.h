/*
 * Colours. Related things share a hue in every row and plot (waiting is red, allocation brown, uploads teal),
 * neighbours differ in lightness as well as hue, and every colour is also named in words, so that nothing hangs on hue
 * alone.
 */
#ifndef GW_PLOTS_THEME_H
#define GW_PLOTS_THEME_H

#include <stdint.h>

#include "analyzer/verdicts/budget.h"

#define GW_KERNEL_COLOURS 10
#define GW_HEAT_STOPS 5

struct gw_theme {
    const char *name;
    uint32_t background, panel, row, grid, text, muted, accent;
    uint32_t on_cpu, off_cpu; /* a thread outside CUDA */
    uint32_t link;            /* launch to kernel */
    uint32_t confirmed, unknown, ruled_out;
    uint32_t heat[GW_HEAT_STOPS]; /* from none to most; their lightness goes one way */
};

/* The theme called name ("light", "dark"), or NULL. */
const struct gw_theme *gw_theme_find(const char *name);

uint32_t gw_colour_of_class(enum gw_class cls);
uint32_t gw_colour_of_call(enum gw_call_class cls);
uint32_t gw_colour_of_op(enum gw_op_kind kind);   /* not for kernels */
uint32_t gw_colour_of_kernel(unsigned int index); /* 0…GW_KERNEL_COLOURS − 1 */

/* Dark or white, whichever reads better on the colour. */
uint32_t gw_colour_of_text_on(uint32_t colour);

/* Between the theme's colours for none (0) and most (1). */
uint32_t gw_colour_of_heat(const struct gw_theme *theme, double part);

/* The colour with its opacity scaled by factor (0…1). */
uint32_t gw_colour_faded(uint32_t colour, double factor);

/* One or two words for a class, where gw_class_words do not fit. */
const char *gw_short_words_of_class(enum gw_class cls);

/* A few words for a kind of call or operation, for legends. */
const char *gw_words_of_call(enum gw_call_class cls);
const char *gw_words_of_op(enum gw_op_kind kind);

#endif
