/* Writes the JSON report of a scripted run to stdout, for the check against docs/report.schema.json. */
#include <stdio.h>

#include "tests/unit/report_runs.h"

int main(int argc, char **argv)
{
    struct report_run run;
    if (argc != 2 || !report_run_create(&run, argv[1])) {
        fprintf(stderr, "usage: %s faulty|healthy|stepless|failing|empty\n", argv[0]);
        return 2;
    }
    int status = gw_report_json(&(struct gw_report){run.model, run.budget, run.verdicts}, stdout);
    report_run_release(&run);
    return status < 0;
}
