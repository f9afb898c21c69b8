#include "analyzer/read/packet_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/read/record_layout.h"
#include "shim/api/codes.h"

#define BUFFER_BYTES (1u << 20)
/* More is read of the packet when fewer bytes are left in the buffer: most events are far shorter. */
#define LOW_BYTES (1u << 14)
/* Behind the content, so that eight bytes can be loaded wherever an integer begins. */
#define SPARE_BYTES 8u

/* What the kernel gives processes at most, and 13 days: no call lasts longer. */
#define PID_MOST (1u << 22)
#define SPAN_MOST_NS (1ull << 50)

/* Returned where the event is not whole in the buffer. */
#define BEYOND 1

struct reader {
    int fd;
    uint8_t *buffer;
    size_t capacity;
    const uint8_t *at, *end; /* in the buffer */
    uint64_t offset, left;   /* in the file, of the packet's content that is not in the buffer yet */
    uint64_t packet_begin_ns, packet_end_ns;
    uint64_t clock_ns; /* of the last event, or the begin of the packet */
    const struct gw_stream_class *class;
    struct gw_record_stream *stream;
    struct gw_packets_read *read;
    const struct gw_event_layout *unusable; /* the first one */
};

int gw_packet_ranges_divide(const struct gw_stream_file *file, uint64_t size_bytes, struct gw_packet_range **ret_ranges,
                            size_t *ret_count)
{
    bool divisible = true;
    size_t count = 1;
    uint64_t collected = 0;
    struct gw_packet_range *ranges = calloc(file->packet_count + 1, sizeof(*ranges));
    if (!ranges) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < file->packet_count; i++) {
        const struct gw_stream_packet *packet = &file->packets[i];
        divisible &= packet->end_ns >= packet->begin_ns &&
                     (!i || (packet->begin_ns >= packet[-1].end_ns && packet->discarded >= packet[-1].discarded));
    }
    ranges[0].file = file;
    for (size_t i = 0; i < file->packet_count; i++) {
        const struct gw_stream_packet *packet = &file->packets[i];
        if (divisible && collected >= size_bytes && packet->discarded == packet[-1].discarded &&
            packet->number == packet[-1].number + 1) {
            ranges[count++] = (struct gw_packet_range){.file = file, .first = i};
            collected = 0;
        }
        ranges[count - 1].count++;
        collected += packet->size_bytes;
    }
    *ret_ranges = ranges;
    *ret_count = count;
    return 0;
}

uint64_t gw_packet_range_bytes(const struct gw_packet_range *range)
{
    uint64_t bytes = 0;
    for (size_t i = range->first; i < range->first + range->count; i++) {
        bytes += range->file->packets[i].size_bytes;
    }
    return bytes;
}

/* ---- the buffer ---- */

/* Reads on in the packet, behind what is left in the buffer. A file that is shorter by now is damaged. */
static int refill(struct reader *self)
{
    const size_t kept = (size_t)(self->end - self->at);
    if (kept >= self->capacity / 2) {
        uint8_t *grown = malloc(self->capacity * 2 + SPARE_BYTES);
        if (!grown) {
            return -ENOMEM;
        }
        memcpy(grown, self->at, kept);
        free(self->buffer);
        self->buffer = grown;
        self->capacity *= 2;
    } else if (kept) {
        memmove(self->buffer, self->at, kept);
    }
    const size_t room = self->capacity - kept, wanted = self->left < room ? self->left : room;
    const ssize_t got = pread(self->fd, self->buffer + kept, wanted, (off_t)self->offset);
    const size_t taken = got > 0 ? (size_t)got : 0;
    self->at = self->buffer;
    self->end = self->buffer + kept + taken;
    self->offset += taken;
    self->left -= taken;
    memset(self->buffer + kept + taken, 0, SPARE_BYTES);
    return taken || !wanted ? 0 : -EBADMSG;
}

/* ---- an event ---- */

/* The integer's bytes, which may lie behind the end: callers look. */
static uint64_t load(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return value >> (64 - 8 * bytes);
#else
    return value & UINT64_MAX >> (64 - 8 * bytes);
#endif
}

/* The time whose lowest bits are given: the first one that is not before the last. */
static uint64_t complete_time(uint64_t last_ns, uint64_t low, unsigned bits)
{
    const uint64_t wrap = 1ull << bits, time_ns = (last_ns & ~(wrap - 1)) | low;
    return time_ns < last_ns ? time_ns + wrap : time_ns;
}

/* Stores number and time of the event, and where its fields begin in *ret_at. BEYOND: it is not whole. */
static int read_header(const struct reader *self, uint64_t *ret_number, uint64_t *ret_time_ns, const uint8_t **ret_at)
{
    const uint8_t *at = self->at;
    const size_t there = (size_t)(self->end - at);
    uint64_t number, time_ns;
    size_t bytes, short_bytes;
    bool is_extended;
    switch (self->class->header) {
    case GW_HEADER_COMPACT: {
        const uint64_t word = load(at, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        number = word >> 27;
        time_ns = complete_time(self->clock_ns, word & ((1u << 27) - 1), 27);
#else
        number = word & 31u;
        time_ns = complete_time(self->clock_ns, word >> 5, 27);
#endif
        is_extended = number == 31;
        short_bytes = 1;
        bytes = 4;
        break;
    }
    case GW_HEADER_LARGE:
        number = load(at, 2);
        time_ns = complete_time(self->clock_ns, load(at + 2, 4), 32);
        is_extended = number == 65535;
        short_bytes = 2;
        bytes = 6;
        break;
    default: /* GW_HEADER_PLAIN */
        number = at[0];
        time_ns = there < 9 ? 0 : load(at + 1, 8);
        is_extended = false;
        short_bytes = 0;
        bytes = 9;
        break;
    }
    if (is_extended) {
        bytes = short_bytes + 12;
        if (there >= bytes) {
            number = load(at + short_bytes, 4);
            time_ns = load(at + short_bytes + 4, 8);
        }
    }
    if (there < bytes) {
        return BEYOND;
    }
    *ret_number = number;
    *ret_time_ns = time_ns;
    *ret_at = at + bytes;
    return 0;
}

static void store(const struct gw_event_field *field, uint64_t value, struct gw_record *record)
{
    switch ((enum gw_slot)field->slot) {
    case GW_SLOT_BEGIN:
        record->begin_ns = value;
        break;
    case GW_SLOT_CALL:
        record->call = value;
        break;
    case GW_SLOT_SITE:
        record->site = value;
        break;
    case GW_SLOT_RESULT:
        record->result = (int32_t)value;
        break;
    case GW_SLOT_WORD:
    case GW_SLOT_TEXT:
        record->words[field->word] = value;
        break;
    case GW_SLOT_NONE:
        break;
    }
}

/* Reads the fields of an event, stores what is wanted of them, and where they end in *ret_at. */
static int read_fields(const struct reader *self, const struct gw_event_layout *layout, const uint8_t *at,
                       struct gw_record *record, const uint8_t **ret_at)
{
    const uint8_t *end = self->end;
    uint64_t value = 0;
    for (const struct gw_event_field *field = layout->fields, *last = field + layout->field_count; field < last;
         field++) {
        size_t bytes = field->bytes;
        switch ((enum gw_field_kind)field->kind) {
        case GW_FIELD_INTEGER:
            if ((size_t)(end - at) < bytes) {
                return BEYOND;
            }
            value = load(at, bytes);
            if (field->is_signed) {
                value = (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
            }
            store(field, value, record);
            break;
        case GW_FIELD_STRING: {
            const uint8_t *nul = memchr(at, '\0', (size_t)(end - at));
            if (!nul) {
                return BEYOND;
            }
            bytes = (size_t)(nul - at) + 1;
            if (field->slot == GW_SLOT_TEXT) {
                const int status =
                    gw_record_stream_add_text(self->stream, (const char *)at, bytes - 1, &record->words[field->word]);
                if (status) {
                    return status;
                }
            }
            break;
        }
        case GW_FIELD_COUNTED:
            if (value > (size_t)(end - at) / bytes) {
                return BEYOND;
            }
            bytes *= value;
            break;
        case GW_FIELD_SKIPPED:
            if ((size_t)(end - at) < bytes) {
                return BEYOND;
            }
            break;
        }
        at += bytes;
    }
    *ret_at = at;
    return 0;
}

/* Whether what every event of its type says is possible: a process's number, times that follow each other. The times of
 * a GPU's operations come from another clock, and lie before or behind the event by what it is off. */
static bool is_possible(const struct gw_record *record)
{
    const uint64_t before_ns = record->time_ns - record->begin_ns, begin_ns = record->begin_ns;
    if (record->type < GW_RECORD_call_begin) {
        return GW_SITE_PID(record->site) <= PID_MOST && before_ns < SPAN_MOST_NS;
    }
    switch (record->type) {
    case GW_RECORD_call_begin:
        return GW_SITE_PID(record->site) <= PID_MOST;
    case GW_RECORD_gpu_op:
        return GW_WHERE_PID(record->site) <= PID_MOST && record->words[GW_ARG_gpu_op_end] - begin_ns < SPAN_MOST_NS &&
               before_ns + SPAN_MOST_NS < 2 * SPAN_MOST_NS;
    case GW_RECORD_gpu_node:
        return GW_WHERE_PID(record->site) <= PID_MOST && record->words[GW_ARG_gpu_node_end] - begin_ns < SPAN_MOST_NS &&
               before_ns + SPAN_MOST_NS < 2 * SPAN_MOST_NS;
    case GW_RECORD_thread_gap:
        return record->words[GW_ARG_thread_gap_end] - begin_ns < SPAN_MOST_NS && before_ns < SPAN_MOST_NS;
    default:
        return true;
    }
}

/* An event that says what cannot be is lost; several one after the other are one loss. */
static int lose_event(struct reader *self, uint64_t time_ns)
{
    struct gw_record_stream *stream = self->stream;
    struct gw_record_loss *last = stream->loss_count ? &stream->losses[stream->loss_count - 1] : NULL;
    if (last && !last->count && last->end_ns == self->clock_ns && last->begin_ns >= self->packet_begin_ns) {
        last->end_ns = time_ns;
        return 0;
    }
    return gw_record_stream_add_loss(stream, self->clock_ns, time_ns, 0);
}

/* Reads one event. BEYOND: it goes on behind the buffer; -EBADMSG: it was not recorded so. */
static int read_event(struct reader *self)
{
    uint64_t number, time_ns;
    const uint8_t *at;
    struct gw_record record;
    int status = read_header(self, &number, &time_ns, &at);
    if (status) {
        return status;
    }
    const struct gw_event_layout *layout =
        number < self->class->event_count ? &self->class->events[number] : &(struct gw_event_layout){0};
    if (layout->use == GW_EVENT_UNDECLARED || time_ns < self->packet_begin_ns || time_ns > self->packet_end_ns) {
        return -EBADMSG;
    }
    if (layout->use == GW_EVENT_UNUSABLE || layout->use == GW_EVENT_OPAQUE) {
        self->unusable = layout;
        return -EPROTO;
    }
    record.time_ns = time_ns;
    record.type = layout->type;
    record.begin_ns = record.call = record.site = 0;
    record.result = 0;
    status = read_fields(self, layout, at, &record, &at);
    if (!status && layout->use == GW_EVENT_KNOWN) {
        status = is_possible(&record)
                     ? gw_record_stream_append(self->stream, &record, record.words, gw_record_words_of[layout->type])
                     : lose_event(self, time_ns);
    } else if (!status) {
        self->read->skipped_events++;
    }
    if (!status) {
        self->at = at;
        self->clock_ns = time_ns;
    }
    return status;
}

/* ---- a packet ---- */

static int read_events(struct reader *self)
{
    int status = 0;
    while (!status && (self->at < self->end || self->left)) {
        if ((size_t)(self->end - self->at) < LOW_BYTES && self->left && (status = refill(self))) {
            break;
        }
        status = read_event(self);
        if (status == BEYOND) {
            status = self->left ? refill(self) : -EBADMSG;
        }
    }
    return status;
}

/* The losses between a packet and the one before it, as its counters tell them; before: NULL for the stream's first.
 * What was lost before that is in no packet's time. */
static int add_losses(struct gw_record_stream *stream, const struct gw_stream_packet *packet,
                      const struct gw_stream_packet *before)
{
    int status = 0;
    if (!before) {
        return packet->discarded ? gw_record_stream_add_loss(stream, packet->begin_ns, packet->end_ns, 0) : 0;
    }
    if (packet->discarded != before->discarded) {
        status = gw_record_stream_add_loss(stream, before->end_ns, packet->end_ns,
                                           (int64_t)(packet->discarded - before->discarded));
    }
    if (!status && packet->number != before->number + 1) {
        status = gw_record_stream_add_loss(stream, before->end_ns, packet->begin_ns, 0);
    }
    return status;
}

static int read_packet(struct reader *self, const struct gw_stream_packet *packet, uint64_t offset)
{
    self->at = self->end = self->buffer;
    self->offset = offset + GW_PACKET_HEADER_BYTES;
    self->left = packet->content_bytes > GW_PACKET_HEADER_BYTES ? packet->content_bytes - GW_PACKET_HEADER_BYTES : 0;
    self->packet_begin_ns = self->clock_ns = packet->begin_ns;
    self->packet_end_ns = packet->end_ns;
    int status = read_events(self);
    if (status == -EBADMSG) {
        status = gw_record_stream_add_loss(self->stream, self->clock_ns, packet->end_ns, 0);
    }
    return status;
}

static int explain(const struct reader *self, int status, struct gw_error *error)
{
    if (status == -EPROTO && self->unusable->use == GW_EVENT_OPAQUE) {
        return gw_error_set(error, status,
                            "an event of the trace has fields that cannot be read; record it without it");
    }
    if (status == -EPROTO) {
        return gw_error_set(error, status,
                            "event %s has no usable field '%s': the trace was written by another version of "
                            "gpuwitness; read it with that version",
                            gw_event_layout_name(self->unusable), self->unusable->missing);
    }
    return gw_error_set(error, status, "%s",
                        status == -EFBIG ? "a stream of the trace has too many events"
                                         : "no memory for the events of the trace");
}

int gw_packets_read(const char *directory, const struct gw_packet_range *range, const struct gw_stream_class *class,
                    struct gw_record_stream *stream, struct gw_packets_read *read, struct gw_error *error)
{
    const struct gw_stream_file *file = range->file;
    struct reader self = {.fd = -1, .capacity = BUFFER_BYTES, .class = class, .stream = stream, .read = read};
    uint64_t offset = 0;
    int status = -ENOMEM;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, file->name) < 0) {
        path = NULL;
    }
    self.buffer = malloc(BUFFER_BYTES + SPARE_BYTES);
    if (!path || !self.buffer) {
        gw_error_set(error, status, "%s: no memory to read the trace", directory);
        goto end;
    }
    self.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (self.fd < 0) {
        status = gw_error_set(error, -errno, "%s: the stream file cannot be read: %s", path, strerror(errno));
        goto end;
    }
    for (size_t i = 0; i < range->first; i++) {
        offset += file->packets[i].size_bytes;
    }
    status = 0;
    for (size_t i = range->first; i < range->first + range->count && !status; i++) {
        const struct gw_stream_packet *packet = &file->packets[i];
        if (i == 0 || i > range->first) { /* divided only where nothing was lost */
            status = add_losses(stream, packet, i ? packet - 1 : NULL);
        }
        status = status ? status : read_packet(&self, packet, offset);
        offset += packet->size_bytes;
        if (read->packet_done) {
            read->packet_done(read->user, packet->size_bytes);
        }
    }
    if (status) {
        explain(&self, status, error);
    }
end:
    if (self.fd >= 0) {
        close(self.fd);
    }
    free(self.buffer);
    free(path);
    return status;
}
