#include "analyzer/read/trace_metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENT_NUMBER_MAX 4096u
#define NS_PER_S 1000000000

/* What is said of an event's header in a stream's declaration. The plain one names no type, its fields follow. */
static const struct {
    const char *text;
    enum gw_event_header header;
} event_headers[] = {{"event.header := struct event_header_compact;", GW_HEADER_COMPACT},
                     {"event.header := struct event_header_large;", GW_HEADER_LARGE},
                     {"event.header := struct {\n\t\tuint8_t id;\n\t\tgw_time timestamp;\n\t};", GW_HEADER_PLAIN}};

/* Drops what the library says of an error: its words name its internals and no remedy. It aborts when it is called
 * while there is one. */
static void drop_error(void)
{
    const bt_error *cause = bt_current_thread_take_error();
    if (cause) {
        bt_error_release(cause);
    }
}

static int is_damaged(struct gw_error *error, const char *path)
{
    return gw_error_set(error, -EBADMSG, "%s: the trace cannot be opened, its metadata is damaged; record again", path);
}

static int is_foreign(struct gw_error *error, const char *path, const char *what)
{
    return gw_error_set(error, -EPROTO, "%s: %s: the trace was not recorded by gpuwitness", path, what);
}

/* ---- the text ---- */

/* Stores the metadata as text, which the caller frees. */
static int read_text(const bt_component_class_source *source_class, const char *directory, char **ret_text)
{
    bt_value *parameters = bt_value_map_create();
    bt_query_executor *executor = NULL;
    const bt_value *result = NULL;
    int status = -ENOMEM;
    if (!parameters || bt_value_map_insert_string_entry(parameters, "path", directory)) {
        goto end;
    }
    executor = bt_query_executor_create(bt_component_class_source_as_component_class_const(source_class),
                                        "metadata-info", parameters);
    if (!executor) {
        goto end;
    }
    status = -EBADMSG;
    if (bt_query_executor_query(executor, &result) == BT_QUERY_EXECUTOR_QUERY_STATUS_OK && bt_value_is_map(result)) {
        const bt_value *text = bt_value_map_borrow_entry_value_const(result, "text");
        *ret_text = text && bt_value_is_string(text) ? strdup(bt_value_string_get(text)) : NULL;
        status = *ret_text ? 0 : -EBADMSG;
    }
end:
    drop_error();
    bt_value_put_ref(result);
    bt_query_executor_put_ref(executor);
    bt_value_put_ref(parameters);
    return status;
}

/* Whether the metadata are those of CTF 2: JSON texts, each after a record separator. */
static bool is_ctf2(const struct gw_trace_directory *directory)
{
    char first = '\0', *path = NULL;
    if (asprintf(&path, "%s/metadata", directory->path) < 0) {
        return false;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool found = fd >= 0 && read(fd, &first, 1) == 1 && first == '\x1e';
    if (fd >= 0) {
        close(fd);
    }
    free(path);
    return found;
}

static bool parse_uuid(const char *text, uint8_t uuid[16])
{
    const char *at = strstr(text, "uuid = \"");
    at = at ? strchr(at, '"') + 1 : NULL;
    for (size_t i = 0; at && i < 16; i++) {
        at += *at == '-';
        if (sscanf(at, "%2hhx", &uuid[i]) != 1) {
            return false;
        }
        at += 2;
    }
    return at && *at == '"';
}

/* Whether every value begins at a whole byte and is followed by the next one: what LTTng writes on the machines that
 * GPUs are in. */
static bool is_packed(const char *text)
{
    const char *order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "byte_order = le;" : "byte_order = be;";
    unsigned bits;
    for (const char *at = text; (at = strstr(at, "align = ")); at++) {
        if (sscanf(at, "align = %u", &bits) != 1 || bits > 8) {
            return false;
        }
    }
    return strstr(text, order) != NULL;
}

/* Finds the declaration of a stream class: false when there is none or its events have another header. */
static bool parse_class(const char *text, struct gw_stream_class *class)
{
    for (const char *at = text; (at = strstr(at, "\nstream {")); at++) {
        unsigned long long id;
        const char *end = strstr(at, "\n};"), *number = strstr(at, "id = ");
        if (!end || !number || number > end || sscanf(number, "id = %llu", &id) != 1 || id != class->id) {
            continue;
        }
        for (size_t i = 0; i < sizeof(event_headers) / sizeof(event_headers[0]); i++) {
            const char *header = strstr(at, event_headers[i].text);
            if (header && header < end) {
                class->header = event_headers[i].header;
                return true;
            }
        }
    }
    return false;
}

/* ---- the event classes ---- */

/* One stream of the trace that is shown to Babeltrace. */
struct probe {
    struct gw_trace_metadata *metadata;
    int status;
    bool no_clock;
};

static int take_class(const bt_stream_class *stream_class, struct gw_stream_class *class)
{
    const bt_field_class *context = bt_stream_class_borrow_event_common_context_field_class_const(stream_class);
    const uint64_t count = bt_stream_class_get_event_class_count(stream_class);
    int status = 0;
    for (uint64_t i = 0; i < count && !status; i++) {
        const bt_event_class *event_class = bt_stream_class_borrow_event_class_by_index_const(stream_class, i);
        const uint64_t number = bt_event_class_get_id(event_class);
        if (number > EVENT_NUMBER_MAX) {
            continue;
        }
        if (number >= class->event_count) {
            struct gw_event_layout *grown = realloc(class->events, (number + 1) * sizeof(*grown));
            if (!grown) {
                return -ENOMEM;
            }
            memset(grown + class->event_count, 0, (number + 1 - class->event_count) * sizeof(*grown));
            class->events = grown;
            class->event_count = number + 1;
        }
        status = gw_event_layout_fill(&class->events[number], event_class, context);
    }
    return status;
}

static void take_stream(struct probe *probe, const bt_stream *stream)
{
    const bt_stream_class *stream_class = bt_stream_borrow_class_const(stream);
    const bt_clock_class *clock = bt_stream_class_borrow_default_clock_class_const(stream_class);
    if (!clock || bt_clock_class_get_frequency(clock) != NS_PER_S) {
        probe->no_clock = true;
        return;
    }
    int64_t seconds;
    uint64_t cycles;
    bt_clock_class_get_offset(clock, &seconds, &cycles);
    probe->metadata->realtime_offset_ns = seconds * NS_PER_S + (int64_t)cycles;
    for (size_t i = 0; i < probe->metadata->class_count && !probe->status; i++) {
        struct gw_stream_class *class = &probe->metadata->classes[i];
        if (class->id == bt_stream_class_get_id(stream_class)) {
            probe->status = take_class(stream_class, class);
        }
    }
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator, void *user)
{
    bt_message_array_const messages;
    uint64_t count = 0;
    const bt_message_iterator_next_status status = bt_message_iterator_next(iterator, &messages, &count);
    for (uint64_t i = 0; i < count && status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK; i++) {
        if (bt_message_get_type(messages[i]) == BT_MESSAGE_TYPE_STREAM_BEGINNING) {
            take_stream(user, bt_message_stream_beginning_borrow_stream_const(messages[i]));
        }
        bt_message_put_ref(messages[i]);
    }
    return status == BT_MESSAGE_ITERATOR_NEXT_STATUS_OK || status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END
               ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
               : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
}

static bt_graph_simple_sink_component_initialize_func_status no_initialisation(bt_message_iterator *iterator,
                                                                               void *user)
{
    (void)iterator;
    (void)user;
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static const bt_component_source *add_source(bt_graph *graph, const bt_component_class_source *source_class,
                                             const char *path)
{
    const bt_component_source *source = NULL;
    bt_value *inputs = NULL, *parameters = bt_value_map_create();
    if (parameters && bt_value_map_insert_empty_array_entry(parameters, "inputs", &inputs) == 0 &&
        bt_value_array_append_string_element(inputs, path) == 0 &&
        bt_graph_add_source_component(graph, source_class, "trace", parameters, BT_LOGGING_LEVEL_NONE, &source) != 0) {
        source = NULL;
    }
    bt_value_put_ref(parameters);
    return source;
}

/* Runs each stream of the trace at path up to its beginning. */
static int run_probe(const bt_component_class_source *source_class, const char *path, struct probe *probe)
{
    bt_graph *graph = bt_graph_create(0);
    const bt_component_source *source = graph ? add_source(graph, source_class, path) : NULL;
    const uint64_t ports = source ? bt_component_source_get_output_port_count(source) : 0;
    int status = source ? 0 : graph ? -EBADMSG : -ENOMEM;
    for (uint64_t i = 0; i < ports && !status; i++) {
        const bt_component_sink *sink = NULL;
        char name[32];
        snprintf(name, sizeof(name), "stream %llu", (unsigned long long)i);
        if (bt_graph_add_simple_sink_component(graph, name, no_initialisation, consume, NULL, probe, &sink) != 0 ||
            bt_graph_connect_ports(graph, bt_component_source_borrow_output_port_by_index_const(source, i),
                                   bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) != 0) {
            status = -EBADMSG;
        }
    }
    if (ports && !status && bt_graph_run(graph) != BT_GRAPH_RUN_STATUS_OK) {
        status = -EBADMSG;
    }
    drop_error();
    bt_graph_put_ref(graph);
    return status ? status : probe->status;
}

/* What Babeltrace opens: the metadata, and for each class a stream of one packet without events. The streams of the
 * trace itself may be damaged, and it refuses a trace for one that is. */
static int make_sample(const struct gw_trace_directory *directory, const struct gw_trace_metadata *metadata,
                       const char *folder)
{
    int status = -ENOMEM;
    char *from = NULL, *absolute = NULL, *to = NULL;
    if (asprintf(&from, "%s/metadata", directory->path) < 0) {
        from = NULL;
    }
    if (asprintf(&to, "%s/metadata", folder) < 0) {
        to = NULL;
    }
    if (from && to) {
        absolute = realpath(from, NULL);
        status = absolute && symlink(absolute, to) == 0 ? 0 : -errno;
    }
    for (size_t i = 0; i < metadata->class_count && !status; i++) {
        free(to);
        if (asprintf(&to, "%s/class_%zu", folder, i) < 0) {
            to = NULL;
            status = -ENOMEM;
            break;
        }
        status = gw_packet_write_empty(to, metadata->uuid, metadata->classes[i].id);
    }
    free(from);
    free(absolute);
    free(to);
    return status;
}

static int probe_classes(const bt_component_class_source *source_class, const struct gw_trace_directory *directory,
                         struct gw_trace_metadata *metadata, struct gw_error *error)
{
    struct probe probe = {.metadata = metadata};
    struct gw_scratch sample = {0};
    int status = gw_scratch_create(&sample);
    status = status ? status : make_sample(directory, metadata, sample.path);
    if (status) {
        gw_scratch_failed(status, error);
        goto end;
    }
    status = run_probe(source_class, sample.path, &probe);
    if (status == -EBADMSG) {
        is_damaged(error, directory->path);
    } else if (!status && probe.no_clock) {
        status = is_foreign(error, directory->path, "a stream has no clock of nanoseconds");
    }
end:
    gw_scratch_remove(&sample);
    return status;
}

static bool has_class(const struct gw_trace_metadata *metadata, uint64_t id)
{
    for (size_t i = 0; i < metadata->class_count; i++) {
        if (metadata->classes[i].id == id) {
            return true;
        }
    }
    return false;
}

/* The classes of the stream files that the metadata declare. */
static int list_classes(const struct gw_trace_directory *directory, const char *text,
                        struct gw_trace_metadata *metadata)
{
    metadata->classes = calloc(directory->file_count + 1, sizeof(*metadata->classes));
    if (!metadata->classes) {
        return -ENOMEM;
    }
    for (size_t f = 0; f < directory->file_count; f++) {
        struct gw_stream_class class = {.id = directory->files[f].class_id};
        if (directory->files[f].packet_count && !has_class(metadata, class.id) && parse_class(text, &class)) {
            metadata->classes[metadata->class_count++] = class;
        }
    }
    return 0;
}

int gw_trace_metadata_read(const struct gw_trace_directory *directory, struct gw_trace_metadata *ret_metadata,
                           struct gw_error *error)
{
    struct gw_trace_metadata metadata = {0};
    const bt_plugin *plugin = NULL;
    const bt_component_class_source *source_class = NULL;
    char *text = NULL;
    int status = -EBADMSG;
    if (bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) == BT_PLUGIN_FIND_STATUS_OK) {
        source_class = bt_plugin_borrow_source_component_class_by_name_const(plugin, "fs");
    }
    if (is_ctf2(directory)) {
        status = gw_error_set(error, -EPROTO,
                              "%s: the trace is in CTF 2, and gpuwitness reads CTF 1.8; record with gpuwitness record",
                              directory->path);
        goto end;
    }
    if (source_class) {
        status = read_text(source_class, directory->path, &text);
    }
    if (status || !parse_uuid(text, metadata.uuid)) {
        status = status == -ENOMEM ? status : is_damaged(error, directory->path);
        goto end;
    }
    if (!is_packed(text)) {
        status = is_foreign(error, directory->path, "its packets are laid out for another kind of machine");
        goto end;
    }
    status = list_classes(directory, text, &metadata);
    status = status ? status : probe_classes(source_class, directory, &metadata, error);
    if (!status) {
        *ret_metadata = metadata;
        metadata = (struct gw_trace_metadata){0};
    }
end:
    drop_error();
    bt_plugin_put_ref(plugin);
    free(text);
    gw_trace_metadata_clear(&metadata);
    return status == -ENOMEM ? gw_error_set(error, status, "%s: no memory to read the trace", directory->path) : status;
}

void gw_trace_metadata_clear(struct gw_trace_metadata *metadata)
{
    for (size_t i = 0; i < metadata->class_count; i++) {
        for (size_t n = 0; n < metadata->classes[i].event_count; n++) {
            gw_event_layout_clear(&metadata->classes[i].events[n]);
        }
        free(metadata->classes[i].events);
    }
    free(metadata->classes);
    *metadata = (struct gw_trace_metadata){0};
}

const struct gw_stream_class *gw_trace_metadata_class(const struct gw_trace_metadata *metadata,
                                                      const struct gw_stream_file *file)
{
    for (size_t i = 0; i < metadata->class_count && file->packet_count; i++) {
        if (metadata->classes[i].id == file->class_id && memcmp(metadata->uuid, file->uuid, sizeof(file->uuid)) == 0) {
            return &metadata->classes[i];
        }
    }
    return NULL;
}
