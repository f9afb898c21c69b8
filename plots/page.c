#include "plots/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plots/devices.h"

#define LINE_HEIGHT 1.5 /* of the text's size */
#define SWATCH 11.0
#define BAR_PADDING 4.0

double gw_page_text_width(const struct gw_page *page, const char *text, double size, bool bold)
{
    return page->text_width(page->text_context, text, size, bold);
}

void gw_page_text(struct gw_page *page, double x, double y, double w, double h, double size, enum gw_align align,
                  const char *text)
{
    struct gw_text_style style = {size, page->theme->text, align, false, GW_FOR_TEXT, false};
    gw_scene_text(page->scene, x, y, w, h, &style, text);
}

void gw_page_muted(struct gw_page *page, double x, double y, double w, double h, double size, enum gw_align align,
                   const char *text)
{
    struct gw_text_style style = {size, page->theme->muted, align, false, GW_FOR_TEXT, false};
    gw_scene_text(page->scene, x, y, w, h, &style, text);
}

void gw_page_bold(struct gw_page *page, double x, double y, double w, double h, double size, enum gw_align align,
                  const char *text)
{
    struct gw_text_style style = {size, page->theme->text, align, true, GW_FOR_TEXT, false};
    gw_scene_text(page->scene, x, y, w, h, &style, text);
}

void gw_page_bar(struct gw_page *page, double x, double y, double w, double h, uint32_t colour, bool hatched,
                 const char *label, double size, double least_px)
{
    struct gw_text_style style = {
        .size = size, .colour = gw_colour_of_text_on(colour), .align = GW_ALIGN_CENTRE, .purpose = GW_FOR_BAR_LABEL};
    double room = w - 2.0 * BAR_PADDING;

    if (hatched)
        gw_scene_hatched_rect(page->scene, GW_FOR_BAR, x, y, w, h, colour);
    else
        gw_scene_rect(page->scene, GW_FOR_BAR, x, y, w, h, colour);
    if (!label || room <= 0.0)
        return;
    if (room < least_px && gw_page_text_width(page, label, size, false) > room)
        return;
    gw_scene_text(page->scene, x + BAR_PADDING, y, room, h, &style, label);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The program's name without its directory; "python train.py" where an interpreter runs a script. */
static void name_program(const struct gw_model *model, char *text, size_t size)
{
    char **command = model->run.command;

    if (!command || !command[0]) {
        snprintf(text, size, "%s",
                 model->processes_count && model->processes[0].exe ? base_name(model->processes[0].exe)
                                                                   : "unknown program");
        return;
    }
    snprintf(text, size, "%s", base_name(command[0]));
    /* An interpreter's name says nothing: add the first argument that is not an option. */
    if (!strncmp(text, "python", 6) || !strcmp(text, "bash") || !strcmp(text, "sh") || !strcmp(text, "torchrun"))
        for (size_t i = 1; command[i]; i++)
            if (command[i][0] != '-') {
                snprintf(text, size, "%s %s", base_name(command[0]), base_name(command[i]));
                break;
            }
}

static bool simulated(const struct gw_model *model)
{
    return model->run.device_kind && !strcmp(model->run.device_kind, "simulated");
}

void gw_page_device_name(const struct gw_page *page, uint32_t device, char *text, size_t size)
{
    const struct gw_model *model = page->source->model;
    const struct gw_device *found = &model->devices[device];

    snprintf(text, size, "%s %" PRIu32, simulated(model) ? "simulated GPU" : "GPU", found->number);
}

void gw_page_rank_name(const struct gw_page *page, uint32_t device, char *text, size_t size)
{
    const struct gw_model *model = page->source->model;
    int32_t rank = gw_device_rank(model, device);

    if (rank >= 0)
        snprintf(text, size, "rank %" PRId32, rank);
    else if (model->processes_count > 1)
        snprintf(text, size, "GPU %" PRIu32 " of process %" PRIu32, model->devices[device].number,
                 model->processes[model->devices[device].process].pid);
    else
        gw_page_device_name(page, device, text, size);
}

const char *gw_page_device_model(const struct gw_model *model, uint32_t device)
{
    const char *name = model->devices[device].name;

    return name && strcasecmp(name, "simulated GPU") != 0 ? name : NULL;
}

void gw_page_add_part(char *note, size_t size, const char *part)
{
    size_t length = strlen(note);

    if (part && *part)
        snprintf(note + length, size - length, "%s%s", length ? "  ·  " : "", part);
}

static void describe_devices(const struct gw_model *model, char *text, size_t size)
{
    const char *name = model->devices_count ? gw_page_device_model(model, 0) : NULL;
    uint32_t used = 0; /* different numbers: ranks of one host may share a device */

    for (size_t i = 0; i < model->devices_count; i++) {
        size_t same = 0;
        while (model->devices[same].number != model->devices[i].number)
            same++;
        used += same == i;
    }
    if (!model->devices_count)
        snprintf(text, size, "no device seen");
    else if (used > 1)
        snprintf(text, size, "%" PRIu32 " %s%s%s", used, simulated(model) ? "simulated GPUs" : "GPUs", name ? ": " : "",
                 name ? name : "");
    else
        snprintf(text, size, "%s%s%s", simulated(model) ? "simulated GPU" : "GPU", name ? ": " : "", name ? name : "");
}

/* The title in letters as large as there is room for. */
static void draw_title(struct gw_page *page, const char *title)
{
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN, size = GW_SIZE_TITLE;
    struct gw_text_style style = {
        .colour = page->theme->text, .bold = true, .purpose = GW_FOR_TEXT, .cut_middle = true};

    while (size > GW_SIZE_TEXT && gw_page_text_width(page, title, size, true) > w)
        size -= 1.0;
    style.size = size;
    gw_scene_text(page->scene, GW_PAGE_MARGIN, 20.0, w, 30.0, &style, title);
}

double gw_page_title(struct gw_page *page, const char *title)
{
    const struct gw_model *model = page->source->model;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;
    char program[160], devices[160], facts[640] = "", when[64], text[512];
    time_t seconds = (time_t)(((int64_t)model->run.begin_ns + model->run.realtime_offset_ns) / 1000000000);
    struct tm utc;

    name_program(model, program, sizeof(program));
    describe_devices(model, devices, sizeof(devices));
    gw_page_add_part(facts, sizeof(facts), devices);
    if (model->run.host) {
        snprintf(text, sizeof(text), "host %s", model->run.host);
        gw_page_add_part(facts, sizeof(facts), text);
    }
    /* A trace without events has no time of its own. */
    if (model->run.realtime_offset_ns && model->run.begin_ns && gmtime_r(&seconds, &utc) &&
        strftime(when, sizeof(when), "%F %T UTC", &utc))
        gw_page_add_part(facts, sizeof(facts), when);
    if (model->run.path) {
        snprintf(text, sizeof(text), "run %s", base_name(model->run.path));
        gw_page_add_part(facts, sizeof(facts), text);
    }
    snprintf(text, sizeof(text), "%s: %s", program, title);
    draw_title(page, text);
    gw_page_muted(page, GW_PAGE_MARGIN, 51.0, w, 20.0, GW_SIZE_TEXT, GW_ALIGN_LEFT, facts);
    return 84.0;
}

double gw_page_two_runs(struct gw_page *page)
{
    const struct gw_diff_side *sides[] = {page->source->side, page->source->against};
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN, y = 51.0;
    char text[512], lengths[2][GW_UNIT_TEXT];

    for (int i = 0; i < 2; i++)
        gw_format_duration(sides[i]->step.ms * 1e6, lengths[i]);
    snprintf(text, sizeof(text), "a %.40s takes %s in A and %s in B", page->source->unit, lengths[0], lengths[1]);
    draw_title(page, text);
    for (int i = 0; i < 2; i++, y += 21.0) {
        snprintf(text, sizeof(text),
                 "%c: %.200s  ·  %" PRIu32 " × %.100s%s  ·  %" PRIu32 " steps after %" PRIu32 " of warm-up", 'A' + i,
                 sides[i]->path, sides[i]->devices, sides[i]->device,
                 sides[i]->simulated && strncasecmp(sides[i]->device, "simulated", 9) != 0 ? " (simulated)" : "",
                 sides[i]->steps, sides[i]->warmup);
        gw_page_muted(page, GW_PAGE_MARGIN, y, w, 20.0, GW_SIZE_TEXT, GW_ALIGN_LEFT, text);
    }
    return y + 14.0;
}

void gw_page_describe_step(double total_ns, double compute_ns, double unknown_ns, char *text, size_t size)
{
    char length[GW_UNIT_TEXT];

    gw_format_duration(total_ns, length);
    if (unknown_ns > 0.5 * total_ns)
        snprintf(text, size, "the median step takes %s, what the GPU does in it is mostly not seen", length);
    else
        snprintf(text, size, "the median step takes %s, the GPU computes for %.0f %% of it", length,
                 compute_ns / total_ns * 100.0);
}

double gw_page_legend(struct gw_page *page, double x, double y, double w, const char *heading,
                      const struct gw_legend_entry *entries, size_t count)
{
    const double line = 21.0, gap = 18.0, swatch_gap = 6.0;
    double indent = 92.0, at = x + indent;

    if (count == 0)
        return y;
    gw_page_bold(page, x, y, indent - 8.0, line, GW_SIZE_SMALL, GW_ALIGN_LEFT, heading);
    for (size_t i = 0; i < count; i++) {
        double most = w - indent - SWATCH - swatch_gap;
        double width = fmin(most, ceil(gw_page_text_width(page, entries[i].text, GW_SIZE_SMALL, false)) + 1.0);
        if (at > x + indent && at + SWATCH + swatch_gap + width > x + w) {
            at = x + indent;
            y += line;
        }
        if (entries[i].hatched)
            gw_scene_hatched_rect(page->scene, GW_FOR_DECORATION, at, y + (line - SWATCH) / 2.0, SWATCH, SWATCH,
                                  entries[i].colour);
        else
            gw_scene_rect(page->scene, GW_FOR_DECORATION, at, y + (line - SWATCH) / 2.0, SWATCH, SWATCH,
                          entries[i].colour);
        gw_page_text(page, at + SWATCH + swatch_gap, y, width, line, GW_SIZE_SMALL, GW_ALIGN_LEFT, entries[i].text);
        at += SWATCH + swatch_gap + width + gap;
    }
    return y + line;
}

double gw_page_paragraph(struct gw_page *page, double x, double y, double w, double size, uint32_t colour,
                         const char *text)
{
    struct gw_text_style style = {size, colour, GW_ALIGN_LEFT, false, GW_FOR_TEXT, false};
    char *copy = strdup(text), *line = copy, *fits = NULL; /* fits: the last space up to which the line has room */

    if (!copy) {
        page->scene->error = -ENOMEM;
        return y;
    }
    for (char *at = copy; *line;) {
        char *end = at + strcspn(at, " "), cut = *end;
        bool room;
        *end = '\0';
        room = gw_page_text_width(page, line, size, false) <= w;
        *end = cut;
        if (room && cut) {
            fits = end;
            at = end + 1;
            continue;
        }
        if (!room && fits)
            end = fits; /* else one word is wider than the line: it is cut with an ellipsis */
        cut = *end;
        *end = '\0';
        gw_scene_text(page->scene, x, y, w, size * LINE_HEIGHT, &style, line);
        y += size * LINE_HEIGHT;
        line = at = cut ? end + 1 : end;
        fits = NULL;
    }
    free(copy);
    return y;
}

double gw_page_empty(struct gw_page *page, double y, const char *why)
{
    const double height = 150.0;
    double w = page->options->width - 2.0 * GW_PAGE_MARGIN;

    gw_scene_rect(page->scene, GW_FOR_DECORATION, GW_PAGE_MARGIN, y, w, height, page->theme->panel);
    gw_page_text(page, GW_PAGE_MARGIN + 20.0, y, w - 40.0, height, 15.0, GW_ALIGN_CENTRE, why);
    return y + height;
}

static void note_missing(const struct gw_model *model, char *text, size_t size)
{
    uint64_t untimed = 0, half_ns, floor_ns = gw_timing_floor(model, &half_ns);
    char count[GW_UNIT_TEXT], amount[GW_UNIT_TEXT], part[256];

    for (size_t i = 0; i < model->ops_count; i++)
        untimed += (model->ops[i].flags & GW_OP_UNTIMED) != 0;
    if (model->timing == GW_TIMING_OFF && model->ops_count) {
        gw_page_add_part(text, size, "GPU timing was off: what the GPU did is not shown");
    } else if (untimed) {
        gw_format_count(untimed, count);
        snprintf(part, sizeof(part), "%s device operations have no times and are not shown", count);
        gw_page_add_part(text, size, part);
    }
    if (model->timing != GW_TIMING_OFF && model->ops_count) {
        gw_format_duration((double)floor_ns, amount);
        snprintf(part, sizeof(part), "GPU times by %s%s%s", model->timing == GW_TIMING_CUPTI ? "CUPTI" : "CUDA events",
                 floor_ns ? ", exact to " : "", floor_ns ? amount : "");
        gw_page_add_part(text, size, part);
    }
    if (model->run.discarded_events) {
        gw_format_count(model->run.discarded_events, count);
        snprintf(part, sizeof(part), "%s events were lost while recording", count);
        gw_page_add_part(text, size, part);
    }
    if (!model->run.finished)
        gw_page_add_part(text, size, "the recording was not finished properly");
}

void gw_page_end(struct gw_page *page, double y, const char *note)
{
    if (note && *note)
        y = gw_page_paragraph(page, GW_PAGE_MARGIN, y + 8.0, page->options->width - 2.0 * GW_PAGE_MARGIN, GW_SIZE_SMALL,
                              page->theme->muted, note);
    page->scene->width = page->options->width;
    page->scene->height = ceil(y + 20.0);
}

void gw_page_finish(struct gw_page *page, double y, const char *note)
{
    char text[1024] = "";

    gw_page_add_part(text, sizeof(text), note);
    note_missing(page->source->model, text, sizeof(text));
    gw_page_end(page, y, text);
}
