#include <errno.h>
#include <string.h>

#include "analyzer/export/report_compiles.h"
#include "analyzer/export/report_copies.h"
#include "analyzer/export/report_facts.h"
#include "analyzer/export/report_words.h"

/* Text of a cell or line: what Markdown would take for its own is escaped. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_<>|#[]", *text))
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void put_run(const struct gw_report *report, const struct gw_step_facts *steps, FILE *out)
{
    const struct gw_model *model = report->model;
    bool simulated = model->run.device_kind && strcmp(model->run.device_kind, "simulated") == 0;
    fputs("| | |\n|---|---|\n| command | `", out);
    for (char **word = model->run.command; word && *word; word++) {
        fputs(word == model->run.command ? "" : " ", out);
        gw_put_text(out, *word, strlen(*word));
    }
    fputs("` |\n| devices | ", out);
    for (size_t i = 0; i < model->devices_count; i++) {
        fputs(i ? ", " : "", out);
        put_text(out, model->devices[i].name ? model->devices[i].name : "GPU");
    }
    fprintf(out, "%s |\n| processes | %zu |\n", simulated ? " (simulated: times are computed, not measured)" : "",
            model->processes_count);
    fprintf(out, "| steps | %u analysed, %u of warm-up; found by %s |\n", steps->analysed, steps->warmup,
            model->steps_method ? model->steps_method : "nothing");
    fprintf(out, "| median step | %s |\n| mean, 95th percentile | %s, %s |\n", gw_duration_words(steps->median_ms).text,
            gw_duration_words(steps->mean_ms).text, gw_duration_words(steps->p95_ms).text);
    fprintf(out, "| GPU times from | %s |\n| events lost | %llu |\n", gw_timing_name(model->timing),
            (unsigned long long)model->run.discarded_events);
}

static void put_budget(const struct gw_report *report, FILE *out)
{
    double ms[GW_CLASS_COUNT], total = gw_budget_of_mean_step(report, ms);
    if (total <= 0) {
        fputs("\nNo step with GPU times was found, so there is no budget.\n", out);
        return;
    }
    fputs("\n### Where a step goes, mean over steps and devices\n\n| class | time | share | |\n|---|---:|---:|---|\n",
          out);
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        if (ms[c] > 0)
            fprintf(out, "| %s | %s | %.1f %% | %s |\n", gw_class_name((enum gw_class)c), gw_duration_words(ms[c]).text,
                    ms[c] / total * 100, gw_class_words((enum gw_class)c));
    }
    fprintf(out, "| **step** | %s | 100 %% | |\n", gw_duration_words(total).text);
}

static void put_verdicts(const struct gw_verdicts *verdicts, FILE *out)
{
    static const struct {
        enum gw_verdict_state state;
        const char *label;
    } groups[] = {{GW_UNKNOWN, "cannot tell"}, {GW_RULED_OUT, "ruled out"}};
    bool confirmed = false;
    fputs("\n### Verdicts\n\n", out);
    for (size_t i = 0; i < verdicts->list_count; i++) {
        const struct gw_verdict *verdict = &verdicts->list[i];
        if (verdict->state != GW_CONFIRMED)
            continue;
        confirmed = true;
        fprintf(out, "- **%s** (%s): costs %s a step (%.1f %%). ", verdict->id, verdict->suspect,
                gw_duration_words(verdict->saving_ms).text, verdict->saving_percent);
        put_text(out, verdict->why ? verdict->why : "");
        fputs(". *Mend:* ", out);
        put_text(out, verdict->fix ? verdict->fix : "");
        fputc('\n', out);
    }
    if (!confirmed)
        fputs("- nothing is confirmed\n", out);
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        bool first = true;
        for (size_t i = 0; i < verdicts->list_count; i++) {
            if (verdicts->list[i].state != groups[g].state)
                continue;
            if (first)
                fprintf(out, "- %s: ", groups[g].label);
            fprintf(out, "%s%s", first ? "" : ", ", verdicts->list[i].id);
            first = false;
        }
        fputs(first ? "" : "\n", out);
    }
}

int gw_report_markdown(const struct gw_report *report, FILE *out)
{
    struct gw_step_facts steps;
    int status = gw_step_facts_init(&steps, report);
    if (status)
        return status;
    errno = 0;
    put_run(report, &steps, out);
    put_budget(report, out);
    put_verdicts(report->verdicts, out);
    gw_report_copies_markdown(report, out);
    if ((status = gw_report_compiles_markdown(report, out)) < 0)
        return status;
    return fflush(out) == EOF || ferror(out) ? (errno ? -errno : -EIO) : 0;
}
