/* Records written as a trace and read again: what is kept, what is cut, and what was lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/export/trace.h"
#include "analyzer/read/read.h"
#include "analyzer/session/run_dir.h"
#include "shim/api/codes.h"

static const struct gw_trace_cut whole = {0, UINT64_MAX};

static void add(struct gw_record_stream *stream, enum gw_record_type type, uint64_t begin_ns, uint64_t time_ns,
                uint64_t call, const uint64_t *words, uint32_t word_count)
{
    const struct gw_record record = {
        .time_ns = time_ns, .begin_ns = begin_ns, .call = call, .site = call * 3, .result = -7, .type = type};
    assert_int_equal(gw_record_stream_append(stream, &record, words, word_count), 0);
}

/* Two streams: one of calls 1000 ns apart and their operations, one about the process. */
static struct gw_records *make(unsigned call_count)
{
    struct gw_records *records = calloc(1, sizeof(*records));
    assert_non_null(records);
    records->streams = calloc(2, sizeof(*records->streams));
    assert_non_null(records->streams);
    records->stream_count = 2;
    records->realtime_offset_ns = 1700000000123456789;
    for (uint64_t i = 1; i <= call_count; i++) {
        const uint64_t launch[GW_ARGS_launch] = {i, 2, UINT64_MAX - i, 4};
        const uint64_t op[GW_ARGS_gpu_op] = {2, i * 1000 + 900, 5};
        add(&records->streams[0], GW_RECORD_launch, i * 1000, i * 1000 + 100, i, launch, GW_ARGS_launch);
        add(&records->streams[0], GW_RECORD_gpu_op, i * 1000 + 500, i * 1000 + 950, i, op, GW_ARGS_gpu_op);
    }
    uint64_t words[GW_ARGS_process] = {17, 16};
    const char *texts[] = {"/home/dora/bin/train", "train --key=Passw0rd!", "node17", "RANK=3\nKEY=Passw0rd!\n"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(gw_record_stream_add_text(&records->streams[1], texts[i], strlen(texts[i]), &words[2 + i]), 0);
    add(&records->streams[1], GW_RECORD_process, 0, 500, 0, words, GW_ARGS_process);
    uint64_t range[GW_ARGS_nvtx] = {(uint64_t)17 << 32 | 17, GW_NVTX_PUSH, 0, 0, 0};
    const char *text = "reads /data/dora/batch.bin";
    assert_int_equal(gw_record_stream_add_text(&records->streams[1], text, strlen(text), &range[GW_ARG_nvtx_text]), 0);
    add(&records->streams[1], GW_RECORD_nvtx, 0, 15000, 0, range, GW_ARGS_nvtx);
    return records;
}

static struct gw_records *write_and_read_as(const struct gw_records *records, const struct gw_trace_cut *cut,
                                            bool hash_names, uint64_t *ret_discarded)
{
    struct gw_redactor redactor = {.hash_names = hash_names};
    struct gw_records *found = NULL;
    struct gw_error error = {""};
    char folder[] = "/tmp/gw-trace-XXXXXX";
    uint64_t bytes = 0;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(gw_trace_write(records, cut, &redactor, folder, ret_discarded), 0);
    assert_int_equal(gw_trace_size(records, cut, &bytes), 0);
    assert_in_range(bytes, 1, gw_tree_bytes(folder));
    int status = gw_records_read(folder, NULL, &found, &error);
    gw_remove_tree(folder);
    gw_redactor_release(&redactor);
    assert_string_equal(error.text, "");
    assert_int_equal(status, 0);
    assert_int_equal(found->realtime_offset_ns, records->realtime_offset_ns);
    return found;
}

static struct gw_records *write_and_read(const struct gw_records *records, const struct gw_trace_cut *cut,
                                         uint64_t *ret_discarded)
{
    return write_and_read_as(records, cut, false, ret_discarded);
}

/* The stream that holds records of the type. */
static const struct gw_record_stream *stream_of(const struct gw_records *records, enum gw_record_type type)
{
    const struct gw_record_stream *found = NULL;
    for (size_t i = 0; i < records->stream_count; i++) {
        if (records->streams[i].counts[type]) {
            assert_null(found);
            found = &records->streams[i];
        }
    }
    assert_non_null(found);
    return found;
}

static void every_field_comes_back(void **state)
{
    const unsigned calls = 30000; /* several packets */
    struct gw_records *records = make(calls);
    uint64_t discarded = 1;
    struct gw_records *found = write_and_read(records, &whole, &discarded);
    const struct gw_record_stream *stream = stream_of(found, GW_RECORD_launch);
    size_t count = 0;
    (void)state;
    assert_int_equal(discarded, 0);
    assert_int_equal(stream->loss_count, 0);
    uint32_t our_place = 0;
    size_t our_block = 0, our_count = 0;
    for (size_t b = 0; b < stream->block_count; b++) {
        for (uint32_t i = 0, place = 0; i < stream->blocks[b]->count; i++, count++, our_count++) {
            struct gw_record a, z;
            if (our_count == records->streams[0].blocks[our_block]->count) {
                our_block++;
                our_count = our_place = 0;
            }
            our_place = gw_record_get(records->streams[0].blocks[our_block], our_place, &a);
            place = gw_record_get(stream->blocks[b], place, &z);
            uint32_t words = a.type == GW_RECORD_launch ? GW_ARGS_launch : GW_ARGS_gpu_op;
            assert_int_equal(a.type, z.type);
            assert_int_equal(a.time_ns, z.time_ns);
            assert_int_equal(a.begin_ns, z.begin_ns);
            assert_int_equal(a.call, z.call);
            if (a.type == GW_RECORD_launch) {
                assert_int_equal(a.site, z.site);
                assert_int_equal(a.result, z.result);
            }
            assert_memory_equal(a.words, z.words, words * 8);
        }
    }
    assert_int_equal(count, 2 * calls);
    gw_records_destroy(found);
    gw_records_destroy(records);
}

static void texts_lose_what_is_private(void **state)
{
    struct gw_records *records = make(1);
    uint64_t discarded = 1;
    struct gw_records *found = write_and_read(records, &whole, &discarded);
    const struct gw_record_stream *stream = stream_of(found, GW_RECORD_process);
    struct gw_record record;
    const uint64_t *words = record.words;
    uint32_t next = gw_record_get(stream->blocks[0], 0, &record);
    (void)state;
    assert_int_equal(words[GW_ARG_process_pid], 17);
    assert_string_equal(stream->texts + words[GW_ARG_process_exe], "{dir1}/train");
    assert_string_equal(stream->texts + words[GW_ARG_process_command], "{arguments}");
    assert_string_equal(stream->texts + words[GW_ARG_process_host], "{host1}");
    assert_string_equal(stream->texts + words[GW_ARG_process_environment], "RANK=3\nKEY={value1}\n");
    gw_record_get(stream->blocks[0], next, &record);
    assert_string_equal(stream->texts + words[GW_ARG_nvtx_text], "reads {dir2}/batch.bin");
    gw_records_destroy(found);
    gw_records_destroy(records);
}

static void names_are_hashed(void **state)
{
    struct gw_records *records = make(1);
    uint64_t discarded = 1;
    struct gw_records *found = write_and_read_as(records, &whole, true, &discarded);
    const struct gw_record_stream *stream = stream_of(found, GW_RECORD_process);
    struct gw_record record;
    const uint64_t *words = record.words;
    uint32_t next = gw_record_get(stream->blocks[0], 0, &record);
    (void)state;
    assert_null(strstr(stream->texts + words[GW_ARG_process_exe], "train"));
    gw_record_get(stream->blocks[0], next, &record);
    assert_memory_equal(stream->texts + words[GW_ARG_nvtx_text], "name_", 5);
    gw_records_destroy(found);
    gw_records_destroy(records);
}

static void a_cut_keeps_calls_their_operations_and_the_context(void **state)
{
    struct gw_records *records = make(100);
    const struct gw_trace_cut cut = {10050, 20000}; /* call 10 has begun, call 20 begins */
    uint64_t discarded = 1;
    struct gw_records *found = write_and_read(records, &cut, &discarded);
    const struct gw_record_stream *stream = stream_of(found, GW_RECORD_launch);
    (void)state;
    assert_int_equal(stream->counts[GW_RECORD_launch], 11);
    assert_int_equal(stream->counts[GW_RECORD_gpu_op], 11);
    assert_int_equal(stream->first_ns, 10100);
    assert_int_equal(stream->last_ns, 20950);
    assert_int_equal(stream_of(found, GW_RECORD_process)->counts[GW_RECORD_process], 1);
    assert_int_equal(stream_of(found, GW_RECORD_process)->counts[GW_RECORD_nvtx], 1); /* at 15000 */
    gw_records_destroy(found);
    gw_records_destroy(records);
}

static void losses_come_back(void **state)
{
    struct gw_records *records = make(100);
    struct gw_record_stream *calls = &records->streams[0];
    const struct gw_trace_cut late = {60000, UINT64_MAX};
    uint64_t discarded = 0;
    (void)state;
    assert_int_equal(gw_record_stream_add_loss(calls, 30990, 40960, 12), 0); /* with events in it */
    assert_int_equal(gw_record_stream_add_loss(calls, 50960, 50990, 5), 0);  /* without */
    assert_int_equal(gw_record_stream_add_loss(calls, 70960, 70990, 0), 0);  /* of a whole packet */
    assert_int_equal(gw_record_stream_add_loss(calls, 100950, 100980, 3), 0);
    struct gw_records *found = write_and_read(records, &whole, &discarded);
    const struct gw_record_stream *stream = stream_of(found, GW_RECORD_launch);
    assert_int_equal(discarded, 20);
    assert_int_equal(stream->counts[GW_RECORD_launch], 100);
    assert_int_equal(stream->loss_count, calls->loss_count);
    for (size_t i = 0; i < stream->loss_count; i++) {
        assert_int_equal(stream->losses[i].begin_ns, calls->losses[i].begin_ns);
        assert_int_equal(stream->losses[i].end_ns, calls->losses[i].end_ns);
        assert_int_equal(stream->losses[i].count, calls->losses[i].count);
    }
    gw_records_destroy(found);
    found = write_and_read(records, &late, &discarded);
    assert_int_equal(discarded, 3);
    assert_int_equal(stream_of(found, GW_RECORD_launch)->loss_count, 2);
    assert_int_equal(stream_of(found, GW_RECORD_process)->counts[GW_RECORD_nvtx], 0);
    gw_records_destroy(found);
    gw_records_destroy(records);
}

static void what_was_let_go_comes_back(void **state)
{
    struct gw_records *records = make(10);
    uint64_t discarded = 1;
    size_t let_go = 0;
    (void)state;
    assert_int_equal(gw_record_stream_add_let_go(&records->streams[0], 990), 0);
    struct gw_records *found = write_and_read(records, &whole, &discarded);
    for (size_t s = 0; s < found->stream_count; s++) {
        for (size_t l = 0; l < found->streams[s].loss_count; l++) {
            assert_true(found->streams[s].losses[l].let_go);
            assert_int_equal(found->streams[s].losses[l].end_ns, 990);
            let_go++;
        }
    }
    assert_int_equal(let_go, 1);
    assert_int_equal(stream_of(found, GW_RECORD_launch)->counts[GW_RECORD_launch], 10);
    gw_records_destroy(found);
    gw_records_destroy(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back), cmocka_unit_test(texts_lose_what_is_private),
        cmocka_unit_test(names_are_hashed),       cmocka_unit_test(a_cut_keeps_calls_their_operations_and_the_context),
        cmocka_unit_test(losses_come_back),       cmocka_unit_test(what_was_let_go_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
