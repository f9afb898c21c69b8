/*
 * Records: the events of a trace as flat arrays, one list of blocks for each stream file, in time order within a
 * stream.
 *
 * Memory: 10 to 20 bytes an event in most traces (record_block.h); strings once, with their NUL. A block is freed when
 * the model has all it tells (model/sources.h), and a stream is refused beyond GW_BLOCKS_MAX blocks.
 */
#ifndef GW_ANALYZER_READ_RECORDS_H
#define GW_ANALYZER_READ_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw_record_type {
#define GW_EVENT(event) GW_RECORD_##event,
#define GW_HEAD(event, field, slot)
#define GW_WORD(event, field)
#define GW_TEXT(event, field)
#define GW_EVENT_END(event)
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
    GW_RECORD_COUNT
};

/* GW_ARG_<event>_<field>: index of a field in the record's words; GW_ARGS_<event>: how many there are. */
#define GW_EVENT(event)                                                                                                \
    enum gw_args_##event                                                                                               \
    {
#define GW_HEAD(event, field, slot)
#define GW_WORD(event, field) GW_ARG_##event##_##field,
#define GW_TEXT(event, field) GW_ARG_##event##_##field,
#define GW_EVENT_END(event)                                                                                            \
    GW_ARGS_##event                                                                                                    \
    }                                                                                                                  \
    ;
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END

#define GW_RECORD_WORDS_MAX 8u
#define GW_BLOCKS_MAX 65536u

/* A record as it is read out of its block. */
struct gw_record {
    uint64_t time_ns;  /* the event's own time */
    uint64_t begin_ns; /* slots filled as events.def says, 0 otherwise */
    uint64_t call;
    uint64_t site;
    int32_t result;
    uint32_t type;                       /* enum gw_record_type */
    uint64_t words[GW_RECORD_WORDS_MAX]; /* as many as its type has, see record_layout.h */
};

/* Where a call comes from, as many records of a block say it. */
struct gw_record_head {
    uint64_t site, thread; /* thread: call id with sequence number 0 */
};

/* Packed records. Only record_block.c looks into data. */
struct gw_record_block {
    uint32_t count, word_count; /* of records, of their words */
    uint32_t bytes;             /* of data that are used */
    uint32_t head_count, value_count;
    uint64_t first_ns, last_ns; /* times of the first and the last record */
    uint64_t first_sequence;
    struct gw_record_head *heads;
    uint64_t *values;
    uint8_t data[];
};

/* Events are missing in [begin, end) of one stream; count 0 when it is not known how many. */
struct gw_record_loss {
    uint64_t begin_ns, end_ns;
    uint64_t count;
    bool let_go; /* on purpose: a flight recorder overwrote them, or old files were removed */
};

struct gw_record_stream {
    struct gw_record_block **blocks; /* NULL for one that is not needed any more */
    size_t block_count, block_capacity;
    struct gw_record_packer *packer; /* of the last block, NULL when that is full */
    char *texts;                     /* every string of the stream, NUL-terminated, one after the other */
    size_t text_bytes, text_capacity;
    struct gw_record_loss *losses;
    size_t loss_count, loss_capacity;
    uint64_t counts[GW_RECORD_COUNT];
    uint64_t first_ns, last_ns; /* of its events, UINT64_MAX and 0 when it has none */
};

struct gw_records {
    struct gw_record_stream *streams;
    size_t stream_count;
    size_t trace_count;         /* directories with a trace */
    uint64_t file_bytes;        /* of all files of the traces */
    size_t packet_count;        /* in all of them */
    uint64_t skipped_events;    /* of classes this version does not know */
    int64_t realtime_offset_ns; /* CLOCK_REALTIME − CLOCK_MONOTONIC of the trace's clock, 0 without a trace */
};

/* Reads the record at a place of the block, 0 for the first; returns the place of the next one. */
uint32_t gw_record_get(const struct gw_record_block *block, uint32_t place, struct gw_record *ret_record);

/* The same without the record's words, in half the time. */
uint32_t gw_record_get_head(const struct gw_record_block *block, uint32_t place, struct gw_record *ret_record);

/* Appends a record with word_count words (those that its type has beyond are 0) to the stream. Returns 0, -ENOMEM, or
 * -EFBIG beyond GW_BLOCKS_MAX. */
int gw_record_stream_append(struct gw_record_stream *stream, const struct gw_record *record, const uint64_t *words,
                            uint32_t word_count);

/* Changes each record of the stream in turn, all but its type. Returns 0, or -ENOMEM or -EFBIG with the stream as it
 * was. */
int gw_record_stream_rewrite(struct gw_record_stream *stream, void (*change)(void *user, struct gw_record *record),
                             void *user);

/* Gives back what is only needed to append: for a stream that is complete. Appending goes on with another block. */
void gw_record_stream_close(struct gw_record_stream *stream);

/* Stores a string and its offset in *ret_offset. Returns 0 or -ENOMEM. */
int gw_record_stream_add_text(struct gw_record_stream *stream, const char *text, size_t bytes, uint64_t *ret_offset);

/* Stores a loss. count is the difference of two wrapping counters: a negative one takes back from the losses before.
 * Returns 0 or -ENOMEM. */
int gw_record_stream_add_loss(struct gw_record_stream *stream, uint64_t begin_ns, uint64_t end_ns, int64_t count);

/* Stores that what lies before end_ns was let go. Returns 0 or -ENOMEM. */
int gw_record_stream_add_let_go(struct gw_record_stream *stream, uint64_t end_ns);

/* Frees what the stream owns. */
void gw_record_stream_clear(struct gw_record_stream *stream);

/* Frees everything; NULL is allowed. */
void gw_records_destroy(struct gw_records *records);

#endif
