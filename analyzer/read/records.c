#include "analyzer/read/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    struct gw_record_block *block = malloc(sizeof(*block));
    if (!block) {
        return -ENOMEM;
    }
    block->count = 0;
    block->word_count = 0;
    stream->blocks[stream->block_count++] = block;
    return 0;
}

int gw_record_stream_begin(struct gw_record_stream *stream, struct gw_record **ret_record, uint64_t **ret_words)
{
    struct gw_record_block *block = stream->block_count ? stream->blocks[stream->block_count - 1] : NULL;
    if (!block || block->count == GW_BLOCK_RECORDS || block->word_count + GW_RECORD_WORDS_MAX > GW_BLOCK_WORDS) {
        int status = add_block(stream);
        if (status) {
            return status;
        }
        block = stream->blocks[stream->block_count - 1];
    }
    *ret_record = &block->records[block->count];
    *ret_words = &block->words[block->word_count];
    return 0;
}

void gw_record_stream_end(struct gw_record_stream *stream, struct gw_record *record, uint32_t word_count)
{
    struct gw_record_block *block = stream->blocks[stream->block_count - 1];
    if (stream->block_count == 1 && block->count == 0) {
        stream->first_ns = record->time_ns;
    }
    record->words = block->word_count & 0xffffffu;
    block->count++;
    block->word_count += word_count;
    stream->counts[record->type]++;
    stream->last_ns = record->time_ns;
}

int gw_record_stream_append(struct gw_record_stream *stream, const struct gw_record *record, const uint64_t *words,
                            uint32_t word_count)
{
    struct gw_record *slot = NULL;
    uint64_t *slot_words = NULL;
    int status = gw_record_stream_begin(stream, &slot, &slot_words);
    if (status) {
        return status;
    }
    *slot = *record;
    for (uint32_t i = 0; i < word_count; i++) {
        slot_words[i] = words[i];
    }
    gw_record_stream_end(stream, slot, word_count);
    return 0;
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
        free(stream->blocks[i]);
    }
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
