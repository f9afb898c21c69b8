#include "analyzer/cli/write_report.h"

#include "analyzer/cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int gw_judge_run(const char *command, const struct gw_model *model, struct gw_judged *ret_judged)
{
    struct gw_judged judged = {NULL, NULL};
    const int status = gw_verdicts_create_with_budget(model, &judged.budget, &judged.verdicts);
    if (status != 0) {
        gw_complain(command, "%s: no memory for its report", model->run.path);
        gw_judged_release(&judged);
        return status;
    }
    *ret_judged = judged;
    return 0;
}

void gw_judged_release(struct gw_judged *judged)
{
    gw_verdicts_destroy(judged->verdicts);
    gw_budget_destroy(judged->budget);
    *judged = (struct gw_judged){NULL, NULL};
}

unsigned gw_page_width(FILE *out)
{
    struct winsize size;
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 90;
    return size.ws_col < 72 ? 72 : size.ws_col > 100 ? 100 : size.ws_col;
}

static bool wants_color(FILE *out)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(out)) && !(no_color && *no_color) && terminal && strcmp(terminal, "dumb") != 0;
}

int gw_write_report(const char *command, const struct gw_report_form *form, const struct gw_model *model,
                    const struct gw_judged *judged, FILE *out)
{
    const struct gw_report report = {model, judged->budget, judged->verdicts};
    const struct gw_report_text_options text = {.width = gw_page_width(out),
                                                .color = wants_color(out),
                                                .verbose = form->verbose,
                                                .only_verdict = form->verdict};
    int status = form->json       ? gw_report_json(&report, out)
                 : form->markdown ? gw_report_markdown(&report, out)
                                  : gw_report_text(&report, &text, out);
    if (status < 0)
        gw_complain(command, "the report cannot be written: %s", strerror(-status));
    return status;
}
