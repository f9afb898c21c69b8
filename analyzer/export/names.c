#include "analyzer/export/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the C++ ABI (libstdc++): returns a malloc'd string, or NULL with *status set. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* Bytes of the UTF-8 character at text, 0 when there is none: RFC 3629, table 3-7 of Unicode. */
static size_t character_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    unsigned char least = text[0] == 0xe0 ? 0xa0 : text[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char most = text[0] == 0xed ? 0x9f : text[0] == 0xf4 ? 0x8f : 0xbf;
    if (text[0] > 0xf4 || (length > 1 && (text[1] < least || text[1] > most)))
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

const char *gw_names_of_device(const struct gw_model *model, const struct gw_device *device,
                               char ret_name[GW_DEVICE_NAME_BYTES])
{
    const char *name = device->name ? device->name : "";
    bool is_simulated = model->run.device_kind && strcmp(model->run.device_kind, "simulated") == 0;
    snprintf(ret_name, GW_DEVICE_NAME_BYTES, "%.*s%s", GW_DEVICE_NAME_BYTES - 16, name,
             is_simulated && !strcasestr(name, "simulated") ? " (simulated)" : "");
    return ret_name;
}

void gw_names_device_lane(const struct gw_model *model, const struct gw_device *device, char *text, size_t size)
{
    char name[GW_DEVICE_NAME_BYTES];
    const char *label = device->label ? model->names[device->label - 1] : "";
    snprintf(text, size, "GPU %u %s%s%s", device->number, gw_names_of_device(model, device, name), *label ? ": " : "",
             label);
}

char *gw_names_utf8(const char *text)
{
    char *copy = strdup(text ? text : "");
    for (char *at = copy; at && *at;) {
        size_t length = character_length((const unsigned char *)at);
        if (length == 0)
            *at = '?';
        at += length ? length : 1;
    }
    return copy;
}

static char *demangle(const char *name)
{
    int status = 0;
    char *demangled = strncmp(name, "_Z", 2) == 0 ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    return demangled ? demangled : status == -1 ? NULL : gw_names_utf8(name);
}

int gw_names_init(struct gw_names *ret_names, const struct gw_model *model)
{
    *ret_names = (struct gw_names){.full = calloc(model->names_count + 1, sizeof(char *)),
                                   .brief = calloc(model->names_count + 1, sizeof(char *)),
                                   .count = model->names_count};
    if (!ret_names->full || !ret_names->brief)
        return -ENOMEM;
    for (size_t i = 0; i < model->names_count; i++) {
        ret_names->full[i] = demangle(model->names[i]);
        char *brief = ret_names->full[i] ? gw_kernel_name_short(model->names[i]) : NULL;
        ret_names->brief[i] = brief ? gw_names_utf8(brief) : NULL;
        free(brief);
        if (!ret_names->brief[i])
            return -ENOMEM;
    }
    return 0;
}

void gw_names_release(struct gw_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        if (names->full)
            free(names->full[i]);
        if (names->brief)
            free(names->brief[i]);
    }
    free(names->full);
    free(names->brief);
    *names = (struct gw_names){0};
}

const char *gw_names_of_op(const struct gw_names *names, const struct gw_op *op, bool brief)
{
    static const char *const kinds[GW_OP_KIND_COUNT] = {
        [GW_OP_KERNEL] = "unnamed kernel", [GW_OP_MEMSET] = "Memset",      [GW_OP_H2D] = "Memcpy HtoD",
        [GW_OP_D2H] = "Memcpy DtoH",       [GW_OP_D2D] = "Memcpy DtoD",    [GW_OP_P2P] = "Memcpy PtoP",
        [GW_OP_COMM] = "communication",    [GW_OP_GRAPH] = "graph replay", [GW_OP_HOST] = "host function"};
    if (op->name != GW_NONE && (op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM))
        return brief ? names->brief[op->name] : names->full[op->name];
    return kinds[op->kind];
}

int gw_correlator_init(struct gw_correlator *ret_correlator, const struct gw_model *model)
{
    ret_correlator->outer = malloc((model->threads_count + 1) * sizeof(*ret_correlator->outer));
    if (!ret_correlator->outer)
        return -ENOMEM;
    for (size_t t = 0; t < model->threads_count; t++)
        ret_correlator->outer[t] = GW_NONE;
    return 0;
}

uint32_t gw_correlator_next(struct gw_correlator *correlator, const struct gw_model *model, uint32_t call)
{
    uint32_t *outer = &correlator->outer[model->calls[call].thread];
    if (model->calls[call].depth == 1 || *outer == GW_NONE)
        *outer = call;
    return *outer + 1;
}

void gw_correlator_release(struct gw_correlator *correlator)
{
    free(correlator->outer);
    correlator->outer = NULL;
}

/* Either call may carry the details: that of the runtime, or the driver's within it. */
static const struct gw_call *call_with(const struct gw_model *model, const struct gw_op *op, enum gw_detail_kind kind)
{
    const uint32_t calls[] = {op->call, op->outer_call};
    for (size_t i = 0; i < 2; i++) {
        if (calls[i] != GW_NONE && model->calls[calls[i]].detail_kind == kind)
            return &model->calls[calls[i]];
    }
    return NULL;
}

const struct gw_copy *gw_copy_of_op(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_call *call = call_with(model, op, GW_DETAIL_COPY);
    return call ? &model->copies[call->detail] : NULL;
}

const struct gw_launch *gw_launch_of_op(const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_call *call = call_with(model, op, GW_DETAIL_LAUNCH);
    return call ? &model->launches[call->detail] : NULL;
}

struct gw_payload gw_payload_of(const struct gw_range *range)
{
    enum { UNSIGNED_64 = 1, SIGNED_64, DOUBLE, UNSIGNED_32, SIGNED_32, FLOAT }; /* nvtxPayloadType_t */
    const uint32_t low_bits = (uint32_t)range->payload;
    struct gw_payload payload = {.kind = GW_PAYLOAD_NONE};
    float low_real;
    switch (range->payload_type) {
    case UNSIGNED_64:
        return (struct gw_payload){.kind = GW_PAYLOAD_UNSIGNED, .count = range->payload};
    case UNSIGNED_32:
        return (struct gw_payload){.kind = GW_PAYLOAD_UNSIGNED, .count = low_bits};
    case SIGNED_64:
        return (struct gw_payload){.kind = GW_PAYLOAD_SIGNED, .number = (int64_t)range->payload};
    case SIGNED_32:
        return (struct gw_payload){.kind = GW_PAYLOAD_SIGNED, .number = (int32_t)low_bits};
    case DOUBLE:
        payload.kind = GW_PAYLOAD_REAL;
        memcpy(&payload.real, &range->payload, sizeof(payload.real));
        return payload;
    case FLOAT:
        memcpy(&low_real, &low_bits, sizeof(low_real));
        return (struct gw_payload){.kind = GW_PAYLOAD_REAL, .real = (double)low_real};
    default:
        return payload;
    }
}
