/*
 * Numbers that both forms of the report print.
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_FACTS_H
#define GW_ANALYZER_EXPORT_REPORT_FACTS_H

#include "analyzer/export/report.h"

struct gw_step_facts {
    uint32_t count, warmup, analysed;  /* count: all that were found */
    double median_ms, mean_ms, p95_ms; /* of the analysed ones, over all processes; 0 without any */
    double between_ms, span_ms;        /* from the first to the last step: in no step, and all; over all processes */
    double outside_ms, work_ms; /* GPU operations, summed: before the first step of their process or after its last, and
                                 * all, of processes with steps */
};

/* Returns 0 or -ENOMEM. */
int gw_step_facts_init(struct gw_step_facts *ret_facts, const struct gw_report *report);

/* Budget of the run's median step, mean over the devices of its process, by class in ms; returns its total. */
double gw_budget_of_median_step(const struct gw_report *report, double ret_ms[GW_CLASS_COUNT]);

/* Budget of the mean step over all analysed ones, each the mean over the devices of its process, by class in ms;
 * returns its total. */
double gw_budget_of_mean_step(const struct gw_report *report, double ret_ms[GW_CLASS_COUNT]);

/* Budget of one device in the median step of its process; returns its total, 0 when the process has no analysed step.
 */
double gw_budget_of_device(const struct gw_report *report, uint32_t device, double ret_ms[GW_CLASS_COUNT]);

/* Budget of a run without steps: of the time between each process's first and last operation with times, mean over the
 * devices it uses, by class in ms. Stores its total, 0 when no operation has times. Returns 0 or -ENOMEM. */
int gw_budget_of_run(const struct gw_report *report, double ret_ms[GW_CLASS_COUNT], double *ret_total_ms);

/* "cupti", "events" or "off". */
const char *gw_timing_name(enum gw_timing_backend timing);

/* How many GPU operations have no times though they were to be timed; *ret_told: of how many the traced processes said
 * why. */
uint64_t gw_untimed_operations(const struct gw_model *model, uint64_t *ret_told);

/* How many calls were only counted. */
uint64_t gw_counted_calls(const struct gw_model *model);

/* "calls", "calls and windows" or "not measured". */
const char *gw_perturbation_method_name(enum gw_perturbation_method method);

/* "confirmed", "ruled-out" or "unknown". */
const char *gw_state_name(enum gw_verdict_state state);

/* A cause of idle time with the call the device waited in or for, over the analysed steps. */
struct gw_idle_cause {
    double ms_per_step, per_step;
    enum gw_class cls;
    uint16_t function; /* GW_FUNCTION_NONE when no call is known */
};

/* The `limit` largest causes, mean over devices that are used, largest first; returns how many, or -ENOMEM. */
int gw_idle_causes(const struct gw_report *report, struct gw_idle_cause *ret_causes, size_t limit);

#endif
