#include "analyzer/read/event_classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "gpuwitness:"
/* Of an array whose elements are kept one by one. */
#define ELEMENTS_MAX 64u

static const char *const event_names[GW_RECORD_COUNT] = {
#define GW_EVENT(event) [GW_RECORD_##event] = PROVIDER #event,
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

static const struct wanted {
    uint8_t type, slot, word;
    const char *name;
} wanted_fields[] = {
#define GW_EVENT(event)
#define GW_HEAD(event, field, slot) {GW_RECORD_##event, GW_SLOT_##slot, 0, #field},
#define GW_WORD(event, field) {GW_RECORD_##event, GW_SLOT_WORD, GW_ARG_##event##_##field, #field},
#define GW_TEXT(event, field) {GW_RECORD_##event, GW_SLOT_TEXT, GW_ARG_##event##_##field, #field},
#define GW_EVENT_END(event)
#include "analyzer/read/events.def"
#undef GW_EVENT
#undef GW_HEAD
#undef GW_WORD
#undef GW_TEXT
#undef GW_EVENT_END
};

#define WANTED_COUNT (sizeof(wanted_fields) / sizeof(wanted_fields[0]))

/* The wanted field of that name, whose kind is right; NULL: nobody asks for it. */
static const struct wanted *find_wanted(uint8_t type, const char *name, size_t length, bool is_text)
{
    for (size_t i = 0; i < WANTED_COUNT; i++) {
        const struct wanted *wanted = &wanted_fields[i];
        if (wanted->type == type && strncmp(wanted->name, name, length) == 0 && !wanted->name[length]) {
            return (wanted->slot == GW_SLOT_TEXT) == is_text ? wanted : NULL;
        }
    }
    return NULL;
}

static int add_field(struct gw_event_layout *layout, const struct wanted *wanted, const struct gw_event_field *field)
{
    struct gw_event_field *grown = realloc(layout->fields, (layout->field_count + 1) * sizeof(*grown));
    if (!grown) {
        return -ENOMEM;
    }
    layout->fields = grown;
    grown[layout->field_count] = *field;
    grown[layout->field_count].slot = wanted ? wanted->slot : GW_SLOT_NONE;
    grown[layout->field_count++].word = wanted ? wanted->word : 0;
    return 0;
}

/* How a value lies in the packet. False where it is not of fixed length or not in whole bytes. */
static bool describe(const bt_field_class *field_class, struct gw_event_field *field)
{
    const bt_field_class_type type = bt_field_class_get_type(field_class);
    uint64_t bits = 0;
    *field = (struct gw_event_field){.kind = GW_FIELD_INTEGER};
    if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_INTEGER)) {
        bits = bt_field_class_integer_get_field_value_range(field_class);
        field->is_signed = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER);
    } else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_REAL)) {
        bits = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL) ? 32 : 64;
        field->kind = GW_FIELD_SKIPPED;
    }
    field->bytes = (uint32_t)bits / 8;
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* The elements of an array of fixed length, which is named after them, joined by '_'. */
static int add_array(struct gw_event_layout *layout, const bt_field_class *array, const char *name)
{
    struct gw_event_field element;
    const uint64_t count = bt_field_class_array_static_get_length(array);
    if (!describe(bt_field_class_array_borrow_element_field_class_const(array), &element) || count > ELEMENTS_MAX) {
        layout->use = GW_EVENT_OPAQUE;
        return 0;
    }
    int status = 0;
    for (uint64_t i = 0; i < count && !status; i++) {
        const size_t length = strcspn(name, "_");
        const bool asked = length && layout->use == GW_EVENT_KNOWN && element.kind == GW_FIELD_INTEGER;
        status = add_field(layout, asked ? find_wanted(layout->type, name, length, false) : NULL, &element);
        name += length + (name[length] == '_');
    }
    return status;
}

/* An array whose length is in the integer before it, as LTTng writes them. */
static int add_counted(struct gw_event_layout *layout, const bt_field_class *array)
{
    struct gw_event_field element;
    const struct gw_event_field *count = layout->field_count ? &layout->fields[layout->field_count - 1] : NULL;
    if (!count || count->kind != GW_FIELD_INTEGER ||
        !describe(bt_field_class_array_borrow_element_field_class_const(array), &element)) {
        layout->use = GW_EVENT_OPAQUE;
        return 0;
    }
    element.kind = GW_FIELD_COUNTED;
    return add_field(layout, NULL, &element);
}

static int add_members(struct gw_event_layout *layout, const bt_field_class *structure)
{
    const uint64_t members = structure ? bt_field_class_structure_get_member_count(structure) : 0;
    int status = 0;
    for (uint64_t i = 0; i < members && !status; i++) {
        const bt_field_class_structure_member *member =
            bt_field_class_structure_borrow_member_by_index_const(structure, i);
        const char *name = bt_field_class_structure_member_get_name(member);
        const bt_field_class *field_class = bt_field_class_structure_member_borrow_field_class_const(member);
        const bt_field_class_type type = bt_field_class_get_type(field_class);
        struct gw_event_field field = {.kind = GW_FIELD_STRING};
        const bool is_text = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STRING);
        if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_STATIC_ARRAY)) {
            status = add_array(layout, field_class, name);
        } else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_DYNAMIC_ARRAY)) {
            status = add_counted(layout, field_class);
        } else if (is_text || describe(field_class, &field)) {
            const bool asked = layout->use == GW_EVENT_KNOWN && field.kind != GW_FIELD_SKIPPED;
            status = add_field(layout, asked ? find_wanted(layout->type, name, strlen(name), is_text) : NULL, &field);
        } else {
            layout->use = GW_EVENT_OPAQUE;
        }
    }
    return status;
}

static bool has_wanted(const struct gw_event_layout *layout, const struct wanted *wanted)
{
    for (size_t i = 0; i < layout->field_count; i++) {
        const struct gw_event_field *field = &layout->fields[i];
        if (field->slot == wanted->slot && field->word == wanted->word) {
            return true;
        }
    }
    return false;
}

int gw_event_layout_fill(struct gw_event_layout *layout, const bt_event_class *event_class,
                         const bt_field_class *before)
{
    const char *name = bt_event_class_get_name(event_class);
    layout->use = GW_EVENT_OTHER;
    int status = add_members(layout, before);
    status =
        status ? status : add_members(layout, bt_event_class_borrow_specific_context_field_class_const(event_class));
    for (uint8_t type = 0; name && type < GW_RECORD_COUNT && layout->use == GW_EVENT_OTHER; type++) {
        if (strcmp(event_names[type], name) == 0) {
            layout->type = type;
            layout->use = GW_EVENT_KNOWN;
        }
    }
    status = status ? status : add_members(layout, bt_event_class_borrow_payload_field_class_const(event_class));
    for (size_t i = 0; i < WANTED_COUNT && layout->use == GW_EVENT_KNOWN; i++) {
        if (wanted_fields[i].type == layout->type && !has_wanted(layout, &wanted_fields[i])) {
            layout->use = GW_EVENT_UNUSABLE;
            layout->missing = wanted_fields[i].name;
        }
    }
    return status;
}

void gw_event_layout_clear(struct gw_event_layout *layout)
{
    free(layout->fields);
    *layout = (struct gw_event_layout){0};
}

const char *gw_event_layout_name(const struct gw_event_layout *layout)
{
    return event_names[layout->type];
}
