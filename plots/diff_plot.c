/*
 * diff: from a step of one run to a step of the other, class by class; the kernels of each role side by side; the
 * verdicts that only one of the runs has.
 */
#include "analyzer/diff/diff.h"
#include "plots/chart.h"
#include "plots/layouts.h"
#include "plots/waterfall.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CLASSES_MAX 12u
#define ROLES_MAX 10u
#define LINE 24.0
#define ROLE_LINE 34.0

struct change {
    int cls;
    struct gw_diff_change by;
    double a_ms, b_ms;
    char words[96];
};

/* What is beyond noise first, then by size. */
static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;

    if (a->by.is_noise != b->by.is_noise)
        return a->by.is_noise ? 1 : -1;
    return fabs(a->by.ms) > fabs(b->by.ms) ? -1 : fabs(a->by.ms) < fabs(b->by.ms);
}

static size_t find_changes(const struct gw_diff_side *a, const struct gw_diff_side *b, struct change *changes)
{
    size_t count = 0;

    for (int cls = 0; cls < GW_CLASS_COUNT; cls++) {
        struct change *change = &changes[count];
        char noise[GW_UNIT_TEXT];
        if (a->classes[cls].ms <= 0.0 && b->classes[cls].ms <= 0.0)
            continue;
        *change = (struct change){cls, gw_diff_change(&a->classes[cls], &b->classes[cls]), a->classes[cls].ms,
                                  b->classes[cls].ms, ""};
        gw_format_duration(2e6 * change->by.error_ms, noise);
        if (isinf(change->by.error_ms))
            snprintf(change->words, sizeof(change->words), "noise unknown");
        else
            snprintf(change->words, sizeof(change->words), "±%s%s", noise, change->by.is_noise ? ", within noise" : "");
        count++;
    }
    qsort(changes, count, sizeof(*changes), compare_changes);
    return count;
}

static double draw_classes(struct gw_page *page, const struct gw_diff_side *a, const struct gw_diff_side *b, double y)
{
    struct change changes[GW_CLASS_COUNT];
    struct gw_waterfall_step steps[CLASSES_MAX + 1];
    struct gw_waterfall waterfall = {.from_ns = a->step.ms * 1e6, .to_ns = b->step.ms * 1e6};
    size_t count = find_changes(a, b, changes), shown = count <= CLASSES_MAX + 1 ? count : CLASSES_MAX;
    char others[64], names[2][64];
    double rest_ns = 0.0;

    snprintf(names[0], sizeof(names[0]), "a %.40s of A", page->source->unit);
    snprintf(names[1], sizeof(names[1]), "a %.40s of B", page->source->unit);
    waterfall.from_name = names[0];
    waterfall.to_name = names[1];
    for (size_t i = 0; i < shown; i++)
        steps[i] = (struct gw_waterfall_step){.name = gw_class_words((enum gw_class)changes[i].cls),
                                              .colour = gw_colour_of_class((enum gw_class)changes[i].cls),
                                              .ns = changes[i].by.ms * 1e6,
                                              .words = changes[i].words,
                                              .uncertain = changes[i].by.is_noise};
    if (shown < count) {
        for (size_t i = shown; i < count; i++)
            rest_ns += changes[i].by.ms * 1e6;
        snprintf(others, sizeof(others), "%zu other classes", count - shown);
        steps[shown] = (struct gw_waterfall_step){.name = others, .ns = rest_ns};
    }
    waterfall.steps = steps;
    waterfall.count = shown + (shown < count);
    return gw_waterfall_draw(page, &waterfall, y);
}

struct role {
    enum gw_role role;
    double change_ms;
};

static int compare_roles(const void *left, const void *right)
{
    const struct role *a = left, *b = right;

    return fabs(a->change_ms) > fabs(b->change_ms) ? -1 : fabs(a->change_ms) < fabs(b->change_ms);
}

/* A bar for each run, one over the other, and in words how often the role runs. */
static void draw_role(struct gw_page *page, const struct gw_diff_side *const sides[2], enum gw_role role,
                      const struct gw_chart *chart, double y)
{
    double facts = chart->x + chart->w + 14.0, w = page->options->width - GW_PAGE_MARGIN - facts;

    gw_page_text(page, GW_PAGE_MARGIN, y, chart->x - GW_PAGE_MARGIN - 12.0, ROLE_LINE, GW_SIZE_TEXT, GW_ALIGN_RIGHT,
                 gw_role_name(role));
    for (int i = 0; i < 2; i++) {
        const struct gw_diff_role *found = &sides[i]->roles[role];
        struct gw_text_style style = {.size = GW_SIZE_SMALL - 0.5, .purpose = GW_FOR_TEXT, .cut_middle = true};
        double top = y + 3.0 + i * 14.0;
        char text[256], length[GW_UNIT_TEXT];
        if (found->ms > 0.0)
            gw_scene_rect(page->scene, GW_FOR_BAR, chart->x, top,
                          fmax(1.0, gw_chart_x(chart, found->ms * 1e6) - chart->x), 13.0,
                          i == 0 ? page->theme->muted : page->theme->accent);
        gw_format_duration(found->ms * 1e6, length);
        if (found->count > 0.0)
            snprintf(text, sizeof(text), "%c  %s in %.3g kernel%s%s%.80s", 'A' + i, length, found->count,
                     found->count == 1.0 ? "" : "s", found->names[0] ? ", most in " : "",
                     found->names[0] ? found->names[0] : "");
        else
            snprintf(text, sizeof(text), "%c  none", 'A' + i);
        style.colour = page->theme->text;
        gw_scene_text(page->scene, facts, top - 1.0, w, 14.0, &style, text);
    }
}

static double draw_roles(struct gw_page *page, const struct gw_diff_side *a, const struct gw_diff_side *b, double y)
{
    const struct gw_diff_side *const sides[2] = {a, b};
    struct gw_chart chart = {.x = GW_PAGE_MARGIN + 130.0};
    struct role roles[GW_ROLE_COUNT];
    size_t count = 0, shown;
    char caption[64];
    double most_ms = 0.0, w = page->options->width - 2.0 * GW_PAGE_MARGIN;

    for (int role = 0; role < GW_ROLE_COUNT; role++)
        if (a->roles[role].count > 0.0 || b->roles[role].count > 0.0)
            roles[count++] = (struct role){(enum gw_role)role, b->roles[role].ms - a->roles[role].ms};
    if (count == 0)
        return y;
    qsort(roles, count, sizeof(*roles), compare_roles);
    shown = count < ROLES_MAX ? count : ROLES_MAX;
    for (size_t i = 0; i < shown; i++)
        most_ms = fmax(most_ms, fmax(a->roles[roles[i].role].ms, b->roles[roles[i].role].ms));
    gw_page_bold(page, GW_PAGE_MARGIN, y, w, 22.0, 15.0, GW_ALIGN_LEFT,
                 "Kernels by what they are for, those that change most first");
    chart.y = y + 32.0;
    chart.h = ROLE_LINE * (double)shown;
    chart.w = w - 130.0 - 0.4 * w;
    chart.across = gw_axis_rounded(
        gw_axis_linear(GW_AXIS_DURATION, 0.0, most_ms > 0.0 ? most_ms * 1e6 : 1.0, (unsigned int)(chart.w / 80.0) + 1));
    snprintf(caption, sizeof(caption), "time in a %.40s", page->source->unit);
    gw_chart_draw_across(page, &chart, caption);
    for (size_t i = 0; i < shown; i++)
        draw_role(page, sides, roles[i].role, &chart, chart.y + ROLE_LINE * (double)i);
    return chart.y + chart.h + GW_CHART_BELOW + 16.0;
}

/* Verdicts that are confirmed in one run and not in the other. */
static double draw_verdicts(struct gw_page *page, const struct gw_diff_side *a, const struct gw_diff_side *b, double y)
{
    const char *const *ids;
    size_t count = gw_verdict_ids(&ids), drawn = 0;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;

    gw_page_bold(page, GW_PAGE_MARGIN, y, w, 22.0, 15.0, GW_ALIGN_LEFT, "Verdicts that differ");
    y += 28.0;
    for (size_t i = 0; i < count; i++) {
        bool in_a = a->states[i] == GW_CONFIRMED, in_b = b->states[i] == GW_CONFIRMED;
        const struct gw_diff_side *has = in_a ? a : b, *other = in_a ? b : a;
        struct gw_text_style style = {GW_SIZE_TEXT, page->theme->confirmed, GW_ALIGN_LEFT, true, GW_FOR_TEXT, false};
        char text[256], saving[GW_UNIT_TEXT];
        if (in_a == in_b)
            continue;
        gw_format_duration(has->savings_ms[i] * 1e6, saving);
        gw_scene_text(page->scene, GW_PAGE_MARGIN, y, 90.0, LINE, &style, in_b ? "only in B" : "only in A");
        snprintf(text, sizeof(text), "%s costs %s a %.40s in %c and %s in %c", ids[i], saving, page->source->unit,
                 in_b ? 'B' : 'A', other->states[i] == GW_RULED_OUT ? "is ruled out" : "cannot be told",
                 in_b ? 'A' : 'B');
        gw_page_text(page, GW_PAGE_MARGIN + 100.0, y, w - 100.0, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT, text);
        y += LINE;
        drawn++;
    }
    if (drawn == 0) {
        gw_page_muted(page, GW_PAGE_MARGIN, y, w, LINE, GW_SIZE_TEXT, GW_ALIGN_LEFT,
                      "Nothing is confirmed in one of the runs only.");
        y += LINE;
    }
    return y;
}

void gw_layout_diff(struct gw_page *page)
{
    const struct gw_diff_side *a = page->source->side, *b = page->source->against;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN, y;
    char *answer = gw_diff_answer(a, b, page->source->unit);

    if (!answer) {
        page->scene->error = -ENOMEM;
        return;
    }
    y = gw_page_two_runs(page);
    y = gw_page_paragraph(page, GW_PAGE_MARGIN, y, w, GW_SIZE_TEXT + 1.0, page->theme->text, answer);
    y = draw_classes(page, a, b, y + 12.0);
    y = draw_roles(page, a, b, y + 12.0);
    y = draw_verdicts(page, a, b, y);
    gw_page_end(page, y, "hatched changes and those called noise are smaller than two standard errors of the means");
    free(answer);
}
