#include "analyzer/model/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/read/clock_shift.h"

/* Differences that the line is fitted through: more would cost time and change nothing. */
#define POINTS_MAX 400u
/* A drift shows from so many of them and so long on. */
#define DRIFT_POINTS 8u
#define DRIFT_LEAST_NS 50000000.0
/* Clocks of computers that keep time at all drift less. */
#define DRIFT_MOST_PPM 500.0

static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_clock_of(const struct gw_clock *clock, const struct gw_run_file *run)
{
    return same(clock->host, run->host) && same(clock->boot_id, run->boot_id) &&
           clock->test_offset_ns == run->test_shift.offset_ns && clock->test_ppm == run->test_shift.ppm;
}

int gw_clocks_list(const struct gw_model_input *inputs, size_t input_count, struct gw_clock **ret_clocks,
                   size_t *ret_count, uint32_t **ret_of_input)
{
    struct gw_clock *clocks = calloc(input_count + 1, sizeof(*clocks));
    uint32_t *of_input = calloc(input_count + 1, sizeof(*of_input));
    size_t count = 0;
    int status = clocks && of_input ? 0 : -ENOMEM;
    for (size_t i = 0; i < input_count && !status; i++) {
        const struct gw_run_file *run = inputs[i].run;
        size_t c = 0;
        while (c < count && !is_clock_of(&clocks[c], run)) {
            c++;
        }
        if (c == count) {
            clocks[count++] =
                (struct gw_clock){.host = strdup(run->host ? run->host : ""),
                                  .boot_id = strdup(run->boot_id ? run->boot_id : ""),
                                  .test_offset_ns = run->test_shift.offset_ns,
                                  .test_ppm = run->test_shift.ppm,
                                  .about_ns = run->begin_monotonic_ns,
                                  .offset_ns = inputs[0].run->realtime_offset_ns && run->realtime_offset_ns
                                                   ? run->realtime_offset_ns - inputs[0].run->realtime_offset_ns
                                                   : 0,
                                  .how = c ? GW_CLOCK_WALL : GW_CLOCK_REFERENCE};
            status = clocks[c].host && clocks[c].boot_id ? 0 : -ENOMEM;
        }
        clocks[c].recordings++;
        of_input[i] = (uint32_t)c;
    }
    if (status) {
        gw_clocks_free(clocks, count);
        free(of_input);
        return status;
    }
    *ret_clocks = clocks;
    *ret_count = count;
    *ret_of_input = of_input;
    return 0;
}

void gw_clocks_free(struct gw_clock *clocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(clocks[i].host);
        free(clocks[i].boot_id);
    }
    free(clocks);
}

static struct gw_clock_shift shift_of(const struct gw_clock *clock)
{
    return (struct gw_clock_shift){.offset_ns = clock->offset_ns, .ppm = clock->drift_ppm, .about_ns = clock->about_ns};
}

/* ---- ends of collectives ---- */

/* An end as one clock shows it: the median over the clock's ranks would be better for many, the first is as good for
 * few.
 */
struct end {
    uint32_t match, clock, process;
    uint64_t ns;
};

static int by_match(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    if (a->match != b->match) {
        return a->match < b->match ? -1 : 1;
    }
    if (a->clock != b->clock) {
        return a->clock < b->clock ? -1 : 1;
    }
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* The ends of all collectives that several processes take part in, by exchange. The caller frees. NULL: no memory. */
static struct end *list_ends(const struct gw_model *model, const uint32_t *of_input, size_t *ret_count)
{
    struct end *ends = malloc((model->collectives_count + 1) * sizeof(*ends));
    size_t count = 0;
    for (size_t i = 0; ends && i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        const bool is_message = collective->kind == GW_COMM_SEND || collective->kind == GW_COMM_RECV;
        if (is_message || collective->match == GW_NONE || collective->op == GW_NONE ||
            model->ops[collective->op].end_ns == GW_TIME_UNKNOWN) {
            continue;
        }
        const uint32_t process = model->communicators[collective->communicator].process;
        ends[count++] = (struct end){.match = collective->match,
                                     .clock = of_input[model->processes[process].recording],
                                     .process = process,
                                     .ns = model->ops[collective->op].end_ns};
    }
    if (ends) {
        qsort(ends, count, sizeof(*ends), by_match);
    }
    *ret_count = count;
    return ends;
}

/* ---- the line ---- */

/* The reference shows t + difference when the clock shows t. */
struct point {
    double t_ns, difference_ns;
};

/* Every so many points, to keep POINTS_MAX of them. */
static size_t thin_out(struct point *points, size_t count)
{
    const size_t kept = count < POINTS_MAX ? count : POINTS_MAX;
    for (size_t i = 0; i < kept; i++) {
        points[i] = points[i * count / kept];
    }
    return kept;
}

static int fit_line(struct gw_clock *clock, struct point *points, size_t count)
{
    const size_t kept = thin_out(points, count);
    double *values = malloc((kept * (kept - 1) / 2 + kept + 1) * sizeof(*values));
    size_t slopes = 0;
    double slope = 0;
    if (!values) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < kept; i++) {
        for (size_t j = i + 1; j < kept; j++) {
            const double apart_ns = points[j].t_ns - points[i].t_ns;
            if (fabs(apart_ns) >= DRIFT_LEAST_NS / 2) {
                values[slopes++] = (points[j].difference_ns - points[i].difference_ns) / apart_ns;
            }
        }
    }
    if (kept >= DRIFT_POINTS && slopes && fabs(points[kept - 1].t_ns - points[0].t_ns) >= DRIFT_LEAST_NS) {
        slope = gw_median(values, slopes);
    }
    if (fabs(slope * 1e6) > DRIFT_MOST_PPM) {
        slope = 0;
    }
    for (size_t i = 0; i < kept; i++) {
        values[i] = points[i].difference_ns - slope * (points[i].t_ns - (double)clock->about_ns);
    }
    clock->offset_ns = (int64_t)llround(gw_median(values, kept));
    clock->drift_ppm = slope * 1e6;
    clock->matched = (uint32_t)count;
    clock->how = GW_CLOCK_FITTED;
    free(values);
    return 0;
}

/* Points of a clock against those that are fitted already. */
static size_t find_points(const struct end *ends, size_t count, const struct gw_clock *clocks, uint32_t clock,
                          struct point *points)
{
    size_t found = 0;
    for (size_t from = 0, to; from < count; from = to) {
        const struct end *own = NULL, *known = NULL;
        for (to = from; to < count && ends[to].match == ends[from].match; to++) {
            if (ends[to].clock == clock) {
                own = own ? own : &ends[to];
            } else if (clocks[ends[to].clock].how != GW_CLOCK_WALL) {
                known = known ? known : &ends[to];
            }
        }
        if (own && known) {
            const struct gw_clock_shift shift = shift_of(&clocks[known->clock]);
            const uint64_t reference_ns =
                clocks[known->clock].how == GW_CLOCK_REFERENCE ? known->ns : gw_clock_shifted(&shift, known->ns);
            points[found++] = (struct point){(double)own->ns, (double)((int64_t)reference_ns - (int64_t)own->ns)};
        }
    }
    return found;
}

int gw_clocks_fit(const struct gw_model *model, const uint32_t *of_input, struct gw_clock *clocks, size_t count)
{
    size_t end_count = 0;
    struct end *ends = list_ends(model, of_input, &end_count);
    struct point *points = malloc((model->collectives_count + 1) * sizeof(*points));
    int status = ends && points ? 0 : -ENOMEM;
    /* A host may share collectives only with one that is fitted later: as long as any is, look again. */
    for (bool any = true; any && !status;) {
        any = false;
        for (uint32_t c = 1; c < count && !status; c++) {
            const size_t found = clocks[c].how == GW_CLOCK_WALL ? find_points(ends, end_count, clocks, c, points) : 0;
            if (found) {
                status = fit_line(&clocks[c], points, found);
                any = true;
            }
        }
    }
    free(ends);
    free(points);
    return status;
}

int gw_clocks_apply(struct gw_recordings *recordings, const uint32_t *of_input, const struct gw_clock *clocks)
{
    for (size_t i = 0; i < recordings->inputs_count; i++) {
        const struct gw_clock *clock = &clocks[of_input[i]];
        const struct gw_clock_shift shift = shift_of(clock);
        if (clock->how != GW_CLOCK_REFERENCE) {
            const int status = gw_records_shift((struct gw_records *)recordings->inputs[i].records, &shift);
            if (status) {
                return status;
            }
            gw_run_file_shift((struct gw_run_file *)recordings->inputs[i].run, &shift);
        }
    }
    return 0;
}

/* ---- the check ---- */

/* Distances of each end from the first process's of the same exchange, by clock. */
static int measure_residuals(const struct end *ends, size_t end_count, struct gw_clock *clocks, size_t count)
{
    double *distances = malloc((end_count + 1) * sizeof(*distances));
    if (!distances) {
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < count; c++) {
        size_t found = 0;
        for (size_t from = 0, to; from < end_count; from = to) {
            for (to = from; to < end_count && ends[to].match == ends[from].match; to++) {
                if (ends[to].clock == c && ends[to].process != ends[from].process) {
                    distances[found++] = fabs((double)((int64_t)ends[to].ns - (int64_t)ends[from].ns));
                }
            }
        }
        clocks[c].residual_ns = found ? (uint64_t)gw_median(distances, found) : 0;
        clocks[c].matched = clocks[c].how == GW_CLOCK_FITTED ? clocks[c].matched : (uint32_t)found;
    }
    free(distances);
    return 0;
}

/* Whether the exchange spans a clock on which nothing can be said to the microsecond. */
static bool spans_wall(const struct end *ends, size_t count, const struct gw_clock *clocks)
{
    bool spans = false;
    for (size_t i = 1; i < count; i++) {
        spans = spans || (ends[i].clock != ends[0].clock &&
                          (clocks[ends[i].clock].how == GW_CLOCK_WALL || clocks[ends[0].clock].how == GW_CLOCK_WALL));
    }
    return spans;
}

static int forget_arrivals(struct gw_model *model, const struct end *ends, size_t end_count,
                           const struct gw_clock *clocks)
{
    bool *forgotten = calloc(model->collectives_count + 1, sizeof(*forgotten));
    if (!forgotten) {
        return -ENOMEM;
    }
    for (size_t from = 0, to; from < end_count; from = to) {
        for (to = from; to < end_count && ends[to].match == ends[from].match;) {
            to++;
        }
        forgotten[ends[from].match] = spans_wall(&ends[from], to - from, clocks);
    }
    for (size_t i = 0; i < model->collectives_count; i++) {
        struct gw_collective *collective = &model->collectives[i];
        if (collective->match != GW_NONE && forgotten[collective->match]) {
            collective->arrival_wait_ns = collective->transfer_ns = GW_TIME_UNKNOWN;
        }
    }
    free(forgotten);
    return 0;
}

int gw_clocks_check(struct gw_model *model, const uint32_t *of_input, struct gw_clock *clocks, size_t count)
{
    size_t end_count = 0;
    struct end *ends = list_ends(model, of_input, &end_count);
    int status = ends ? measure_residuals(ends, end_count, clocks, count) : -ENOMEM;
    bool has_wall = false;
    for (size_t c = 0; c < count; c++) {
        has_wall = has_wall || clocks[c].how == GW_CLOCK_WALL;
    }
    if (!status && has_wall) {
        status = forget_arrivals(model, ends, end_count, clocks);
    }
    free(ends);
    return status;
}
