#include "plots/scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gw_scene_clear(struct gw_scene *scene)
{
    for (size_t i = 0; i < scene->items_count; i++)
        free(scene->items[i].text);
    free(scene->items);
    memset(scene, 0, sizeof(*scene));
}

static struct gw_item *append(struct gw_scene *scene, enum gw_item_kind kind)
{
    struct gw_item *item;

    if (scene->error)
        return NULL;
    if (scene->items_count == GW_SCENE_MAX_ITEMS) {
        scene->error = -E2BIG;
        return NULL;
    }
    if (scene->items_count == scene->items_capacity) {
        size_t capacity = scene->items_capacity ? scene->items_capacity * 2 : 1024;
        struct gw_item *items = realloc(scene->items, capacity * sizeof(*items));
        if (!items) {
            scene->error = -ENOMEM;
            return NULL;
        }
        scene->items = items;
        scene->items_capacity = capacity;
    }
    item = &scene->items[scene->items_count++];
    memset(item, 0, sizeof(*item));
    item->kind = (uint8_t)kind;
    return item;
}

void gw_scene_rect(struct gw_scene *scene, enum gw_purpose purpose, double x, double y, double w, double h,
                   uint32_t colour)
{
    struct gw_item *item = append(scene, GW_ITEM_RECT);
    if (!item)
        return;
    item->purpose = (uint8_t)purpose;
    item->x = x;
    item->y = y;
    item->w = w;
    item->h = h;
    item->colour = colour;
}

void gw_scene_hatched_rect(struct gw_scene *scene, enum gw_purpose purpose, double x, double y, double w, double h,
                           uint32_t colour)
{
    gw_scene_rect(scene, purpose, x, y, w, h, colour);
    if (!scene->error)
        scene->items[scene->items_count - 1].hatched = true;
}

void gw_scene_line(struct gw_scene *scene, double x0, double y0, double x1, double y1, double width, uint32_t colour)
{
    struct gw_item *item = append(scene, GW_ITEM_LINE);
    if (!item)
        return;
    item->x = x0;
    item->y = y0;
    item->w = x1 - x0;
    item->h = y1 - y0;
    item->size = width;
    item->colour = colour;
}

void gw_scene_circle(struct gw_scene *scene, double x, double y, double radius, uint32_t colour)
{
    struct gw_item *item = append(scene, GW_ITEM_CIRCLE);
    if (!item)
        return;
    item->x = x;
    item->y = y;
    item->w = radius;
    item->colour = colour;
}

void gw_scene_text(struct gw_scene *scene, double x, double y, double w, double h, const struct gw_text_style *style,
                   const char *text)
{
    struct gw_item *item = append(scene, GW_ITEM_TEXT);
    if (!item)
        return;
    item->purpose = (uint8_t)style->purpose;
    item->align = (uint8_t)style->align;
    item->bold = style->bold;
    item->cut_middle = style->cut_middle;
    item->size = style->size;
    item->colour = style->colour;
    item->x = x;
    item->y = y;
    item->w = w;
    item->h = h;
    item->text = strdup(text);
    if (!item->text)
        scene->error = -ENOMEM;
}
