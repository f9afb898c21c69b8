/* Which ranks of a job are in the run, and what became of them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"
#include "shim/api/functions.h"

#define BROKEN_OFF_SAID 8u /* more are only counted */

static bool take_number(const char *environment, const char *name, uint32_t *ret_value)
{
    const size_t length = strlen(name);
    for (const char *line = environment; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            char *end;
            const unsigned long value = strtoul(line + length + 1, &end, 10);
            if (end == line + length + 1 || value > GW_RANKS_MAX) { /* a variable may hold anything */
                return false;
            }
            *ret_value = (uint32_t)value;
            return true;
        }
    }
    return false;
}

void gw_take_rank(struct gw_process *process)
{
    static const struct {
        const char *rank, *ranks;
    } launchers[] = {{"RANK", "WORLD_SIZE"},
                     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                     {"PMI_RANK", "PMI_SIZE"},
                     {"SLURM_PROCID", "SLURM_NTASKS"},
                     {"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"}};
    uint32_t value;
    process->rank = -1;
    process->ranks = 0;
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        if (take_number(process->environment, launchers[i].rank, &value)) {
            process->rank = (int32_t)value;
            process->ranks = take_number(process->environment, launchers[i].ranks, &value) ? value : 0;
            return;
        }
    }
}

/* ---- lists of ranks in words ---- */

struct rank_list {
    char text[200];
    size_t length, count;
    uint32_t first, last; /* of the range that is not written yet */
};

static void write_range(struct rank_list *list)
{
    char range[32];
    snprintf(range, sizeof(range), list->first == list->last ? "%s%u" : "%s%u–%u", list->length ? ", " : "ranks ",
             list->first, list->last);
    /* What does not fit is left out in the words, not in the count. */
    if (list->length + strlen(range) + sizeof(" …") < sizeof(list->text)) {
        memcpy(list->text + list->length, range, strlen(range) + 1);
        list->length += strlen(range);
    } else if (list->text[0] && !strstr(list->text, " …")) {
        memcpy(list->text + list->length, " …", sizeof(" …"));
    }
}

static void add_rank(struct rank_list *list, uint32_t rank)
{
    if (list->count && rank == list->last + 1) {
        list->last = rank;
    } else {
        if (list->count) {
            write_range(list);
        }
        list->first = list->last = rank;
    }
    list->count++;
}

/* "rank 3", "ranks 0, 2–7". */
static const char *rank_words(struct rank_list *list)
{
    write_range(list);
    if (list->count == 1) {
        snprintf(list->text, sizeof(list->text), "rank %u", list->first);
    }
    return list->text;
}

/* ---- what is said ---- */

static double since_begin_s(const struct gw_model *model, uint64_t time_ns)
{
    return time_ns > model->run.begin_ns ? (double)(time_ns - model->run.begin_ns) / 1e9 : 0;
}

static uint32_t expected_ranks(const struct gw_model *model, bool *ret_by_process)
{
    uint32_t expected = 0;
    for (size_t i = 0; i < model->processes_count; i++) {
        if (model->processes[i].ranks > expected) {
            expected = model->processes[i].ranks;
        }
    }
    *ret_by_process = expected > 0;
    for (size_t i = 0; i < model->recordings_count && !*ret_by_process; i++) {
        if (model->recordings[i].ranks > expected) {
            expected = model->recordings[i].ranks;
        }
    }
    return expected;
}

/* Adds a line to the run's problems. Returns 0 or -ENOMEM. */
static int __attribute__((format(printf, 2, 3))) say(struct gw_model *model, const char *format, ...)
{
    va_list arguments;
    char *line = NULL;
    va_start(arguments, format);
    const int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length < 0) {
        return -ENOMEM;
    }
    const int status = gw_add_problem(&model->run.problems, line);
    free(line);
    return status;
}

enum { MISSING = 0, SILENT, SEEN };

static void mark_seen(const struct gw_model *model, bool by_process, uint8_t *seen)
{
    const uint32_t expected = model->run.ranks;
    for (size_t i = 0; i < model->recordings_count; i++) {
        const struct gw_recording *recording = &model->recordings[i];
        if (recording->ranks == expected && recording->rank < expected) {
            seen[recording->rank] = by_process ? SILENT : SEEN;
        }
    }
    for (size_t i = 0; i < model->processes_count && by_process; i++) {
        const struct gw_process *process = &model->processes[i];
        if (process->rank >= 0 && (uint32_t)process->rank < expected && seen[process->rank] != SEEN) {
            seen[process->rank] = process->op_count ? SEEN : SILENT;
        }
    }
}

static int say_missing(struct gw_model *model, const uint8_t *seen)
{
    struct rank_list lists[SEEN] = {{.count = 0}};
    for (uint32_t rank = 0; rank < model->run.ranks; rank++) {
        if (seen[rank] != SEEN) {
            add_rank(&lists[seen[rank]], rank);
            model->run.ranks_missing++;
            model->run.ranks_absent += seen[rank] == MISSING;
        }
    }
    int status = 0;
    if (lists[MISSING].count) {
        status = say(model, "%s of %u %s not in the run", rank_words(&lists[MISSING]), model->run.ranks,
                     lists[MISSING].count == 1 ? "is" : "are");
    }
    if (lists[SILENT].count && !status) {
        status = say(model, "%s of %u put no work on a GPU", rank_words(&lists[SILENT]), model->run.ranks);
    }
    return status;
}

/* Ranks that have more than one recording; these are in order of rank. */
static int say_repeated(struct gw_model *model)
{
    struct rank_list list = {.count = 0};
    for (size_t i = 1; i < model->recordings_count; i++) {
        const struct gw_recording *recording = &model->recordings[i], *before = &model->recordings[i - 1];
        if (recording->ranks && recording->ranks == before->ranks && recording->rank == before->rank &&
            !(list.count && list.last == recording->rank)) {
            add_rank(&list, recording->rank);
        }
    }
    return list.count
               ? say(model,
                     "%s %s recorded more than once, as when a job is started again or two share a directory; all are "
                     "in the report",
                     rank_words(&list), list.count == 1 ? "was" : "were")
               : 0;
}

/* By the size of their job, then rank, then recording. */
static int by_size_and_rank(const void *left, const void *right)
{
    const struct gw_process *const *a = left, *const *b = right;
    if ((*a)->ranks != (*b)->ranks) {
        return (*a)->ranks < (*b)->ranks ? -1 : 1;
    }
    if ((*a)->rank != (*b)->rank) {
        return (*a)->rank < (*b)->rank ? -1 : 1;
    }
    return ((*a)->recording > (*b)->recording) - ((*a)->recording < (*b)->recording);
}

/* Jobs of different sizes, and ranks of which one recording has several processes: two jobs in one run. */
static int say_mixed(struct gw_model *model)
{
    const struct gw_process **ranked = calloc(model->processes_count + 1, sizeof(const struct gw_process *));
    struct rank_list list = {.count = 0};
    size_t count = 0, sizes = 0;
    int status = ranked ? 0 : -ENOMEM;
    for (size_t i = 0; i < model->processes_count && !status; i++) {
        const struct gw_process *process = &model->processes[i];
        if (process->ranks > 1 && process->rank >= 0 && process->op_count) {
            ranked[count++] = process;
        }
    }
    if (!status) {
        qsort(ranked, count, sizeof(*ranked), by_size_and_rank);
    }
    for (size_t i = 0; i < count; i++) {
        const struct gw_process *process = ranked[i];
        sizes += !i || ranked[i - 1]->ranks != process->ranks;
        if (i && by_size_and_rank(&ranked[i - 1], &ranked[i]) == 0 &&
            !(list.count && list.last == (uint32_t)process->rank)) {
            add_rank(&list, (uint32_t)process->rank);
        }
    }
    if (sizes > 1) {
        status =
            say(model,
                "%zu jobs of different sizes are in this run, the smallest of %u ranks, the largest of %u; what is "
                "said of ranks takes them for one job: record each into a directory of its own",
                sizes, ranked[0]->ranks, ranked[count - 1]->ranks);
    }
    if (list.count && !status) {
        status = say(model,
                     "%s put work on a GPU from several processes, as when a job is started again or two are recorded "
                     "as one; all are in the report",
                     rank_words(&list));
    }
    free(ranked);
    return status;
}

static int by_end_and_rank(const void *left, const void *right)
{
    const struct gw_recording *const *a = left, *const *b = right;
    if ((*a)->exit_signal != (*b)->exit_signal) {
        return (*a)->exit_signal > (*b)->exit_signal ? 1 : -1;
    }
    if ((*a)->exit_status != (*b)->exit_status) {
        return (*a)->exit_status > (*b)->exit_status ? 1 : -1;
    }
    return ((*a)->rank > (*b)->rank) - ((*a)->rank < (*b)->rank);
}

/* Programs of several recorders that failed, or that a signal ended; of one alone the exit status tells. */
static int say_ends(struct gw_model *model)
{
    int status = 0;
    const struct gw_recording **ended = calloc(model->recordings_count + 1, sizeof(*ended));
    size_t count = 0;
    if (!ended) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->recordings_count && model->recordings_count > 1; i++) {
        const struct gw_recording *recording = &model->recordings[i];
        if (recording->ranks && (recording->exit_signal || (recording->finished && recording->exit_status))) {
            ended[count++] = recording;
        }
    }
    qsort(ended, count, sizeof(*ended), by_end_and_rank);
    for (size_t i = 0, next; i < count && !status; i = next) {
        struct rank_list list = {.count = 0};
        uint64_t first_ns = UINT64_MAX;
        for (next = i; next < count && ended[next]->exit_signal == ended[i]->exit_signal &&
                       ended[next]->exit_status == ended[i]->exit_status;
             next++) {
            add_rank(&list, ended[next]->rank);
            first_ns = ended[next]->end_ns < first_ns ? ended[next]->end_ns : first_ns;
        }
        const char *name = sigabbrev_np(ended[i]->exit_signal);
        char when[64], how[64];
        if (first_ns <= model->run.begin_ns) {
            snprintf(when, sizeof(when), "before anything was recorded");
        } else {
            snprintf(when, sizeof(when), "%s%.3f s after the run began", list.count == 1 ? "" : "the first ",
                     since_begin_s(model, first_ns));
        }
        if (ended[i]->exit_signal) {
            snprintf(how, sizeof(how), "%s ended by signal %d (SIG%s)", list.count == 1 ? "was" : "were",
                     ended[i]->exit_signal, name ? name : "?");
        } else {
            snprintf(how, sizeof(how), "ended with status %d", ended[i]->exit_status);
        }
        status = say(model, "%s %s, %s", rank_words(&list), how, when);
    }
    free(ended);
    return status;
}

/* Whether the process broke off: it did not leave by exit(), as others of its job did. */
static bool broke_off(const struct gw_model *model, const struct gw_process *process)
{
    const struct gw_recording *recording = &model->recordings[process->recording];
    return process->ranks > 1 && !process->ended && process->op_count && recording->finished &&
           !recording->exit_signal && !model->run.still_running;
}

/* Ranks whose process did not leave by exit() as others did. Of one with a recorder of its own that was ended by a
 * signal, that is known. */
static int say_broken_off(struct gw_model *model)
{
    bool some_ended = false;
    int status = 0;
    unsigned said = 0, more = 0;
    for (size_t i = 0; i < model->processes_count; i++) {
        some_ended = some_ended || (model->processes[i].ranks > 1 && model->processes[i].ended);
    }
    for (size_t i = 0; i < model->processes_count && some_ended && !status; i++) {
        const struct gw_process *process = &model->processes[i];
        if (!broke_off(model, process)) {
            continue;
        }
        if (said++ < BROKEN_OFF_SAID) {
            status = say(model,
                         "rank %d was last seen %.3f s after the run began and did not end by exit(): it was killed, "
                         "or called _exit()",
                         process->rank, since_begin_s(model, process->last_ns));
        } else {
            more++;
        }
    }
    return status || !more ? status : say(model, "%u more ranks did not end by exit()", more);
}

/* Recordings of which only the first steps were taken. */
static int say_excerpts(const struct gw_builder *builder)
{
    uint64_t least = UINT64_MAX, most = 0, of = 0, bytes = 0;
    size_t count = 0;
    for (size_t i = 0; i < builder->input_count; i++) {
        const struct gw_run_file *run = builder->inputs[i].run;
        if (run->excerpt_of) {
            count++;
            least = run->excerpt_steps < least ? run->excerpt_steps : least;
            most = run->excerpt_steps > most ? run->excerpt_steps : most;
            of = run->excerpt_of > of ? run->excerpt_of : of;
            bytes = run->excerpt_bytes > bytes ? run->excerpt_bytes : bytes;
        }
    }
    if (!count) {
        return 0;
    }
    builder->model->run.excerpted = true;
    char range[48];
    snprintf(range, sizeof(range), least < most ? "%llu to %llu" : "%llu", (unsigned long long)least,
             (unsigned long long)most);
    return say(builder->model,
               "of %zu recording%s only the first %s of %llu steps were taken: more does not fit into %.1f kB each "
               "(--rank-size)",
               count, count == 1 ? "" : "s", range, (unsigned long long)of, (double)bytes / 1e3);
}

/* ---- calls of NCCL ---- */

/* Calls of one sort: by which processes, and the first of them. */
struct call_count {
    size_t count, processes;
    uint32_t last_process;
    const struct gw_call *first;
    struct rank_list ranks;
    bool all_ranked;
};

static void count_call(const struct gw_model *model, const struct gw_call *call, struct call_count *counted)
{
    const uint32_t process = model->threads[call->thread].process;
    if (!counted->count || process != counted->last_process) {
        counted->all_ranked = (!counted->count || counted->all_ranked) && model->processes[process].rank >= 0;
        counted->processes++;
        if (counted->all_ranked) {
            add_rank(&counted->ranks, (uint32_t)model->processes[process].rank);
        }
    }
    counted->last_process = process;
    counted->count++;
    if (!counted->first || call->begin_ns < counted->first->begin_ns) {
        counted->first = call;
    }
}

static const char *who(struct call_count *counted, char words[48])
{
    if (counted->all_ranked) {
        return rank_words(&counted->ranks);
    }
    snprintf(words, 48, "%zu process%s", counted->processes, counted->processes == 1 ? "" : "es");
    return words;
}

static const char *nccl_result_name(int32_t result)
{
    static const char *const names[] = {"ncclSuccess",       "ncclUnhandledCudaError", "ncclSystemError",
                                        "ncclInternalError", "ncclInvalidArgument",    "ncclInvalidUsage",
                                        "ncclRemoteError",   "ncclInProgress"};
    return result >= 0 && (size_t)result < sizeof(names) / sizeof(names[0]) ? names[result] : "an unknown error";
}

/* Communicators that were given up, and calls that failed: what a rank notices of another's end. */
static int say_failed_calls(struct gw_model *model)
{
    struct call_count failed = {0}, aborts = {0};
    char words[48];
    for (size_t t = 0; t < model->threads_count; t++) {
        const struct gw_thread *thread = &model->threads[t];
        for (uint32_t i = 0; i < thread->call_count; i++) {
            const struct gw_call *call = &model->calls[model->thread_calls[thread->call_first + i]];
            const struct gw_function *row = gw_function_row(call->function);
            if (!row || row->api != GW_API_NCCL || call->flags & GW_CALL_NO_END) {
                continue;
            }
            if (strcmp(row->base, "ncclCommAbort") == 0) {
                count_call(model, call, &aborts);
            } else if (row->returns == GW_RETURN_INT && call->result &&
                       strcmp(nccl_result_name(call->result), "ncclInProgress") != 0) {
                count_call(model, call, &failed);
            }
        }
    }
    int status = 0;
    if (failed.count) {
        status = say(model, "%zu call%s of NCCL failed in %s, the first %s with %s, %.3f s after the run began",
                     failed.count, failed.count == 1 ? "" : "s", who(&failed, words),
                     gw_function_name(failed.first->function), nccl_result_name(failed.first->result),
                     since_begin_s(model, failed.first->begin_ns));
    }
    if (aborts.count && !status) {
        status = say(model, "%zu communicator%s %s aborted by %s, %s%.3f s after the run began", aborts.count,
                     aborts.count == 1 ? "" : "s", aborts.count == 1 ? "was" : "were", who(&aborts, words),
                     aborts.count == 1 ? "" : "the first ", since_begin_s(model, aborts.first->begin_ns));
    }
    return status;
}

/* ---- jobs ---- */

/* Which recordings belong together: the first of each group stands for it. */
static size_t group_of(size_t *groups, size_t i)
{
    while (groups[i] != i) {
        groups[i] = groups[groups[i]];
        i = groups[i];
    }
    return i;
}

static void put_together(size_t *groups, size_t a, size_t b)
{
    const size_t left = group_of(groups, a), right = group_of(groups, b);
    groups[left > right ? left : right] = left > right ? right : left;
}

/* A recording by what ties it to others: its job, or a communicator one of its ranks is in. */
struct tie {
    const char *job; /* NULL: the communicator is what counts */
    uint64_t communicator;
    size_t recording;
};

static int by_tie(const void *left, const void *right)
{
    const struct tie *a = left, *b = right;
    if (!a->job || !b->job) {
        return a->job || b->job ? (a->job ? 1 : -1)
                                : (a->communicator > b->communicator) - (a->communicator < b->communicator);
    }
    return strcmp(a->job, b->job);
}

/* Recordings of several jobs that no communicator ties together: whoever put them into one report may have erred. */
static int say_unrelated(const struct gw_builder *builder)
{
    const struct gw_model *model = builder->model;
    const size_t count = model->recordings_count;
    size_t *groups = calloc(count + 1, sizeof(*groups));
    struct tie *ties = calloc(count + model->communicators_count + 1, sizeof(*ties));
    size_t ties_count = 0, jobs = 0;
    int status = groups && ties ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        groups[i] = i;
        if (builder->inputs[i].run->job) {
            ties[ties_count++] = (struct tie){.job = builder->inputs[i].run->job, .recording = i};
        }
    }
    for (size_t i = 0; i < model->communicators_count && !status; i++) {
        const struct gw_communicator *communicator = &model->communicators[i];
        if (communicator->id) {
            ties[ties_count++] = (struct tie){.communicator = communicator->id,
                                              .recording = model->processes[communicator->process].recording};
        }
    }
    if (!status) {
        qsort(ties, ties_count, sizeof(*ties), by_tie);
    }
    for (size_t i = 1; i < ties_count && !status; i++) {
        if (by_tie(&ties[i - 1], &ties[i]) == 0) {
            put_together(groups, ties[i - 1].recording, ties[i].recording);
        }
    }
    for (size_t i = 0; i < count && !status; i++) {
        jobs += groups[i] == i;
    }
    if (jobs > 1) {
        status = say(builder->model,
                     "the %zu recordings are of %zu jobs that have neither a launcher's number nor a communicator in "
                     "common; what is said of ranks takes them for one",
                     count, jobs);
    }
    free(groups);
    free(ties);
    return status;
}

int gw_note_missing_ranks(struct gw_model *model)
{
    bool by_process;
    model->run.ranks = expected_ranks(model, &by_process);
    uint8_t *seen = calloc(model->run.ranks + 1, sizeof(*seen));
    if (!seen) {
        return -ENOMEM;
    }
    mark_seen(model, by_process, seen);
    const int status = model->run.ranks > 1 ? say_missing(model, seen) : 0;
    if (model->run.ranks_missing) {
        model->run.unseen |= GW_UNSEEN_RANKS;
    }
    free(seen);
    return status;
}

int gw_build_ranks(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    int status = gw_note_missing_ranks(model);
    status = status ? status : say_unrelated(builder);
    status = status ? status : say_repeated(model);
    status = status ? status : say_mixed(model);
    status = status ? status : say_ends(model);
    status = status ? status : say_failed_calls(model);
    status = status ? status : say_broken_off(model);
    status = status ? status : say_excerpts(builder);
    return status;
}

/* When the first rank was last seen that died and that others may have waited for; UINT64_MAX: none did. A recorder may
 * notice an end late. */
static uint64_t first_death_ns(const struct gw_model *model)
{
    uint64_t first_ns = UINT64_MAX;
    bool some_ended = false;
    for (size_t i = 0; i < model->processes_count; i++) {
        some_ended = some_ended || (model->processes[i].ranks > 1 && model->processes[i].ended);
    }
    for (size_t i = 0; i < model->processes_count; i++) {
        const struct gw_process *process = &model->processes[i];
        /* An imported trace has no recording, and tells of no end. */
        const bool was_killed = process->ranks > 1 && process->op_count && model->recordings_count &&
                                model->recordings[process->recording].exit_signal;
        if ((was_killed || (some_ended && broke_off(model, process))) && process->last_ns < first_ns) {
            first_ns = process->last_ns;
        }
    }
    return first_ns;
}

int gw_drop_steps_after_deaths(struct gw_model *model)
{
    const uint64_t death_ns = first_death_ns(model);
    size_t kept = 0;
    for (size_t i = 0; i < model->steps_count; i++) {
        if (model->steps[i].end_ns <= death_ns) {
            model->steps[kept++] = model->steps[i];
        }
    }
    const size_t dropped = model->steps_count - kept;
    model->steps_count = kept;
    return dropped ? say(model, "%zu step%s that ended after a rank had died %s left out", dropped,
                         dropped == 1 ? "" : "s", dropped == 1 ? "is" : "are")
                   : 0;
}
