#include "analyzer/export/trace.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define CTF_MAGIC 0xC1FC1FC1u
#define PACKET_BYTES (1u << 20)

enum put { PUT_BEGIN, PUT_CALL, PUT_SITE, PUT_RESULT, PUT_WORD, PUT_TEXT };

/* The fields in the order of the trace: that of events.def. */
static const struct field {
    uint8_t type, put;
    const char *event, *name;
} fields[] = {
#define GW_EVENT(event)
#define GW_HEAD(event, field, slot) {GW_RECORD_##event, PUT_##slot, #event, #field},
#define GW_WORD(event, field) {GW_RECORD_##event, PUT_WORD, #event, #field},
#define GW_TEXT(event, field) {GW_RECORD_##event, PUT_TEXT, #event, #field},
#define GW_EVENT_END(event)
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Texts that are more than GW_PRIVATE_TEXT. */
static const struct {
    const char *event, *field;
    enum gw_private what;
} privacy[] = {{"process", "exe", GW_PRIVATE_PROGRAM}, {"process", "command", GW_PRIVATE_COMMAND},
               {"process", "host", GW_PRIVATE_HOST},   {"process", "environment", GW_PRIVATE_LINES},
               {"thread", "name", GW_PRIVATE_NAME},    {"function", "name", GW_PRIVATE_NAME},
               {"device", "uuid", GW_PRIVATE_SERIAL},  {"nvtx", "text", GW_PRIVATE_NAME},
               {"nvtx_name", "text", GW_PRIVATE_NAME}};

/* As LTTng lays it out, which is what analyzer/read/trace_files.c walks along. */
struct packet_head {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t class_id;
    uint64_t instance_id;
    uint64_t begin_ns, end_ns;
    uint64_t content_bits, packet_bits;
    uint64_t number;
    uint64_t discarded_events;
    uint32_t cpu;
} __attribute__((packed));

static const char declarations[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = %s;\n"
    "\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n"
    "\t\tuint64_t stream_instance_id;\n\t};\n};\n"
    "env {\n\ttracer_name = \"gpuwitness bundle\";\n};\n"
    "clock {\n\tname = \"monotonic\";\n\tdescription = \"CLOCK_MONOTONIC\";\n\tfreq = 1000000000;\n"
    "\toffset = %" PRId64 ";\n};\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := gw_time;\n"
    "stream {\n\tid = 0;\n\tevent.header := struct {\n\t\tuint8_t id;\n\t\tgw_time timestamp;\n\t};\n"
    "\tpacket.context := struct {\n\t\tgw_time timestamp_begin;\n\t\tgw_time timestamp_end;\n"
    "\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n\t\tuint64_t packet_seq_num;\n"
    "\t\tuint64_t events_discarded;\n\t\tuint32_t cpu_id;\n\t};\n};\n";

struct writer {
    const struct gw_trace_cut *cut;
    struct gw_redactor *redactor; /* NULL: texts stay */
    const char *folder;           /* NULL: only count */
    GHashTable *calls;            /* those kept; NULL: all */
    const struct gw_record_stream *stream;
    FILE *file;
    GByteArray *packet;
    struct packet_head head;
    uint8_t uuid[16];
    uint64_t last_ns; /* of the packets written */
    uint64_t bytes, discarded_events;
    int status;
};

bool gw_trace_cut_is_whole(const struct gw_trace_cut *cut)
{
    return cut->begin_ns == 0 && cut->end_ns == UINT64_MAX;
}

static bool overlaps(const struct writer *self, uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns >= self->cut->begin_ns && begin_ns <= self->cut->end_ns;
}

static bool is_kept(const struct writer *self, const struct gw_record *record, const uint64_t *words)
{
    if (!self->calls)
        return true;
    if (record->type < GW_RECORD_call_begin)
        return overlaps(self, record->begin_ns, record->time_ns);
    switch (record->type) {
    case GW_RECORD_call_begin:
    case GW_RECORD_nvtx:
        return overlaps(self, record->time_ns, record->time_ns);
    case GW_RECORD_thread_gap:
        return overlaps(self, record->begin_ns, words[GW_ARG_thread_gap_end]);
    case GW_RECORD_gpu_op:
    case GW_RECORD_gpu_node:
        return g_hash_table_contains(self->calls, GSIZE_TO_POINTER(record->call));
    default:
        return true;
    }
}

static void note_calls(struct writer *self, const struct gw_records *records)
{
    self->calls = gw_trace_cut_is_whole(self->cut) ? NULL : g_hash_table_new(NULL, NULL);
    for (size_t s = 0; s < records->stream_count && self->calls; s++) {
        for (size_t b = 0; b < records->streams[s].block_count; b++) {
            const struct gw_record_block *block = records->streams[s].blocks[b];
            struct gw_record record;
            for (uint32_t i = 0, at = 0; i < block->count; i++) {
                at = gw_record_get(block, at, &record);
                if (record.type <= GW_RECORD_call_begin && is_kept(self, &record, record.words))
                    g_hash_table_add(self->calls, GSIZE_TO_POINTER(record.call));
            }
        }
    }
}

static void put(struct writer *self, const void *bytes, size_t size)
{
    g_byte_array_append(self->packet, bytes, (guint)size);
}

static void put_text(struct writer *self, const struct field *field, const char *text)
{
    enum gw_private what = GW_PRIVATE_TEXT;
    char *shown = strdup(text);
    for (size_t i = 0; i < sizeof(privacy) / sizeof(privacy[0]); i++) {
        if (strcmp(field->event, privacy[i].event) == 0 && strcmp(field->name, privacy[i].field) == 0)
            what = privacy[i].what;
    }
    int status = !shown ? -ENOMEM : self->redactor ? gw_redact_field(self->redactor, what, &shown) : 0;
    if (!status)
        put(self, shown, strlen(shown) + 1);
    self->status = self->status ? self->status : status;
    free(shown);
}

static void put_record(struct writer *self, const struct gw_record *record, const uint64_t *words)
{
    uint8_t type = (uint8_t)record->type;
    put(self, &type, sizeof(type));
    put(self, &record->time_ns, sizeof(record->time_ns));
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (fields[i].type != type)
            continue;
        switch ((enum put)fields[i].put) {
        case PUT_BEGIN:
            put(self, &record->begin_ns, sizeof(record->begin_ns));
            break;
        case PUT_CALL:
            put(self, &record->call, sizeof(record->call));
            break;
        case PUT_SITE:
            put(self, &record->site, sizeof(record->site));
            break;
        case PUT_RESULT:
            put(self, &record->result, sizeof(record->result));
            break;
        case PUT_WORD:
            put(self, words++, sizeof(*words));
            break;
        case PUT_TEXT:
            put_text(self, &fields[i], self->stream->texts + *words++);
            break;
        }
    }
    self->head.end_ns = record->time_ns;
}

/* Writes what is in the packet; the next one begins where it ends. An empty one is needed to tell of a loss only. */
static void end_packet(struct writer *self, uint64_t end_ns, bool even_empty)
{
    size_t bytes = sizeof(self->head) + self->packet->len;
    if (self->packet->len == 0 && !even_empty)
        return;
    self->head.end_ns = end_ns > self->head.begin_ns ? end_ns : self->head.begin_ns;
    self->head.content_bits = self->head.packet_bits = bytes * 8;
    if (self->file && (fwrite(&self->head, sizeof(self->head), 1, self->file) != 1 ||
                       (self->packet->len && fwrite(self->packet->data, self->packet->len, 1, self->file) != 1)))
        self->status = self->status ? self->status : errno ? -errno : -EIO;
    self->bytes += bytes;
    self->head.number++;
    self->head.begin_ns = self->head.end_ns;
    g_byte_array_set_size(self->packet, 0);
}

/* Readers take a loss from the counters of two packets that follow each other: of events between the ends of both, of
 * packets when a number is missing. */
static void put_loss(struct writer *self, const struct gw_record_loss *loss)
{
    end_packet(self, loss->begin_ns, self->head.number == 0);
    if (loss->count) {
        self->head.discarded_events += loss->count;
        self->discarded_events += loss->count;
    } else {
        self->head.number++;
        self->head.begin_ns = loss->end_ns == UINT64_MAX ? self->last_ns : loss->end_ns;
        end_packet(self, self->head.begin_ns, true);
    }
}

static bool is_in_loss(const struct gw_record_loss *loss, uint64_t time_ns)
{
    return loss->count && time_ns <= loss->end_ns;
}

static void put_events(struct writer *self)
{
    const struct gw_record_stream *stream = self->stream;
    size_t l = 0;
    const struct gw_record_loss *open = NULL; /* its packet is being filled */
    for (size_t b = 0; b < stream->block_count; b++) {
        const struct gw_record_block *block = stream->blocks[b];
        struct gw_record unpacked;
        const struct gw_record *record = &unpacked;
        for (uint32_t i = 0, at = 0; i < block->count && !self->status; i++) {
            at = gw_record_get(block, at, &unpacked);
            const uint64_t *words = record->words;
            if (open && !is_in_loss(open, record->time_ns)) {
                end_packet(self, open->end_ns, true);
                open = NULL;
            }
            for (; !open && l < stream->loss_count && record->time_ns > stream->losses[l].begin_ns; l++) {
                const struct gw_record_loss *loss = &stream->losses[l];
                if (loss->let_go || !overlaps(self, loss->begin_ns, loss->end_ns))
                    continue;
                put_loss(self, loss);
                if (is_in_loss(loss, record->time_ns))
                    open = loss;
                else if (loss->count)
                    end_packet(self, loss->end_ns, true);
            }
            if (!is_kept(self, record, words))
                continue;
            if (self->packet->len > PACKET_BYTES && !open)
                end_packet(self, self->head.end_ns, false);
            put_record(self, record, words);
        }
    }
    if (open)
        end_packet(self, open->end_ns, true);
    for (; l < stream->loss_count; l++) {
        const struct gw_record_loss *loss = &stream->losses[l];
        if (loss->let_go || !overlaps(self, loss->begin_ns, loss->end_ns))
            continue;
        put_loss(self, loss);
        if (loss->count)
            end_packet(self, loss->end_ns == UINT64_MAX ? self->last_ns : loss->end_ns, true);
    }
    end_packet(self, self->head.end_ns, false);
}

static void put_stream(struct writer *self, const struct gw_record_stream *stream, size_t number)
{
    uint64_t begin_ns = stream->block_count ? stream->first_ns : stream->loss_count ? stream->losses[0].begin_ns : 0;
    bool let_go = false;
    for (size_t l = 0; l < stream->loss_count; l++) {
        if (stream->losses[l].let_go) {
            let_go = true;
            begin_ns = stream->losses[l].end_ns;
        }
    }
    self->stream = stream;
    self->head = (struct packet_head){.magic = CTF_MAGIC,
                                      .instance_id = number,
                                      .begin_ns = begin_ns,
                                      .end_ns = begin_ns,
                                      .number = let_go,
                                      .cpu = (uint32_t)number};
    memcpy(self->head.uuid, self->uuid, sizeof(self->uuid));
    if (let_go)
        end_packet(self, begin_ns, true);
    put_events(self);
}

static FILE *create(const char *folder, const char *name)
{
    char *path = NULL;
    FILE *file = asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : fopen(path, "wxe");
    free(path);
    return file;
}

static int close_file(FILE *file)
{
    errno = 0;
    return fclose(file) != 0 ? errno ? -errno : -EIO : 0;
}

static int write_metadata(const struct writer *self, int64_t realtime_offset_ns)
{
    static const char *const types[] = {[PUT_BEGIN] = "uint64_t", [PUT_CALL] = "uint64_t", [PUT_SITE] = "uint64_t",
                                        [PUT_RESULT] = "int32_t", [PUT_WORD] = "uint64_t", [PUT_TEXT] = "string"};
    char uuid[37] = "";
    FILE *file = create(self->folder, "metadata");
    if (!file)
        return -errno;
    for (size_t i = 0, at = 0; i < sizeof(self->uuid); i++)
        at += (size_t)snprintf(uuid + at, sizeof(uuid) - at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               self->uuid[i]);
    fprintf(file, declarations, uuid, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "le" : "be", realtime_offset_ns);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (i == 0 || fields[i].type != fields[i - 1].type)
            fprintf(file, "event {\n\tname = \"gpuwitness:%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n",
                    fields[i].event, fields[i].type);
        /* Readers drop the line, which keeps names from being words of the language. */
        fprintf(file, "\t\t%s _%s;\n", types[fields[i].put], fields[i].name);
        if (i + 1 == FIELD_COUNT || fields[i].type != fields[i + 1].type)
            fputs("\t};\n};\n", file);
    }
    return close_file(file);
}

static void put_all(struct writer *self, const struct gw_records *records)
{
    char name[32];
    self->packet = g_byte_array_new();
    note_calls(self, records);
    for (size_t i = 0; i < records->stream_count; i++)
        self->last_ns = records->streams[i].last_ns > self->last_ns ? records->streams[i].last_ns : self->last_ns;
    for (size_t i = 0; i < records->stream_count && !self->status; i++) {
        if (!records->streams[i].block_count && !records->streams[i].loss_count)
            continue;
        snprintf(name, sizeof(name), "stream_%zu", i);
        self->file = self->folder ? create(self->folder, name) : NULL;
        if (self->folder && !self->file) {
            self->status = -errno;
            break;
        }
        put_stream(self, &records->streams[i], i);
        if (self->file) {
            int status = close_file(self->file);
            self->status = self->status ? self->status : status;
        }
    }
    if (self->calls)
        g_hash_table_destroy(self->calls);
    g_byte_array_free(self->packet, TRUE);
}

int gw_trace_size(const struct gw_records *records, const struct gw_trace_cut *cut, uint64_t *ret_bytes)
{
    struct writer self = {.cut = cut};
    put_all(&self, records);
    if (!self.status)
        *ret_bytes = self.bytes;
    return self.status;
}

int gw_trace_write(const struct gw_records *records, const struct gw_trace_cut *cut, struct gw_redactor *redactor,
                   const char *folder, uint64_t *ret_discarded_events)
{
    struct writer self = {.cut = cut, .redactor = redactor, .folder = folder};
    if (getrandom(self.uuid, sizeof(self.uuid), 0) != (ssize_t)sizeof(self.uuid))
        return -EIO;
    int status = write_metadata(&self, records->realtime_offset_ns);
    if (status)
        return status;
    put_all(&self, records);
    if (!self.status)
        *ret_discarded_events = self.discarded_events;
    return self.status;
}
