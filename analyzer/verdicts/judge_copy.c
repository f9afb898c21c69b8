/*
 * Judges of copies: what kind of memory, which bytes, how many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/copies.h"
#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/array.h"
#include "analyzer/verdicts/judge.h"

#define SMALL_BYTES 65536u
#define SCALAR_BYTES 4096u
#define SMALL_COPIES_A_STEP 8.0

static const struct gw_copy *analysed_copy(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->step != GW_NONE && fact->cls == GW_CALL_COPY ? gw_fact_copy(judge, fact) : NULL;
}

static bool touches(const struct gw_copy *copy, enum gw_host_kind kind)
{
    return (copy->direction == GW_COPY_H2D && copy->src_kind == kind) ||
           (copy->direction == GW_COPY_D2H && copy->dst_kind == kind);
}

/* By fact: whether it is a small copy right after another one of its direction, in a run that makes many of them: what
 * it costs is its latency, whatever its memory. *ret_small: small copies in the analysed steps. The caller frees; NULL:
 * no memory. */
static bool *find_trains(const struct gw_judge *judge, uint64_t *ret_small)
{
    bool *follows = calloc(judge->facts_count + 1, sizeof *follows);
    uint8_t train = UINT8_MAX; /* direction of the train of copies under way */
    uint64_t small = 0;
    for (size_t i = 0; follows && i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i], *before = gw_fact_before(judge, fact);
        const struct gw_copy *copy = analysed_copy(judge, fact);
        if (!before || before->step != fact->step ||
            (fact->cls != GW_CALL_COPY && fact->cls != GW_CALL_OTHER && fact->cls != GW_CALL_ORDER))
            train = UINT8_MAX;
        if (!copy || fact->claimed || copy->size_bytes > SMALL_BYTES || copy->direction == GW_COPY_H2H)
            continue;
        small++;
        follows[i] = train == copy->direction;
        train = copy->direction;
    }
    if (follows && gw_a_step(judge, (double)small) < SMALL_COPIES_A_STEP)
        memset(follows, 0, judge->facts_count * sizeof *follows);
    *ret_small = small;
    return follows;
}

bool gw_is_large_upload(const struct gw_copy *copy)
{
    return copy->direction == GW_COPY_H2D && copy->src_kind == GW_HOST_PINNED && copy->size_bytes >= SMALL_BYTES;
}

int gw_judge_pageable_copy(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double bytes = 0;
    uint64_t small = 0;
    bool *follows = find_trains(judge, &small);
    int ret = follows ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0) {
        free(follows);
        return ret;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_copy *copy = analysed_copy(judge, fact);
        if (!copy || fact->claimed || follows[i] || !touches(copy, GW_HOST_PAGEABLE))
            continue;
        bytes += (double)copy->size_bytes;
        gw_finding_mark(&finding, judge, fact,
                        copy->direction == GW_COPY_H2D ? GW_EDIT_QUICK | GW_EDIT_PINNED : GW_EDIT_PINNED);
    }
    const struct gw_replay *replay = judge->replay;
    const char *rate = !finding.count || !replay                   ? ""
                       : replay->pinned[0].source == GW_RATE_USUAL ? " (page-locked rate as measured in this run)"
                                                                   : " (page-locked rate taken as 12 GB/s)";
    ret = gw_finding_conclude(&finding, judge, verdict, "%.1f copies of %.2f MB in all a step use pageable memory%s",
                              gw_a_step(judge, finding.count), gw_a_step(judge, bytes) / 1e6, rate);
    gw_finding_release(&finding);
    free(follows);
    return ret;
}

/* Puts the large uploads among the marked copies on a stream of their own, or back. */
static void toggle_own_stream(const struct gw_judge *judge, struct gw_finding *finding)
{
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_copy *copy = analysed_copy(judge, &judge->facts[i]);
        uint8_t *edit = &finding->edits[judge->facts[i].call];
        if (copy && *edit && gw_is_large_upload(copy))
            *edit ^= GW_EDIT_OTHER_STREAM;
    }
}

/* Lets the large uploads among the marked copies run on a stream of their own too, where that gains enough to be worth
 * it. Stores whether it does. Returns 0 or -ENOMEM. */
static int consider_own_stream(const struct gw_judge *judge, struct gw_finding *finding, bool *ret_gains)
{
    const struct gw_repair repair = {.calls = finding->edits};
    double same_ns = 0, own_ns = 0;
    int ret = gw_replay_run(judge->replay, &repair, &same_ns, NULL);
    toggle_own_stream(judge, finding);
    if (ret == 0)
        ret = gw_replay_run(judge->replay, &repair, &own_ns, NULL);
    *ret_gains = same_ns - own_ns >= GW_OWN_STREAM_SHARE * judge->mean_ns;
    if (!*ret_gains)
        toggle_own_stream(judge, finding);
    return ret;
}

int gw_judge_blocking_copy(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    uint64_t small = 0;
    bool own_stream = false, *follows = find_trains(judge, &small);
    int ret = follows ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0) {
        free(follows);
        return ret;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_copy *copy = analysed_copy(judge, fact);
        if (copy && !fact->claimed && !follows[i] && copy->blocking && !touches(copy, GW_HOST_PAGEABLE) &&
            copy->direction != GW_COPY_H2H)
            gw_finding_mark(&finding, judge, fact, GW_EDIT_QUICK);
    }
    if (finding.count && judge->replay)
        ret = consider_own_stream(judge, &finding, &own_stream);
    if (ret == 0)
        ret = gw_finding_conclude(
            &finding, judge, verdict, "%.1f copies a step block though their memory would not need it%s",
            gw_a_step(judge, finding.count),
            own_stream ? ", the large uploads taken as made beside the kernels, on a stream of their own" : "");
    gw_finding_release(&finding);
    free(follows);
    return ret;
}

int gw_judge_tiny_copies(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    const double gbps = judge->replay ? judge->replay->pinned[0].gbps : GW_PINNED_ASSUMED_GBPS;
    uint64_t small = 0;
    bool *follows = find_trains(judge, &small);
    int ret = follows ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0) {
        free(follows);
        return ret;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        if (!follows[i])
            continue;
        gw_finding_mark(&finding, judge, &judge->facts[i], GW_EDIT_DROP | GW_EDIT_NO_OP);
        finding.owed_ns +=
            (double)gw_fact_copy(judge, &judge->facts[i])->size_bytes / gbps; /* the first one carries its bytes */
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              "%.1f copies of at most 64 KiB a step, %.1f of them right after another",
                              gw_a_step(judge, small), gw_a_step(judge, finding.count));
    gw_finding_release(&finding);
    free(follows);
    return ret;
}

/* ---- content ---- */

/* A copy of an analysed step or from anywhere, by the host's address. */
struct place {
    uint64_t host_ptr, size_bytes, t_ns;
};

static int by_place(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->host_ptr != b->host_ptr)
        return a->host_ptr < b->host_ptr ? -1 : 1;
    return a->t_ns < b->t_ns ? -1 : a->t_ns > b->t_ns;
}

/* What is not known of contents. */
struct unseen {
    GW_ARRAY(struct place, sources);   /* where uploads come from */
    GW_ARRAY(struct place, downloads); /* of analysed steps, without a hash: where they went */
    uint64_t uploads;                  /* of analysed steps, without a hash */
};

static int collect_unseen(const struct gw_judge *judge, struct unseen *unseen)
{
    size_t source_room = 0, download_room = 0;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_copy *copy = fact->cls == GW_CALL_COPY ? gw_fact_copy(judge, fact) : NULL;
        if (!copy || (copy->direction != GW_COPY_H2D && copy->direction != GW_COPY_D2H))
            continue;
        const bool up = copy->direction == GW_COPY_H2D;
        const bool unknown = !copy->hash && fact->step != GW_NONE && copy->size_bytes > SCALAR_BYTES;
        const struct place place = {up ? copy->src : copy->dst, copy->size_bytes,
                                    judge->model->calls[fact->call].begin_ns};
        unseen->uploads += up && unknown;
        if (up) {
            if (!GW_ARRAY_RESERVE(unseen->sources, unseen->sources_count, &source_room))
                return -ENOMEM;
            unseen->sources[unseen->sources_count++] = place;
        } else if (unknown) {
            if (!GW_ARRAY_RESERVE(unseen->downloads, unseen->downloads_count, &download_room))
                return -ENOMEM;
            unseen->downloads[unseen->downloads_count++] = place;
        }
    }
    if (unseen->sources_count)
        qsort(unseen->sources, unseen->sources_count, sizeof *unseen->sources, by_place);
    return 0;
}

/* How many downloads of unknown content an upload of the same size from the same place follows. */
static uint64_t come_back_unseen(const struct unseen *unseen)
{
    uint64_t count = 0;
    for (size_t i = 0; i < unseen->downloads_count; i++) {
        const struct place *download = &unseen->downloads[i];
        const size_t low =
            GW_FIRST_NOT(0, unseen->sources_count, middle, by_place(&unseen->sources[middle], download) < 0);
        count += low < unseen->sources_count && unseen->sources[low].host_ptr == download->host_ptr &&
                 unseen->sources[low].size_bytes == download->size_bytes;
    }
    return count;
}

/* The fact of the outermost call that enqueued an operation: facts stand by thread, then by call. */
static const struct gw_fact *fact_of_op(const struct gw_judge *judge, uint32_t op)
{
    const uint32_t call = judge->model->ops[op].outer_call;
    if (call == GW_NONE)
        return NULL;
    const uint32_t thread = judge->model->calls[call].thread;
    const size_t at =
        GW_FIRST_NOT(0, judge->facts_count, f,
                     gw_fact_thread(judge, &judge->facts[f]) < thread ||
                         (gw_fact_thread(judge, &judge->facts[f]) == thread && judge->facts[f].call < call));
    return at < judge->facts_count && judge->facts[at].call == call ? &judge->facts[at] : NULL;
}

/* Marks a copy that is not needed, and with it the synchronisation that does nothing but wait for it. */
static void drop_copy(struct gw_judge *judge, struct gw_finding *finding, const struct gw_fact *fact, bool counts)
{
    const uint8_t drop = GW_EDIT_DROP | GW_EDIT_NO_OP;
    const struct gw_fact *next = gw_fact_after(judge, fact);
    if (counts)
        gw_finding_mark(finding, judge, fact, drop);
    else
        gw_finding_edit(finding, judge, fact, drop);
    if (next && next->cls == GW_CALL_SYNC && !next->claimed && !gw_fact_copy(judge, fact)->blocking)
        gw_finding_edit(finding, judge, next, GW_EDIT_DROP);
}

static int judge_contents(struct gw_judge *judge, struct gw_verdict *verdict, bool round_trip)
{
    struct unseen unseen = {0};
    struct gw_finding finding;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    if ((ret = collect_unseen(judge, &unseen)) < 0)
        goto end;
    for (size_t i = 0; i < judge->copies.repeats_count; i++) {
        const struct gw_repeat *repeat = &judge->copies.repeats[i];
        const struct gw_fact *first = fact_of_op(judge, repeat->first), *second = fact_of_op(judge, repeat->second);
        if (!first || !second || second->step == GW_NONE || judge->model->ops[repeat->second].kind != GW_OP_H2D ||
            round_trip != (repeat->kind == GW_REPEAT_BACK) || !gw_fact_copy(judge, first) ||
            !gw_fact_copy(judge, second))
            continue;
        drop_copy(judge, &finding, second, true);
        if (round_trip)
            drop_copy(judge, &finding, first, false);
    }
    uint64_t unknown = round_trip ? unseen.uploads + come_back_unseen(&unseen) : unseen.uploads;
    if (!finding.count && unknown) {
        ret = unseen.uploads
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
    free(unseen.sources);
    free(unseen.downloads);
    gw_finding_release(&finding);
    return ret;
}

uint8_t *gw_needless_uploads(const struct gw_judge *judge)
{
    uint8_t *needless = calloc(judge->model->ops_count + 1, 1);
    for (size_t i = 0; needless && i < judge->copies.repeats_count; i++) {
        const uint32_t op = judge->copies.repeats[i].second;
        needless[op] = judge->model->ops[op].kind == GW_OP_H2D;
    }
    return needless;
}

int gw_judge_repeated_upload(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_contents(judge, verdict, false);
}

int gw_judge_round_trip_copy(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_contents(judge, verdict, true);
}
