/* Where each field of an event class goes, looked up by name once per class and then used by index. */
#ifndef GW_ANALYZER_READ_EVENT_CLASSES_H
#define GW_ANALYZER_READ_EVENT_CLASSES_H

#include <babeltrace2/babeltrace.h>

#include "analyzer/read/read.h"

enum gw_slot { GW_SLOT_BEGIN, GW_SLOT_CALL, GW_SLOT_SITE, GW_SLOT_RESULT, GW_SLOT_WORD, GW_SLOT_TEXT };

#define GW_FIELDS_MAX 16u

struct gw_event_field {
    uint32_t index; /* of the member in the payload */
    int8_t element; /* of the member, where that is an array; else -1 */
    uint8_t slot;   /* enum gw_slot */
    uint8_t is_signed;
};

struct gw_event_layout {
    bool known;   /* false: of another provider or a later version, to be skipped */
    uint8_t type; /* enum gw_record_type */
    uint8_t field_count;
    struct gw_event_field fields[GW_FIELDS_MAX];
};

/* Layouts of one stream's event classes by their id; all zero at first. */
struct gw_event_layouts {
    struct gw_event_layout **by_id;
    size_t count;
};

/* Layout of the class, resolved at its first use. Returns 0, -ENOMEM, or -EPROTO with *error filled when a field that
 * is needed is missing or of another type. */
int gw_event_layouts_get(struct gw_event_layouts *layouts, const bt_event_class *event_class,
                         const struct gw_event_layout **ret_layout, struct gw_error *error);

void gw_event_layouts_clear(struct gw_event_layouts *layouts);

#endif
