#include "plots/timeline_labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plots/units.h"
#include "shim/api/functions.h"

#define LEAST_LABEL_PX 54.0

static const char *copy_word(uint8_t kind)
{
    switch (kind) {
    case GW_OP_H2D:
        return "to device";
    case GW_OP_D2H:
        return "to host";
    case GW_OP_D2D:
        return "on device";
    case GW_OP_P2P:
        return "between devices";
    case GW_OP_MEMSET:
        return "memset";
    case GW_OP_GRAPH:
        return "graph";
    case GW_OP_COMM:
        return "communication";
    default:
        return "host function";
    }
}

static void label_op(const struct gw_model *model, const struct gw_op *op, struct gw_bar_labels *labels)
{
    char length[GW_UNIT_TEXT], bytes[GW_UNIT_TEXT];
    char *name = NULL;

    gw_format_duration((double)(op->end_ns - op->start_ns), length);
    if ((op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM) && op->name < model->names_count)
        name = gw_kernel_name_short(model->names[op->name]);
    if (name) {
        snprintf(labels->text[0], sizeof(labels->text[0]), "%s  %s", name, length);
        snprintf(labels->text[1], sizeof(labels->text[1]), "%s", name);
        labels->count = 2;
        labels->least_px = LEAST_LABEL_PX;
    } else if (op->size_bytes) {
        gw_format_bytes((double)op->size_bytes, bytes);
        snprintf(labels->text[0], sizeof(labels->text[0]), "%s  %s  %s", copy_word(op->kind), bytes, length);
        snprintf(labels->text[1], sizeof(labels->text[1]), "%s  %s", copy_word(op->kind), bytes);
        snprintf(labels->text[2], sizeof(labels->text[2]), "%s", bytes);
        labels->count = 3;
        labels->least_px = INFINITY;
    } else {
        const char *word = op->kind == GW_OP_KERNEL ? "kernel" : copy_word(op->kind);
        snprintf(labels->text[0], sizeof(labels->text[0]), "%s  %s", word, length);
        snprintf(labels->text[1], sizeof(labels->text[1]), "%s", word);
        labels->count = 2;
        labels->least_px = INFINITY;
    }
    free(name);
}

/* A collective by its kind and size, whose kernel's name says less; of its bar, the part that waits and the rest. */
static bool label_collective(const struct gw_model *model, const struct gw_timeline_data *data,
                             const struct gw_bar *bar, struct gw_bar_labels *labels)
{
    const struct gw_op *op = &model->ops[bar->ref];
    uint32_t index = data->collective_of_op ? data->collective_of_op[bar->ref] : GW_NONE;
    uint64_t from_ns = op->start_ns, to_ns = op->end_ns;
    char length[GW_UNIT_TEXT], bytes[GW_UNIT_TEXT];

    if (index == GW_NONE)
        return false;
    labels->least_px = INFINITY;
    if (bar->key == GW_PAINT_KEY(GW_PAINT_COMM, GW_COMM_WAITS))
        to_ns = data->arrived_ns[bar->ref];
    else if (bar->key == GW_PAINT_KEY(GW_PAINT_COMM, GW_COMM_TRANSFERS))
        from_ns = data->arrived_ns[bar->ref];
    gw_format_duration((double)(to_ns - from_ns), length);
    if (bar->key == GW_PAINT_KEY(GW_PAINT_COMM, GW_COMM_WAITS)) {
        snprintf(labels->text[0], sizeof(labels->text[0]), "waits for a rank  %s", length);
        snprintf(labels->text[1], sizeof(labels->text[1]), "waits  %s", length);
        snprintf(labels->text[2], sizeof(labels->text[2]), "%s", length);
    } else {
        const char *kind = gw_comm_kind_name((enum gw_comm_kind)model->collectives[index].kind);
        gw_format_bytes((double)model->collectives[index].size_bytes, bytes);
        snprintf(labels->text[0], sizeof(labels->text[0]), "%s  %s  %s", kind, bytes, length);
        snprintf(labels->text[1], sizeof(labels->text[1]), "%s  %s", kind, bytes);
        snprintf(labels->text[2], sizeof(labels->text[2]), "%s", bytes);
    }
    labels->count = 3;
    return true;
}

void gw_timeline_label(const struct gw_model *model, const struct gw_timeline_data *data,
                       const struct gw_timeline_row *row, const struct gw_bar *bar, struct gw_bar_labels *labels)
{
    char length[GW_UNIT_TEXT];

    labels->count = 2;
    labels->least_px = INFINITY;
    switch (row->kind) {
    case GW_ROW_THREAD: {
        const struct gw_call *call = &model->calls[bar->ref];
        gw_format_duration((double)(call->end_ns - call->begin_ns), length);
        snprintf(labels->text[0], sizeof(labels->text[0]), "%s  %s", gw_function_name(call->function),
                 call->flags & GW_CALL_NO_END ? "never returned" : length);
        snprintf(labels->text[1], sizeof(labels->text[1]), "%s", gw_function_name(call->function));
        labels->least_px = LEAST_LABEL_PX;
        break;
    }
    case GW_ROW_STREAM:
        if (!label_collective(model, data, bar, labels))
            label_op(model, &model->ops[bar->ref], labels);
        break;
    case GW_ROW_GAPS:
        labels->count = 0;
        break;
    }
}
