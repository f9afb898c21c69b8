#include "analyzer/model/import/kineto_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct word {
    const char *text;
    uint8_t meaning;
};

static uint8_t meaning_of(const struct word *words, size_t count, const char *text, size_t length, uint8_t otherwise)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i].text) == length && memcmp(words[i].text, text, length) == 0) {
            return words[i].meaning;
        }
    }
    return otherwise;
}
#define MEANING_OF(words, text, length, otherwise)                                                                     \
    meaning_of(words, sizeof(words) / sizeof((words)[0]), text, length, otherwise)

enum gw_kineto_category gw_kineto_category(const char *text, size_t length)
{
    static const struct word categories[] = {
        {"cuda_runtime", GW_KINETO_CALL}, {"cuda_driver", GW_KINETO_CALL},  {"kernel", GW_KINETO_KERNEL},
        {"gpu_memcpy", GW_KINETO_MEMCPY}, {"gpu_memset", GW_KINETO_MEMSET}, {"user_annotation", GW_KINETO_ANNOTATION},
        {"Runtime", GW_KINETO_CALL},      {"Kernel", GW_KINETO_KERNEL},     {"Memcpy", GW_KINETO_MEMCPY},
        {"Memset", GW_KINETO_MEMSET},
    };
    return (enum gw_kineto_category)MEANING_OF(categories, text, length, GW_KINETO_OTHER);
}

uint8_t gw_kineto_collective(const char *text, size_t length)
{
    static const struct word names[] = {
        {"allreduce", GW_COMM_ALL_REDUCE},
        {"allreduce_coalesced", GW_COMM_ALL_REDUCE},
        {"reduce", GW_COMM_REDUCE},
        {"_reduce_oop", GW_COMM_REDUCE},
        {"reduce_scatter", GW_COMM_REDUCE_SCATTER},
        {"_reduce_scatter_base", GW_COMM_REDUCE_SCATTER},
        {"reduce_scatter_tensor_coalesced", GW_COMM_REDUCE_SCATTER},
        {"broadcast", GW_COMM_BROADCAST},
        {"_broadcast_oop", GW_COMM_BROADCAST},
        {"allgather", GW_COMM_ALL_GATHER},
        {"all_gather", GW_COMM_ALL_GATHER},
        {"_allgather_base", GW_COMM_ALL_GATHER},
        {"allgather_into_tensor_coalesced", GW_COMM_ALL_GATHER},
        {"all_to_all", GW_COMM_ALL_TO_ALL},
        {"all_to_allv", GW_COMM_ALL_TO_ALL},
        {"gather", GW_COMM_GATHER},
        {"scatter", GW_COMM_SCATTER},
        {"send", GW_COMM_SEND},
        {"recv", GW_COMM_RECV},
    };
    return MEANING_OF(names, text, length, GW_KINETO_UNNAMED);
}

uint8_t gw_kineto_type(const char *text, size_t length)
{
    /* Numbered as ncclDataType_t; what NCCL has no type for is sent as another of the same width. */
    static const struct word types[] = {
        {"Char", 0},         {"Byte", 1},           {"Bool", 1},         {"Int", 2},    {"Long", 4},
        {"Half", 6},         {"Short", 6},          {"Float", 7},        {"Double", 8}, {"BFloat16", 9},
        {"ComplexFloat", 8}, {"Float8_e4m3fn", 10}, {"Float8_e5m2", 11},
    };
    return MEANING_OF(types, text, length, GW_KINETO_UNNAMED);
}

int gw_kineto_text_set(struct gw_kineto_text *text, const char *bytes, size_t length)
{
    length = length < GW_KINETO_TEXT_MAX ? length : GW_KINETO_TEXT_MAX;
    if (length >= text->room) {
        size_t room = length * 2 + 256;
        char *grown = realloc(text->bytes, room);
        if (!grown) {
            return -ENOMEM;
        }
        text->bytes = grown;
        text->room = room;
    }
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = '\0';
    text->length = length;
    return 0;
}

static bool has(const struct gw_kineto_event *event, uint32_t fields)
{
    return (event->seen & fields) == fields;
}

#define BIT(field) (1u << GW_KINETO_##field)

static uint64_t number(const struct gw_kineto_event *event, enum gw_kineto_field field, uint64_t otherwise)
{
    return event->seen & (1u << field) ? (uint64_t)event->numbers[field] : otherwise;
}

/* "Memcpy HtoD (Pinned -> Device)": direction, and what the memory on each side is. */
static void read_copy_name(const char *name, struct gw_import_op *op)
{
    static const struct {
        const char *text;
        uint8_t kind, direction;
    } directions[] = {
        {"HtoD", GW_OP_H2D, GW_COPY_H2D},         {"HtoA", GW_OP_H2D, GW_COPY_H2D},
        {"DtoH", GW_OP_D2H, GW_COPY_D2H},         {"AtoH", GW_OP_D2H, GW_COPY_D2H},
        {"PtoP", GW_OP_P2P, GW_COPY_P2P},         {"HtoH", GW_OP_HOST, GW_COPY_H2H},
        {"HostToDevice", GW_OP_H2D, GW_COPY_H2D}, {"DeviceToHost", GW_OP_D2H, GW_COPY_D2H}, /* AMD's */
    };
    static const struct {
        const char *text;
        uint8_t kind;
    } memories[] = {
        {"Pageable", GW_HOST_PAGEABLE}, {"Pinned", GW_HOST_PINNED}, {"Managed", GW_HOST_MANAGED},
        {"Unified", GW_HOST_MANAGED},   {"Device", GW_HOST_NOT},    {"Array", GW_HOST_NOT},
    };
    op->kind = GW_OP_D2D;
    op->direction = GW_COPY_D2D;
    op->src_kind = op->dst_kind = GW_HOST_UNKNOWN;
    for (size_t i = 0; i < sizeof(directions) / sizeof(directions[0]); i++) {
        if (strstr(name, directions[i].text)) {
            op->kind = directions[i].kind;
            op->direction = directions[i].direction;
        }
    }
    const char *src = strchr(name, '('), *dst = strstr(name, "-> ");
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        size_t length = strlen(memories[i].text);
        if (src && strncmp(src + 1, memories[i].text, length) == 0) {
            op->src_kind = memories[i].kind;
        }
        if (dst && strncmp(dst + 3, memories[i].text, length) == 0) {
            op->dst_kind = memories[i].kind;
        }
    }
}

static uint64_t larger(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

/* Of a kernel of NCCL that its profiler annotated; others have none. */
static int take_collective(struct gw_assembly *assembly, const struct gw_kineto_event *event, uint32_t *ret_collective)
{
    uint32_t needed = BIT(ELEMENTS_IN) | BIT(ELEMENTS_OUT) | BIT(GROUP_SIZE);
    uint32_t width = event->type == GW_KINETO_UNNAMED ? 0 : gw_comm_type_bytes(event->type);
    if (event->collective == GW_KINETO_UNNAMED || !width || !has(event, needed)) {
        return 0;
    }
    struct gw_import_collective collective = {
        .group = event->group ^ event->group_ranks, /* several groups may have one name */
        /* the whole vector is on the side that has more of it */
        .size_bytes = width * larger(number(event, GW_KINETO_ELEMENTS_IN, 0), number(event, GW_KINETO_ELEMENTS_OUT, 0)),
        .size = (uint32_t)number(event, GW_KINETO_GROUP_SIZE, 0),
        .rank = has(event, BIT(GROUP_RANK)) ? (int32_t)event->numbers[GW_KINETO_GROUP_RANK] : -1,
        .peer = (uint32_t)number(event, event->collective == GW_COMM_SEND ? GW_KINETO_TO : GW_KINETO_FROM, 0),
        .kind = event->collective,
        .type = event->type,
    };
    return gw_assembly_add_collective(assembly, &collective, ret_collective);
}

static int take_op(struct gw_assembly *assembly, const struct gw_kineto_event *event)
{
    struct gw_import_op op = {
        .start_ns = (uint64_t)event->numbers[GW_KINETO_TS],
        .end_ns = (uint64_t)(event->numbers[GW_KINETO_TS] + event->numbers[GW_KINETO_DUR]),
        .correlation = number(event, GW_KINETO_CORRELATION, UINT64_MAX),
        .size_bytes = number(event, GW_KINETO_BYTES, 0),
        .process = GW_NONE,
        .device = (uint32_t)number(event, GW_KINETO_DEVICE, 0),
        .stream = (uint32_t)number(event, GW_KINETO_STREAM, 0),
        .name = GW_NONE,
        .graph_node = (uint32_t)number(event, GW_KINETO_GRAPH_NODE, GW_NONE),
        .shared_bytes = (uint32_t)number(event, GW_KINETO_SHARED, 0),
        .kind = GW_OP_KERNEL,
        .collective = GW_NONE,
    };
    if (event->category == GW_KINETO_MEMSET) {
        op.kind = GW_OP_MEMSET;
    } else if (event->category == GW_KINETO_MEMCPY) {
        read_copy_name(event->name.bytes, &op);
    } else {
        int status = gw_builder_intern(&assembly->builder, event->name.bytes, &op.name);
        status = status ? status : take_collective(assembly, event, &op.collective);
        if (status) {
            return status;
        }
        memcpy(op.grid, event->grid, sizeof(op.grid));
        memcpy(op.block, event->block, sizeof(op.block));
    }
    return gw_assembly_add_op(assembly, &op);
}

static int take_rank(struct gw_kineto_labels *labels, const struct gw_kineto_event *event)
{
    const int64_t rank = event->numbers[GW_KINETO_RANK];
    if (!has(event, BIT(PID) | BIT(RANK)) || rank < 0 || rank > INT32_MAX) {
        return 0;
    }
    if (GW_GROW(labels->list, labels->list_count)) {
        return -ENOMEM;
    }
    labels->list[labels->list_count++] = (struct gw_kineto_label){.pid = (uint32_t)event->numbers[GW_KINETO_PID],
                                                                  .of_process = true,
                                                                  .rank = (int32_t)rank,
                                                                  .ranks = (uint32_t)number(event, GW_KINETO_RANKS, 0)};
    return 0;
}

static int take_label(struct gw_kineto_labels *labels, const struct gw_kineto_event *event)
{
    bool of_process = strcmp(event->name.bytes, "process_name") == 0;
    if (strcmp(event->name.bytes, "process_labels") == 0) {
        return take_rank(labels, event);
    }
    if ((!of_process && strcmp(event->name.bytes, "thread_name") != 0) || !event->args_name.length ||
        !has(event, BIT(PID))) {
        return 0;
    }
    char *text = strdup(event->args_name.bytes);
    if (!text || GW_GROW(labels->list, labels->list_count)) {
        free(text);
        return -ENOMEM;
    }
    labels->list[labels->list_count++] = (struct gw_kineto_label){.pid = (uint32_t)event->numbers[GW_KINETO_PID],
                                                                  .tid = (uint32_t)number(event, GW_KINETO_TID, 0),
                                                                  .of_process = of_process,
                                                                  .text = text};
    return 0;
}

int gw_kineto_take(struct gw_assembly *assembly, struct gw_kineto_labels *labels, const struct gw_kineto_event *event)
{
    if (event->phase == 'M') {
        return event->name.length ? take_label(labels, event) : 0;
    }
    if (event->phase != 'X' || event->category == GW_KINETO_OTHER) {
        return 0;
    }
    bool is_host = event->category == GW_KINETO_CALL || event->category == GW_KINETO_ANNOTATION;
    uint32_t needed = BIT(TS) | BIT(DUR) | (is_host ? BIT(PID) | BIT(TID) : BIT(DEVICE) | BIT(STREAM));
    int64_t end_ns;
    if (!has(event, needed) || !event->name.length || event->numbers[GW_KINETO_TS] < 0 ||
        (!is_host && event->numbers[GW_KINETO_DEVICE] < 0) || event->numbers[GW_KINETO_DUR] < 0 ||
        __builtin_add_overflow(event->numbers[GW_KINETO_TS], event->numbers[GW_KINETO_DUR], &end_ns)) {
        assembly->skipped_events++;
        return 0;
    }
    uint32_t pid = (uint32_t)event->numbers[GW_KINETO_PID], tid = (uint32_t)event->numbers[GW_KINETO_TID];
    if (event->category == GW_KINETO_ANNOTATION) {
        return gw_assembly_add_range(assembly, pid, tid, (uint64_t)event->numbers[GW_KINETO_TS], (uint64_t)end_ns,
                                     event->name.bytes);
    }
    if (event->category == GW_KINETO_CALL) {
        struct gw_import_call call = {.pid = pid,
                                      .tid = tid,
                                      .begin_ns = (uint64_t)event->numbers[GW_KINETO_TS],
                                      .end_ns = (uint64_t)end_ns,
                                      .correlation = number(event, GW_KINETO_CORRELATION, 0),
                                      .function = event->name.bytes};
        return gw_assembly_add_call(assembly, &call);
    }
    return take_op(assembly, event);
}

static int replace(char **text, const char *with)
{
    char *copy = strdup(with);
    if (!copy) {
        return -ENOMEM;
    }
    free(*text);
    *text = copy;
    return 0;
}

int gw_kineto_apply_labels(struct gw_builder *builder, const struct gw_kineto_labels *labels)
{
    int status = 0;
    for (size_t i = 0; i < labels->list_count && !status; i++) {
        const struct gw_kineto_label *label = &labels->list[i];
        const uint32_t *process = gw_map_find(&builder->processes, label->pid, 0);
        const uint32_t *thread = process ? gw_map_find(&builder->threads, label->tid, *process) : NULL;
        if (process && !label->text) {
            builder->model->processes[*process].rank = label->rank;
            builder->model->processes[*process].ranks = label->ranks;
        } else if (label->of_process && process) {
            status = replace(&builder->model->processes[*process].exe, label->text);
        } else if (!label->of_process && thread) {
            status = replace(&builder->model->threads[*thread].name, label->text);
        }
    }
    return status;
}

bool gw_kineto_names_devices_of_xla(const struct gw_kineto_labels *labels)
{
    for (size_t i = 0; i < labels->list_count; i++) {
        const struct gw_kineto_label *label = &labels->list[i];
        if (label->of_process && label->text && strncmp(label->text, "/device:", strlen("/device:")) == 0) {
            return true;
        }
    }
    return false;
}

int gw_kineto_labels_append(struct gw_kineto_labels *labels, struct gw_kineto_labels *later)
{
    for (size_t i = 0; i < later->list_count; i++) {
        if (GW_GROW(labels->list, labels->list_count)) {
            return -ENOMEM;
        }
        labels->list[labels->list_count++] = later->list[i];
        later->list[i].text = NULL;
    }
    return 0;
}

void gw_kineto_labels_clear(struct gw_kineto_labels *labels)
{
    for (size_t i = 0; i < labels->list_count; i++) {
        free(labels->list[i].text);
    }
    free(labels->list);
    *labels = (struct gw_kineto_labels){0};
}
