#include "analyzer/export/report_comm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/exchanges.h"
#include "analyzer/model/sorted.h"

/* Lines of the text; the rest is summed up. */
#define LINES_MAX 8

/* ---- facts ---- */

struct sample {
    const struct gw_collective *collective;
    uint64_t communicator;
};

static int by_group(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    return (a->collective->kind > b->collective->kind) - (a->collective->kind < b->collective->kind);
}

static struct gw_comm_facts facts_of(const struct gw_model *model, const struct sample *samples, size_t count,
                                     const struct gw_exchanges *exchanges, double *scratch)
{
    const struct gw_collective *first = samples[0].collective;
    struct gw_comm_facts facts = {.communicator = samples[0].communicator,
                                  .ranks = model->communicators[first->communicator].size,
                                  .kind = first->kind,
                                  .count = (uint32_t)count};
    size_t rated = 0;
    for (size_t i = 0; i < count; i++)
        scratch[i] = (double)samples[i].collective->size_bytes;
    facts.size_bytes = gw_upper_median(scratch, count);
    for (size_t i = 0; i < count; i++) {
        const struct gw_collective *collective = samples[i].collective;
        if (collective->arrival_wait_ns == GW_TIME_UNKNOWN || collective->match == GW_NONE)
            continue;
        facts.timed++;
        facts.wait_ns += (double)collective->arrival_wait_ns;
        facts.transfer_ns += (double)collective->transfer_ns;
        const double gbps = gw_exchange_gbps(exchanges, model, collective);
        if (gbps >= 0)
            scratch[rated++] = gbps;
    }
    facts.wait_ns /= facts.timed ? facts.timed : 1;
    facts.transfer_ns /= facts.timed ? facts.timed : 1;
    facts.algbw_gbps = gw_upper_median(scratch, rated);
    facts.busbw_gbps = facts.algbw_gbps * gw_comm_bus_factor((enum gw_comm_kind)facts.kind, facts.ranks);
    return facts;
}

static int by_time(const void *left, const void *right)
{
    const struct gw_comm_facts *a = left, *b = right;
    double first = a->timed * (a->wait_ns + a->transfer_ns), second = b->timed * (b->wait_ns + b->transfer_ns);
    if (first != second)
        return first > second ? -1 : 1;
    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Sorted by total time, longest first. *ret_facts: the caller frees. Returns how many, or -ENOMEM. */
static int create_facts(const struct gw_model *model, struct gw_comm_facts **ret_facts)
{
    size_t count = model->collectives_count, found = 0;
    struct sample *samples = calloc(count + 1, sizeof *samples);
    struct gw_comm_facts *facts = calloc(count + 1, sizeof *facts);
    double *scratch = calloc(count + 1, sizeof *scratch);
    struct gw_exchanges exchanges;
    int ret = gw_exchanges_init(&exchanges, model);
    if (!samples || !facts || !scratch || ret < 0) {
        ret = -ENOMEM;
        goto end;
    }
    for (size_t i = 0; i < count; i++)
        samples[i] =
            (struct sample){&model->collectives[i], model->communicators[model->collectives[i].communicator].id};
    qsort(samples, count, sizeof *samples, by_group);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && by_group(&samples[to], &samples[from]) == 0;)
            to++;
        facts[found++] = facts_of(model, &samples[from], to - from, &exchanges, scratch);
    }
    qsort(facts, found, sizeof *facts, by_time);
    *ret_facts = facts;
    facts = NULL;
    ret = (int)found;
end:
    free(samples);
    free(facts);
    gw_exchanges_release(&exchanges);
    free(scratch);
    return ret;
}

/* ---- kernels without calls ---- */

/* Kernels of one name that communicate, and no call of NCCL tells what they carry out. */
struct uncalled {
    const char *name, *library;
    double total_ns;
    uint32_t count, timed;
};

static int by_total(const void *left, const void *right)
{
    const struct uncalled *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* By name, the longest in all first. Returns how many, or -ENOMEM; the caller frees *ret_list. */
static int list_uncalled(const struct gw_model *model, struct uncalled **ret_list)
{
    struct uncalled *list = calloc(model->names_count + 1, sizeof *list);
    bool *has_call = calloc(model->ops_count + 1, sizeof *has_call);
    int count = 0;
    if (!list || !has_call) {
        free(list);
        free(has_call);
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->collectives_count; i++) {
        if (model->collectives[i].op != GW_NONE)
            has_call[model->collectives[i].op] = true;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind != GW_OP_COMM || op->name == GW_NONE || has_call[i])
            continue;
        struct uncalled *entry = &list[op->name];
        const bool is_timed = op->end_ns != GW_TIME_UNKNOWN;
        entry->name = model->names[op->name];
        entry->count++;
        entry->timed += is_timed;
        entry->total_ns += is_timed ? (double)(op->end_ns - op->start_ns) : 0;
    }
    for (size_t i = 0; i < model->names_count; i++) {
        if (!list[i].count)
            continue;
        list[i].library = gw_comm_kernel_library(list[i].name);
        list[count++] = list[i];
    }
    qsort(list, (size_t)count, sizeof *list, by_total);
    free(has_call);
    *ret_list = list;
    return count;
}

/* ---- text ---- */

static const char *how_words(enum gw_clock_how how)
{
    static const char *const words[] = {"reference", "fitted", "wall"};
    return words[how];
}

static void print_clock(const struct gw_model *model, const struct gw_clock *clock, const struct gw_page *page)
{
    const char *host = *clock->host ? clock->host : "this host";
    struct gw_duration residual = gw_duration_words((double)clock->residual_ns / 1e6);
    switch (clock->how) {
    case GW_CLOCK_REFERENCE:
        if (clock->matched)
            gw_page_item(page, "Clock", 13, "%s: %" PRIu32 " collectives end within %s of each other on its processes",
                         host, clock->matched, residual.text);
        else if (model->clocks_count > 1)
            gw_page_item(page, "Clock", 13, "%s: all times are on its clock", host);
        break;
    case GW_CLOCK_FITTED:
        gw_page_item(page, "Clock", 13,
                     "%s: fitted on the ends of %" PRIu32
                     " collectives: %+.6f s, %+.2f ppm; they are %s apart after that",
                     host, clock->matched, (double)clock->offset_ns / 1e9, clock->drift_ppm, residual.text);
        break;
    case GW_CLOCK_WALL:
        gw_page_item(page, "Clock", 13,
                     "%s: shares no collective with the others, so it is aligned by the hosts' wall clocks, to "
                     "milliseconds at best; who waited for whom is not known across it",
                     host);
        break;
    }
}

static void print_facts(const struct gw_comm_facts *facts, const struct gw_page *page)
{
    struct gw_duration wait = gw_duration_words(facts->wait_ns / 1e6);
    struct gw_duration transfer = gw_duration_words(facts->transfer_ns / 1e6);
    fprintf(page->out, "  %-14s %3" PRIu32 "  %7" PRIu32 "  %11.0f", gw_comm_kind_name((enum gw_comm_kind)facts->kind),
            facts->ranks, facts->count, facts->size_bytes);
    if (facts->timed && facts->busbw_gbps > 0)
        fprintf(page->out, "  %9s  %9s  %8.2f\n", wait.text, transfer.text, facts->busbw_gbps);
    else if (facts->timed)
        fprintf(page->out, "  %9s  %9s  several at once\n", wait.text, transfer.text);
    else
        fputs("  not known: some rank is not in the run, or has no GPU times\n", page->out);
}

static const struct gw_coverage *version_of_nccl(const struct gw_model *model)
{
    for (size_t i = 0; i < model->coverages_count; i++) {
        if (model->coverages[i].kind == GW_COVERAGE_VERSION)
            return &model->coverages[i];
    }
    return NULL;
}

static bool is_nccl_variable(const char *name)
{
    return strncmp(name, "NCCL_", 5) == 0;
}

/* NCCL's variables of the run, "NAME=VALUE, …" in a new object of the environment; the caller releases it. NULL: none.
 */
static json_t *nccl_environment(const struct gw_model *model)
{
    json_t *all = model->run.environment_json ? json_loads(model->run.environment_json, 0, NULL) : NULL;
    json_t *own = json_object(), *value;
    const char *name;
    json_object_foreach(all, name, value)
    {
        if (is_nccl_variable(name))
            json_object_set(own, name, value);
    }
    json_decref(all);
    return own;
}

static void print_nccl(const struct gw_model *model, const struct gw_page *page)
{
    const struct gw_coverage *version = version_of_nccl(model);
    json_t *environment = nccl_environment(model), *value;
    const char *name;
    if (version)
        gw_page_item(page, "NCCL", 13, "version %s", version->detail);
    json_object_foreach(environment, name, value)
        gw_page_item(page, "NCCL", 13, "%s=%s", name, json_string_value(value));
    json_decref(environment);
}

/* Times alone: neither the bytes nor the other ranks are known, so there is no wait and no bandwidth. */
static int print_uncalled(const struct uncalled *entry, const struct gw_page *page)
{
    struct gw_duration mean = gw_duration_words(entry->total_ns / (entry->timed ? entry->timed : 1) / 1e6);
    char *name = gw_kernel_name_short(entry->name);
    if (!name)
        return -ENOMEM;
    gw_page_item(
        page, "kernel", 13, "%s of %s: %" PRIu32 " times, %s each; bytes, waits and bandwidth are not recorded", name,
        entry->library ? entry->library : "an unknown library", entry->count, entry->timed ? mean.text : "not timed");
    free(name);
    return 0;
}

int gw_report_comm_text(const struct gw_model *model, const struct gw_page *page)
{
    struct gw_comm_facts *facts = NULL;
    struct uncalled *uncalled = NULL;
    int others = list_uncalled(model, &uncalled);
    if (others < 0)
        return others;
    if (!model->collectives_count && !others) {
        free(uncalled);
        return 0;
    }
    int count = create_facts(model, &facts), ret = count < 0 ? count : 0;
    if (ret < 0)
        goto end;
    gw_page_heading(page, "Communication (whole run, on all ranks)");
    if (count)
        fputs("  operation      ranks  count        bytes   mean wait   transfer  bus GB/s\n", page->out);
    for (int i = 0; i < count && i < LINES_MAX; i++)
        print_facts(&facts[i], page);
    if (count > LINES_MAX)
        fprintf(page->out, "  and %d more kinds of operation and communicator\n", count - LINES_MAX);
    for (int i = 0; i < others && i < LINES_MAX && ret == 0; i++)
        ret = print_uncalled(&uncalled[i], page);
    print_nccl(model, page);
    for (size_t c = 0; c < model->clocks_count; c++)
        print_clock(model, &model->clocks[c], page);
end:
    free(facts);
    free(uncalled);
    return ret;
}

/* ---- JSON ---- */

json_t *gw_clocks_json(const struct gw_model *model)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < model->clocks_count; i++) {
        const struct gw_clock *clock = &model->clocks[i];
        json_t *item = json_pack("{s:s*, s:I, s:s, s:I, s:f, s:I, s:I, s:I}", "host", clock->host, "recordings",
                                 (json_int_t)clock->recordings, "how", how_words(clock->how), "offset_ns",
                                 (json_int_t)(clock->how == GW_CLOCK_REFERENCE ? 0 : clock->offset_ns), "drift_ppm",
                                 clock->drift_ppm, "about_ns", (json_int_t)clock->about_ns, "residual_ns",
                                 (json_int_t)clock->residual_ns, "matched", (json_int_t)clock->matched);
        if (!item || json_array_append_new(array, item) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *rate_or_null(double gbps)
{
    return gbps > 0 ? json_real(gbps) : json_null();
}

static json_t *facts_json(const struct gw_comm_facts *facts)
{
    char id[20];
    snprintf(id, sizeof id, "%016" PRIx64, facts->communicator);
    return json_pack("{s:s, s:I, s:s, s:I, s:I, s:f, s:o, s:o, s:o, s:o}", "communicator", id, "ranks",
                     (json_int_t)facts->ranks, "op", gw_comm_kind_name((enum gw_comm_kind)facts->kind), "count",
                     (json_int_t)facts->count, "matched", (json_int_t)facts->timed, "median_bytes", facts->size_bytes,
                     "mean_wait_ms", facts->timed ? json_real(facts->wait_ns / 1e6) : json_null(), "mean_transfer_ms",
                     facts->timed ? json_real(facts->transfer_ns / 1e6) : json_null(), "algbw_gbps",
                     rate_or_null(facts->algbw_gbps), "busbw_gbps", rate_or_null(facts->busbw_gbps));
}

static json_t *uncalled_json(const struct uncalled *entry)
{
    return json_pack("{s:s, s:s?, s:I, s:o}", "name", entry->name, "library", entry->library, "count",
                     (json_int_t)entry->count, "mean_ms",
                     entry->timed ? json_real(entry->total_ns / entry->timed / 1e6) : json_null());
}

json_t *gw_communication_json(const struct gw_model *model)
{
    struct gw_comm_facts *facts = NULL;
    struct uncalled *uncalled = NULL;
    const struct gw_coverage *version = version_of_nccl(model);
    json_t *array = json_array(), *kernels = json_array(), *root = NULL;
    int count = create_facts(model, &facts), others = list_uncalled(model, &uncalled);
    bool failed = count < 0 || others < 0 || !array || !kernels;
    for (int i = 0; i < count && !failed; i++)
        failed = json_array_append_new(array, facts_json(&facts[i])) < 0;
    for (int i = 0; i < others && !failed; i++)
        failed = json_array_append_new(kernels, uncalled_json(&uncalled[i])) < 0;
    if (!failed)
        root = json_pack("{s:s?, s:o, s:O, s:O}", "nccl_version", version ? version->detail : NULL, "nccl_environment",
                         nccl_environment(model), "collectives", array, "kernels", kernels);
    json_decref(array);
    json_decref(kernels);
    free(facts);
    free(uncalled);
    return root;
}
