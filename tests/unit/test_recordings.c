/* Recordings before they become a model: streams made one, ranks in order. */
#include <errno.h>
#include <stdio.h>

#include "analyzer/model/recordings.h"
#include "tests/unit/trace_records.h"

#define LAUNCHES 20u

static void fill(struct trace *trace)
{
    begin_trace(trace);
    add_stream(trace, 10, 0, STREAM, 1);
    add_function(trace, 11, "_Z6kernelv");
    for (uint64_t i = 0; i < LAUNCHES; i++) {
        add_launch(trace, i + 1, 1000 * i + 100, 1000 * i + 120, 1);
        add_gpu_op(trace, i + 1, 0, GW_GPU_OP_KERNEL, 1000 * i + 150, 1000 * i + 400);
    }
    assert_int_equal(gw_record_stream_add_loss(&trace->streams[0], 5, 6, 3), 0);
    assert_int_equal(gw_record_stream_add_loss(&trace->streams[1], 7, 8, 4), 0);
}

static void one_stream_is_the_same_model(void **state)
{
    (void)state;
    struct trace apart, whole;
    fill(&apart);
    fill(&whole);
    assert_int_equal(gw_recording_coalesce(&whole.records), 0);
    assert_int_equal(whole.records.stream_count, 1);
    for (uint32_t b = 0; b < whole.streams[0].block_count; b++) {
        const struct gw_record_block *block = whole.streams[0].blocks[b];
        struct gw_record record;
        uint64_t before_ns = 0;
        for (uint32_t i = 0, place = 0; i < block->count; i++, before_ns = record.time_ns) {
            place = gw_record_get(block, place, &record);
            assert_true(before_ns <= record.time_ns);
        }
    }
    const struct gw_model *a = build(&apart), *b = build(&whole);
    assert_int_equal(a->ops_count, LAUNCHES);
    assert_int_equal(b->ops_count, a->ops_count);
    assert_int_equal(b->calls_count, a->calls_count);
    assert_int_equal(b->losses_count, 2);
    assert_int_equal(b->run.discarded_events, 7);
    for (size_t i = 0; i < a->ops_count; i++) {
        assert_int_equal(b->ops[i].start_ns, a->ops[i].start_ns);
        assert_int_equal(b->ops[i].end_ns, a->ops[i].end_ns);
        assert_int_equal(b->calls[b->ops[i].call].begin_ns, a->calls[a->ops[i].call].begin_ns);
        assert_string_equal(b->names[b->ops[i].name], a->names[a->ops[i].name]);
    }
    end_trace(&apart);
    end_trace(&whole);
}

/* A recording of no events, on the heap as readers make them. */
static void add_rank(struct gw_recordings *recordings, const char *path, uint32_t rank)
{
    char text[128];
    struct gw_run_file *run = NULL;
    snprintf(text, sizeof(text),
             "{\"schema\": \"gpuwitness.run/1\", \"job\": {\"id\": \"j\", \"rank\": %u, \"size\": 5}}", rank);
    assert_int_equal(gw_run_file_parse(path, text, &run, NULL), 0);
    recordings->inputs = realloc(recordings->inputs, (recordings->inputs_count + 1) * sizeof(*recordings->inputs));
    recordings->inputs[recordings->inputs_count++] =
        (struct gw_model_input){.run = run, .records = calloc(1, sizeof(struct gw_records))};
}

/* Events of another format are refused in one line that names both. */
static void other_formats_are_refused(void **state)
{
    (void)state;
    struct gw_run_file *run = NULL;
    struct gw_error error = {""};
    const char *newer =
        "{\"schema\": \"gpuwitness.run/1\", \"event_format\": 99, \"versions\": {\"gpuwitness\": \"9.8\"}}";
    char same[96], format[16];
    assert_int_equal(gw_run_file_parse("run", newer, &run, &error), -EPROTO);
    snprintf(format, sizeof(format), "format %d", GW_EVENT_FORMAT);
    assert_non_null(strstr(error.text, "gpuwitness 9.8 with events of format 99"));
    assert_non_null(strstr(error.text, format));
    snprintf(same, sizeof(same), "{\"schema\": \"gpuwitness.run/1\", \"event_format\": %d}", GW_EVENT_FORMAT);
    assert_int_equal(gw_run_file_parse("run", same, &run, &error), 0);
    gw_run_file_destroy(run);
}

static void ranks_are_in_one_order(void **state)
{
    (void)state;
    struct gw_recordings recordings = {0};
    struct gw_model *model = NULL;
    add_rank(&recordings, "there/rank-a-9", 4);
    add_rank(&recordings, "here/rank-b-3", 0);
    add_rank(&recordings, "rank-c-1", 0);
    add_rank(&recordings, "here/rank-a-10", 2);
    assert_int_equal(gw_recordings_add_problem(&recordings, "second"), 0);
    assert_int_equal(gw_recordings_add_problem(&recordings, "a first"), 0);
    assert_int_equal(gw_model_build_from_recordings("run", &recordings, NULL, &model, NULL), 0);
    assert_int_equal(recordings.inputs_count, 0);
    static const char *const names[] = {"rank-b-3", "rank-c-1", "rank-a-10", "rank-a-9"};
    assert_int_equal(model->recordings_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(model->recordings[i].name, names[i]);
    }
    static const char *const problems[] = {
        "ranks 1, 3 of 5 are not in the run",
        "rank 0 was recorded more than once, as when a job is started again or two share a directory; all are "
        "in the report",
        "a first", "second"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(model->run.problems[i], problems[i]);
    }
    assert_null(model->run.problems[4]);
    assert_int_equal(model->run.ranks, 5);
    assert_int_equal(model->run.ranks_missing, 2);
    assert_true(model->run.unseen & GW_UNSEEN_RANKS);
    gw_model_destroy(model);
}

static void shares_shrink_with_ranks(void **state)
{
    (void)state;
    assert_int_equal(gw_rank_bytes(1), GW_RANKS_BYTES);
    assert_int_equal(gw_rank_bytes(4096), GW_RANKS_BYTES / 4096);
    assert_int_equal(gw_rank_bytes(1000000), GW_RANK_BYTES_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_stream_is_the_same_model),
        cmocka_unit_test(other_formats_are_refused),
        cmocka_unit_test(ranks_are_in_one_order),
        cmocka_unit_test(shares_shrink_with_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
