#include "analyzer/read/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/record_block.h"
#include "analyzer/read/record_layout.h"

static int grow(void **array, size_t *capacity, size_t needed, size_t item_bytes)
{
    if (needed <= *capacity) {
        return 0;
    }
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted < needed) {
        wanted = needed;
    }
    void *moved = realloc(*array, wanted * item_bytes);
    if (!moved) {
        return -ENOMEM;
    }
    *array = moved;
    *capacity = wanted;
    return 0;
}

static int add_block(struct gw_record_stream *stream)
{
    if (stream->block_count >= GW_BLOCKS_MAX) {
        return -EFBIG;
    }
    int status = grow((void **)&stream->blocks, &stream->block_capacity, stream->block_count + 1, sizeof(void *));
    if (status) {
        return status;
    }
    struct gw_record_block *block = gw_record_block_create(&stream->packer);
    if (!block) {
        return -ENOMEM;
    }
    stream->blocks[stream->block_count++] = block;
    return 0;
}

int gw_record_stream_append(struct gw_record_stream *stream, const struct gw_record *record, const uint64_t *words,
                            uint32_t word_count)
{
    int status = -ENOSPC;
    if (stream->packer) {
        status =
            gw_record_block_append(stream->blocks[stream->block_count - 1], stream->packer, record, words, word_count);
    }
    if (status == -ENOSPC) {
        status = add_block(stream);
        status = status ? status
                        : gw_record_block_append(stream->blocks[stream->block_count - 1], stream->packer, record, words,
                                                 word_count);
    }
    if (status) {
        return status;
    }
    if (stream->block_count == 1 && stream->blocks[0]->count == 1) {
        stream->first_ns = record->time_ns;
    }
    stream->counts[record->type]++;
    stream->last_ns = record->time_ns;
    return 0;
}

void gw_record_stream_close(struct gw_record_stream *stream)
{
    if (stream->packer) {
        struct gw_record_block **last = &stream->blocks[stream->block_count - 1];
        *last = gw_record_block_trim(*last);
        free(stream->packer);
        stream->packer = NULL;
    }
}

int gw_record_stream_rewrite(struct gw_record_stream *stream, void (*change)(void *user, struct gw_record *record),
                             void *user)
{
    struct gw_record_stream anew = {.first_ns = stream->first_ns, .last_ns = stream->last_ns};
    int status = 0;
    for (size_t b = 0; b < stream->block_count && !status; b++) {
        struct gw_record record;
        for (uint32_t i = 0, place = 0; i < stream->blocks[b]->count && !status; i++) {
            place = gw_record_get(stream->blocks[b], place, &record);
            change(user, &record);
            status = gw_record_stream_append(&anew, &record, record.words, gw_record_words_of[record.type]);
        }
    }
    gw_record_stream_close(&anew);
    if (!status) {
        const struct gw_record_stream before = *stream;
        stream->blocks = anew.blocks;
        stream->block_count = anew.block_count;
        stream->block_capacity = anew.block_capacity;
        stream->packer = NULL;
        stream->first_ns = anew.first_ns;
        stream->last_ns = anew.last_ns;
        anew = (struct gw_record_stream){
            .blocks = before.blocks, .block_count = before.block_count, .packer = before.packer};
    }
    gw_record_stream_clear(&anew);
    return status;
}

int gw_record_stream_add_text(struct gw_record_stream *stream, const char *text, size_t bytes, uint64_t *ret_offset)
{
    int status =
        grow((void **)&stream->texts, &stream->text_capacity, stream->text_bytes + bytes + 1, sizeof(*stream->texts));
    if (status) {
        return status;
    }
    memcpy(stream->texts + stream->text_bytes, text, bytes);
    stream->texts[stream->text_bytes + bytes] = '\0';
    *ret_offset = stream->text_bytes;
    stream->text_bytes += bytes + 1;
    return 0;
}

int gw_record_stream_add_loss(struct gw_record_stream *stream, uint64_t begin_ns, uint64_t end_ns, int64_t count)
{
    uint64_t back = count < 0 ? -(uint64_t)count : 0;
    for (size_t i = stream->loss_count; count < 0 && i-- > 0;) {
        uint64_t taken = stream->losses[i].count < back ? stream->losses[i].count : back;
        stream->losses[i].count -= taken;
        back -= taken;
    }
    if (count < 0) {
        return 0;
    }
    int status =
        grow((void **)&stream->losses, &stream->loss_capacity, stream->loss_count + 1, sizeof(*stream->losses));
    if (status) {
        return status;
    }
    stream->losses[stream->loss_count++] =
        (struct gw_record_loss){.begin_ns = begin_ns, .end_ns = end_ns, .count = (uint64_t)count};
    return 0;
}

int gw_record_stream_add_let_go(struct gw_record_stream *stream, uint64_t end_ns)
{
    int status = gw_record_stream_add_loss(stream, 0, end_ns, 0);
    if (!status) {
        stream->losses[stream->loss_count - 1].let_go = true;
    }
    return status;
}

void gw_record_stream_clear(struct gw_record_stream *stream)
{
    for (size_t i = 0; i < stream->block_count; i++) {
        gw_record_block_destroy(stream->blocks[i]);
    }
    free(stream->packer);
    free(stream->blocks);
    free(stream->texts);
    free(stream->losses);
    *stream = (struct gw_record_stream){0};
}

void gw_records_destroy(struct gw_records *records)
{
    if (!records) {
        return;
    }
    for (size_t i = 0; i < records->stream_count; i++) {
        gw_record_stream_clear(&records->streams[i]);
    }
    free(records->streams);
    free(records);
}
