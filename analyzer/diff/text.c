#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/diff.h"
#include "analyzer/export/report_facts.h"
#include "analyzer/export/report_words.h"

#define WIDTH 90u
#define COLUMNS_MAX 7u
#define CELL 160u

/* Where a table goes: columns of text as wide as widths says (below 0: to the right), or Markdown. */
struct table {
    FILE *out;
    bool markdown;
    const int *widths;
    unsigned columns;
};

/* A line of the table, a text for each column. */
static void put_cells(const struct table *table, const char *const *cells)
{
    for (unsigned i = 0; i < table->columns; i++) {
        const char *cell = cells[i];
        int width = table->widths[i], used = 0;
        for (const char *at = cell; *at; at++)
            used += ((unsigned char)*at & 0xc0) != 0x80;
        int pad = abs(width) > used ? abs(width) - used : 0;
        if (table->markdown)
            fputs("| ", table->out);
        else
            fprintf(table->out, "  %*s", width < 0 ? pad : 0, "");
        gw_put_text(table->out, cell, strlen(cell));
        if (table->markdown)
            fputc(' ', table->out);
        else if (width >= 0 && i + 1 < table->columns)
            fprintf(table->out, "%*s", pad, "");
    }
    fputs(table->markdown ? "|\n" : "\n", table->out);
}

#define put_row(table, ...) put_cells(table, (const char *const[]){__VA_ARGS__})

static void rule(const struct table *table)
{
    for (unsigned i = 0; i < table->columns && table->markdown; i++)
        fputs(table->widths[i] < 0 ? "|---:" : "|---", table->out);
    if (table->markdown)
        fputs("|\n", table->out);
}

static void put_heading(FILE *out, bool markdown, const char *text)
{
    fprintf(out, markdown ? "\n### %s\n\n" : "\n%s\n", text);
}

static const char *signed_words(double ms, char text[CELL])
{
    snprintf(text, CELL, "%s%s", ms > 0 ? "+" : ms < 0 ? "-" : "", gw_duration_words(fabs(ms)).text);
    return text;
}

static void put_runs(const struct table *table, const struct gw_diff_side *a, const struct gw_diff_side *b,
                     const char *unit)
{
    const struct gw_diff_side *sides[] = {a, b};
    char device[2][CELL], steps[2][CELL], per[2][CELL], label[CELL];
    for (int i = 0; i < 2; i++) {
        snprintf(device[i], CELL, "%u × %.100s%s", sides[i]->devices, sides[i]->device,
                 sides[i]->simulated ? " (simulated)" : "");
        snprintf(steps[i], CELL, "%u after %u of warm-up", sides[i]->steps, sides[i]->warmup);
        snprintf(per[i], CELL, "%g", sides[i]->per);
    }
    put_row(table, "", "A", "B");
    rule(table);
    put_row(table, "run", a->path, b->path);
    put_row(table, "devices", device[0], device[1]);
    put_row(table, "steps", steps[0], steps[1]);
    if (strcmp(unit, "step") != 0) {
        snprintf(label, CELL, "%ss a step", unit);
        put_row(table, label, per[0], per[1]);
    }
}

static void put_change(const struct table *table, const char *name, const struct gw_diff_mean *a,
                       const struct gw_diff_mean *b, const char *words)
{
    struct gw_diff_change change = gw_diff_change(a, b);
    char text[CELL], noise[CELL];
    if (isinf(change.error_ms))
        snprintf(noise, CELL, "unknown");
    else
        snprintf(noise, CELL, "±%s", gw_duration_words(2 * change.error_ms).text);
    put_row(table, name, gw_duration_words(a->ms).text, gw_duration_words(b->ms).text, signed_words(change.ms, text),
            noise, change.is_noise ? "within noise" : words);
}

static void put_classes(const struct table *table, const struct gw_diff_side *a, const struct gw_diff_side *b)
{
    put_row(table, "", "A", "B", "B - A", "noise", "");
    rule(table);
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        if (a->classes[c].ms > 0 || b->classes[c].ms > 0)
            put_change(table, gw_class_name((enum gw_class)c), &a->classes[c], &b->classes[c],
                       gw_class_words((enum gw_class)c));
    }
    put_change(table, "step", &a->step, &b->step, "the sum of the above");
}

static void put_scaling(const struct table *table, const struct gw_scaling *scaling, const struct gw_diff_side *a,
                        const struct gw_diff_side *b)
{
    put_row(table, "", "perfect", "B", "lost", "noise", "");
    rule(table);
    for (int p = 0; p <= GW_SCALING_PARTS; p++) {
        const bool is_sum = p == GW_SCALING_PARTS;
        const struct gw_scaling_loss *loss = is_sum ? &scaling->loss : &scaling->parts[p];
        const double a_ms = scaling->share_of_a * (is_sum ? a->step.ms : a->parts[p].ms);
        const double b_ms = is_sum ? b->step.ms : b->parts[p].ms;
        char texts[3][CELL], noise[CELL] = "unknown";
        if (a_ms == 0 && b_ms == 0)
            continue;
        if (!isinf(loss->error_ms))
            snprintf(noise, CELL, "±%s", gw_duration_words(2 * loss->error_ms).text);
        snprintf(texts[0], CELL, "%s%s", a_ms < 0 ? "-" : "", gw_duration_words(fabs(a_ms)).text);
        snprintf(texts[1], CELL, "%s%s", b_ms < 0 ? "-" : "", gw_duration_words(fabs(b_ms)).text);
        put_row(table, is_sum ? "all" : gw_scaling_part_name((enum gw_scaling_part)p), texts[0], texts[1],
                signed_words(loss->ms, texts[2]), noise,
                is_sum           ? "the sum of the above"
                : loss->is_noise ? "within noise"
                                 : gw_scaling_part_words((enum gw_scaling_part)p));
    }
}

static void list_names(const struct gw_diff_role *role, size_t limit, char text[CELL])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < limit && role->names[i] && used < CELL - 8; i++)
        used += (size_t)snprintf(text + used, CELL - used, "%s%.36s", i ? ", " : "", role->names[i]);
}

static void put_roles(const struct table *table, const struct gw_diff_side *a, const struct gw_diff_side *b)
{
    put_row(table, "", "A", "count", "B", "count", "B - A", "kernels of most time");
    rule(table);
    for (int r = 0; r < GW_ROLE_COUNT; r++) {
        const struct gw_diff_role *left = &a->roles[r], *right = &b->roles[r];
        char counts[2][CELL], text[CELL], names[2][CELL], both[2 * CELL + 16];
        if (left->count == 0 && right->count == 0)
            continue;
        snprintf(counts[0], CELL, "%.3g", left->count);
        snprintf(counts[1], CELL, "%.3g", right->count);
        list_names(left, GW_DIFF_NAMES, names[0]);
        list_names(right, GW_DIFF_NAMES, names[1]);
        bool same = strcmp(names[0], names[1]) == 0;
        if (!same && !table->markdown) { /* a line has room for one each */
            list_names(left, 1, names[0]);
            list_names(right, 1, names[1]);
        }
        if (same)
            snprintf(both, sizeof(both), "%s", names[0]);
        else
            snprintf(both, sizeof(both), "A: %s; B: %s", *names[0] ? names[0] : "none", *names[1] ? names[1] : "none");
        put_row(table, gw_role_name((enum gw_role)r), gw_duration_words(left->ms).text, counts[0],
                gw_duration_words(right->ms).text, counts[1], signed_words(right->ms - left->ms, text), both);
    }
}

static unsigned put_verdicts(const struct table *table, const struct gw_diff_side *a, const struct gw_diff_side *b)
{
    const char *const *ids;
    size_t count = gw_verdict_ids(&ids);
    unsigned rows = 0;
    for (size_t i = 0; i < count; i++) {
        const char *suspect, *explanation, *fix, *what;
        char cells[2][CELL];
        const struct gw_diff_side *sides[] = {a, b};
        if (a->states[i] != GW_CONFIRMED && b->states[i] != GW_CONFIRMED)
            continue;
        for (int s = 0; s < 2; s++) {
            if (sides[s]->states[i] == GW_CONFIRMED)
                snprintf(cells[s], CELL, "costs %s", gw_duration_words(sides[s]->savings_ms[i]).text);
            else
                snprintf(cells[s], CELL, "%s", gw_state_name(sides[s]->states[i]));
        }
        what = gw_diff_change_name(a->states[i], b->states[i]);
        if (!gw_verdict_explain(ids[i], &suspect, &explanation, &fix))
            suspect = "";
        if (rows++ == 0) {
            put_row(table, "", "A", "B", "", "");
            rule(table);
        }
        put_row(table, ids[i], cells[0], cells[1], what, suspect);
    }
    return rows;
}

int gw_diff_text(const struct gw_diff_side *a, const struct gw_diff_side *b, const char *unit, bool markdown, FILE *out)
{
    const int path_width = (int)strlen(a->path) > 36 ? (int)strlen(a->path) : 36, run_widths[] = {14, path_width, 36};
    static const int part_widths[] = {22, -8, -8, -9, -9, 12}, class_widths[] = {16, -8, -8, -9, -9, 12},
                     role_widths[] = {14, -8, -6, -8, -6, -9, 20}, verdict_widths[] = {18, 15, 15, 9, 20};
    const struct table runs = {out, markdown, run_widths, 3}, classes = {out, markdown, class_widths, 6},
                       parts = {out, markdown, part_widths, 6}, roles = {out, markdown, role_widths, 7},
                       verdicts = {out, markdown, verdict_widths, 5};
    const struct gw_page page = {.out = out, .width = markdown ? 1000000 : WIDTH};
    char heading[CELL];
    struct gw_scaling scaling;
    bool scales = gw_scaling_of(a, b, strcmp(unit, "step") != 0, &scaling);
    char *answer = gw_diff_answer(a, b, unit), *scaling_answer = scales ? gw_scaling_answer(&scaling, unit) : NULL;
    if (!answer || (scales && !scaling_answer)) {
        free(answer);
        free(scaling_answer);
        return -ENOMEM;
    }
    errno = 0;
    gw_page_wrap(&page, answer, 0, 0);
    if (scales)
        gw_page_wrap(&page, scaling_answer, 0, 0);
    free(answer);
    free(scaling_answer);
    put_heading(out, markdown, "Runs");
    put_runs(&runs, a, b, unit);
    snprintf(heading, CELL, "Where the time of a %s goes, mean over devices", unit);
    put_heading(out, markdown, heading);
    put_classes(&classes, a, b);
    if (scales) {
        snprintf(heading, CELL, "From %u to %u devices: what a %s loses against perfect scaling%s", scaling.devices_a,
                 scaling.devices_b, unit,
                 strcmp(unit, "step") != 0 ? "" : ", if each device does as much a step (else give --per)");
        put_heading(out, markdown, heading);
        put_scaling(&parts, &scaling, a, b);
    }
    snprintf(heading, CELL, "Kernels by what they are for, in a %s (sums, so overlapping ones count twice)", unit);
    put_heading(out, markdown, heading);
    put_roles(&roles, a, b);
    snprintf(heading, CELL, "Verdicts confirmed in either, cost of a %s", unit);
    put_heading(out, markdown, heading);
    if (put_verdicts(&verdicts, a, b) == 0)
        fputs(markdown ? "none\n" : "  none\n", out);
    return fflush(out) == EOF || ferror(out) ? (errno ? -errno : -EIO) : 0;
}
