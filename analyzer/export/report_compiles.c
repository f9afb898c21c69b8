#include "analyzer/export/report_compiles.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/compiles.h"

#define SHOWN_MAX 5     /* of the steady phase, without -v */
#define LISTED_MAX 1000 /* in JSON */
#define TOLD_NS 10000u  /* look-ups that take less are counted, not listed */
#define ROWS_MAX 64

/* Those of one kind, compilers by their name. */
struct row {
    const char *words;
    enum gw_compile_kind kind;
    struct {
        uint64_t count, ns, held_ns, bytes, fresh, unhashed; /* fresh: new ones */
    } phases[3];                                             /* enum gw_compile_phase */
};

struct table {
    struct row rows[ROWS_MAX];
    size_t count;
    struct gw_compile *list; /* in order of begin */
    size_t list_count;
    uint32_t steps; /* analysed */
};

static const char *const kind_words[] = {
    [GW_COMPILE_LOAD] = "modules, libraries loaded", [GW_COMPILE_JIT] = "PTX compiled by the driver",
    [GW_COMPILE_LINK] = "links by the driver",       [GW_COMPILE_LOOKUP] = "kernels looked up",
    [GW_COMPILE_CHILD] = "compilers executed",
};

/* The row that it belongs to; compilers beyond the most rows share the last. */
static struct row *row_of(struct table *table, const struct gw_model *model, const struct gw_compile *compile)
{
    const bool child = compile->kind == GW_COMPILE_CHILD;
    const char *words = child ? gw_compile_name(model, compile) : kind_words[compile->kind];
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].kind == compile->kind && strcmp(table->rows[i].words, words) == 0)
            return &table->rows[i];
    }
    if (table->count == ROWS_MAX)
        return &table->rows[ROWS_MAX - 1];
    table->rows[table->count] = (struct row){.words = words, .kind = (enum gw_compile_kind)compile->kind};
    return &table->rows[table->count++];
}

static int by_kind(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind) : strcmp(a->words, b->words);
}

/* Returns 0 or -ENOMEM; the caller frees list. */
static int fill(struct table *ret_table, const struct gw_model *model)
{
    *ret_table = (struct table){0};
    int ret = gw_compiles_list(model, &ret_table->list, &ret_table->list_count);
    for (size_t i = 0; i < ret_table->list_count && ret == 0; i++) {
        const struct gw_compile *compile = &ret_table->list[i];
        struct row *row = row_of(ret_table, model, compile);
        row->phases[compile->phase].count++;
        row->phases[compile->phase].ns += compile->end_ns - compile->begin_ns;
        row->phases[compile->phase].held_ns += compile->held_ns;
        row->phases[compile->phase].bytes += compile->size_bytes;
        row->phases[compile->phase].fresh += compile->is_new;
        row->phases[compile->phase].unhashed += compile->hash == 0;
    }
    qsort(ret_table->rows, ret_table->count, sizeof *ret_table->rows, by_kind);
    for (size_t s = 0; s < model->steps_count; s++)
        ret_table->steps += !model->steps[s].warmup;
    return ret;
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* One of the steady phase in a line: "step 12: ptxas (process 7) of 3.1 kB, new: 48.2 ms, for which thread 9 waits". */
static void describe(const struct gw_model *model, const struct gw_compile *compile, char *text, size_t room)
{
    char who[64] = "", held[96] = "";
    if (compile->compiler != GW_NONE)
        snprintf(who, sizeof who, " (process %" PRIu32 ")", model->compilers[compile->compiler].pid);
    if (compile->thread != GW_NONE && compile->compiler != GW_NONE)
        snprintf(held, sizeof held, ", thread %" PRIu32 " makes no call for %s of it",
                 model->threads[compile->thread].tid, gw_duration_words(ms(compile->held_ns)).text);
    else if (compile->thread != GW_NONE)
        snprintf(held, sizeof held, " on thread %" PRIu32, model->threads[compile->thread].tid);
    snprintf(text, room, "step %" PRIu32 ": %s%s, %s, %s: %s%s",
             compile->step == GW_NONE ? 0 : model->steps[compile->step].number, gw_compile_name(model, compile), who,
             compile->size_bytes ? gw_size_words((double)compile->size_bytes).text : "unknown size",
             compile->is_new ? "new"
             : compile->hash ? "seen before"
                             : "content not known",
             gw_duration_words(ms(compile->end_ns - compile->begin_ns)).text, held);
}

/* Worth a line of its own. */
static bool is_told(const struct gw_compile *compile)
{
    return compile->phase == GW_PHASE_STEADY &&
           (compile->kind != GW_COMPILE_LOOKUP || compile->end_ns - compile->begin_ns >= TOLD_NS);
}

/* What verdicts say of trial kernels; "" without any. */
static void say_trials(const struct gw_report *report, char *text, size_t room)
{
    text[0] = '\0';
    for (size_t i = 0; i < report->verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &report->verdicts->list[i];
        if (strcmp(verdict->id, "autotune") == 0 && verdict->state != GW_UNKNOWN && verdict->per_step > 0)
            snprintf(text, room, "Trial kernels (autotune): %.2f a step, in %" PRIu32 " of the analysed steps.",
                     verdict->per_step, verdict->steps_affected);
    }
}

static const char *unseen_words(const struct gw_model *model)
{
    return model->run.unseen & GW_UNSEEN_COMPILERS ? "Compilers in processes of their own were not watched." : "";
}

struct cells {
    char cold[48], steady[64], fresh[16], a_step[24];
};

/* Held a step: of calls their own time, of compilers what their thread waited. */
static double held_a_step(const struct table *table, const struct row *row)
{
    return table->steps ? ms(row->phases[GW_PHASE_STEADY].held_ns) / table->steps : 0;
}

static struct cells cells_of(const struct table *table, const struct row *row)
{
    struct cells cells = {"-", "-", "-", "-"};
    if (row->phases[GW_PHASE_COLD].count)
        snprintf(cells.cold, sizeof cells.cold, "%" PRIu64 " in %s", row->phases[GW_PHASE_COLD].count,
                 gw_duration_words(ms(row->phases[GW_PHASE_COLD].ns)).text);
    if (row->phases[GW_PHASE_STEADY].count) {
        snprintf(cells.steady, sizeof cells.steady, "%" PRIu64 " in %s", row->phases[GW_PHASE_STEADY].count,
                 gw_duration_words(ms(row->phases[GW_PHASE_STEADY].ns)).text);
        if (row->phases[GW_PHASE_STEADY].unhashed < row->phases[GW_PHASE_STEADY].count)
            snprintf(cells.fresh, sizeof cells.fresh, "%" PRIu64, row->phases[GW_PHASE_STEADY].fresh);
        snprintf(cells.a_step, sizeof cells.a_step, "%s", gw_duration_words(held_a_step(table, row)).text);
    }
    return cells;
}

static void put_rows(const struct table *table, FILE *out, void (*put_row)(FILE *, const char *, const struct cells *))
{
    for (size_t i = 0; i < table->count; i++) {
        const struct cells cells = cells_of(table, &table->rows[i]);
        put_row(out, table->rows[i].words, &cells);
    }
}

static void text_row(FILE *out, const char *what, const struct cells *cells)
{
    fprintf(out, "  %-26.26s %16s %21s %5s %8s\n", what, cells->cold, cells->steady, cells->fresh, cells->a_step);
}

static void markdown_row(FILE *out, const char *what, const struct cells *cells)
{
    fprintf(out, "| %s | %s | %s | %s | %s |\n", what, cells->cold, cells->steady, cells->fresh, cells->a_step);
}

int gw_report_compiles_text(const struct gw_report *report, bool verbose, const struct gw_page *page)
{
    const struct gw_model *model = report->model;
    struct table table;
    char line[300];
    size_t shown = 0, told = 0;
    int ret = fill(&table, model);
    if (ret < 0 || !table.list_count)
        goto end;
    gw_page_heading(page, "Compilation and loading");
    fputs("  what                             in warm-up     in analysed steps   new   a step\n", page->out);
    put_rows(&table, page->out, text_row);
    for (size_t i = 0; i < table.list_count; i++) {
        if (!is_told(&table.list[i]))
            continue;
        told++;
        if (!verbose && shown == SHOWN_MAX)
            continue;
        describe(model, &table.list[i], line, sizeof line);
        gw_page_item(page, NULL, 2, "%s", line);
        shown++;
    }
    if (told > shown)
        gw_page_item(page, NULL, 2, "and %zu more (report -v lists them)", told - shown);
    say_trials(report, line, sizeof line);
    if (*line)
        gw_page_item(page, NULL, 2, "%s", line);
    if (*unseen_words(model))
        gw_page_item(page, NULL, 2, "%s", unseen_words(model));
end:
    free(table.list);
    return ret;
}

int gw_report_compiles_markdown(const struct gw_report *report, FILE *out)
{
    struct table table;
    char line[300];
    int ret = fill(&table, report->model);
    if (ret < 0 || !table.list_count)
        goto end;
    fputs("\n### Compilation and loading\n\n| what | in warm-up | in analysed steps | new | a step |\n"
          "|---|---:|---:|---:|---:|\n",
          out);
    put_rows(&table, out, markdown_row);
    say_trials(report, line, sizeof line);
    if (*line)
        fprintf(out, "\n%s\n", line);
    if (*unseen_words(report->model))
        fprintf(out, "\n%s\n", unseen_words(report->model));
end:
    free(table.list);
    return ret;
}

/* ---- JSON ---- */

static json_t *phase_json(const struct row *row, enum gw_compile_phase phase)
{
    return json_pack("{s:I, s:f, s:f, s:I, s:I, s:I}", "count", (json_int_t)row->phases[phase].count, "ms",
                     ms(row->phases[phase].ns), "held_ms", ms(row->phases[phase].held_ns), "bytes",
                     (json_int_t)row->phases[phase].bytes, "new", (json_int_t)row->phases[phase].fresh, "unhashed",
                     (json_int_t)row->phases[phase].unhashed);
}

static json_t *row_json(const struct table *table, const struct row *row)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "kind", gw_compile_kind_name(row->kind), "name", row->words,
                     "cold", phase_json(row, GW_PHASE_COLD), "steady", phase_json(row, GW_PHASE_STEADY), "elsewhere",
                     phase_json(row, GW_PHASE_ELSEWHERE), "held_ms_a_step",
                     table->steps ? json_real(held_a_step(table, row)) : json_null());
}

static json_t *index_json(uint32_t index)
{
    return index == GW_NONE ? json_null() : json_integer(index);
}

static json_t *compile_json(const struct gw_model *model, const struct gw_compile *compile)
{
    char hash[20] = "";
    if (compile->hash)
        snprintf(hash, sizeof hash, "%016" PRIx64, compile->hash);
    const bool child = compile->compiler != GW_NONE;
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:s?, s:o}", "kind",
                     gw_compile_kind_name((enum gw_compile_kind)compile->kind), "name", gw_compile_name(model, compile),
                     "phase", gw_compile_phase_name((enum gw_compile_phase)compile->phase), "t_ns",
                     (json_int_t)compile->begin_ns, "dur_ns", (json_int_t)(compile->end_ns - compile->begin_ns),
                     "held_ms", ms(compile->held_ns), "process", index_json(compile->process), "thread",
                     index_json(compile->thread == GW_NONE ? GW_NONE : model->threads[compile->thread].tid), "pid",
                     child ? json_integer(model->compilers[compile->compiler].pid) : json_null(), "step",
                     index_json(compile->step == GW_NONE ? GW_NONE : model->steps[compile->step].number), "bytes",
                     compile->size_bytes ? json_integer((json_int_t)compile->size_bytes) : json_null(), "hash",
                     *hash ? hash : NULL, "new", compile->hash ? json_boolean(compile->is_new) : json_null());
}

/* Lists the first LISTED_MAX in order of time, of look-ups the long ones. */
json_t *gw_compiles_json(const struct gw_report *report)
{
    struct table table = {0};
    json_t *rows = json_array(), *list = json_array(), *root = NULL;
    size_t left_out = 0;
    bool failed = fill(&table, report->model) < 0 || !rows || !list;
    for (size_t i = 0; i < table.count && !failed; i++)
        failed = json_array_append_new(rows, row_json(&table, &table.rows[i])) < 0;
    for (size_t i = 0; i < table.list_count && !failed; i++) {
        const struct gw_compile *compile = &table.list[i];
        if (compile->kind == GW_COMPILE_LOOKUP && !is_told(compile))
            continue;
        if (json_array_size(list) < LISTED_MAX)
            failed = json_array_append_new(list, compile_json(report->model, compile)) < 0;
        else
            left_out++;
    }
    if (!failed)
        root =
            json_pack("{s:b, s:O, s:O, s:I}", "compilers_watched", !(report->model->run.unseen & GW_UNSEEN_COMPILERS),
                      "kinds", rows, "list", list, "left_out", (json_int_t)left_out);
    json_decref(rows);
    json_decref(list);
    free(table.list);
    return root;
}
