#include "analyzer/model/steps.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/sequence.h"
#include "analyzer/model/sorted.h"
#include "analyzer/read/parallel.h"

#define STEPS_MIN 3u
#define LONG_WARMUP 1.5       /* times the median step: still warming up */
#define UNDISTURBED 0.98      /* regularity of steps that no other thread's uploads disturb, … */
#define MORE_REGULAR 0.02     /* … and by how much more regular they have to be without them */
#define COMPILE_MIN_NS 50000u /* a look-up that takes less has loaded nothing */

static uint64_t range_begin_ns(const struct gw_sequence *sequence, const struct gw_step_range *range)
{
    return sequence->events[range->first].begin_ns;
}

/* When the host's call ended; where it is not known, when it began. */
static uint64_t event_end_ns(const struct gw_model *model, const uint32_t *ops, const struct gw_sequence_event *event)
{
    const uint32_t call = event->op == GW_NONE ? event->call : gw_host_call(&model->ops[ops[event->op]]);
    return call == GW_NONE ? event->begin_ns : model->calls[call].end_ns;
}

/* End of the last call or operation of an open range, but not beyond the begin of what follows it. */
static uint64_t open_end_ns(const struct gw_model *model, const struct gw_sequence *sequence,
                            const struct gw_step_range *range)
{
    const uint32_t *ops = model->process_ops + model->processes[sequence->process].op_first;
    size_t after = range->first + range->count;
    uint64_t end_ns = 0;
    for (size_t e = range->first; e < after; e++) {
        const struct gw_sequence_event *event = &sequence->events[e];
        const uint64_t left_ns = event_end_ns(model, ops, event);
        end_ns = left_ns > end_ns ? left_ns : end_ns;
        for (uint32_t o = event->op; o != GW_NONE && o <= event->last_op; o++) {
            const struct gw_op *op = &model->ops[ops[o]];
            if (op->end_ns != GW_TIME_UNKNOWN && op->end_ns > end_ns) {
                end_ns = op->end_ns;
            }
        }
    }
    bool is_last = after == sequence->count;
    return !is_last && sequence->events[after].begin_ns < end_ns ? sequence->events[after].begin_ns : end_ns;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Median length of the later half, which is past any warm-up. */
static int later_median_ns(const struct gw_step *steps, size_t count, uint64_t *ret_ns)
{
    size_t later = count - count / 2;
    uint64_t *lengths = malloc(later * sizeof(*lengths));
    if (!lengths) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < later; i++) {
        lengths[i] = steps[count / 2 + i].end_ns - steps[count / 2 + i].begin_ns;
    }
    qsort(lengths, later, sizeof(*lengths), compare_times);
    *ret_ns = lengths[later / 2];
    free(lengths);
    return 0;
}

/* The first call that begins at or after a time; calls are in order of begin. */
static size_t first_call_at(const struct gw_model *model, uint64_t time_ns)
{
    return GW_FIRST_NOT(0, model->calls_count, c, model->calls[c].begin_ns < time_ns);
}

static bool compiles(const struct gw_model *model, const struct gw_step *step)
{
    for (size_t i = first_call_at(model, step->begin_ns);
         i < model->calls_count && model->calls[i].begin_ns < step->end_ns; i++) {
        const struct gw_call *call = &model->calls[i];
        if (call->end_ns - call->begin_ns >= COMPILE_MIN_NS && model->threads[call->thread].process == step->process &&
            gw_call_class(call->function) == GW_CALL_COMPILE) {
            return true;
        }
    }
    return false;
}

/* Whether the step looks like one of warm-up: it launches something for the first time, compiles, or is much longer
 * than later ones. seen: tokens launched so far; goes on to those of the step. */
static bool is_cold(const struct gw_model *model, const struct gw_sequence *sequence, const struct gw_step_range *range,
                    const struct gw_step *step, uint64_t median_ns, bool *seen)
{
    bool is_new = false;
    for (size_t e = range->first; e < range->first + range->count; e++) {
        const struct gw_sequence_event *event = &sequence->events[e];
        is_new |= !seen[event->token] && (event->traits & GW_TRAIT_KERNEL);
        seen[event->token] = true;
    }
    return is_new || (double)(step->end_ns - step->begin_ns) > LONG_WARMUP * (double)median_ns || compiles(model, step);
}

/* Warm-up are the leading steps that look like it, half of all at most. When most later ones do so too it never ends:
 * what is cold is the loop itself, and only its first step is left out. */
static int mark_warmup(const struct gw_model *model, const struct gw_sequence *sequence,
                       const struct gw_step_range *ranges, struct gw_step *steps, size_t count)
{
    uint64_t median_ns = 0;
    int status = later_median_ns(steps, count, &median_ns);
    bool *seen = calloc(sequence->token_count + 1u, sizeof(*seen));
    size_t warmup = 0, cold_later = 0, half = count / 2;
    if (status || !seen) {
        free(seen);
        return -ENOMEM;
    }
    for (size_t e = 0; e < ranges[0].first; e++) {
        seen[sequence->events[e].token] = true;
    }
    while (warmup < half && is_cold(model, sequence, &ranges[warmup], &steps[warmup], median_ns, seen)) {
        warmup++;
    }
    for (size_t i = half; i < count && warmup == half; i++) {
        cold_later += is_cold(model, sequence, &ranges[i], &steps[i], median_ns, seen);
    }
    if (half && 2 * cold_later > count - half) {
        warmup = 1;
    }
    for (size_t i = 0; i < warmup; i++) {
        steps[i].warmup = true;
    }
    free(seen);
    return 0;
}

/* Stores the ranges as steps of the model: times, operations and warm-up. sequence is the process's. Returns 0 or
 * -ENOMEM. */
static int store_steps(struct gw_model *model, const struct gw_sequence *sequence, const struct gw_step_range *ranges,
                       size_t count)
{
    struct gw_step *grown = realloc(model->steps, (model->steps_count + count + 1) * sizeof(*grown));
    if (!grown) {
        return -ENOMEM;
    }
    model->steps = grown;
    struct gw_step *steps = model->steps + model->steps_count;
    uint32_t first_op = model->processes[sequence->process].op_first;
    for (size_t i = 0; i < count; i++) {
        const struct gw_step_range *range = &ranges[i];
        size_t after = range->first + range->count;
        uint32_t first = GW_NONE, end = 0;
        for (size_t e = range->first; e < after; e++) {
            if (sequence->events[e].op != GW_NONE) {
                first = first == GW_NONE ? sequence->events[e].op : first;
                end = sequence->events[e].last_op + 1; /* with what other lanes enqueued meanwhile */
            }
        }
        first = first == GW_NONE ? 0 : first;
        steps[i] = (struct gw_step){
            .begin_ns = range_begin_ns(sequence, range),
            .end_ns = range->open ? open_end_ns(model, sequence, range) : sequence->events[after].begin_ns,
            .process = sequence->process,
            .number = (uint32_t)i,
            .first_op = first_op + first,
            .op_count = end - first,
        };
    }
    int status = count ? mark_warmup(model, sequence, ranges, steps, count) : 0;
    if (!status) {
        model->steps_count += count;
    }
    return status;
}

/* What was found in one process. */
struct search {
    struct gw_sequence sequence;
    struct gw_found_steps found;
};

struct searches {
    const struct gw_model *model;
    uint32_t first_process;
    struct search *list; /* of the processes from there on */
};

static void clear_search(struct search *search)
{
    gw_found_steps_clear(&search->found);
    gw_sequence_clear(&search->sequence);
}

static int search_sequence(const struct gw_model *model, uint32_t process, bool without_loaders, struct search *search)
{
    int status = gw_sequence_create(model, process, without_loaders, &search->sequence);
    return status ? status : gw_found_steps_find(&search->sequence, &search->found);
}

/* Uploads of threads of their own come between the operations of a step wherever it happens; where they disturb the
 * search it is tried without them. */
static int search_process(void *user, size_t index)
{
    const struct searches *searches = user;
    const uint32_t process = searches->first_process + (uint32_t)index;
    struct search *search = &searches->list[index], other = {0};
    if (!searches->model->processes[process].op_count) {
        return 0;
    }
    int status = search_sequence(searches->model, process, false, search);
    if (!status && search->sequence.has_loaders && search->found.regularity < UNDISTURBED) {
        status = search_sequence(searches->model, process, true, &other);
        if (!status && other.found.regularity > search->found.regularity + MORE_REGULAR) {
            const struct search disturbed = *search;
            *search = other;
            other = disturbed;
            search->found.confidence = fmax(search->found.confidence, other.found.confidence);
        }
        clear_search(&other);
    }
    return status;
}

/* Processes are searched side by side, as many at a time as there are threads: a sequence takes about as much memory as
 * the operations. */
int gw_steps_by_sequence(struct gw_model *model)
{
    double confidence = 1;
    size_t at_once = gw_parallel_threads();
    struct searches searches = {.model = model, .list = calloc(at_once, sizeof(*searches.list))};
    int status = searches.list ? 0 : -ENOMEM;
    for (size_t p = 0; p < model->processes_count && !status; p += at_once) {
        size_t count = model->processes_count - p < at_once ? model->processes_count - p : at_once;
        searches.first_process = (uint32_t)p;
        status = gw_parallel_for(count, search_process, &searches);
        for (size_t i = 0; i < count; i++) {
            struct search *search = &searches.list[i];
            const struct gw_found_steps *found = &search->found;
            if (!status && found->count >= STEPS_MIN) {
                gw_steps_begin_with_reads(model, &search->sequence, found->ranges, found->count);
                status = store_steps(model, &search->sequence, found->ranges, found->count);
                confidence = fmin(confidence, found->confidence);
                model->micro_steps = found->micro_steps > model->micro_steps ? found->micro_steps : model->micro_steps;
                if (!status && found->others && !model->steps_other.count) {
                    status = gw_steps_name_other(model, &search->sequence, found);
                }
            }
            clear_search(search);
        }
    }
    free(searches.list);
    if (!status && model->steps_count) {
        model->steps_method = "sequence";
        model->steps_confidence = confidence;
    }
    return status;
}

/* Names that match: of kernels in their short form, of ranges as they are. */
#define MATCHES_KERNEL 1u
#define MATCHES_RANGE 2u

static int match_names(const struct gw_model *model, const char *regex, uint8_t *matches, struct gw_error *error)
{
    regex_t compiled;
    char reason[128];
    int code = regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB);
    if (code) {
        regerror(code, &compiled, reason, sizeof(reason));
        return gw_error_set(error, -EINVAL, "'%s' is not a regular expression: %s", regex, reason);
    }
    int status = 0;
    for (size_t n = 0; n < model->names_count && !status; n++) {
        char *name = gw_kernel_name_short(model->names[n]);
        status = name ? 0 : -ENOMEM;
        matches[n] = name && regexec(&compiled, name, 0, NULL, 0) == 0 ? MATCHES_KERNEL : 0;
        matches[n] |= regexec(&compiled, model->names[n], 0, NULL, 0) == 0 ? MATCHES_RANGE : 0;
        free(name);
    }
    regfree(&compiled);
    return status;
}

/* Events that are kernels with a matching name, or graph replays with such a kernel. Returns how many `firsts` there
 * are. */
static size_t firsts_by_kernel(const struct gw_model *model, const struct gw_sequence *sequence, const uint8_t *matches,
                               uint32_t every, struct gw_step_range *firsts)
{
    const uint32_t *ops = model->process_ops + model->processes[sequence->process].op_first;
    size_t count = 0, seen = 0;
    for (size_t e = 0; e < sequence->count; e++) {
        bool found = false;
        for (uint32_t o = sequence->events[e].op; o != GW_NONE && o <= sequence->events[e].last_op && !found; o++) {
            uint32_t name = model->ops[ops[o]].name;
            found = name != GW_NONE && matches[name] & MATCHES_KERNEL;
        }
        if (found && seen++ % every == 0) {
            firsts[count++] = (struct gw_step_range){.first = e};
        }
    }
    return count;
}

/* The next range from *at on whose name matches and that lies in no other such range of its thread; NULL after the
 * thread's last. *at: at first the thread's first range. */
static const struct gw_range *next_outermost(const struct gw_model *model, const uint8_t *matches, uint32_t thread,
                                             uint64_t after_ns, size_t *at)
{
    while (*at < model->ranges_count && model->ranges[*at].thread == thread) {
        const struct gw_range *range = &model->ranges[(*at)++];
        if (matches[range->name] & MATCHES_RANGE && range->begin_ns >= after_ns) {
            return range;
        }
    }
    return NULL;
}

/* Where the process's ranges with a matching name begin that lead it: those of the thread with most of them. */
static size_t leading_ranges(const struct gw_model *model, uint32_t process, const uint8_t *matches)
{
    size_t most = 0, leading = SIZE_MAX;
    for (size_t at = 0; at < model->ranges_count;) {
        uint32_t thread = model->ranges[at].thread;
        size_t first = at, count = 0;
        uint64_t after_ns = 0;
        for (const struct gw_range *range; (range = next_outermost(model, matches, thread, after_ns, &at)); count++) {
            after_ns = range->end_ns;
        }
        if (model->threads[thread].process == process && count > most) {
            most = count;
            leading = first;
        }
    }
    return leading;
}

/* The first events within the leading ranges; a range without any begins no step. */
static size_t firsts_by_range(const struct gw_model *model, const struct gw_sequence *sequence, const uint8_t *matches,
                              uint32_t every, struct gw_step_range *firsts)
{
    size_t at = leading_ranges(model, sequence->process, matches), event = 0, count = 0, seen = 0;
    uint64_t after_ns = 0;
    if (at == SIZE_MAX) {
        return 0;
    }
    uint32_t thread = model->ranges[at].thread;
    for (const struct gw_range *range; (range = next_outermost(model, matches, thread, after_ns, &at));) {
        after_ns = range->end_ns;
        if (seen++ % every != 0) {
            continue;
        }
        while (event < sequence->count && sequence->events[event].begin_ns < range->begin_ns) {
            event++;
        }
        if (event < sequence->count && (!count || firsts[count - 1].first != event)) {
            firsts[count++] = (struct gw_step_range){.first = event};
        }
    }
    return count;
}

/* Stores in *by_ranges whether ranges of the process matched; they go before kernels. */
static int cut_by_name(struct gw_model *model, uint32_t process, const uint8_t *matches, uint32_t every,
                       bool *by_ranges)
{
    struct gw_sequence sequence = {0};
    int status = gw_sequence_create(model, process, false, &sequence);
    struct gw_step_range *ranges = status ? NULL : malloc((sequence.count + 1) * sizeof(*ranges));
    if (!ranges) {
        status = -ENOMEM;
        goto end;
    }
    size_t count = firsts_by_range(model, &sequence, matches, every, ranges);
    *by_ranges = *by_ranges || count;
    if (!count) {
        count = firsts_by_kernel(model, &sequence, matches, every, ranges);
    }
    for (size_t i = 0; i < count; i++) {
        ranges[i].count = (i + 1 < count ? ranges[i + 1].first : sequence.count) - ranges[i].first;
        ranges[i].open = i + 1 == count;
    }
    status = store_steps(model, &sequence, ranges, count);
end:
    free(ranges);
    gw_sequence_clear(&sequence);
    return status;
}

int gw_steps_by_name(struct gw_model *model, const char *regex, uint32_t every, struct gw_error *error)
{
    uint8_t *matches = calloc(model->names_count + 1, sizeof(*matches));
    bool by_ranges = false;
    int status = matches ? match_names(model, regex, matches, error) : -ENOMEM;
    for (uint32_t p = 0; p < model->processes_count && !status; p++) {
        status = cut_by_name(model, p, matches, every ? every : 1, &by_ranges);
    }
    free(matches);
    if (!status && !model->steps_count) {
        return gw_error_set(error, -EINVAL, "no kernel and no NVTX range of the run matches '%s'", regex);
    }
    if (!status) {
        model->steps_method = by_ranges ? "nvtx" : "regex";
        model->steps_confidence = 1;
    }
    return status;
}
