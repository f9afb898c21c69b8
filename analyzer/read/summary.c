#include "analyzer/read/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <summary.pb-c.h> /* made in the build directory */

#define SCHEMA "gpuwitness.summary/1"
#define GZIP_WINDOW (15 + 16)              /* zlib: largest window, gzip's header and checksum */
#define INFLATED_MAX ((uint64_t)4 << 30)   /* more than that is no summary */
#define INFLATED_FIRST ((size_t)256 << 10) /* bytes of output to begin with */

/* Events and their fields: one without '=' has a word, one with '$' too, and that is the offset of a text. */
static const char *const classes[GW_RECORD_COUNT] = {
#define GW_EVENT(event) #event
#define GW_HEAD(event, field, slot) " " #field "=" #slot
#define GW_WORD(event, field) " " #field
#define GW_TEXT(event, field) " " #field "$"
#define GW_EVENT_END(event) ,
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
};

struct layout {
    uint32_t type, words; /* type: GW_RECORD_COUNT when this version does not know it */
    uint32_t texts;       /* bit i: word i is the offset of a text */
};

static struct layout read_layout(const char *class)
{
    struct layout layout = {.type = GW_RECORD_COUNT};
    for (const char *field = strchr(class, ' '); field; field = strchr(field + 1, ' ')) {
        size_t length = strcspn(field + 1, " ");
        if (memchr(field + 1, '=', length)) {
            continue;
        }
        if (length && field[length] == '$' && layout.words < 32) {
            layout.texts |= 1u << layout.words;
        }
        layout.words++;
    }
    return layout;
}

/* ---- encoding ---- */

static void encode_block(const struct gw_record_block *from, const struct layout *layouts, Gw__Summary__Block *to)
{
    uint64_t time_ns = 0, call = 0;
    struct gw_record unpacked;
    const struct gw_record *record = &unpacked;
    for (uint32_t i = 0, at = 0; i < from->count; i++) {
        at = gw_record_get(from, at, &unpacked);
        to->types.data[i] = (uint8_t)record->type;
        to->times[i] = (int64_t)(record->time_ns - time_ns);
        to->begins[i] = (int64_t)(record->time_ns - record->begin_ns);
        to->calls[i] = (int64_t)(record->call - call);
        to->sites[i] = record->site;
        to->results[i] = record->result;
        for (uint32_t w = 0; w < layouts[record->type].words; w++) {
            to->words[to->n_words++] = record->words[w];
        }
        time_ns = record->time_ns;
        call = record->call;
    }
    to->types.len = to->n_times = to->n_begins = to->n_calls = to->n_sites = to->n_results = from->count;
}

static void free_block(Gw__Summary__Block *block)
{
    if (!block) {
        return;
    }
    free(block->types.data);
    free(block->times);
    free(block->begins);
    free(block->calls);
    free(block->sites);
    free(block->results);
    free(block->words);
    free(block);
}

static Gw__Summary__Block *make_block(const struct gw_record_block *from, const struct layout *layouts)
{
    Gw__Summary__Block *block = malloc(sizeof(*block));
    const size_t count = from->count + 1;
    if (!block) {
        return NULL;
    }
    gw__summary__block__init(block);
    block->types.data = malloc(count);
    block->times = malloc(count * sizeof(*block->times));
    block->begins = malloc(count * sizeof(*block->begins));
    block->calls = malloc(count * sizeof(*block->calls));
    block->sites = malloc(count * sizeof(*block->sites));
    block->results = malloc(count * sizeof(*block->results));
    block->words = malloc((from->word_count + 1) * sizeof(*block->words));
    if (!block->types.data || !block->times || !block->begins || !block->calls || !block->sites || !block->results ||
        !block->words) {
        free_block(block);
        return NULL;
    }
    encode_block(from, layouts, block);
    return block;
}

static void free_stream(Gw__Summary__Stream *stream)
{
    for (size_t i = 0; stream && i < stream->n_blocks; i++) {
        free_block(stream->blocks[i]);
    }
    for (size_t i = 0; stream && i < stream->n_losses; i++) {
        free(stream->losses[i]);
    }
    if (stream) {
        free(stream->blocks);
        free(stream->losses);
    }
    free(stream);
}

static Gw__Summary__Stream *make_stream(const struct gw_record_stream *from, const struct layout *layouts)
{
    Gw__Summary__Stream *stream = malloc(sizeof(*stream));
    if (!stream) {
        return NULL;
    }
    gw__summary__stream__init(stream);
    stream->texts = (ProtobufCBinaryData){.data = (uint8_t *)from->texts, .len = from->text_bytes};
    stream->blocks = calloc(from->block_count + 1, sizeof(void *));
    stream->losses = calloc(from->loss_count + 1, sizeof(void *));
    bool failed = !stream->blocks || !stream->losses;
    for (size_t i = 0; i < from->block_count && !failed; i++) {
        stream->blocks[stream->n_blocks] = make_block(from->blocks[i], layouts);
        failed = !stream->blocks[stream->n_blocks++];
    }
    for (size_t i = 0; i < from->loss_count && !failed; i++) {
        Gw__Summary__Loss *loss = stream->losses[stream->n_losses++] = malloc(sizeof(*loss));
        failed = !loss;
        if (!failed) {
            gw__summary__loss__init(loss);
            loss->begin_ns = from->losses[i].begin_ns;
            loss->end_ns = from->losses[i].end_ns;
            loss->count = from->losses[i].count;
            loss->let_go = from->losses[i].let_go;
        }
    }
    if (failed) {
        free_stream(stream);
        return NULL;
    }
    return stream;
}

static int compress_member(const uint8_t *data, size_t bytes, void **ret_data, size_t *ret_bytes)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return -ENOMEM;
    }
    size_t capacity = deflateBound(&stream, bytes), taken = 0, made = 0;
    uint8_t *out = malloc(capacity);
    int result = out ? Z_OK : Z_MEM_ERROR;
    /* zlib counts in 32 bits. */
    while (result == Z_OK) {
        const size_t in_now = bytes - taken < UINT32_MAX ? bytes - taken : UINT32_MAX;
        const size_t out_now = capacity - made < UINT32_MAX ? capacity - made : UINT32_MAX;
        stream.next_in = (uint8_t *)data + taken;
        stream.avail_in = (unsigned)in_now;
        stream.next_out = out + made;
        stream.avail_out = (unsigned)out_now;
        result = deflate(&stream, taken + in_now == bytes ? Z_FINISH : Z_NO_FLUSH);
        taken += in_now - stream.avail_in;
        made += out_now - stream.avail_out;
    }
    deflateEnd(&stream);
    if (result != Z_STREAM_END) {
        free(out);
        return -ENOMEM;
    }
    *ret_data = out;
    *ret_bytes = made;
    return 0;
}

static const char *name_of(const struct gw_run_file *run)
{
    const char *slash = strrchr(run->path, '/');
    return slash ? slash + 1 : run->path;
}

int gw_summary_encode(const struct gw_run_file *run, const struct gw_records *records, void **ret_data,
                      size_t *ret_bytes)
{
    Gw__Summary__Recording recording = GW__SUMMARY__RECORDING__INIT;
    struct layout layouts[GW_RECORD_COUNT];
    static char none[] = "", schema[] = SCHEMA;
    uint8_t *packed = NULL;
    int status = -ENOMEM;
    for (size_t i = 0; i < GW_RECORD_COUNT; i++) {
        layouts[i] = read_layout(classes[i]);
    }
    recording.schema = schema;
    recording.name = (char *)name_of(run);
    recording.run = run->text;
    recording.trace_count = records->trace_count;
    recording.skipped_events = records->skipped_events;
    recording.realtime_offset_ns = records->realtime_offset_ns;
    recording.classes = (char **)classes;
    recording.n_classes = GW_RECORD_COUNT;
    recording.functions = calloc(run->function_count + 1, sizeof(char *));
    recording.streams = calloc(records->stream_count + 1, sizeof(void *));
    if (!recording.functions || !recording.streams) {
        goto end;
    }
    for (; recording.n_functions < run->function_count; recording.n_functions++) {
        char *name = run->functions[recording.n_functions];
        recording.functions[recording.n_functions] = name ? name : none;
    }
    for (size_t i = 0; i < records->stream_count; i++) {
        recording.streams[i] = make_stream(&records->streams[i], layouts);
        if (!recording.streams[i]) {
            goto end;
        }
        recording.n_streams++;
    }
    const size_t bytes = gw__summary__recording__get_packed_size(&recording);
    packed = malloc(bytes + 1);
    if (!packed) {
        goto end;
    }
    gw__summary__recording__pack(&recording, packed);
    status = compress_member(packed, bytes, ret_data, ret_bytes);
end:
    for (size_t i = 0; i < recording.n_streams; i++) {
        free_stream(recording.streams[i]);
    }
    free(recording.streams);
    free(recording.functions);
    free(packed);
    return status;
}

/* ---- decoding ---- */

bool gw_is_summary(const char *path)
{
    uint8_t head[4096], begin[64] = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    const ssize_t length = read(file, head, sizeof(head));
    close(file);
    z_stream stream = {.next_in = head, .avail_in = length > 0 ? (unsigned)length : 0};
    if (length <= 0 || inflateInit2(&stream, GZIP_WINDOW) != Z_OK) {
        return false;
    }
    stream.next_out = begin;
    stream.avail_out = sizeof(begin) - 1;
    inflate(&stream, Z_SYNC_FLUSH);
    inflateEnd(&stream);
    /* The schema is the first field. */
    return memmem(begin, sizeof(begin), "gpuwitness.summary/", strlen("gpuwitness.summary/")) != NULL;
}

static int inflate_member(const void *data, size_t bytes, size_t *ret_used, uint8_t **ret_out, size_t *ret_bytes)
{
    z_stream stream = {0};
    size_t capacity = INFLATED_FIRST, taken = 0, made = 0;
    uint8_t *out = malloc(capacity);
    if (!out || inflateInit2(&stream, GZIP_WINDOW) != Z_OK) {
        free(out);
        return -ENOMEM;
    }
    int result = Z_OK, status = 0;
    while (result == Z_OK) {
        if (made == capacity) {
            uint8_t *grown = capacity < INFLATED_MAX ? realloc(out, capacity * 2) : NULL;
            if (!grown) {
                status = capacity < INFLATED_MAX ? -ENOMEM : -EBADMSG;
                break;
            }
            out = grown;
            capacity *= 2;
        }
        const size_t in_now = bytes - taken < UINT32_MAX ? bytes - taken : UINT32_MAX;
        const size_t out_now = capacity - made < UINT32_MAX ? capacity - made : UINT32_MAX;
        stream.next_in = (uint8_t *)data + taken;
        stream.avail_in = (unsigned)in_now;
        stream.next_out = out + made;
        stream.avail_out = (unsigned)out_now;
        result = inflate(&stream, Z_NO_FLUSH);
        taken += in_now - stream.avail_in;
        made += out_now - stream.avail_out;
    }
    inflateEnd(&stream);
    if (!status && result != Z_STREAM_END) {
        status = result == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
    }
    if (status) {
        free(out);
        return status;
    }
    *ret_used = taken;
    *ret_out = out;
    *ret_bytes = made;
    return 0;
}

/* The layouts of the file's classes. Returns 0, or -EPROTO when one of ours has other fields there. */
static int map_classes(const Gw__Summary__Recording *recording, struct layout layouts[256])
{
    if (recording->n_classes > 256) {
        return -EPROTO;
    }
    for (size_t i = 0; i < recording->n_classes; i++) {
        const char *class = recording->classes[i];
        const size_t name_length = strcspn(class, " ");
        layouts[i] = read_layout(class);
        for (uint32_t type = 0; type < GW_RECORD_COUNT; type++) {
            if (strncmp(class, classes[type], name_length) == 0 && strcspn(classes[type], " ") == name_length) {
                if (strcmp(class, classes[type]) != 0) {
                    return -EPROTO;
                }
                layouts[i].type = type;
            }
        }
    }
    return 0;
}

static int decode_block(const Gw__Summary__Block *from, const struct layout *layouts, size_t class_count,
                        struct gw_records *records, struct gw_record_stream *stream)
{
    const size_t count = from->types.len;
    uint64_t time_ns = 0, call = 0;
    size_t word = 0;
    if (from->n_times != count || from->n_begins != count || from->n_calls != count || from->n_sites != count ||
        from->n_results != count) {
        return -EBADMSG;
    }
    for (size_t i = 0; i < count; i++) {
        if (from->types.data[i] >= class_count) {
            return -EBADMSG;
        }
        const struct layout *layout = &layouts[from->types.data[i]];
        time_ns += (uint64_t)from->times[i];
        call += (uint64_t)from->calls[i];
        if (layout->words > from->n_words - word) {
            return -EBADMSG;
        }
        if (layout->type == GW_RECORD_COUNT) {
            records->skipped_events++;
            word += layout->words;
            continue;
        }
        for (uint32_t w = 0; w < layout->words; w++) {
            if (layout->texts & 1u << w && from->words[word + w] >= stream->text_bytes) {
                return -EBADMSG;
            }
        }
        const struct gw_record record = {.time_ns = time_ns,
                                         .begin_ns = time_ns - (uint64_t)from->begins[i],
                                         .call = call,
                                         .site = from->sites[i],
                                         .result = from->results[i],
                                         .type = layout->type & 0xffu};
        const int status = gw_record_stream_append(stream, &record, from->words + word, layout->words);
        if (status) {
            return status;
        }
        word += layout->words;
    }
    return word == from->n_words ? 0 : -EBADMSG;
}

static int decode_stream(const Gw__Summary__Stream *from, const struct layout *layouts, size_t class_count,
                         struct gw_records *records, struct gw_record_stream *stream)
{
    int status = 0;
    uint64_t offset;
    /* Offsets of texts count from the first: all of them are one text here, with its own NUL at the end. */
    if (from->texts.len) {
        status = gw_record_stream_add_text(stream, (const char *)from->texts.data, from->texts.len - 1, &offset);
    }
    stream->first_ns = UINT64_MAX;
    for (size_t i = 0; i < from->n_losses && !status; i++) {
        const Gw__Summary__Loss *loss = from->losses[i];
        status = gw_record_stream_add_loss(stream, loss->begin_ns, loss->end_ns, (int64_t)loss->count);
        if (!status && stream->loss_count) {
            stream->losses[stream->loss_count - 1].let_go = loss->let_go;
        }
    }
    for (size_t i = 0; i < from->n_blocks && !status; i++) {
        status = decode_block(from->blocks[i], layouts, class_count, records, stream);
    }
    gw_record_stream_close(stream);
    return status;
}

static int take_functions(const Gw__Summary__Recording *recording, struct gw_run_file *run)
{
    if (recording->n_functions == 0) {
        return 0;
    }
    if (recording->n_functions > UINT16_MAX + 1u) {
        return -EBADMSG;
    }
    run->functions = calloc(recording->n_functions, sizeof(*run->functions));
    if (!run->functions) {
        return -ENOMEM;
    }
    for (; run->function_count < recording->n_functions; run->function_count++) {
        const char *name = recording->functions[run->function_count];
        if (*name && !(run->functions[run->function_count] = strdup(name))) {
            return -ENOMEM;
        }
    }
    return 0;
}

static int take_recording(const Gw__Summary__Recording *recording, struct gw_run_file **ret_run,
                          struct gw_records *records, struct gw_error *error)
{
    struct layout layouts[256];
    int status = map_classes(recording, layouts);
    if (!status) {
        status = gw_run_file_parse(recording->name, recording->run, ret_run, error);
    }
    if (!status) {
        status = take_functions(recording, *ret_run);
    }
    records->trace_count = recording->trace_count;
    records->skipped_events = recording->skipped_events;
    records->realtime_offset_ns = recording->realtime_offset_ns;
    records->streams = calloc(recording->n_streams + 1, sizeof(*records->streams));
    if (!records->streams) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < recording->n_streams && !status; i++) {
        records->stream_count++;
        status = decode_stream(recording->streams[i], layouts, recording->n_classes, records, &records->streams[i]);
    }
    return status;
}

int gw_summary_decode(const char *name, const void *data, size_t bytes, size_t *ret_used, struct gw_run_file **ret_run,
                      struct gw_records **ret_records, struct gw_error *error)
{
    uint8_t *plain = NULL;
    size_t plain_bytes = 0;
    Gw__Summary__Recording *recording = NULL;
    struct gw_run_file *run = NULL;
    struct gw_records *records = calloc(1, sizeof(*records));
    int status = records ? inflate_member(data, bytes, ret_used, &plain, &plain_bytes) : -ENOMEM;
    if (status) {
        goto end;
    }
    recording = gw__summary__recording__unpack(NULL, plain_bytes, plain);
    if (!recording) {
        status = -EBADMSG;
        goto end;
    }
    status = strcmp(recording->schema, SCHEMA) == 0 ? take_recording(recording, &run, records, error) : -EPROTO;
end:
    if (recording) {
        gw__summary__recording__free_unpacked(recording, NULL);
    }
    free(plain);
    if (status == -EBADMSG) {
        gw_error_set(error, status, "%s: the summary is damaged; copy it again or make it again with 'reduce'", name);
    } else if (status == -EPROTO) {
        gw_error_set(error, status,
                     "%s: the summary was made by another version of gpuwitness; read it with that, or make it again "
                     "with 'reduce'",
                     name);
    } else if (status) {
        gw_error_set(error, status, "%s: no memory to read the summary", name);
    }
    if (status) {
        gw_run_file_destroy(run);
        gw_records_destroy(records);
    } else {
        *ret_run = run;
        *ret_records = records;
    }
    return status;
}
