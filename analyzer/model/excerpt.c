/* A recording cut behind one of its steps, as if it had been stopped there. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/recordings.h"
#include "analyzer/model/sorted.h"
#include "analyzer/read/clock_shift.h"
#include "analyzer/read/record_layout.h"

/* Until when records are kept, and the calls that are. */
struct cut {
    uint64_t end_ns;
    struct gw_map calls; /* call id, 0 → 1 */
};

enum part { ALWAYS, OF_CALL, IN_TIME };

static bool is_call(uint32_t type)
{
    return type <= GW_RECORD_call_begin;
}

static enum part part_of(uint32_t type)
{
    if (is_call(type) || type == GW_RECORD_thread_gap || type == GW_RECORD_nvtx) {
        return IN_TIME;
    }
    /* Times of operations come later than the call that enqueued them. The rest is what others refer to. */
    return type == GW_RECORD_gpu_op || type == GW_RECORD_gpu_node ? OF_CALL : ALWAYS;
}

static uint64_t begin_of(const struct gw_record *record)
{
    return record->begin_ns && record->begin_ns < record->time_ns ? record->begin_ns : record->time_ns;
}

/* What a record counts for, apart from its words and texts: its times, call, site, result and type. */
#define GW_RECORD_BYTES 40u

/* With its texts, which no other record has. */
static uint64_t bytes_of(const struct gw_record_stream *stream, const struct gw_record *record)
{
    const uint64_t *words = record->words;
    uint64_t bytes = GW_RECORD_BYTES + gw_record_words_of[record->type] * sizeof(uint64_t);
    for (uint32_t w = 0; w < gw_record_words_of[record->type]; w++) {
        bytes += gw_record_texts_of[record->type] & 1u << w ? strlen(stream->texts + words[w]) + 1 : 0;
    }
    return bytes;
}

static uint64_t count_bytes(const struct gw_records *records)
{
    uint64_t bytes = 0;
    for (size_t s = 0; s < records->stream_count; s++) {
        const struct gw_record_stream *stream = &records->streams[s];
        bytes += stream->text_bytes;
        for (size_t type = 0; type < GW_RECORD_COUNT; type++) {
            bytes += stream->counts[type] * (GW_RECORD_BYTES + gw_record_words_of[type] * sizeof(uint64_t));
        }
    }
    return bytes;
}

/* Ends of the recording's steps in order; the caller frees. */
static int list_step_ends(const struct gw_run_file *run, const struct gw_records *records, uint64_t **ret_ends,
                          size_t *ret_count, struct gw_error *error)
{
    const struct gw_model_input input = {.run = run, .records = records};
    struct gw_model *model = NULL;
    int status = gw_model_build_from_records(run->path, &input, 1, NULL, &model, error);
    if (status) {
        return status;
    }
    uint64_t *ends = malloc((model->steps_count + 1) * sizeof(*ends));
    size_t count = 0;
    for (size_t i = 0; i < model->steps_count && ends; i++) {
        ends[count++] = model->steps[i].end_ns;
    }
    gw_model_destroy(model);
    if (!ends) {
        return gw_error_set(error, -ENOMEM, "%s: no memory to cut its trace", run->path);
    }
    qsort(ends, count, sizeof(*ends), gw_by_u64);
    *ret_ends = ends;
    *ret_count = count;
    return 0;
}

static size_t first_at_or_after(const uint64_t *ends, size_t count, uint64_t time_ns)
{
    const size_t low = GW_FIRST_NOT(0, count, middle, ends[middle] < time_ns);
    return low;
}

/* A call has up to two records; the earlier one counts. */
static int note_place(struct gw_map *places, uint64_t call, uint32_t place)
{
    uint32_t *known = gw_map_find(places, call, 0);
    if (!known) {
        return gw_map_insert(places, call, 0, place);
    }
    *known = place < *known ? place : *known;
    return 0;
}

/* Bytes of what is kept when the cut is made at each end: *ret_sums, which the caller frees. Times of operations count
 * with their call. */
static int sum_up(const struct gw_records *records, const uint64_t *ends, size_t end_count, uint64_t **ret_sums)
{
    uint64_t *sums = calloc(end_count + 1, sizeof(*sums)), always = 0;
    struct gw_map places = {0}; /* call id, 0 → index into ends */
    int status = sums ? 0 : -ENOMEM;
    for (int pass = 0; pass < 2 && !status; pass++) {
        for (size_t s = 0; s < records->stream_count && !status; s++) {
            const struct gw_record_stream *stream = &records->streams[s];
            for (size_t b = 0; b < stream->block_count && !status; b++) {
                const struct gw_record_block *block = stream->blocks[b];
                struct gw_record record;
                for (uint32_t i = 0, at = 0; i < block->count && !status; i++) {
                    at = gw_record_get(block, at, &record);
                    const enum part part = part_of(record.type);
                    if (part == OF_CALL && pass == 1) {
                        const uint32_t *place = gw_map_find(&places, record.call, 0);
                        sums[place ? *place : first_at_or_after(ends, end_count, record.time_ns)] +=
                            bytes_of(stream, &record);
                    } else if (part == ALWAYS && pass == 0) {
                        always += bytes_of(stream, &record);
                    } else if (part == IN_TIME && pass == 0) {
                        const size_t place = first_at_or_after(ends, end_count, begin_of(&record));
                        sums[place] += bytes_of(stream, &record);
                        status = is_call(record.type) ? note_place(&places, record.call, (uint32_t)place) : 0;
                    }
                }
            }
        }
    }
    for (size_t i = 0; i <= end_count && !status; i++) {
        sums[i] += i ? sums[i - 1] : always;
    }
    gw_map_clear(&places);
    if (status) {
        free(sums);
    } else {
        *ret_sums = sums;
    }
    return status;
}

static bool is_kept(const struct cut *cut, const struct gw_record *record)
{
    switch (part_of(record->type)) {
    case ALWAYS:
        return true;
    case OF_CALL:
        return gw_map_find(&cut->calls, record->call, 0) != NULL;
    case IN_TIME:
        break;
    }
    return begin_of(record) <= cut->end_ns;
}

static int note_calls(struct cut *cut, const struct gw_records *records)
{
    for (size_t s = 0; s < records->stream_count; s++) {
        for (size_t b = 0; b < records->streams[s].block_count; b++) {
            const struct gw_record_block *block = records->streams[s].blocks[b];
            struct gw_record record;
            for (uint32_t i = 0, at = 0; i < block->count; i++) {
                at = gw_record_get(block, at, &record);
                if (is_call(record.type) && begin_of(&record) <= cut->end_ns &&
                    !gw_map_find(&cut->calls, record.call, 0) && gw_map_insert(&cut->calls, record.call, 0, 1)) {
                    return -ENOMEM;
                }
            }
        }
    }
    return 0;
}

static int copy_stream(const struct cut *cut, const struct gw_record_stream *from, struct gw_record_stream *to)
{
    to->first_ns = UINT64_MAX;
    int status = gw_record_copy_losses(from, cut->end_ns, to);
    for (size_t b = 0; b < from->block_count && !status; b++) {
        const struct gw_record_block *block = from->blocks[b];
        struct gw_record record;
        for (uint32_t i = 0, at = 0; i < block->count && !status; i++) {
            at = gw_record_get(block, at, &record);
            if (is_kept(cut, &record)) {
                status = gw_record_copy(from, &record, to);
            }
        }
    }
    gw_record_stream_close(to);
    return status;
}

static int copy_records(struct cut *cut, const struct gw_records *from, struct gw_records **ret_records)
{
    struct gw_records *records = calloc(1, sizeof(*records));
    int status = records ? note_calls(cut, from) : -ENOMEM;
    if (status) {
        goto end;
    }
    *records = *from;
    records->streams = calloc(from->stream_count + 1, sizeof(*records->streams));
    records->stream_count = 0;
    if (!records->streams) {
        status = -ENOMEM;
    }
    while (!status && records->stream_count < from->stream_count) {
        const size_t stream = records->stream_count++;
        status = copy_stream(cut, &from->streams[stream], &records->streams[stream]);
    }
end:
    if (status) {
        gw_records_destroy(records);
    } else {
        *ret_records = records;
    }
    return status;
}

/* A time as the run file states it: for tests, whoever parses one shifts its times. */
static json_int_t stated_ns(const struct gw_run_file *run, uint64_t t_ns)
{
    const struct gw_clock_shift back = {
        .offset_ns = -run->test_shift.offset_ns,
        .ppm = -run->test_shift.ppm,
        .about_ns = run->test_shift.about_ns + (uint64_t)run->test_shift.offset_ns,
    };
    return (json_int_t)gw_clock_shifted(&back, t_ns);
}

/* The run file with the windows cut, which says what was. */
static int rewrite_run(const struct gw_run_file *from, uint64_t end_ns, size_t steps, size_t all_steps, uint64_t bytes,
                       struct gw_run_file **ret_run, struct gw_error *error)
{
    json_t *root = json_loads(from->text, 0, NULL), *windows = json_array();
    char *text = NULL;
    struct gw_run_file *run = NULL;
    for (size_t i = 0; i < (from->windowed ? from->window_count : 1); i++) {
        const uint64_t window_begin_ns = from->windowed ? from->windows[i].begin_ns : from->begin_monotonic_ns;
        const uint64_t window_end_ns = from->windowed ? from->windows[i].end_ns : UINT64_MAX;
        if (window_begin_ns < end_ns) {
            json_array_append_new(windows, json_pack("[I, I]", stated_ns(from, window_begin_ns),
                                                     stated_ns(from, window_end_ns < end_ns ? window_end_ns : end_ns)));
        }
    }
    json_object_set_new(root, "windows", windows);
    json_object_set_new(root, "excerpt",
                        json_pack("{s:I, s:I, s:I}", "steps", (json_int_t)steps, "of", (json_int_t)all_steps,
                                  "rank_bytes", (json_int_t)bytes));
    text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    int status = text ? gw_run_file_parse(from->path, text, &run, error)
                      : gw_error_set(error, -ENOMEM, "%s: no memory to cut its trace", from->path);
    free(text);
    if (!status) {
        run->functions = from->functions;
        run->function_count = from->function_count;
        run->function_users = from->function_users;
        *ret_run = run;
    }
    return status;
}

int gw_recording_cut(struct gw_run_file **run, struct gw_records **records, uint64_t bytes, struct gw_error *error)
{
    uint64_t *ends = NULL, *sums = NULL;
    size_t count = 0;
    struct cut cut = {0};
    struct gw_records *kept = NULL;
    struct gw_run_file *rewritten = NULL;
    if (count_bytes(*records) <= bytes) {
        return 0;
    }
    int status = list_step_ends(*run, *records, &ends, &count, error);
    if (status) {
        return status;
    }
    status = sum_up(*records, ends, count, &sums);
    if (status) {
        gw_error_set(error, status, "%s: no memory to cut its trace", (*run)->path);
        goto end;
    }
    size_t steps = count;
    while (steps && sums[steps - 1] > bytes) {
        steps--;
    }
    if (steps == 0) {
        status =
            gw_error_set(error, -EFBIG,
                         "%s: not even the first step fits into %.1f kB: that needs %.1f kB; give a larger --rank-size",
                         (*run)->path, (double)bytes / 1e3, (double)sums[0] / 1e3);
        goto end;
    }
    cut.end_ns = ends[steps - 1];
    status = copy_records(&cut, *records, &kept);
    if (status) {
        gw_error_set(error, status, "%s: no memory to cut its trace", (*run)->path);
        goto end;
    }
    status = rewrite_run(*run, cut.end_ns, steps, count, bytes, &rewritten, error);
    if (!status) {
        (*run)->functions = NULL;
        (*run)->function_count = 0;
        (*run)->function_users = NULL;
        gw_run_file_destroy(*run);
        gw_records_destroy(*records);
        *run = rewritten;
        *records = kept;
        kept = NULL;
    }
end:
    gw_records_destroy(kept);
    gw_map_clear(&cut.calls);
    free(ends);
    free(sums);
    return status;
}
