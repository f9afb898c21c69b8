#include "analyzer/export/perfetto_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <perfetto.pb-c.h> /* made in the build directory */

#define SEQUENCE 1u
#define CLOCK_REALTIME_ID 1u /* BuiltinClock */
#define CLOCK_MONOTONIC_ID 3u
#define STATE_CLEARED 1u /* SequenceFlags */
#define STATE_NEEDED 2u
#define PACKET_TAG 0x0au /* field 1 of Trace, length-delimited */

typedef Gw__Perfetto__TracePacket Packet;

/* TracePacket as field `packet` of Trace. */
static void write_packet(struct gw_perfetto *self, Packet *packet)
{
    uint8_t head[11] = {PACKET_TAG};
    size_t head_size = 1, size;
    packet->has_trusted_packet_sequence_id = true;
    packet->trusted_packet_sequence_id = SEQUENCE;
    packet->has_timestamp_clock_id = packet->has_timestamp;
    packet->timestamp_clock_id = CLOCK_MONOTONIC_ID;
    packet->has_sequence_flags = true;
    packet->sequence_flags |= STATE_NEEDED;
    size = gw__perfetto__trace_packet__get_packed_size(packet);
    if (self->output->status)
        return;
    if (size > self->room) {
        uint8_t *grown = realloc(self->packed, size * 2);
        if (!grown) {
            self->output->status = -ENOMEM;
            return;
        }
        self->packed = grown;
        self->room = size * 2;
    }
    gw__perfetto__trace_packet__pack(packet, self->packed);
    for (size_t rest = size;; rest >>= 7) {
        head[head_size++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        if (rest <= 0x7f)
            break;
    }
    gw_output_write(self->output, head, head_size);
    gw_output_write(self->output, self->packed, size);
}

void gw_perfetto_start(struct gw_perfetto *self, struct gw_output *output, uint64_t monotonic_ns, uint64_t realtime_ns)
{
    static const char *const categories[] = {
        [GW_PERFETTO_CALL] = "cuda call",   [GW_PERFETTO_OP] = "gpu",      [GW_PERFETTO_STEP] = "step",
        [GW_PERFETTO_IDLE] = "gpu idle",    [GW_PERFETTO_RANGE] = "range", [GW_PERFETTO_COLLECTIVE] = "collective",
        [GW_PERFETTO_COMPILER] = "compiler"};
    static const char *const arguments[] = {[GW_PERFETTO_BYTES] = "bytes",
                                            [GW_PERFETTO_ERROR_NS] = "error_ns",
                                            [GW_PERFETTO_GRID] = "grid",
                                            [GW_PERFETTO_BLOCK] = "block",
                                            [GW_PERFETTO_KERNEL] = "kernel",
                                            [GW_PERFETTO_RESULT] = "result",
                                            [GW_PERFETTO_WAITED_IN] = "waited in or for",
                                            [GW_PERFETTO_COMMUNICATOR] = "communicator",
                                            [GW_PERFETTO_SEQUENCE] = "sequence",
                                            [GW_PERFETTO_RANKS] = "ranks",
                                            [GW_PERFETTO_GROUPED] = "grouped collectives",
                                            [GW_PERFETTO_RANGE_CATEGORY] = "category",
                                            [GW_PERFETTO_PAYLOAD] = "payload"};
    Packet packet = GW__PERFETTO__TRACE_PACKET__INIT;
    Gw__Perfetto__ClockSnapshot snapshot = GW__PERFETTO__CLOCK_SNAPSHOT__INIT;
    Gw__Perfetto__ClockSnapshot__Clock clocks[2] = {GW__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
                                                    GW__PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT};
    Gw__Perfetto__ClockSnapshot__Clock *clock_list[] = {&clocks[0], &clocks[1]};
    *self = (struct gw_perfetto){.output = output};
    for (size_t i = 0; i < 2; i++)
        clocks[i].has_clock_id = clocks[i].has_timestamp = true;
    clocks[0].clock_id = CLOCK_MONOTONIC_ID;
    clocks[0].timestamp = monotonic_ns;
    clocks[1].clock_id = CLOCK_REALTIME_ID;
    clocks[1].timestamp = realtime_ns;
    snapshot.n_clocks = 2;
    snapshot.clocks = clock_list;
    snapshot.has_primary_trace_clock = true;
    snapshot.primary_trace_clock = CLOCK_MONOTONIC_ID;
    packet.clock_snapshot = &snapshot;
    packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = true;
    packet.sequence_flags = STATE_CLEARED;
    write_packet(self, &packet);
    for (unsigned i = 1; i < GW_PERFETTO_CATEGORY_END; i++) {
        Gw__Perfetto__InternedData data = GW__PERFETTO__INTERNED_DATA__INIT;
        Gw__Perfetto__EventCategory category = GW__PERFETTO__EVENT_CATEGORY__INIT, *list[] = {&category};
        Packet interned = GW__PERFETTO__TRACE_PACKET__INIT;
        category.has_iid = true;
        category.iid = i;
        category.name = (char *)categories[i];
        data.n_event_categories = 1;
        data.event_categories = list;
        interned.interned_data = &data;
        write_packet(self, &interned);
    }
    for (unsigned i = 1; i < GW_PERFETTO_ARGUMENT_END; i++) {
        Gw__Perfetto__InternedData data = GW__PERFETTO__INTERNED_DATA__INIT;
        Gw__Perfetto__DebugAnnotationName name = GW__PERFETTO__DEBUG_ANNOTATION_NAME__INIT, *list[] = {&name};
        Packet interned = GW__PERFETTO__TRACE_PACKET__INIT;
        name.has_iid = true;
        name.iid = i;
        name.name = (char *)arguments[i];
        data.n_debug_annotation_names = 1;
        data.debug_annotation_names = list;
        interned.interned_data = &data;
        write_packet(self, &interned);
    }
}

void gw_perfetto_release(struct gw_perfetto *self)
{
    free(self->packed);
    self->packed = NULL;
}

void gw_perfetto_intern(struct gw_perfetto *self, uint64_t iid, const char *name)
{
    Packet packet = GW__PERFETTO__TRACE_PACKET__INIT;
    Gw__Perfetto__InternedData data = GW__PERFETTO__INTERNED_DATA__INIT;
    Gw__Perfetto__EventName event_name = GW__PERFETTO__EVENT_NAME__INIT, *list[] = {&event_name};
    event_name.has_iid = true;
    event_name.iid = iid;
    event_name.name = (char *)name;
    data.n_event_names = 1;
    data.event_names = list;
    packet.interned_data = &data;
    write_packet(self, &packet);
}

void gw_perfetto_intern_value(struct gw_perfetto *self, uint64_t iid, const char *text)
{
    Packet packet = GW__PERFETTO__TRACE_PACKET__INIT;
    Gw__Perfetto__InternedData data = GW__PERFETTO__INTERNED_DATA__INIT;
    Gw__Perfetto__InternedString value = GW__PERFETTO__INTERNED_STRING__INIT, *list[] = {&value};
    value.has_iid = value.has_str = true;
    value.iid = iid;
    value.str.data = (uint8_t *)text;
    value.str.len = strlen(text);
    data.n_debug_annotation_string_values = 1;
    data.debug_annotation_string_values = list;
    packet.interned_data = &data;
    write_packet(self, &packet);
}

static void write_track(struct gw_perfetto *self, Gw__Perfetto__TrackDescriptor *track, uint64_t uuid, uint64_t parent,
                        const char *name)
{
    Packet packet = GW__PERFETTO__TRACE_PACKET__INIT;
    track->has_uuid = true;
    track->uuid = uuid;
    track->has_parent_uuid = parent != 0;
    track->parent_uuid = parent;
    track->name = (char *)name;
    packet.track_descriptor = track;
    write_packet(self, &packet);
}

void gw_perfetto_process_track(struct gw_perfetto *self, uint64_t uuid, uint32_t pid, const char *name)
{
    Gw__Perfetto__TrackDescriptor track = GW__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Gw__Perfetto__ProcessDescriptor process = GW__PERFETTO__PROCESS_DESCRIPTOR__INIT;
    process.has_pid = true;
    process.pid = (int32_t)pid;
    process.process_name = (char *)name;
    track.process = &process;
    write_track(self, &track, uuid, 0, NULL);
}

void gw_perfetto_thread_track(struct gw_perfetto *self, uint64_t uuid, uint64_t parent, uint32_t pid, uint32_t tid,
                              const char *name)
{
    Gw__Perfetto__TrackDescriptor track = GW__PERFETTO__TRACK_DESCRIPTOR__INIT;
    Gw__Perfetto__ThreadDescriptor thread = GW__PERFETTO__THREAD_DESCRIPTOR__INIT;
    thread.has_pid = thread.has_tid = true;
    thread.pid = (int32_t)pid;
    thread.tid = (int32_t)tid;
    thread.thread_name = (char *)name;
    track.thread = &thread;
    write_track(self, &track, uuid, parent, NULL);
}

void gw_perfetto_track(struct gw_perfetto *self, uint64_t uuid, uint64_t parent, const char *name)
{
    Gw__Perfetto__TrackDescriptor track = GW__PERFETTO__TRACK_DESCRIPTOR__INIT;
    write_track(self, &track, uuid, parent, name);
}

static void set_number(Gw__Perfetto__DebugAnnotation *value, const struct gw_perfetto_value *from)
{
    const struct gw_payload number =
        from->payload ? *from->payload : (struct gw_payload){GW_PAYLOAD_UNSIGNED, .count = from->number};
    value->has_uint_value = number.kind == GW_PAYLOAD_UNSIGNED;
    value->has_int_value = number.kind == GW_PAYLOAD_SIGNED;
    value->has_double_value = number.kind == GW_PAYLOAD_REAL;
    if (value->has_uint_value)
        value->uint_value = number.count;
    else if (value->has_int_value)
        value->int_value = number.number;
    else
        value->double_value = number.real;
}

void gw_perfetto_begin(struct gw_perfetto *self, const struct gw_perfetto_slice *slice, uint64_t time_ns)
{
    Packet packet = GW__PERFETTO__TRACE_PACKET__INIT;
    Gw__Perfetto__TrackEvent event = GW__PERFETTO__TRACK_EVENT__INIT;
    Gw__Perfetto__DebugAnnotation values[GW_PERFETTO_VALUES_MAX], *value_list[GW_PERFETTO_VALUES_MAX];
    uint64_t category = slice->category, flow = slice->flow;
    for (unsigned i = 0; i < slice->value_count; i++) {
        const struct gw_perfetto_value *from = &slice->values[i];
        gw__perfetto__debug_annotation__init(&values[i]);
        values[i].has_name_iid = true;
        values[i].name_iid = from->argument;
        values[i].string_value = (char *)from->text;
        values[i].has_string_value_iid = !from->text && from->text_iid;
        values[i].string_value_iid = from->text_iid;
        if (!from->text && !from->text_iid)
            set_number(&values[i], from);
        value_list[i] = &values[i];
    }
    event.has_type = true;
    event.type = GW__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN;
    event.has_track_uuid = true;
    event.track_uuid = slice->track;
    event.has_name_iid = slice->name_iid != 0;
    event.name_iid = slice->name_iid;
    event.name = slice->name_iid ? NULL : (char *)slice->name;
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.n_debug_annotations = slice->value_count;
    event.debug_annotations = value_list;
    if (flow && slice->flow_ends) {
        event.n_terminating_flow_ids = 1;
        event.terminating_flow_ids = &flow;
    } else if (flow) {
        event.n_flow_ids = 1;
        event.flow_ids = &flow;
    }
    packet.has_timestamp = true;
    packet.timestamp = time_ns;
    packet.track_event = &event;
    write_packet(self, &packet);
}

void gw_perfetto_end(struct gw_perfetto *self, uint64_t track, uint64_t time_ns)
{
    Packet packet = GW__PERFETTO__TRACE_PACKET__INIT;
    Gw__Perfetto__TrackEvent event = GW__PERFETTO__TRACK_EVENT__INIT;
    event.has_type = true;
    event.type = GW__PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END;
    event.has_track_uuid = true;
    event.track_uuid = track;
    packet.has_timestamp = true;
    packet.timestamp = time_ns;
    packet.track_event = &event;
    write_packet(self, &packet);
}
