/*
 * Judges of copies: what kind of memory, which bytes, how many.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/verdicts/array.h"
#include "analyzer/verdicts/judge.h"

#define SMALL_BYTES 65536u
#define SCALAR_BYTES 4096u
#define SMALL_COPIES_A_STEP 8.0
#define ROUND_TRIP_BYTES 4096u

static const struct gw_copy *analysed_copy(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->step != GW_NONE && fact->cls == GW_CALL_COPY ? gw_fact_copy(judge, fact) : NULL;
}

static bool touches(const struct gw_copy *copy, enum gw_host_kind kind)
{
    return (copy->direction == GW_COPY_H2D && copy->src_kind == kind) ||
           (copy->direction == GW_COPY_D2H && copy->dst_kind == kind);
}

int gw_judge_pageable_copy(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double bytes = 0;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_copy *copy = analysed_copy(judge, fact);
        if (!copy || fact->claimed || !touches(copy, GW_HOST_PAGEABLE))
            continue;
        bytes += (double)copy->size_bytes;
        gw_finding_mark(&finding, judge, fact,
                        copy->direction == GW_COPY_H2D ? GW_EDIT_QUICK | GW_EDIT_PINNED : GW_EDIT_PINNED);
    }
    const struct gw_replay *replay = judge->replay;
    const char *rate = !finding.count || !replay    ? ""
                       : replay->pinned_measured[0] ? " (page-locked rate as measured in this run)"
                                                    : " (page-locked rate taken as 12 GB/s)";
    ret = gw_finding_conclude(&finding, judge, verdict, "%.1f copies of %.2f MB in all a step use pageable memory%s",
                              gw_a_step(judge, finding.count), gw_a_step(judge, bytes) / 1e6, rate);
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_blocking_copy(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_copy *copy = analysed_copy(judge, fact);
        if (copy && !fact->claimed && copy->blocking && !touches(copy, GW_HOST_PAGEABLE) &&
            copy->direction != GW_COPY_H2H)
            gw_finding_mark(&finding, judge, fact, GW_EDIT_QUICK);
    }
    ret =
        gw_finding_conclude(&finding, judge, verdict, "%.1f copies a step block though their memory would not need it",
                            gw_a_step(judge, finding.count));
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_tiny_copies(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    const double gbps = judge->replay ? judge->replay->pinned_gbps[0] : GW_PINNED_ASSUMED_GBPS;
    uint64_t small = 0;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (int pass = 0; pass < 2; pass++) {
        uint8_t train = UINT8_MAX; /* direction of the train of copies under way */
        for (size_t i = 0; i < judge->facts_count; i++) {
            const struct gw_fact *fact = &judge->facts[i], *before = gw_fact_before(judge, fact);
            const struct gw_copy *copy = analysed_copy(judge, fact);
            if (!before || before->step != fact->step ||
                (fact->cls != GW_CALL_COPY && fact->cls != GW_CALL_OTHER && fact->cls != GW_CALL_ORDER))
                train = UINT8_MAX;
            if (!copy || fact->claimed || copy->size_bytes > SMALL_BYTES || copy->direction == GW_COPY_H2H)
                continue;
            small += pass == 0;
            if (pass == 1 && train == copy->direction) {
                gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP | GW_EDIT_NO_OP);
                finding.owed_ns += (double)copy->size_bytes / gbps; /* the first one carries its bytes */
            }
            train = copy->direction;
        }
        if (gw_a_step(judge, small) < SMALL_COPIES_A_STEP)
            break;
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              "%.1f copies of at most 64 KiB a step, %.1f of them right after another",
                              gw_a_step(judge, small), gw_a_step(judge, finding.count));
    gw_finding_release(&finding);
    return ret;
}

/* ---- content ---- */

/* A copy or a release of memory, in order of time within a process. */
struct content {
    uint64_t hash, size_bytes, device_ptr, t_ns;
    uint32_t fact, process;
    uint8_t what; /* enum gw_copy_direction, or CONTENT_FREE */
};

enum { CONTENT_FREE = 100 };

static int compare_contents(const void *left, const void *right)
{
    const struct content *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

static int compare_frees(const void *left, const void *right)
{
    const struct content *a = left, *b = right;
    if (a->device_ptr != b->device_ptr)
        return a->device_ptr < b->device_ptr ? -1 : 1;
    return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

struct contents {
    GW_ARRAY(struct content, copies);
    GW_ARRAY(struct content, frees);
    GW_ARRAY(struct content, sources); /* where uploads come from: device_ptr is the host's */
    GW_ARRAY(struct content, unseen);  /* downloads of analysed steps without a hash, likewise */
    uint64_t unhashed_uploads;         /* in analysed steps */
};

static int collect_contents(const struct gw_judge *judge, struct contents *contents)
{
    size_t copy_room = 0, free_room = 0, source_room = 0, unseen_room = 0;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &judge->model->calls[fact->call];
        const struct gw_copy *copy = fact->cls == GW_CALL_COPY ? gw_fact_copy(judge, fact) : NULL;
        const struct gw_memory *memory = gw_fact_memory(judge, fact);
        struct content item = {.t_ns = call->begin_ns, .fact = (uint32_t)i};
        item.process = judge->model->threads[call->thread].process;
        if (memory && memory->kind >= GW_MEMORY_FREE) {
            item.device_ptr = memory->ptr;
            item.what = CONTENT_FREE;
            if (!GW_ARRAY_RESERVE(contents->frees, contents->frees_count, &free_room))
                return -ENOMEM;
            contents->frees[contents->frees_count++] = item;
        }
        if (!copy || (copy->direction != GW_COPY_H2D && copy->direction != GW_COPY_D2H))
            continue;
        item.size_bytes = copy->size_bytes;
        item.device_ptr = copy->direction == GW_COPY_H2D ? copy->src : copy->dst;
        if (copy->direction == GW_COPY_H2D) {
            if (!GW_ARRAY_RESERVE(contents->sources, contents->sources_count, &source_room))
                return -ENOMEM;
            contents->sources[contents->sources_count++] = item;
        }
        if (!copy->hash && fact->step != GW_NONE && copy->size_bytes > SCALAR_BYTES) {
            contents->unhashed_uploads += copy->direction == GW_COPY_H2D;
            if (copy->direction == GW_COPY_D2H) {
                if (!GW_ARRAY_RESERVE(contents->unseen, contents->unseen_count, &unseen_room))
                    return -ENOMEM;
                contents->unseen[contents->unseen_count++] = item;
            }
        }
        if (!copy->hash)
            continue;
        item.hash = copy->hash;
        item.device_ptr = copy->direction == GW_COPY_H2D ? copy->dst : copy->src;
        item.what = copy->direction;
        if (!GW_ARRAY_RESERVE(contents->copies, contents->copies_count, &copy_room))
            return -ENOMEM;
        contents->copies[contents->copies_count++] = item;
    }
    if (contents->copies_count)
        qsort(contents->copies, contents->copies_count, sizeof *contents->copies, compare_contents);
    if (contents->frees_count)
        qsort(contents->frees, contents->frees_count, sizeof *contents->frees, compare_frees);
    if (contents->sources_count)
        qsort(contents->sources, contents->sources_count, sizeof *contents->sources, compare_frees);
    return 0;
}

/* How many downloads of unknown content an upload of the same size from the same place follows. */
static uint64_t come_back_unseen(const struct contents *contents)
{
    uint64_t count = 0;
    for (size_t i = 0; i < contents->unseen_count; i++) {
        const struct content *download = &contents->unseen[i];
        size_t low = 0, high = contents->sources_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (compare_frees(&contents->sources[middle], download) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        count += low < contents->sources_count && contents->sources[low].device_ptr == download->device_ptr &&
                 contents->sources[low].size_bytes == download->size_bytes;
    }
    return count;
}

static bool freed_between(const struct contents *contents, const struct content *first, const struct content *second)
{
    size_t low = 0, high = contents->frees_count;
    struct content key = {.device_ptr = first->device_ptr, .t_ns = first->t_ns};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_frees(&contents->frees[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < contents->frees_count && contents->frees[low].device_ptr == first->device_ptr &&
           contents->frees[low].t_ns < second->t_ns;
}

/* Marks a copy that is not needed, and with it the synchronisation that does nothing but wait for it. */
static void drop_copy(struct gw_judge *judge, struct gw_finding *finding, uint32_t index, bool counts)
{
    const uint8_t drop = GW_EDIT_DROP | GW_EDIT_NO_OP;
    const struct gw_fact *fact = &judge->facts[index], *next = gw_fact_after(judge, fact);
    if (counts)
        gw_finding_mark(finding, judge, fact, drop);
    else
        gw_finding_edit(finding, judge, fact, drop);
    if (next && next->cls == GW_CALL_SYNC && !next->claimed && !gw_fact_copy(judge, fact)->blocking)
        gw_finding_edit(finding, judge, next, GW_EDIT_DROP);
}

/* The host hashes before an upload; a download's bytes are known only later, so one that does not block has no hash. */
static int judge_contents(struct gw_judge *judge, struct gw_verdict *verdict, bool round_trip)
{
    struct contents contents = {0};
    struct gw_finding finding;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    if ((ret = collect_contents(judge, &contents)) < 0)
        goto end;
    for (size_t i = 1; i < contents.copies_count; i++) {
        const struct content *first = &contents.copies[i - 1], *second = &contents.copies[i];
        const struct gw_fact *fact = &judge->facts[second->fact];
        if (fact->step == GW_NONE || first->hash != second->hash || first->size_bytes != second->size_bytes ||
            first->process != second->process || second->what != GW_COPY_H2D)
            continue;
        if (!round_trip && first->what == GW_COPY_H2D && !freed_between(&contents, first, second))
            drop_copy(judge, &finding, second->fact, true);
        if (round_trip && first->what == GW_COPY_D2H && second->size_bytes >= ROUND_TRIP_BYTES) {
            drop_copy(judge, &finding, second->fact, true);
            drop_copy(judge, &finding, first->fact, false);
        }
    }
    uint64_t unknown = round_trip ? contents.unhashed_uploads + come_back_unseen(&contents) : contents.unhashed_uploads;
    if (!finding.count && unknown) {
        ret = contents.unhashed_uploads
                  ? gw_verdict_unknown(verdict,
                                       "the content of %llu copies in the analysed steps is not known: record with "
                                       "--hash=sample",
                                       (unsigned long long)unknown)
                  : gw_verdict_unknown(verdict,
                                       "%llu downloads in the analysed steps are uploaded again from where they went; "
                                       "whether the host changed them is not known, because only copies that block are "
                                       "hashed: let them block once, and record that",
                                       (unsigned long long)unknown);
        goto end;
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              round_trip ? "%.2f uploads a step bring back bytes just copied to the host"
                                         : "%.2f uploads a step bring bytes the GPU still has",
                              gw_a_step(judge, finding.count));
end:
    free(contents.copies);
    free(contents.frees);
    free(contents.sources);
    free(contents.unseen);
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_repeated_upload(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_contents(judge, verdict, false);
}

int gw_judge_round_trip_copy(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_contents(judge, verdict, true);
}
