/*
 * kernels: the kernels with most time, their share, how often they run and how long one takes.
 */
#include "plots/kernel_names.h"
#include "plots/layouts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNELS_MAX 24u
#define LINE 27.0
#define FACTS_WIDTH 460.0

/* Shorter than what a launch takes from the call to the kernel's begin, about. */
#define SMALL_NS 10000u

struct kernel {
    uint32_t name;
    uint64_t total_ns, count, least_ns, most_ns, small_count, small_ns;
    bool communicates;
};

static int compare(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;

    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static double sum_up(const struct gw_model *model, struct kernel *kernels)
{
    double all_ns = 0.0;

    for (uint32_t i = 0; i <= model->names_count; i++)
        kernels[i] = (struct kernel){.name = i, .least_ns = UINT64_MAX};
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        struct kernel *kernel = &kernels[op->name < model->names_count ? op->name : model->names_count];
        uint64_t ns = op->end_ns - op->start_ns;
        if ((op->kind != GW_OP_KERNEL && op->kind != GW_OP_COMM) || op->flags & GW_OP_UNTIMED)
            continue;
        kernel->total_ns += ns;
        kernel->count++;
        kernel->least_ns = ns < kernel->least_ns ? ns : kernel->least_ns;
        kernel->most_ns = ns > kernel->most_ns ? ns : kernel->most_ns;
        kernel->communicates |= op->kind == GW_OP_COMM;
        kernel->small_count += ns < SMALL_NS;
        kernel->small_ns += ns < SMALL_NS ? ns : 0;
        all_ns += (double)ns;
    }
    qsort(kernels, model->names_count + 1, sizeof(*kernels), compare);
    return all_ns;
}

/* Names get a share of a narrow page, and no more than they need of a wide one. */
static double name_width(const struct gw_page *page)
{
    return fmin(560.0, 0.32 * page->options->width);
}

static void draw_kernel(struct gw_page *page, const struct kernel *kernel, const char *name, double all_ns,
                        double most_ns, double y)
{
    double x = GW_PAGE_MARGIN + name_width(page), w = page->options->width - GW_PAGE_MARGIN - x - FACTS_WIDTH;
    double facts = x + w + 18.0;
    char text[128], mean[GW_UNIT_TEXT], least[GW_UNIT_TEXT], most[GW_UNIT_TEXT], count[GW_UNIT_TEXT];
    struct gw_text_style style = {GW_SIZE_TEXT, page->theme->text, GW_ALIGN_RIGHT, false, GW_FOR_TEXT, true};

    gw_scene_text(page->scene, GW_PAGE_MARGIN, y, name_width(page) - 14.0, LINE, &style, name);
    gw_scene_rect(page->scene, GW_FOR_BAR, x, y + 4.0, fmax(1.0, (double)kernel->total_ns / most_ns * w), LINE - 8.0,
                  kernel->communicates ? gw_colour_of_op(GW_OP_COMM) : gw_colour_of_class(GW_CLASS_COMPUTE));
    gw_format_duration((double)kernel->total_ns, text);
    gw_page_text(page, facts, y, 72.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
    snprintf(text, sizeof(text), "%.1f %%", (double)kernel->total_ns / all_ns * 100.0);
    gw_page_muted(page, facts + 76.0, y, 60.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
    gw_format_count(kernel->count, count);
    snprintf(text, sizeof(text), "%s ×", count);
    gw_page_text(page, facts + 140.0, y, 80.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, text);
    gw_format_duration((double)kernel->total_ns / (double)kernel->count, mean);
    gw_format_duration((double)kernel->least_ns, least);
    gw_format_duration((double)kernel->most_ns, most);
    gw_page_text(page, facts + 224.0, y, 66.0, LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT, mean);
    snprintf(text, sizeof(text), "%s … %s", least, most);
    gw_page_muted(page, facts + 294.0, y, 148.0, LINE, GW_SIZE_SMALL, GW_ALIGN_RIGHT, text);
}

static void draw_heading(struct gw_page *page, double y)
{
    double facts = page->options->width - GW_PAGE_MARGIN - FACTS_WIDTH + 18.0;

    gw_page_bold(page, facts, y, 72.0, LINE, GW_SIZE_SMALL, GW_ALIGN_RIGHT, "total");
    gw_page_bold(page, facts + 76.0, y, 60.0, LINE, GW_SIZE_SMALL, GW_ALIGN_RIGHT, "share");
    gw_page_bold(page, facts + 140.0, y, 80.0, LINE, GW_SIZE_SMALL, GW_ALIGN_RIGHT, "runs");
    gw_page_bold(page, facts + 224.0, y, 66.0, LINE, GW_SIZE_SMALL, GW_ALIGN_RIGHT, "mean");
    gw_page_bold(page, facts + 294.0, y, 148.0, LINE, GW_SIZE_SMALL, GW_ALIGN_RIGHT, "shortest … longest");
}

static double draw_list(struct gw_page *page, const struct kernel *kernels, uint32_t count, double all_ns, double y)
{
    uint32_t indices[KERNELS_MAX];
    char *names[KERNELS_MAX];

    for (uint32_t i = 0; i < count; i++)
        indices[i] = kernels[i].name;
    if (gw_kernel_labels(page->source->model, indices, count, names) != 0) {
        page->scene->error = -ENOMEM;
        return y;
    }
    for (uint32_t i = 0; i < count; i++, y += LINE) {
        draw_kernel(page, &kernels[i], names[i], all_ns, (double)kernels[0].total_ns, y);
        free(names[i]);
    }
    return y;
}

/* Says how much of it all are small kernels. */
static double draw_small(struct gw_page *page, const struct kernel *kernels, uint32_t used, double all_ns, double y)
{
    uint64_t count = 0, small = 0;
    double small_ns = 0.0;
    char counts[2][GW_UNIT_TEXT], length[GW_UNIT_TEXT], text[256];

    for (uint32_t i = 0; i < used; i++) {
        count += kernels[i].count;
        small += kernels[i].small_count;
        small_ns += (double)kernels[i].small_ns;
    }
    gw_format_count(small, counts[0]);
    gw_format_count(count, counts[1]);
    gw_format_duration(SMALL_NS, length);
    snprintf(text, sizeof(text),
             "%s of %s kernels (%.1f %%) are shorter than %s; they make %.1f %% of the kernel time.", counts[0],
             counts[1], (double)small / (double)count * 100.0, length, small_ns / all_ns * 100.0);
    return gw_page_paragraph(page, GW_PAGE_MARGIN, y, page->options->width - 2.0 * GW_PAGE_MARGIN, GW_SIZE_TEXT,
                             page->theme->text, text);
}

void gw_layout_kernels(struct gw_page *page)
{
    const struct gw_model *model = page->source->model;
    struct kernel *kernels = calloc(model->names_count + 1, sizeof(*kernels));
    uint32_t used = 0;
    char note[96] = "", count[GW_UNIT_TEXT];
    double all_ns, y;

    if (!kernels) {
        page->scene->error = -ENOMEM;
        return;
    }
    all_ns = sum_up(model, kernels);
    while (used <= model->names_count && kernels[used].count > 0)
        used++;
    y = gw_page_title(page, "the kernels with most time");
    if (used == 0) {
        y = gw_page_empty(page, y, "No kernel with known times was recorded in this run.");
    } else {
        y = draw_small(page, kernels, used, all_ns, y) + 6.0;
        draw_heading(page, y);
        y += LINE;
        y = draw_list(page, kernels, used < KERNELS_MAX ? used : KERNELS_MAX, all_ns, y);
    }
    if (used > KERNELS_MAX) {
        gw_format_count(used - KERNELS_MAX, count);
        snprintf(note, sizeof(note), "%s more kernels have less time", count);
    } else if (used) {
        snprintf(note, sizeof(note), "the whole run, warm-up included");
    }
    gw_page_finish(page, y, note);
    free(kernels);
}
