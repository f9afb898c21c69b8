#include "plots/canvas.h"

#include "analyzer/export/output.h"

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>
#include <errno.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SIDE 32767.0 /* of a Cairo image */
#define MAX_PIXELS 2.0e8

/* A one-pixel surface to measure on, and the font of all text. */
struct gw_canvas {
    cairo_surface_t *scratch;
    cairo_t *cairo;
    PangoLayout *layout;
    PangoFontDescription *font;
};

static int status_to_errno(cairo_status_t status)
{
    switch (status) {
    case CAIRO_STATUS_SUCCESS:
        return 0;
    case CAIRO_STATUS_NO_MEMORY:
        return -ENOMEM;
    case CAIRO_STATUS_INVALID_SIZE:
        return -E2BIG;
    default:
        return -EIO;
    }
}

static PangoLayout *create_layout(cairo_t *cairo)
{
    PangoLayout *layout = pango_cairo_create_layout(cairo);
    cairo_font_options_t *options = cairo_font_options_create();

    /* The same widths at every scale and in every format. */
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(pango_layout_get_context(layout), options);
    cairo_font_options_destroy(options);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    return layout;
}

static void set_text(PangoLayout *layout, PangoFontDescription *font, const char *text, double size, bool bold)
{
    pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
    pango_font_description_set_weight(font, bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(layout, font);
    if (g_utf8_validate(text, -1, NULL)) {
        pango_layout_set_text(layout, text, -1);
    } else {
        /* Names and arguments of programs are bytes; Pango wants UTF-8. */
        char *valid = g_utf8_make_valid(text, -1);
        pango_layout_set_text(layout, valid, -1);
        g_free(valid);
    }
}

int gw_canvas_create(struct gw_canvas **ret_canvas)
{
    struct gw_canvas *canvas = calloc(1, sizeof(*canvas));

    if (!canvas)
        return -ENOMEM;
    canvas->scratch = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
    canvas->cairo = cairo_create(canvas->scratch);
    if (cairo_status(canvas->cairo) != CAIRO_STATUS_SUCCESS) {
        gw_canvas_destroy(canvas);
        return -ENOMEM;
    }
    canvas->layout = create_layout(canvas->cairo);
    canvas->font = pango_font_description_from_string("DejaVu Sans, Liberation Sans, sans-serif");
    *ret_canvas = canvas;
    return 0;
}

void gw_canvas_destroy(struct gw_canvas *canvas)
{
    if (!canvas)
        return;
    if (canvas->font)
        pango_font_description_free(canvas->font);
    if (canvas->layout)
        g_object_unref(canvas->layout);
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->scratch);
    free(canvas);
}

double gw_canvas_text_width(struct gw_canvas *canvas, const char *text, double size, bool bold)
{
    int width;

    set_text(canvas->layout, canvas->font, text, size, bold);
    pango_layout_set_width(canvas->layout, -1);
    pango_layout_get_size(canvas->layout, &width, NULL);
    return (double)width / PANGO_SCALE;
}

static void set_colour(cairo_t *cairo, uint32_t colour)
{
    cairo_set_source_rgba(cairo, (colour >> 24) / 255.0, (colour >> 16 & 0xff) / 255.0, (colour >> 8 & 0xff) / 255.0,
                          (colour & 0xff) / 255.0);
}

static void draw_hatch(cairo_t *cairo, const struct gw_item *item)
{
    const double step = 6.0, first = floor((item->x - item->h) / step) * step;
    unsigned int lines = (unsigned int)ceil((item->x + item->w - first) / step);

    cairo_save(cairo);
    cairo_rectangle(cairo, item->x, item->y, item->w, item->h);
    cairo_clip(cairo);
    cairo_set_source_rgba(cairo, 1.0, 1.0, 1.0, 0.55);
    cairo_set_line_width(cairo, 1.5);
    for (unsigned int i = 0; i < lines; i++) {
        double x = first + i * step;
        cairo_move_to(cairo, x, item->y + item->h);
        cairo_line_to(cairo, x + item->h, item->y);
    }
    cairo_stroke(cairo);
    cairo_restore(cairo);
}

static void draw_text(cairo_t *cairo, PangoLayout *layout, PangoFontDescription *font, const struct gw_item *item)
{
    static const PangoAlignment alignments[] = {PANGO_ALIGN_LEFT, PANGO_ALIGN_CENTER, PANGO_ALIGN_RIGHT};
    int height;

    set_text(layout, font, item->text, item->size, item->bold);
    /* Half a pixel more than was measured: rounding must not cut the last letter. */
    pango_layout_set_width(layout, (int)ceil((item->w + 0.5) * PANGO_SCALE));
    pango_layout_set_ellipsize(layout, item->cut_middle ? PANGO_ELLIPSIZE_MIDDLE : PANGO_ELLIPSIZE_END);
    pango_layout_set_alignment(layout, alignments[item->align]);
    pango_layout_get_size(layout, NULL, &height);
    cairo_move_to(cairo, item->x, item->y + (item->h - (double)height / PANGO_SCALE) / 2.0);
    pango_cairo_update_layout(cairo, layout);
    pango_cairo_show_layout(cairo, layout);
}

static void draw_item(cairo_t *cairo, PangoLayout *layout, PangoFontDescription *font, const struct gw_item *item)
{
    set_colour(cairo, item->colour);
    switch ((enum gw_item_kind)item->kind) {
    case GW_ITEM_RECT:
        cairo_rectangle(cairo, item->x, item->y, item->w, item->h);
        cairo_fill(cairo);
        if (item->hatched)
            draw_hatch(cairo, item);
        break;
    case GW_ITEM_LINE:
        cairo_set_line_width(cairo, item->size);
        cairo_move_to(cairo, item->x, item->y);
        cairo_line_to(cairo, item->x + item->w, item->y + item->h);
        cairo_stroke(cairo);
        break;
    case GW_ITEM_CIRCLE:
        cairo_arc(cairo, item->x, item->y, item->w, 0.0, 2.0 * M_PI);
        cairo_fill(cairo);
        break;
    case GW_ITEM_TEXT:
        draw_text(cairo, layout, font, item);
        break;
    }
}

static cairo_status_t write_bytes(void *file, const unsigned char *data, unsigned int length)
{
    return fwrite(data, 1, length, file) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static cairo_surface_t *create_surface(enum gw_plot_format format, double width, double height, FILE *file)
{
    switch (format) {
    case GW_PLOT_SVG:
        return cairo_svg_surface_create_for_stream(write_bytes, file, width, height);
    case GW_PLOT_PDF:
        return cairo_pdf_surface_create_for_stream(write_bytes, file, width, height);
    case GW_PLOT_PNG:
        break;
    }
    return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
}

static int draw_scene(struct gw_canvas *canvas, const struct gw_scene *scene, enum gw_plot_format format, double scale,
                      FILE *file)
{
    double width = ceil(scene->width * scale), height = ceil(scene->height * scale);
    cairo_surface_t *surface;
    PangoLayout *layout = NULL;
    cairo_t *cairo;
    cairo_status_t status;

    if (width < 1.0 || height < 1.0 || width > MAX_SIDE || height > MAX_SIDE || width * height > MAX_PIXELS)
        return -E2BIG;
    surface = create_surface(format, width, height, file);
    cairo = cairo_create(surface);
    status = cairo_status(cairo);
    if (status != CAIRO_STATUS_SUCCESS)
        goto end;
    cairo_scale(cairo, scale, scale);
    set_colour(cairo, scene->background);
    cairo_paint(cairo);
    layout = create_layout(cairo);
    for (size_t i = 0; i < scene->items_count; i++)
        draw_item(cairo, layout, canvas->font, &scene->items[i]);
    status = cairo_status(cairo);
    if (status == CAIRO_STATUS_SUCCESS && format == GW_PLOT_PNG)
        status = cairo_surface_write_to_png_stream(surface, write_bytes, file);
end:
    if (layout)
        g_object_unref(layout);
    cairo_destroy(cairo);
    cairo_surface_finish(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    return status_to_errno(status);
}

int gw_canvas_write(struct gw_canvas *canvas, const struct gw_scene *scene, enum gw_plot_format format, double scale,
                    const char *path)
{
    struct gw_output output;
    int error = gw_output_open(&output, path);

    if (error)
        return error;
    errno = 0;
    error = draw_scene(canvas, scene, format, scale, output.file);
    /* Cairo knows only that a write failed; the reason (no space, …) is in errno. */
    if (error == -EIO && errno)
        error = -errno;
    return gw_output_close(&output, error);
}
