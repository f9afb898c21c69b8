/*
 * What the file exports share about a model: names in full and folded, correlation numbers. Internal to
 * analyzer/export.
 */
#ifndef GW_ANALYZER_EXPORT_NAMES_H
#define GW_ANALYZER_EXPORT_NAMES_H

#include "analyzer/model/model.h"

/* By index into gw_model.names; all UTF-8. */
struct gw_names {
    char **full;  /* demangled, in full */
    char **brief; /* demangled, arguments folded */
    size_t count;
};

/* Returns 0 or -ENOMEM; release with gw_names_release in both cases. */
int gw_names_init(struct gw_names *ret_names, const struct gw_model *model);
void gw_names_release(struct gw_names *names);

/* The name of an operation, in full or folded: of its kernel, else of its kind ("Memset"). Static or of names. */
const char *gw_names_of_op(const struct gw_names *names, const struct gw_op *op, bool brief);

/* The name of a device as other tools are told it: one that is simulated says so, for they know no other place to say
 * it. Cut to the size of ret_name, which is returned. */
#define GW_DEVICE_NAME_BYTES 256
const char *gw_names_of_device(const struct gw_model *model, const struct gw_device *device,
                               char ret_name[GW_DEVICE_NAME_BYTES]);

/* What its lane is called: "GPU 0 NVIDIA H100", and the name that the program gave it, if it did. */
void gw_names_device_lane(const struct gw_model *model, const struct gw_device *device, char *text, size_t size);

/* A copy of text in which what is no UTF-8 reads '?'; the caller frees. NULL text gives "". NULL: no memory. */
char *gw_names_utf8(const char *text);

/* Walks the calls of a model in order of begin and numbers them: a call and those nested in it share the number of the
 * outermost, its index + 1, as an operation's outer_call + 1. */
struct gw_correlator {
    uint32_t *outer; /* by thread: index of its latest depth-1 call */
};
int gw_correlator_init(struct gw_correlator *ret_correlator, const struct gw_model *model); /* 0 or -ENOMEM */
uint32_t gw_correlator_next(struct gw_correlator *correlator, const struct gw_model *model, uint32_t call);
void gw_correlator_release(struct gw_correlator *correlator);

/* The copy that an operation carries out, or NULL when its call does not say. */
const struct gw_copy *gw_copy_of_op(const struct gw_model *model, const struct gw_op *op);

/* The launch behind an operation, or NULL. */
const struct gw_launch *gw_launch_of_op(const struct gw_model *model, const struct gw_op *op);

/* The number that a program gave with a range. */
struct gw_payload {
    enum { GW_PAYLOAD_NONE, GW_PAYLOAD_UNSIGNED, GW_PAYLOAD_SIGNED, GW_PAYLOAD_REAL } kind;
    union {
        uint64_t count;
        int64_t number;
        double real;
    };
};
struct gw_payload gw_payload_of(const struct gw_range *range);

/* nvtxPayloadType_t of nvToolsExt.h, from 1 on; Nsight Systems has a column for each, in this order. */
enum { GW_PAYLOAD_TYPES = 6 };

/* True for operations that ran on a device at known times: what timelines can show. */
static inline bool gw_op_is_shown(const struct gw_op *op)
{
    return op->kind != GW_OP_HOST && !(op->flags & GW_OP_UNTIMED);
}

#endif
