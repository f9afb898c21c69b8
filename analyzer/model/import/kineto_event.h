/* What one object of a Kineto trace says, collected by the parser, and what it means for the model. */
#ifndef GW_ANALYZER_MODEL_IMPORT_KINETO_EVENT_H
#define GW_ANALYZER_MODEL_IMPORT_KINETO_EVENT_H

#include "analyzer/model/import/assembly.h"

enum gw_kineto_category {
    GW_KINETO_OTHER = 0,
    GW_KINETO_CALL,
    GW_KINETO_KERNEL,
    GW_KINETO_MEMCPY,
    GW_KINETO_MEMSET,
    GW_KINETO_ANNOTATION,
};

/* The category a "cat" text names, in the spellings of all versions. */
enum gw_kineto_category gw_kineto_category(const char *text, size_t length);

/* Text that grows to what is needed; what a longer text has beyond GW_KINETO_TEXT_MAX bytes is cut. */
#define GW_KINETO_TEXT_MAX 65535u
struct gw_kineto_text {
    char *bytes; /* NUL-terminated once set */
    size_t length, room;
};
int gw_kineto_text_set(struct gw_kineto_text *text, const char *bytes, size_t length);

/* seen: which of the numbers were there */
enum gw_kineto_field {
    GW_KINETO_PID,
    GW_KINETO_TID,
    GW_KINETO_TS,
    GW_KINETO_DUR,
    GW_KINETO_DEVICE,
    GW_KINETO_STREAM,
    GW_KINETO_CORRELATION,
    GW_KINETO_BYTES,
    GW_KINETO_SHARED,
    GW_KINETO_GRAPH_NODE,
    GW_KINETO_ELEMENTS_IN, /* of a collective */
    GW_KINETO_ELEMENTS_OUT,
    GW_KINETO_GROUP_SIZE,
    GW_KINETO_GROUP_RANK,
    GW_KINETO_FROM, /* of a message: ranks of the group */
    GW_KINETO_TO,
    GW_KINETO_RANK, /* of a process, and how many there are: written by our own export only */
    GW_KINETO_RANKS,
    GW_KINETO_NUMBER_COUNT
};

struct gw_kineto_event {
    char phase; /* the first character of "ph" */
    uint8_t category;
    uint32_t seen;                           /* bit for each number */
    int64_t numbers[GW_KINETO_NUMBER_COUNT]; /* TS and DUR in ns */
    uint32_t grid[3], block[3];
    struct gw_kineto_text name;
    struct gw_kineto_text args_name; /* of metadata events */
    uint8_t collective, type;        /* enum gw_comm_kind and ncclDataType_t, GW_KINETO_UNNAMED where not given */
    uint64_t group, group_ranks;     /* hashes of the communicator's name, and of the list of its ranks */
};
#define GW_KINETO_UNNAMED UINT8_MAX

/* The kind of a collective, and the type of its elements, as PyTorch spells them; GW_KINETO_UNNAMED for others. */
uint8_t gw_kineto_collective(const char *text, size_t length);
uint8_t gw_kineto_type(const char *text, size_t length);

/* Names and ranks that metadata events give to processes and threads, which may come after everything else. */
struct gw_kineto_label {
    uint32_t pid, tid;
    bool of_process;
    char *text; /* NULL: it is the process's rank that is told */
    int32_t rank;
    uint32_t ranks;
};

struct gw_kineto_labels {
    struct gw_kineto_label *list;
    size_t list_count;
};

/* Adds the event to the assembly or the labels. Returns 0, -ENOMEM or -EFBIG. */
int gw_kineto_take(struct gw_assembly *assembly, struct gw_kineto_labels *labels, const struct gw_kineto_event *event);

/* Tells those processes and threads that calls and ranges made known. Returns 0 or -ENOMEM. */
int gw_kineto_apply_labels(struct gw_builder *builder, const struct gw_kineto_labels *labels);

/* Whether processes are named as XLA's profiler names devices. */
bool gw_kineto_names_devices_of_xla(const struct gw_kineto_labels *labels);

/* Moves the later labels behind the others. Returns 0 or -ENOMEM. */
int gw_kineto_labels_append(struct gw_kineto_labels *labels, struct gw_kineto_labels *later);

void gw_kineto_labels_clear(struct gw_kineto_labels *labels);

#endif
