/* The streams of a recording as one: of very many ranks, each CPU's stream apart would need more blocks than there are
 * numbers for, most of them nearly empty. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/recordings.h"
#include "analyzer/read/record_layout.h"

struct place {
    uint64_t time_ns;
    uint32_t stream, block, place;
};

static int by_time(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    if (a->stream != b->stream) {
        return a->stream < b->stream ? -1 : 1;
    }
    return a->block != b->block ? (a->block < b->block ? -1 : 1) : (a->place > b->place) - (a->place < b->place);
}

static struct place *list_places(const struct gw_records *records, size_t *ret_count)
{
    size_t count = 0;
    for (size_t s = 0; s < records->stream_count; s++) {
        for (size_t b = 0; b < records->streams[s].block_count; b++) {
            count += records->streams[s].blocks[b]->count;
        }
    }
    struct place *places = malloc((count + 1) * sizeof(*places));
    *ret_count = 0;
    for (size_t s = 0; s < records->stream_count && places; s++) {
        for (size_t b = 0; b < records->streams[s].block_count; b++) {
            const struct gw_record_block *block = records->streams[s].blocks[b];
            struct gw_record record;
            for (uint32_t i = 0, at = 0, next; i < block->count; i++, at = next) {
                next = gw_record_get(block, at, &record);
                places[(*ret_count)++] = (struct place){record.time_ns, (uint32_t)s, (uint32_t)b, at};
            }
        }
    }
    return places;
}

int gw_recording_coalesce(struct gw_records *records)
{
    struct gw_record_stream whole = {.first_ns = UINT64_MAX};
    size_t count = 0;
    if (records->stream_count < 2) {
        return 0;
    }
    struct place *places = list_places(records, &count);
    int status = places ? 0 : -ENOMEM;
    if (!status) {
        qsort(places, count, sizeof(*places), by_time);
    }
    for (size_t i = 0; i < count && !status; i++) {
        const struct gw_record_stream *stream = &records->streams[places[i].stream];
        struct gw_record record;
        gw_record_get(stream->blocks[places[i].block], places[i].place, &record);
        status = gw_record_copy(stream, &record, &whole);
    }
    gw_record_stream_close(&whole);
    for (size_t s = 0; s < records->stream_count && !status; s++) {
        status = gw_record_copy_losses(&records->streams[s], UINT64_MAX, &whole);
    }
    free(places);
    if (status) {
        gw_record_stream_clear(&whole);
        return status;
    }
    for (size_t s = 0; s < records->stream_count; s++) {
        gw_record_stream_clear(&records->streams[s]);
    }
    records->streams[0] = whole;
    records->stream_count = 1;
    return 0;
}
