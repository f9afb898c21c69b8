#include "analyzer/read/record_layout.h"

#include <string.h>

const uint8_t gw_record_words_of[GW_RECORD_COUNT] = {
#define GW_EVENT(event)
#define GW_HEAD(event, field, slot)
#define GW_WORD(event, field)
#define GW_TEXT(event, field)
#define GW_EVENT_END(event) [GW_RECORD_##event] = GW_ARGS_##event,
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
};

const uint32_t gw_record_texts_of[GW_RECORD_COUNT] = {
#define GW_EVENT(event) [GW_RECORD_##event] = 0
#define GW_HEAD(event, field, slot)
#define GW_WORD(event, field)
#define GW_TEXT(event, field) | 1u << GW_ARG_##event##_##field
#define GW_EVENT_END(event) ,
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
};

int gw_record_copy(const struct gw_record_stream *from, const struct gw_record *record, struct gw_record_stream *to)
{
    const uint32_t count = gw_record_words_of[record->type];
    uint64_t words[GW_RECORD_WORDS_MAX];
    int status = 0;
    memcpy(words, record->words, count * sizeof(*words));
    for (uint32_t w = 0; w < count && !status; w++) {
        const char *text = gw_record_texts_of[record->type] & 1u << w ? from->texts + words[w] : NULL;
        status = text ? gw_record_stream_add_text(to, text, strlen(text), &words[w]) : 0;
    }
    return status ? status : gw_record_stream_append(to, record, words, count);
}

int gw_record_copy_losses(const struct gw_record_stream *from, uint64_t until_ns, struct gw_record_stream *to)
{
    for (size_t i = 0; i < from->loss_count; i++) {
        const struct gw_record_loss *loss = &from->losses[i];
        if (loss->begin_ns > until_ns) {
            continue;
        }
        const int status = gw_record_stream_add_loss(to, loss->begin_ns, loss->end_ns, (int64_t)loss->count);
        if (status) {
            return status;
        }
        to->losses[to->loss_count - 1].let_go = loss->let_go;
    }
    return 0;
}
