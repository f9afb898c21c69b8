#include "analyzer/read/event_classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "gpuwitness:"
#define EVENT_CLASS_ID_MAX 4096u

static const char *const event_names[GW_RECORD_COUNT] = {
#define GW_EVENT(event) [GW_RECORD_##event] = #event,
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
};

static const struct {
    uint8_t type, slot;
    const char *name;
} wanted_fields[] = {
#define GW_EVENT(event)
#define GW_HEAD(event, field, slot) {GW_RECORD_##event, GW_SLOT_##slot, #field},
#define GW_WORD(event, field) {GW_RECORD_##event, GW_SLOT_WORD, #field},
#define GW_TEXT(event, field) {GW_RECORD_##event, GW_SLOT_TEXT, #field},
#define GW_EVENT_END(event)
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
};

/* The place of an element in an array named after its elements, joined by '_'; -1 when it is not one of them. */
static int64_t element_of(const char *array, const char *name)
{
    const size_t length = strlen(name);
    for (int64_t element = 0; array; element++) {
        const char *end = strchr(array, '_');
        if (strncmp(array, name, length) == 0 && array + length == (end ? end : array + strlen(array))) {
            return element;
        }
        array = end ? end + 1 : NULL;
    }
    return -1;
}

static int find_field(const bt_field_class *payload, const char *event, const char *name, uint8_t slot,
                      struct gw_event_field *field, struct gw_error *error)
{
    uint64_t members = payload ? bt_field_class_structure_get_member_count(payload) : 0;
    for (uint64_t i = 0; i < members; i++) {
        const bt_field_class_structure_member *member =
            bt_field_class_structure_borrow_member_by_index_const(payload, i);
        const bt_field_class *field_class = bt_field_class_structure_member_borrow_field_class_const(member);
        bt_field_class_type type = bt_field_class_get_type(field_class);
        int64_t element = -1;
        if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STATIC_ARRAY)) {
            element = element_of(bt_field_class_structure_member_get_name(member), name);
            if (element < 0 || (uint64_t)element >= bt_field_class_array_static_get_length(field_class)) {
                continue;
            }
            type = bt_field_class_get_type(bt_field_class_array_borrow_element_field_class_const(field_class));
        } else if (strcmp(bt_field_class_structure_member_get_name(member), name) != 0) {
            continue;
        }
        bool is_text = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRING);
        bool is_signed = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);
        bool is_unsigned = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER);
        if (slot == GW_SLOT_TEXT ? !is_text : !is_signed && !is_unsigned) {
            break;
        }
        *field = (struct gw_event_field){
            .index = (uint32_t)i, .element = (int8_t)element, .slot = slot, .is_signed = is_signed};
        return 0;
    }
    return gw_error_set(error, -EPROTO,
                        "event %s%s has no usable field '%s': the trace was written by another version of gpuwitness; "
                        "read it with that version",
                        PROVIDER, event, name);
}

static int resolve(const bt_event_class *event_class, struct gw_event_layout *layout, struct gw_error *error)
{
    const char *name = bt_event_class_get_name(event_class);
    if (!name || strncmp(name, PROVIDER, strlen(PROVIDER)) != 0) {
        return 0;
    }
    uint8_t type = 0;
    while (type < GW_RECORD_COUNT && strcmp(event_names[type], name + strlen(PROVIDER)) != 0) {
        type++;
    }
    if (type == GW_RECORD_COUNT) {
        return 0;
    }
    layout->type = type;
    const bt_field_class *payload = bt_event_class_borrow_payload_field_class_const(event_class);
    for (size_t i = 0; i < sizeof(wanted_fields) / sizeof(wanted_fields[0]); i++) {
        if (wanted_fields[i].type != type) {
            continue;
        }
        int status = find_field(payload, event_names[type], wanted_fields[i].name, wanted_fields[i].slot,
                                &layout->fields[layout->field_count], error);
        if (status) {
            return status;
        }
        layout->field_count++;
    }
    layout->known = true;
    return 0;
}

int gw_event_layouts_get(struct gw_event_layouts *layouts, const bt_event_class *event_class,
                         const struct gw_event_layout **ret_layout, struct gw_error *error)
{
    uint64_t id = bt_event_class_get_id(event_class);
    if (id < layouts->count && layouts->by_id[id]) {
        *ret_layout = layouts->by_id[id];
        return 0;
    }
    if (id > EVENT_CLASS_ID_MAX) {
        return gw_error_set(error, -EPROTO, "event class number %llu in the trace's metadata is out of range",
                            (unsigned long long)id);
    }
    if (id >= layouts->count) {
        struct gw_event_layout **grown = realloc(layouts->by_id, (id + 1) * sizeof(struct gw_event_layout *));
        if (!grown) {
            return -ENOMEM;
        }
        layouts->by_id = grown;
        while (layouts->count <= id) {
            layouts->by_id[layouts->count++] = NULL;
        }
    }
    struct gw_event_layout *layout = calloc(1, sizeof(*layout));
    if (!layout) {
        return -ENOMEM;
    }
    int status = resolve(event_class, layout, error);
    if (status) {
        free(layout);
        return status;
    }
    layouts->by_id[id] = layout;
    *ret_layout = layout;
    return 0;
}

void gw_event_layouts_clear(struct gw_event_layouts *layouts)
{
    for (size_t i = 0; i < layouts->count; i++) {
        free(layouts->by_id[i]);
    }
    free(layouts->by_id);
    *layouts = (struct gw_event_layouts){0};
}
