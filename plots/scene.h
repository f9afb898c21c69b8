/*
 * A picture as numbers: rectangles, lines, circles and texts with their boxes, in pixels from the top left. Layout
 * code fills a scene, canvas.h draws it, tests read it.
 */
#ifndef GW_PLOTS_SCENE_H
#define GW_PLOTS_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GW_SCENE_MAX_ITEMS 500000u

enum gw_item_kind { GW_ITEM_RECT, GW_ITEM_LINE, GW_ITEM_TEXT, GW_ITEM_CIRCLE };
enum gw_align { GW_ALIGN_LEFT, GW_ALIGN_CENTRE, GW_ALIGN_RIGHT };

/* What an item is for; tests select by it, drawing ignores it. */
enum gw_purpose {
    GW_FOR_DECORATION, /* background, grid, shading */
    GW_FOR_ROW,        /* the area of a row of the timeline */
    GW_FOR_BAR,        /* something with a duration or an amount */
    GW_FOR_BAR_LABEL,  /* text inside a bar */
    GW_FOR_TEXT        /* any other text; no two may overlap */
};

struct gw_item {
    uint8_t kind, align, purpose;
    bool bold, hatched, cut_middle;
    uint32_t colour; /* 0xRRGGBBAA */
    double x, y;
    double w, h; /* line: to (x + w, y + h); circle: w is the radius */
    double size; /* text: font size in pixels; line: its width; rectangle: radius of its corners */
    char *text;  /* owned; cut with an ellipsis where wider than w */
};

struct gw_scene {
    double width, height;
    uint32_t background;
    struct gw_item *items;
    size_t items_count, items_capacity;
    int error; /* the first failure (negative errno); later additions do nothing */
};

/* Releases the items; the scene itself belongs to the caller and may be used again after zeroing. */
void gw_scene_clear(struct gw_scene *scene);

/* Each adds one item. Failure (no memory, more than GW_SCENE_MAX_ITEMS) is kept in scene->error. */
void gw_scene_rect(struct gw_scene *scene, enum gw_purpose purpose, double x, double y, double w, double h,
                   uint32_t colour);
void gw_scene_hatched_rect(struct gw_scene *scene, enum gw_purpose purpose, double x, double y, double w, double h,
                           uint32_t colour);
void gw_scene_line(struct gw_scene *scene, double x0, double y0, double x1, double y1, double width, uint32_t colour);
void gw_scene_circle(struct gw_scene *scene, double x, double y, double radius, uint32_t colour);

struct gw_text_style {
    double size;
    uint32_t colour;
    enum gw_align align;
    bool bold;
    enum gw_purpose purpose;
    bool cut_middle; /* the ellipsis stands in the middle: for names that differ at their ends */
};

/* Adds text (UTF-8, one line), centred in the height of its box; it is copied. */
void gw_scene_text(struct gw_scene *scene, double x, double y, double w, double h, const struct gw_text_style *style,
                   const char *text);

#endif
