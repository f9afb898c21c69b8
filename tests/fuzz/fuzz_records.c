/*
 * A recorded run with records changed, left out, repeated and out of order, alone or with another rank's: calls without
 * a begin or an end, times of operations without calls, clocks that go back, handles that were never announced. The
 * model is built as of any recording, twice: from the streams apart and from one.
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/recordings.h"
#include "analyzer/read/record_layout.h"
#include "tests/fuzz/small_run.h"
#include "tests/fuzz/use_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Changes one field of the record. */
static void change(struct gw_record *record, struct gw_fuzz_input *input)
{
    const unsigned which = (unsigned)gw_fuzz_take(input, 1), words = gw_record_words_of[record->type];
    switch (which % 8) {
    case 0:
        record->time_ns = gw_fuzz_take_number(input, record->time_ns);
        break;
    case 1:
        record->begin_ns = gw_fuzz_take_number(input, record->begin_ns);
        break;
    case 2:
        record->call = gw_fuzz_take_number(input, record->call);
        break;
    case 3:
        record->site = gw_fuzz_take_number(input, record->site);
        break;
    case 4:
        record->result = (int32_t)gw_fuzz_take_number(input, 0);
        break;
    default:
        if (words) {
            const unsigned word = (which >> 3) % words;
            /* Readers check that texts are there before a record is made. */
            if (!(gw_record_texts_of[record->type] & 1u << word)) {
                record->words[word] = gw_fuzz_take_number(input, record->words[word]);
            }
        }
        break;
    }
}

static void append(struct gw_record_stream *stream, const struct gw_record *record)
{
    if (gw_record_stream_append(stream, record, record->words, gw_record_words_of[record->type])) {
        abort();
    }
}

/* Takes the records of the small run one by one into up to three streams; an input byte for each record that is not
 * taken as it is: how many follow as they are, and what becomes of the next. */
static struct gw_records *changed_run(unsigned seed, struct gw_fuzz_input *input)
{
    struct gw_records *base = gw_small_run_records(seed), *records = calloc(1, sizeof(*records));
    struct gw_record_stream *from = base->streams, *streams = calloc(3, sizeof(*streams));
    if (!records || !streams) {
        abort();
    }
    *records = *base;
    records->streams = streams;
    records->stream_count = 3;
    for (unsigned s = 0; s < 3; s++) {
        struct gw_record_stream *to = &streams[s];
        to->first_ns = UINT64_MAX;
        /* Offsets of texts stay what they are. */
        to->texts = malloc(from->text_bytes);
        if (!to->texts) {
            abort();
        }
        memcpy(to->texts, from->texts, from->text_bytes);
        to->text_bytes = to->text_capacity = from->text_bytes;
    }
    unsigned as_it_is = (unsigned)gw_fuzz_take(input, 1);
    for (size_t b = 0; b < from->block_count; b++) {
        struct gw_record record;
        for (uint32_t i = 0, place = 0; i < from->blocks[b]->count; i++) {
            place = gw_record_get(from->blocks[b], place, &record);
            struct gw_record_stream *to = &streams[record.type >= GW_RECORD_call_begin];
            if (as_it_is || !input->size) {
                as_it_is -= as_it_is > 0;
                append(to, &record);
                continue;
            }
            const unsigned what = (unsigned)gw_fuzz_take(input, 1);
            as_it_is = what >> 3;
            switch (what % 8) {
            case 0: /* lost */
                break;
            case 1: /* there twice */
                append(to, &record);
                append(&streams[2], &record);
                break;
            case 2: /* lost, and that is said */
                if (gw_record_stream_add_loss(to, record.time_ns, gw_fuzz_take_number(input, record.time_ns),
                                              (int64_t)gw_fuzz_take(input, 1) - 3)) {
                    abort();
                }
                break;
            default:
                change(&record, input);
                append(what & 128 ? &streams[2] : to, &record);
                break;
            }
        }
    }
    gw_records_destroy(base);
    return records;
}

static void build(struct gw_recordings *recordings)
{
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    if (gw_model_build_from_recordings("run", recordings, NULL, &model, &error) == 0) {
        gw_fuzz_use_model(model);
        gw_model_destroy(model);
    }
    gw_recordings_release(recordings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_fuzz_input input = {data, size};
    struct gw_recordings recordings = {0};
    const unsigned kind = (unsigned)gw_fuzz_take(&input, 1);
    const size_t count = kind & 16 ? 2 : 1;
    recordings.inputs = calloc(count, sizeof(*recordings.inputs));
    for (size_t i = 0; i < count && recordings.inputs; i++) {
        struct gw_run_file *run = NULL;
        struct gw_error error = {""};
        if (gw_run_file_parse("run", gw_small_run_json(kind + (unsigned)i), &run, &error)) {
            abort();
        }
        struct gw_records *records = changed_run((unsigned)i, &input);
        if (kind & 32 && gw_recording_coalesce(records)) {
            abort();
        }
        recordings.inputs[recordings.inputs_count++] = (struct gw_model_input){.run = run, .records = records};
    }
    build(&recordings);
    return 0;
}
