/*
 * gw-compare-truth: is what the analyzer exported of a run what the simulated GPU says happened?
 *
 *   gw-compare-truth [--floor NS] [--outliers PERCENT] [--untimed PERCENT] [--median NS] [--driver-only 1]
 * [--counted LEAST] [--steps FILE] RUN CSV-FOLDER TRUTH.PID.csv…
 *
 * Calls: every call of the truth, per thread and in order, with the same depth, name and result, its begin and end
 * within those of the traced call, or among those that were counted, as many as there are and in no less time:
 * with --counted at least so many, else none.
 * Operations: those of each stream in order, with the same kind, name and bytes, submitted within the traced call;
 * start and end within what the model states as their error and the floor, but for the given share, and those of
 * kernels, memsets and graphs within the floor that the report states, but for the same share; of all of them half
 * within --median. A graph replay is one exported operation for all its nodes, or each node is one. Steps (lines
 * "number begin_ns …" by the program itself): as many, and none of the program's operations between its begin of a step
 * and ours.
 *
 * Prints a table and what differs (the first few); exit status 0 when all agrees, 1 when not, 2 for bad input.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/pipeline/tables.h"

#define DIFFERENCES_SHOWN 12
#define BEGIN_UNKNOWN 0u         /* of a call during which the truth log was opened */
#define BEGIN_ERROR_NS 60u       /* of a beginning that was read from the cycle counter (shim/tracer/clock.h) */
#define PROCESS_MARK 0x80000000u /* a process number of the trace, no longer one of a file */

struct comparison {
    struct tables truth, traced;
    uint64_t floor_ns;
    double outliers_percent, untimed_percent;
    uint64_t median_ns; /* 0: any */
    bool driver_only;   /* the runtime is inside the program and cannot be traced: calls of the driver alone */
    const char *csv_folder, *steps_path;
    unsigned differences;
    uint64_t least_counted, counted; /* calls that are to be counted only, and are */
    uint64_t counted_ns;             /* of these, in the truth, those at depth 1 */
    size_t calls, ops, untimed, steps;
    size_t beyond, floored, beyond_floor; /* off by more than they state; those the report's floor is of, and of these
                                             off by more than it */
    uint64_t *errors_ns;                  /* of each compared start and end */
    size_t error_count;
    struct op_row worst; /* of those beyond: as traced */
    uint64_t worst_ns;
};

static void differ(struct comparison *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void differ(struct comparison *self, const char *format, ...)
{
    if (self->differences++ >= DIFFERENCES_SHOWN) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    printf("  ");
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

static int by_thread(const void *left, const void *right)
{
    const struct call_row *a = left, *b = right;
    if (a->tid != b->tid) {
        return a->tid < b->tid ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static void show_call(struct comparison *self, const char *what, const struct call_row *call)
{
    differ(self, "%s: thread %" PRIu32 ", depth %u, %s at %" PRIu64 ", result %d", what, call->tid, call->depth,
           call->name, call->begin_ns, call->result);
}

/* When the truth log was open at the latest: calls that other threads made before are not in it. */
static uint64_t log_open_ns(const struct tables *truth)
{
    uint64_t open_ns = UINT64_MAX;
    for (size_t i = 0; i < truth->call_count; i++) {
        open_ns = truth->calls[i].end_ns < open_ns ? truth->calls[i].end_ns : open_ns;
    }
    return open_ns;
}

/* Takes the call for one of those that were only counted. Returns whether there was one left. */
static bool take_counted(struct comparison *self, const struct call_row *want)
{
    for (size_t i = 0; i < self->traced.counted_count; i++) {
        struct counted_row *row = &self->traced.counted[i];
        if (row->tid == want->tid && row->count && strcmp(row->name, want->name) == 0 && want->result == 0 &&
            want->end_ns + BEGIN_ERROR_NS >= row->begin_ns) {
            row->count--;
            self->counted++;
            if (want->depth == 1) {
                self->counted_ns += want->end_ns - want->begin_ns;
            }
            return true;
        }
    }
    return false;
}

/* All that were counted are in the truth, but those before the log was open; the times agree. */
static void compare_counted(struct comparison *self, uint64_t open_ns)
{
    uint64_t total_ns = 0;
    for (size_t i = 0; i < self->traced.counted_count; i++) {
        const struct counted_row *row = &self->traced.counted[i];
        total_ns += row->total_ns;
        if (row->count && row->begin_ns >= open_ns) {
            differ(self, "counted, not in the truth: thread %" PRIu32 ", %s, %" PRIu64 " times", row->tid, row->name,
                   row->count);
        }
    }
    if (self->counted < self->least_counted || (self->counted && !self->least_counted)) {
        differ(self, "%" PRIu64 " calls were only counted, %" PRIu64 " wanted", self->counted, self->least_counted);
    }
    if (total_ns < self->counted_ns) {
        differ(self, "the counted calls took %" PRIu64 " ns, but %" PRIu64 " are said", self->counted_ns, total_ns);
    }
}

static void compare_calls(struct comparison *self)
{
    struct tables *truth = &self->truth, *traced = &self->traced;
    size_t t = 0, x = 0;
    uint64_t open_ns = log_open_ns(truth);
    if (truth->call_count) {
        qsort(truth->calls, truth->call_count, sizeof(*truth->calls), by_thread);
    }
    if (traced->call_count) {
        qsort(traced->calls, traced->call_count, sizeof(*traced->calls), by_thread);
    }
    while (t < truth->call_count || x < traced->call_count) {
        const struct call_row *want = t < truth->call_count ? &truth->calls[t] : NULL;
        const struct call_row *have = x < traced->call_count ? &traced->calls[x] : NULL;
        bool same = want && have && want->tid == have->tid && want->depth == have->depth &&
                    strcmp(want->name, have->name) == 0 &&
                    (want->begin_ns + BEGIN_ERROR_NS >= have->begin_ns || want->begin_ns == BEGIN_UNKNOWN) &&
                    (!have->ended || want->begin_ns <= have->end_ns);
        if (same) {
            if (have->ended && (want->end_ns > have->end_ns || want->result != have->result)) {
                show_call(self, "another end or result", want);
            }
            self->calls++;
            t++;
            x++;
        } else if (have && (!want || by_thread(have, want) < 0)) {
            if (have->begin_ns >= open_ns) {
                show_call(self, "traced, not in the truth", have);
            }
            x++;
        } else {
            if (take_counted(self, want)) {
                self->calls++;
            } else {
                show_call(self, "not traced", want);
            }
            t++;
        }
    }
    compare_counted(self, open_ns);
}

/* All of a graph's nodes become one operation, from the first start to the last end. A launch is told from the next by
 * the traced calls: `traced` holds the stream's operations in order. */
static size_t fold_graphs(struct op_row *truth, size_t count, const struct op_row *traced, size_t traced_count)
{
    size_t kept = 0, launch = 0;
    struct op_row *open = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!truth[i].in_graph) {
            truth[kept++] = truth[i];
            continue;
        }
        size_t own = launch;
        for (size_t k = launch; k < traced_count && traced[k].submit_ns <= truth[i].submit_ns; k++) {
            own = traced[k].in_graph ? k + 1 : own;
        }
        if (open && own == launch) {
            open->start_ns = truth[i].start_ns < open->start_ns ? truth[i].start_ns : open->start_ns;
            open->end_ns = truth[i].end_ns > open->end_ns ? truth[i].end_ns : open->end_ns;
            continue;
        }
        launch = own;
        open = &truth[kept++];
        *open = truth[i];
        strcpy(open->kind, "graph");
        open->name[0] = '\0';
        open->bytes = 0;
    }
    return kept;
}

static int by_submit(const void *left, const void *right)
{
    const struct op_row *a = left, *b = right;
    if (a->submit_ns != b->submit_ns) {
        return a->submit_ns < b->submit_ns ? -1 : 1;
    }
    /* The nodes of one launch. */
    if (a->graph_node != b->graph_node) {
        return a->graph_node < b->graph_node ? -1 : 1;
    }
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Gives the truth's rows the process numbers of the trace: a thread is in one process only. */
static void number_processes(struct tables *truth, const struct tables *traced)
{
    for (size_t t = 0; t < truth->call_count; t++) {
        uint32_t file = truth->calls[t].process;
        if (t && truth->calls[t - 1].process == file) {
            continue;
        }
        const struct call_row *match = NULL;
        for (size_t x = 0; x < traced->call_count && !match; x++) {
            match = traced->calls[x].tid == truth->calls[t].tid ? &traced->calls[x] : NULL;
        }
        for (size_t i = 0; match && i < truth->op_count; i++) {
            if (truth->ops[i].process == file) {
                truth->ops[i].process = PROCESS_MARK | match->process;
            }
        }
    }
    for (size_t i = 0; i < truth->op_count; i++) {
        truth->ops[i].process &= ~PROCESS_MARK;
    }
}

/* Leaves out the runtime's own calls; what they called counts from depth 1 then. */
static void drop_runtime(struct tables *truth)
{
    size_t kept = 0;
    for (size_t i = 0; i < truth->call_count; i++) {
        struct call_row call = truth->calls[i];
        if (strncmp(call.name, "cuda", 4) != 0 && strncmp(call.name, "__cuda", 6) != 0) {
            call.depth -= call.depth > 1;
            truth->calls[kept++] = call;
        }
    }
    truth->call_count = kept;
}

static bool same_work(const struct op_row *truth, const struct op_row *traced)
{
    if (truth->device != traced->device || traced->in_graph) {
        return truth->device == traced->device && truth->in_graph;
    }
    return (truth->graph_node == traced->graph_node && strcmp(truth->kind, traced->kind) == 0 &&
            truth->bytes == traced->bytes && strcmp(truth->name, traced->name) == 0);
}

/* The truth's number of a traced stream: the one most of whose operations were submitted within this one's calls. The
 * numbers are given by whoever sees the streams first, so they need not be the same. */
static bool find_stream(const struct tables *truth, const struct op_row *traced, size_t count, uint32_t *ret_stream)
{
    enum { NUMBERS = 4096 };
    static unsigned votes[NUMBERS];
    memset(votes, 0, sizeof(votes));
    uint32_t best = 0;
    size_t t = 0;
    for (size_t i = 0; i < count; i++) {
        while (t < truth->op_count && truth->ops[t].submit_ns < traced[i].submit_ns) {
            t++;
        }
        for (size_t k = t; k < truth->op_count && truth->ops[k].submit_ns <= traced[i].call_end_ns; k++) {
            uint32_t number = truth->ops[k].stream;
            if (number < NUMBERS && truth->ops[k].process == traced->process && same_work(&truth->ops[k], &traced[i])) {
                votes[number]++;
                best = votes[number] > votes[best] ? number : best;
                break;
            }
        }
    }
    *ret_stream = best;
    return votes[best] > 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

static void compare_times(struct comparison *self, const struct op_row *want, const struct op_row *have)
{
    if (!have->timed) {
        self->untimed++;
        return;
    }
    uint64_t allowed_ns = self->floor_ns + have->error_ns;
    uint64_t start_ns = distance(want->start_ns, have->start_ns), end_ns = distance(want->end_ns, have->end_ns);
    self->errors_ns[self->error_count++] = start_ns;
    self->errors_ns[self->error_count++] = end_ns;
    if (start_ns > allowed_ns || end_ns > allowed_ns) {
        self->beyond++;
        uint64_t worse_ns = start_ns > end_ns ? start_ns : end_ns;
        if (worse_ns > self->worst_ns) {
            self->worst_ns = worse_ns;
            self->worst = *have;
        }
    }
    if (strcmp(have->kind, "kernel") == 0 || strcmp(have->kind, "memset") == 0 || strcmp(have->kind, "graph") == 0) {
        uint64_t floor_ns = self->floor_ns + self->traced.stated_floor_ns;
        self->floored++;
        self->beyond_floor += start_ns > floor_ns || end_ns > floor_ns;
    }
}

/* The truth's row of a traced operation: the first that is like it and was submitted within its call. The calls of
 * several threads on one stream may overlap, so it need not be the next. NULL: none. */
static struct op_row *choose(struct op_row *wanted, size_t count, const struct op_row *have)
{
    for (size_t i = 0; i < count && wanted[i].submit_ns <= have->call_end_ns; i++) {
        if (wanted[i].submit_ns >= have->submit_ns && same_work(&wanted[i], have)) {
            return &wanted[i];
        }
    }
    return NULL;
}

/* Moves the row to the place of those that are matched; the order of the others stays. */
static void take(struct op_row *wanted, size_t place, struct op_row *row)
{
    struct op_row taken = *row;
    memmove(&wanted[place + 1], &wanted[place], (size_t)(row - &wanted[place]) * sizeof(*row));
    wanted[place] = taken;
}

static void compare_stream(struct comparison *self, const struct op_row *traced, size_t count)
{
    struct tables *truth = &self->truth;
    uint32_t stream = 0;
    if (!find_stream(truth, traced, count, &stream)) {
        differ(self, "stream %" PRIu32 " of device %" PRIu32 ": none of its %zu operations is in the truth",
               traced->stream, traced->device, count);
        return;
    }
    struct op_row *wanted = malloc((truth->op_count + 1) * sizeof(*wanted));
    if (!wanted) {
        exit(2);
    }
    size_t wanted_count = 0, matched = 0;
    for (size_t i = 0; i < truth->op_count; i++) {
        if (truth->ops[i].stream == stream && truth->ops[i].device == traced->device &&
            truth->ops[i].process == traced->process) {
            wanted[wanted_count++] = truth->ops[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (traced[i].in_graph) {
            wanted_count = fold_graphs(wanted, wanted_count, traced, count);
            break;
        }
    }
    for (; matched < wanted_count && matched < count; matched++) {
        struct op_row *want = choose(&wanted[matched], wanted_count - matched, &traced[matched]);
        const struct op_row *have = &traced[matched];
        if (!want) {
            want = &wanted[matched];
            differ(self,
                   "stream %" PRIu32 ", operation %zu: %s %s of %" PRIu64 " bytes, in the truth %s %s of %" PRIu64,
                   traced->stream, matched, have->kind, have->name, have->bytes, want->kind, want->name, want->bytes);
            break;
        }
        compare_times(self, want, have);
        take(wanted, matched, want);
        self->ops++;
    }
    if (wanted_count != count) {
        differ(self, "stream %" PRIu32 " of device %" PRIu32 ": %zu operations, in the truth %zu", traced->stream,
               traced->device, count, wanted_count);
    }
    free(wanted);
}

static int by_stream(const void *left, const void *right)
{
    const struct op_row *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->device != b->device) {
        return a->device < b->device ? -1 : 1;
    }
    return a->stream != b->stream ? (a->stream < b->stream ? -1 : 1) : by_submit(left, right);
}

static void compare_ops(struct comparison *self)
{
    struct tables *truth = &self->truth, *traced = &self->traced;
    size_t want = 0;
    if (truth->op_count) {
        qsort(truth->ops, truth->op_count, sizeof(*truth->ops), by_submit);
    }
    if (traced->op_count) {
        qsort(traced->ops, traced->op_count, sizeof(*traced->ops), by_stream);
    }
    self->errors_ns = malloc((2 * traced->op_count + 1) * sizeof(*self->errors_ns));
    if (!self->errors_ns) {
        exit(2);
    }
    for (size_t first = 0, last = 0; first < traced->op_count; first = last) {
        const struct op_row *op = &traced->ops[first];
        while (last < traced->op_count && traced->ops[last].process == op->process &&
               traced->ops[last].device == op->device && traced->ops[last].stream == op->stream) {
            last++;
        }
        compare_stream(self, op, last - first);
    }
    for (size_t i = 0; i < truth->op_count; i++) {
        want += !truth->ops[i].in_graph;
    }
    size_t have = 0;
    for (size_t i = 0; i < traced->op_count; i++) {
        have += !traced->ops[i].in_graph && !traced->ops[i].graph_node;
    }
    if (want != have) {
        differ(self, "%zu operations outside graphs, in the truth %zu", have, want);
    }
    if (100.0 * (double)self->beyond_floor > self->outliers_percent * (double)self->floored) {
        differ(self, "%zu of %zu operations are off by more than the stated floor, %" PRIu64 " ns", self->beyond_floor,
               self->floored, self->traced.stated_floor_ns);
    }
    if (100.0 * (double)self->beyond > self->outliers_percent * (double)self->ops) {
        differ(self,
               "%zu of %zu operations are off by more than their stated error and %" PRIu64 " ns; worst, by %" PRIu64
               " ns: %s %s on stream %" PRIu32 " of device %" PRIu32 ", from %" PRIu64 " to %" PRIu64
               ", stated %" PRIu64,
               self->beyond, self->ops, self->floor_ns, self->worst_ns, self->worst.kind, self->worst.name,
               self->worst.stream, self->worst.device, self->worst.start_ns, self->worst.end_ns, self->worst.error_ns);
    }
    if ((double)self->untimed * 100.0 > self->untimed_percent * (double)self->ops) {
        differ(self, "%zu of %zu operations have no times", self->untimed, self->ops);
    }
}

/* Operations enqueued in [from, to). */
static size_t ops_between(const struct tables *traced, uint64_t from_ns, uint64_t to_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < traced->op_count; i++) {
        count += traced->ops[i].submit_ns >= from_ns && traced->ops[i].submit_ns < to_ns;
    }
    return count;
}

struct step_row {
    uint64_t begin_ns;
    int warmup;
};

static size_t read_steps(const char *path, const char *format, struct step_row **ret_steps)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0, count = 0;
    struct step_row *steps = NULL, step;
    if (!file) {
        fprintf(stderr, "gw-compare-truth: %s cannot be opened\n", path);
        exit(2);
    }
    while (getline(&line, &capacity, file) > 0) {
        if (sscanf(line, format, &step.begin_ns, &step.warmup) == 2) {
            steps = realloc(steps, (count + 1) * sizeof(*steps));
            if (!steps) {
                exit(2);
            }
            steps[count++] = step;
        }
    }
    free(line);
    fclose(file);
    *ret_steps = steps;
    return count;
}

/* Steps that the program calls warm-up must be there, but may begin with operations that later ones do not have. */
static void compare_steps(struct comparison *self)
{
    char path[4096];
    struct step_row *wanted = NULL, *found = NULL;
    snprintf(path, sizeof(path), "%s/steps.csv", self->csv_folder);
    size_t wanted_count = read_steps(self->steps_path, "%*u %" SCNu64 " %*u %d", &wanted);
    size_t found_count = read_steps(path, "%*u,%*u,%" SCNu64 ",%*u,%d", &found);
    if (wanted_count != found_count) {
        differ(self, "%zu steps, the program made %zu", found_count, wanted_count);
    }
    for (size_t i = 0; i < wanted_count && i < found_count; i++) {
        uint64_t low = wanted[i].begin_ns, high = found[i].begin_ns;
        bool before = high < low;
        size_t between = ops_between(&self->traced, before ? high : low, before ? low : high);
        if (between && !wanted[i].warmup) {
            differ(self, "step %zu begins %zu operations %s the program's", i, between, before ? "before" : "after");
        }
        self->steps++;
    }
    free(wanted);
    free(found);
}

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint64_t quantile_ns(const struct comparison *self, double share)
{
    return self->error_count ? self->errors_ns[(size_t)(share * (double)(self->error_count - 1))] : 0;
}

int main(int argc, char **argv)
{
    struct comparison self = {.floor_ns = 0};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(argv[at], "--floor") == 0) {
            self.floor_ns = strtoull(argv[at + 1], NULL, 10);
        } else if (strcmp(argv[at], "--outliers") == 0) {
            self.outliers_percent = strtod(argv[at + 1], NULL);
        } else if (strcmp(argv[at], "--untimed") == 0) {
            self.untimed_percent = strtod(argv[at + 1], NULL);
        } else if (strcmp(argv[at], "--median") == 0) {
            self.median_ns = strtoull(argv[at + 1], NULL, 10);
        } else if (strcmp(argv[at], "--driver-only") == 0) {
            self.driver_only = atoi(argv[at + 1]) != 0;
        } else if (strcmp(argv[at], "--counted") == 0) {
            self.least_counted = strtoull(argv[at + 1], NULL, 10);
        } else if (strcmp(argv[at], "--steps") == 0) {
            self.steps_path = argv[at + 1];
        } else {
            break;
        }
    }
    if (argc - at < 3 || strncmp(argv[at], "--", 2) == 0) {
        fputs("usage: gw-compare-truth [--floor NS] [--outliers PERCENT] [--untimed PERCENT] [--median NS] "
              "[--driver-only 1] [--counted LEAST] "
              "[--steps FILE] RUN CSV-FOLDER TRUTH.csv...\n",
              stderr);
        return 2;
    }
    self.csv_folder = argv[at + 1];
    tables_add_export(&self.traced, self.csv_folder);
    tables_add_errors(&self.traced, argv[at]);
    for (int i = at + 2; i < argc; i++) {
        tables_add_truth(&self.truth, argv[i], (uint32_t)i);
    }
    if (self.driver_only) {
        drop_runtime(&self.truth);
    }
    number_processes(&self.truth, &self.traced);
    compare_calls(&self);
    compare_ops(&self);
    if (self.steps_path) {
        compare_steps(&self);
    }
    qsort(self.errors_ns, self.error_count, sizeof(*self.errors_ns), by_size);
    if (self.median_ns && quantile_ns(&self, 0.5) > self.median_ns) {
        differ(&self, "half of the times are off by more than %" PRIu64 " ns", self.median_ns);
    }
    printf("calls %zu of %zu, operations %zu of %zu, off by %" PRIu64 " / %" PRIu64 " / %" PRIu64
           " ns (median / 95 %% / most), %zu beyond what they state, %zu of %zu beyond the floor of %" PRIu64
           " ns, steps %zu, differences %u\n",
           self.calls, self.truth.call_count, self.ops, self.traced.op_count, quantile_ns(&self, 0.5),
           quantile_ns(&self, 0.95), quantile_ns(&self, 1.0), self.beyond, self.beyond_floor, self.floored,
           self.traced.stated_floor_ns, self.steps, self.differences);
    tables_clear(&self.truth);
    tables_clear(&self.traced);
    free(self.errors_ns);
    return self.differences != 0;
}
