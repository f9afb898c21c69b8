/* Copying records from stream to stream: how many words each type has, and which of them are texts. */
#ifndef GW_ANALYZER_READ_RECORD_LAYOUT_H
#define GW_ANALYZER_READ_RECORD_LAYOUT_H

#include "analyzer/read/records.h"

/* Words of a record of each type. */
extern const uint8_t gw_record_words_of[GW_RECORD_COUNT];

/* Bit i: word i is the offset of a text, which no other record has. */
extern const uint32_t gw_record_texts_of[GW_RECORD_COUNT];

/* Appends a copy of the record, which is one of `from`, with its texts. Returns 0 or a negative errno. */
int gw_record_copy(const struct gw_record_stream *from, const struct gw_record *record, struct gw_record_stream *to);

/* Adds copies of the losses that begin until until_ns. Returns 0 or -ENOMEM. */
int gw_record_copy_losses(const struct gw_record_stream *from, uint64_t until_ns, struct gw_record_stream *to);

#endif
