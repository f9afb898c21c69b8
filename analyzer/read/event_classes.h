/* The fields of an event class in the order in which they lie in a packet, and where each goes. */
#ifndef GW_ANALYZER_READ_EVENT_CLASSES_H
#define GW_ANALYZER_READ_EVENT_CLASSES_H

#include <babeltrace2/babeltrace.h>

#include "analyzer/read/records.h"

enum gw_slot { GW_SLOT_BEGIN, GW_SLOT_CALL, GW_SLOT_SITE, GW_SLOT_RESULT, GW_SLOT_WORD, GW_SLOT_TEXT, GW_SLOT_NONE };

enum gw_field_kind {
    GW_FIELD_INTEGER, /* of 1, 2, 4 or 8 bytes */
    GW_FIELD_STRING,  /* up to its NUL */
    GW_FIELD_SKIPPED, /* so many bytes that nobody asks for */
    GW_FIELD_COUNTED, /* so many bytes for each that the integer before it counts; nobody asks for them */
};

struct gw_event_field {
    uint32_t bytes;
    uint8_t kind; /* enum gw_field_kind */
    uint8_t slot; /* enum gw_slot */
    uint8_t word; /* of the record, where the slot is WORD or TEXT */
    bool is_signed;
};

enum gw_event_use {
    GW_EVENT_UNDECLARED, /* no event of the trace can have this number */
    GW_EVENT_OTHER,      /* of another provider or a later version: to be skipped */
    GW_EVENT_KNOWN,
    GW_EVENT_UNUSABLE, /* a field that is needed is missing or of another type */
    GW_EVENT_OPAQUE,   /* its length cannot be told */
};

struct gw_event_layout {
    uint8_t use;         /* enum gw_event_use */
    uint8_t type;        /* enum gw_record_type, where it is known */
    const char *missing; /* the field, where it is unusable */
    struct gw_event_field *fields;
    size_t field_count;
};

/* Adds the class to layouts that are all zero at first. before: the contexts that lie before the payload of every event
 * of the stream class, NULL for none. Returns 0 or -ENOMEM. */
int gw_event_layout_fill(struct gw_event_layout *layout, const bt_event_class *event_class,
                         const bt_field_class *before);

void gw_event_layout_clear(struct gw_event_layout *layout);

/* "gpuwitness:call" of a layout's type. */
const char *gw_event_layout_name(const struct gw_event_layout *layout);

#endif
