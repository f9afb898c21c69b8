/*
 * print_records TRACE: every record of a trace, one a line, as "TIME EVENT FIELD=VALUE …"; then "skipped N", and the
 * losses of each stream as "lost BEGIN END COUNT". For check_records.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/read/read.h"

enum place { PLACE_BEGIN, PLACE_CALL, PLACE_SITE, PLACE_RESULT, PLACE_WORD, PLACE_TEXT };

static const struct {
    uint8_t type, place, word;
    const char *event, *name;
} fields[] = {
#define GW_EVENT(event)
#define GW_HEAD(event, field, slot) {GW_RECORD_##event, PLACE_##slot, 0, #event, #field},
#define GW_WORD(event, field) {GW_RECORD_##event, PLACE_WORD, GW_ARG_##event##_##field, #event, #field},
#define GW_TEXT(event, field) {GW_RECORD_##event, PLACE_TEXT, GW_ARG_##event##_##field, #event, #field},
#define GW_EVENT_END(event)
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
};

static void print_record(const struct gw_record_stream *stream, const struct gw_record *record)
{
    bool named = false;
    printf("%" PRIu64, record->time_ns);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].type != record->type) {
            continue;
        }
        if (!named) {
            printf(" %s", fields[i].event);
            named = true;
        }
        const uint64_t word = record->words[fields[i].word];
        printf(" %s=", fields[i].name);
        switch ((enum place)fields[i].place) {
        case PLACE_BEGIN:
            printf("%" PRIu64, record->begin_ns);
            break;
        case PLACE_CALL:
            printf("%" PRIu64, record->call);
            break;
        case PLACE_SITE:
            printf("%" PRIu64, record->site);
            break;
        case PLACE_RESULT:
            printf("%d", record->result);
            break;
        case PLACE_WORD:
            printf("%" PRIu64, word);
            break;
        case PLACE_TEXT:
            putchar('"');
            for (const char *at = stream->texts + word; *at; at++) {
                printf("%02x", (unsigned char)*at);
            }
            putchar('"');
            break;
        }
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct gw_records *records = NULL;
    struct gw_error error = {""};
    if (argc != 2 || gw_records_read(argv[1], NULL, &records, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (size_t s = 0; s < records->stream_count; s++) {
        const struct gw_record_stream *stream = &records->streams[s];
        for (size_t b = 0; b < stream->block_count; b++) {
            struct gw_record record;
            for (uint32_t i = 0, place = 0; i < stream->blocks[b]->count; i++) {
                place = gw_record_get(stream->blocks[b], place, &record);
                print_record(stream, &record);
            }
        }
        for (size_t i = 0; i < stream->loss_count; i++) {
            const struct gw_record_loss *loss = &stream->losses[i];
            printf("lost %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", loss->begin_ns, loss->end_ns, loss->count);
        }
    }
    printf("skipped %" PRIu64 "\n", records->skipped_events);
    gw_records_destroy(records);
    return 0;
}
