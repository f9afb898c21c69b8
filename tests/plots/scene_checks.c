#include "tests/plots/scene_checks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Half a pixel: rounding of positions. */
#define TOLERANCE 0.51
#define HEIGHT_MOST 4000.0

/* The pixels a text covers: its box is often wider than it. */
static void ink(struct gw_canvas *canvas, const struct gw_item *item, double *ret_left, double *ret_right)
{
    double width = fmin(item->w, gw_canvas_text_width(canvas, item->text, item->size, item->bold));

    *ret_left = item->align == GW_ALIGN_LEFT     ? item->x
                : item->align == GW_ALIGN_CENTRE ? item->x + (item->w - width) / 2.0
                                                 : item->x + item->w - width;
    *ret_right = *ret_left + width;
}

static bool overlap(struct gw_canvas *canvas, const struct gw_item *a, const struct gw_item *b)
{
    double a_left, a_right, b_left, b_right;
    /* A line of text is about as high as its size. */
    double a_top = a->y + (a->h - a->size) / 2.0, b_top = b->y + (b->h - b->size) / 2.0;

    if (a_top + a->size <= b_top || b_top + b->size <= a_top)
        return false;
    ink(canvas, a, &a_left, &a_right);
    ink(canvas, b, &b_left, &b_right);
    return a_left + TOLERANCE < b_right && b_left + TOLERANCE < a_right;
}

/* A text that lies outside, is cut although it is not a name whose middle may go, or overlaps another. */
static bool text_has_fault(struct gw_canvas *canvas, const struct gw_scene *scene, char *text, size_t size)
{
    const struct gw_item **texts = calloc(scene->items_count + 1, sizeof(*texts));
    bool fault = false;
    size_t count = 0;

    if (!texts)
        abort();
    for (size_t i = 0; i < scene->items_count; i++)
        if (scene->items[i].kind == GW_ITEM_TEXT)
            texts[count++] = &scene->items[i];
    for (size_t i = 0; i < count && !fault; i++) {
        const struct gw_item *item = texts[i];
        if (item->x < 0.0 || item->x + item->w > scene->width + TOLERANCE || item->y < 0.0 ||
            item->y + item->h > scene->height + TOLERANCE) {
            snprintf(text, size, "'%s' leaves the picture", item->text);
            fault = true;
        } else if (item->purpose == GW_FOR_TEXT && !item->cut_middle &&
                   gw_canvas_text_width(canvas, item->text, item->size, item->bold) > item->w + TOLERANCE) {
            snprintf(text, size, "'%s' is cut", item->text);
            fault = true;
        }
        for (size_t k = i + 1; k < count && !fault; k++)
            if (overlap(canvas, item, texts[k])) {
                snprintf(text, size, "'%s' overlaps '%s'", item->text, texts[k]->text);
                fault = true;
            }
    }
    if (count < 2) {
        snprintf(text, size, "hardly any text");
        fault = true;
    }
    free(texts);
    return fault;
}

bool scene_has_fault(struct gw_canvas *canvas, const struct gw_scene *scene, char *text, size_t size)
{
    if (scene->height < 100.0 || scene->height > HEIGHT_MOST) {
        snprintf(text, size, "%g pixels high", scene->height);
        return true;
    }
    for (size_t i = 0; i < scene->items_count; i++) {
        const struct gw_item *item = &scene->items[i];
        if (item->kind == GW_ITEM_RECT &&
            (item->x < -TOLERANCE || item->y < -TOLERANCE || item->x + item->w > scene->width + TOLERANCE ||
             item->y + item->h > scene->height + TOLERANCE || item->w < 0.0 || item->h < 0.0)) {
            snprintf(text, size, "a rectangle at %g,%g of %g × %g leaves the picture", item->x, item->y, item->w,
                     item->h);
            return true;
        }
    }
    return text_has_fault(canvas, scene, text, size);
}
