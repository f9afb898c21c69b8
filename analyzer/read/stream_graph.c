#include "analyzer/read/stream_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/event_classes.h"

struct gw_stream_graph {
    bt_graph *graph;
    struct gw_record_stream *stream;
    struct gw_event_layouts layouts;
    const bt_event_class *last_class; /* of the event before, and its layout */
    const struct gw_event_layout *last_layout;
    const bt_clock_class *clock; /* borrowed from the trace, valid while the graph lives */
    void (*packet_done)(void *user);
    void *user;
    uint64_t skipped;
    uint64_t last_ns; /* of the last message with a time */
    bool continues;   /* until the first packet begins */
    int status;
    struct gw_error error;
};

/* Drops what the library says of an error: its words name its internals and no remedy. It aborts when it is called
 * while there is one, and leaves one at times although it goes on, as with an index that is damaged. */
static void drop_error(void)
{
    const bt_error *cause = bt_current_thread_take_error();
    if (cause) {
        bt_error_release(cause);
    }
}

static int cannot_open(struct gw_error *error, const char *path)
{
    drop_error();
    return gw_error_set(error, -EBADMSG, "%s: the trace cannot be opened, its metadata is damaged; record again", path);
}

/* Stores the class source.ctf.fs, which lives as long as *ret_plugin, and its parameters for a trace directory. */
static int find_source(const char *path, const bt_plugin **ret_plugin, const bt_component_class_source **ret_class,
                       bt_value **ret_parameters)
{
    bt_value *inputs = NULL;
    bt_value *parameters = bt_value_map_create();
    if (!parameters ||
        bt_value_map_insert_empty_array_entry(parameters, "inputs", &inputs) != BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK ||
        bt_value_array_append_string_element(inputs, path) != BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK) {
        bt_value_put_ref(parameters);
        return -ENOMEM;
    }
    if (bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, ret_plugin) != BT_PLUGIN_FIND_STATUS_OK) {
        bt_value_put_ref(parameters);
        return -EBADMSG;
    }
    *ret_class = bt_plugin_borrow_source_component_class_by_name_const(*ret_plugin, "fs");
    *ret_parameters = parameters;
    return 0;
}

static int add_source(bt_graph *graph, const char *path, const bt_component_source **ret_source)
{
    const bt_plugin *plugin = NULL;
    const bt_component_class_source *source_class = NULL;
    bt_value *parameters = NULL;
    int status = find_source(path, &plugin, &source_class, &parameters);
    if (!status &&
        (!source_class || bt_graph_add_source_component(graph, source_class, "trace", parameters, BT_LOGGING_LEVEL_NONE,
                                                        ret_source) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)) {
        status = -EBADMSG;
    }
    bt_plugin_put_ref(plugin);
    bt_value_put_ref(parameters);
    return status;
}

static struct gw_stream_identity identity_of(const bt_port_output *port)
{
    const char *numbers = strstr(bt_port_get_name(bt_port_output_as_port_const(port)), " | ");
    unsigned long long class_id, instance_id;
    if (!numbers || sscanf(numbers, " | %llu | %llu", &class_id, &instance_id) != 2) {
        return (struct gw_stream_identity){0};
    }
    return (struct gw_stream_identity){.class_id = class_id, .instance_id = instance_id, .known = true};
}

int gw_stream_graph_list(const char *trace_path, struct gw_stream_identity **ret_streams, size_t *ret_count,
                         struct gw_error *error)
{
    const bt_component_source *source = NULL;
    bt_graph *graph = bt_graph_create(0);
    int status = graph ? add_source(graph, trace_path, &source) : -ENOMEM;
    if (status == -ENOMEM) {
        gw_error_set(error, status, "%s: no memory to read the trace", trace_path);
        goto end;
    }
    if (status) {
        status = cannot_open(error, trace_path);
        goto end;
    }
    uint64_t count = bt_component_source_get_output_port_count(source);
    struct gw_stream_identity *streams = calloc(count + 1, sizeof(*streams));
    if (!streams) {
        status = gw_error_set(error, -ENOMEM, "%s: no memory to read the trace", trace_path);
        goto end;
    }
    for (uint64_t i = 0; i < count; i++) {
        streams[i] = identity_of(bt_component_source_borrow_output_port_by_index_const(source, i));
    }
    *ret_streams = streams;
    *ret_count = count;
end:
    drop_error();
    bt_graph_put_ref(graph);
    return status;
}

static const bt_value *entry_of(const bt_value *map, const char *key, bt_value_type type)
{
    const bt_value *entry = map && bt_value_is_map(map) ? bt_value_map_borrow_entry_value_const(map, key) : NULL;
    return entry && bt_value_type_is(bt_value_get_type(entry), type) ? entry : NULL;
}

static const bt_value *only_element(const bt_value *array)
{
    return array && bt_value_is_array(array) && bt_value_array_get_length(array) == 1
               ? bt_value_array_borrow_element_by_index_const(array, 0)
               : NULL;
}

bool gw_stream_graph_spans(const char *trace_path, uint64_t length_ns)
{
    const bt_plugin *plugin = NULL;
    const bt_component_class_source *source_class = NULL;
    bt_value *parameters = NULL;
    const bt_value *traces = NULL;
    bt_query_executor *executor = NULL;
    bool spans = false;
    if (find_source(trace_path, &plugin, &source_class, &parameters) || !source_class) {
        goto end;
    }
    executor = bt_query_executor_create(bt_component_class_source_as_component_class_const(source_class),
                                        "babeltrace.trace-infos", parameters);
    if (!executor || bt_query_executor_query(executor, &traces) != BT_QUERY_EXECUTOR_QUERY_STATUS_OK) {
        goto end;
    }
    const bt_value *stream = only_element(entry_of(only_element(traces), "stream-infos", BT_VALUE_TYPE_ARRAY));
    const bt_value *range = entry_of(stream, "range-ns", BT_VALUE_TYPE_MAP);
    const bt_value *begin = entry_of(range, "begin", BT_VALUE_TYPE_SIGNED_INTEGER);
    const bt_value *last = entry_of(range, "end", BT_VALUE_TYPE_SIGNED_INTEGER);
    spans = begin && last &&
            (uint64_t)bt_value_integer_signed_get(last) - (uint64_t)bt_value_integer_signed_get(begin) == length_ns;
end:
    drop_error();
    bt_value_put_ref(traces);
    bt_query_executor_put_ref(executor);
    bt_plugin_put_ref(plugin);
    bt_value_put_ref(parameters);
    return spans;
}

static int store_fields(struct gw_stream_graph *self, const struct gw_event_layout *layout, const bt_field *payload,
                        struct gw_record *record, uint32_t *ret_word_count)
{
    uint32_t word_count = 0;
    for (uint8_t i = 0; i < layout->field_count; i++) {
        const struct gw_event_field *entry = &layout->fields[i];
        const bt_field *field = bt_field_structure_borrow_member_field_by_index_const(payload, entry->index);
        if (entry->element >= 0) {
            field = bt_field_array_borrow_element_field_by_index_const(field, (uint64_t)entry->element);
        }
        if (entry->slot == GW_SLOT_TEXT) {
            int status = gw_record_stream_add_text(self->stream, bt_field_string_get_value(field),
                                                   bt_field_string_get_length(field), &record->words[word_count++]);
            if (status) {
                return status;
            }
            continue;
        }
        uint64_t value = entry->is_signed ? (uint64_t)bt_field_integer_signed_get_value(field)
                                          : bt_field_integer_unsigned_get_value(field);
        switch ((enum gw_slot)entry->slot) {
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
            record->words[word_count++] = value;
            break;
        }
    }
    *ret_word_count = word_count;
    return 0;
}

static int take_event(struct gw_stream_graph *self, const bt_message *message)
{
    const bt_event *event = bt_message_event_borrow_event_const(message);
    const bt_event_class *event_class = bt_event_borrow_class_const(event);
    const struct gw_event_layout *layout = self->last_layout;
    int status = 0;
    if (event_class != self->last_class) {
        status = gw_event_layouts_get(&self->layouts, event_class, &layout, &self->error);
        if (status) {
            return status;
        }
        self->last_class = event_class;
        self->last_layout = layout;
    }
    self->last_ns = bt_clock_snapshot_get_value(bt_message_event_borrow_default_clock_snapshot_const(message));
    if (!layout->known) {
        self->skipped++;
        return 0;
    }
    struct gw_record record;
    uint32_t word_count = 0;
    record.time_ns = self->last_ns;
    record.type = layout->type;
    record.begin_ns = record.call = record.site = 0;
    record.result = 0;
    if (layout->field_count) {
        status = store_fields(self, layout, bt_event_borrow_payload_field_const(event), &record, &word_count);
    }
    return status ? status : gw_record_stream_append(self->stream, &record, record.words, word_count);
}

static int take_discarded_events(struct gw_stream_graph *self, const bt_message *message)
{
    uint64_t count = 0;
    bt_property_availability known = bt_message_discarded_events_get_count(message, &count);
    return gw_record_stream_add_loss(
        self->stream,
        bt_clock_snapshot_get_value(bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(message)),
        bt_clock_snapshot_get_value(bt_message_discarded_events_borrow_end_default_clock_snapshot_const(message)),
        known == BT_PROPERTY_AVAILABILITY_AVAILABLE ? (int64_t)count : 0);
}

static int take_discarded_packets(struct gw_stream_graph *self, const bt_message *message)
{
    return gw_record_stream_add_loss(
        self->stream,
        bt_clock_snapshot_get_value(
            bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(message)),
        bt_clock_snapshot_get_value(bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(message)), 0);
}

static int take_message(struct gw_stream_graph *self, const bt_message *message)
{
    switch (bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT:
        return take_event(self, message);
    case BT_MESSAGE_TYPE_STREAM_BEGINNING:
        self->clock = bt_stream_class_borrow_default_clock_class_const(
            bt_stream_borrow_class_const(bt_message_stream_beginning_borrow_stream_const(message)));
        return self->clock ? 0
                           : gw_error_set(&self->error, -EPROTO,
                                          "a stream of the trace has no clock: it was not recorded by gpuwitness");
    case BT_MESSAGE_TYPE_PACKET_BEGINNING:
        self->continues = false;
        return 0;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        return self->continues ? 0 : take_discarded_events(self, message);
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
        return take_discarded_packets(self, message);
    case BT_MESSAGE_TYPE_PACKET_END:
        self->packet_done(self->user);
        return 0;
    default:
        return 0;
    }
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator, void *user)
{
    struct gw_stream_graph *self = user;
    bt_message_array_const messages;
    uint64_t count = 0;
    switch (bt_message_iterator_next(iterator, &messages, &count)) {
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
        break;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
    case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_MEMORY_ERROR;
    default:
        return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!self->status) {
            self->status = take_message(self, messages[i]);
        }
        bt_message_put_ref(messages[i]);
    }
    return self->status ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
                        : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_initialize_func_status no_initialisation(bt_message_iterator *iterator,
                                                                               void *user)
{
    (void)iterator;
    (void)user;
    return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

int gw_stream_graph_create(const char *trace_path, uint64_t port, bool continues, struct gw_record_stream *stream,
                           void (*packet_done)(void *user), void *user, struct gw_stream_graph **ret_graph,
                           struct gw_error *error)
{
    int status = -ENOMEM;
    struct gw_stream_graph *self = calloc(1, sizeof(*self));
    const bt_component_source *source = NULL;
    const bt_component_sink *sink = NULL;
    if (!self || !(self->graph = bt_graph_create(0))) {
        gw_error_set(error, status, "%s: no memory to read the trace", trace_path);
        goto end;
    }
    self->stream = stream;
    self->continues = continues;
    self->packet_done = packet_done;
    self->user = user;
    status = add_source(self->graph, trace_path, &source);
    if (status) {
        status = cannot_open(error, trace_path);
        goto end;
    }
    const bt_port_output *output = bt_component_source_borrow_output_port_by_index_const(source, port);
    if (bt_graph_add_simple_sink_component(self->graph, "records", no_initialisation, consume, NULL, self, &sink) !=
            BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
        bt_graph_connect_ports(self->graph, output, bt_component_sink_borrow_input_port_by_index_const(sink, 0),
                               NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK) {
        status = cannot_open(error, trace_path);
        goto end;
    }
    *ret_graph = self;
    self = NULL;
end:
    drop_error();
    gw_stream_graph_destroy(self);
    return status;
}

void gw_stream_graph_destroy(struct gw_stream_graph *graph)
{
    if (!graph) {
        return;
    }
    bt_graph_put_ref(graph->graph);
    gw_event_layouts_clear(&graph->layouts);
    free(graph);
}

int gw_stream_graph_run(struct gw_stream_graph *graph, uint64_t *ret_skipped_events, int64_t *ret_realtime_offset_ns,
                        struct gw_error *error)
{
    bt_graph_run_status run;
    do {
        run = bt_graph_run(graph->graph);
    } while (run == BT_GRAPH_RUN_STATUS_AGAIN);
    drop_error();
    if (graph->status) {
        *error = graph->error;
        return error->text[0] ? graph->status
                              : gw_error_set(error, graph->status, "%s",
                                             graph->status == -EFBIG ? "a stream of the trace has too many events"
                                                                     : "no memory for the events of the trace");
    }
    if (run == BT_GRAPH_RUN_STATUS_MEMORY_ERROR) {
        return gw_error_set(error, -ENOMEM, "no memory for the events of the trace");
    }
    if (run != BT_GRAPH_RUN_STATUS_OK) {
        int status = gw_record_stream_add_loss(graph->stream, graph->last_ns, UINT64_MAX, 0);
        if (status) {
            return gw_error_set(error, status, "no memory for the events of the trace");
        }
    }
    if (graph->clock) {
        int64_t seconds;
        uint64_t cycles;
        bt_clock_class_get_offset(graph->clock, &seconds, &cycles);
        *ret_realtime_offset_ns = seconds * 1000000000 + (int64_t)cycles;
    }
    *ret_skipped_events = graph->skipped;
    return 0;
}
