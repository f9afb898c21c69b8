/*
 * Prints what the model of an imported trace holds, one fact a line, for check_kineto.py and check_nsys.py to compare
 * with what they compute themselves:
 *
 *   gw-import-facts [--steps | --parts N] FILE
 *
 * --parts: a text file is parsed in as many parts, however small it is.
 *
 * Unions are of whole devices, by sweeping over the operations; nothing of the budget's code is used.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/build.h"
#include "analyzer/model/import/import.h"
#include "analyzer/model/import/json_file.h"
#include "shim/api/functions.h"

struct interval {
    uint64_t begin_ns, end_ns;
};

static int by_begin(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static uint64_t union_ns(struct interval *intervals, size_t count)
{
    uint64_t sum = 0, reached = 0;
    qsort(intervals, count, sizeof(*intervals), by_begin);
    for (size_t i = 0; i < count; i++) {
        uint64_t from = intervals[i].begin_ns > reached ? intervals[i].begin_ns : reached;
        if (intervals[i].end_ns > from) {
            sum += intervals[i].end_ns - from;
        }
        reached = intervals[i].end_ns > reached ? intervals[i].end_ns : reached;
    }
    return sum;
}

enum group { GROUP_KERNEL, GROUP_COMM, GROUP_COPY, GROUP_MEMSET, GROUP_NONE, GROUP_BUSY };

static enum group group_of(const struct gw_op *op)
{
    static const enum group groups[GW_OP_KIND_COUNT] = {
        [GW_OP_KERNEL] = GROUP_KERNEL, [GW_OP_MEMSET] = GROUP_MEMSET, [GW_OP_H2D] = GROUP_COPY,
        [GW_OP_D2H] = GROUP_COPY,      [GW_OP_D2D] = GROUP_COPY,      [GW_OP_P2P] = GROUP_COPY,
        [GW_OP_COMM] = GROUP_COMM,     [GW_OP_GRAPH] = GROUP_KERNEL,  [GW_OP_HOST] = GROUP_NONE};
    return groups[op->kind];
}

static void print_device(const struct gw_model *model, uint32_t device, struct interval *scratch)
{
    static const struct {
        enum group group;
        const char *name;
    } groups[] = {{GROUP_KERNEL, "kernel"},
                  {GROUP_COMM, "comm"},
                  {GROUP_COPY, "copy"},
                  {GROUP_MEMSET, "memset"},
                  {GROUP_BUSY, "busy"}};
    uint64_t first_ns = UINT64_MAX, last_ns = 0, busy_ns = 0;
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        size_t count = 0;
        for (size_t i = 0; i < model->ops_count; i++) {
            const struct gw_op *op = &model->ops[i];
            enum group group = group_of(op);
            if (model->streams[op->stream].device != device ||
                (groups[g].group == GROUP_BUSY ? group == GROUP_NONE : group != groups[g].group)) {
                continue;
            }
            scratch[count++] = (struct interval){op->start_ns, op->end_ns};
            first_ns = op->start_ns < first_ns ? op->start_ns : first_ns;
            last_ns = op->end_ns > last_ns ? op->end_ns : last_ns;
        }
        busy_ns = union_ns(scratch, count);
        printf("device %u %s_count %zu\ndevice %u %s_ns %" PRIu64 "\n", model->devices[device].number, groups[g].name,
               count, model->devices[device].number, groups[g].name, busy_ns);
    }
    printf("device %u idle_ns %" PRIu64 "\ndevice %u name %s\n", model->devices[device].number,
           last_ns - first_ns - busy_ns, model->devices[device].number,
           model->devices[device].name ? model->devices[device].name : "?");
}

/* What must hold of every model, whatever the trace. */
static int check_order(const struct gw_model *model)
{
    int faults = 0;
    for (size_t i = 1; i < model->calls_count; i++) {
        faults += model->calls[i - 1].begin_ns > model->calls[i].begin_ns;
    }
    for (size_t s = 0; s < model->streams_count; s++) {
        const uint32_t *ops = model->stream_ops + model->streams[s].op_first;
        for (uint32_t i = 0; i < model->streams[s].op_count; i++) {
            faults += model->ops[ops[i]].stream != s || (i && ops[i - 1] >= ops[i]);
        }
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        faults += (op->call == GW_NONE) != ((op->flags & GW_OP_NO_CALL) != 0) || op->end_ns < op->start_ns;
        faults += op->outer_call != GW_NONE && model->calls[op->outer_call].depth != 1;
    }
    return faults;
}

int main(int argc, char **argv)
{
    bool with_steps = argc == 3 && strcmp(argv[1], "--steps") == 0;
    size_t parts = argc == 4 && strcmp(argv[1], "--parts") == 0 ? strtoul(argv[2], NULL, 10) : 0;
    struct gw_model *model = NULL;
    struct gw_error error = {{0}};
    if (argc != 2 && !with_steps && !parts) {
        fprintf(stderr, "usage: gw-import-facts [--steps | --parts N] FILE\n");
        return 2;
    }
    const char *path = argv[argc - 1];
    int status = with_steps ? gw_model_build(path, NULL, &model, &error)
                 : parts    ? gw_json_read(path, parts, &model, &error)
                            : gw_model_import(path, &model, &error);
    if (status) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    struct interval *scratch = calloc(model->ops_count + 1, sizeof(*scratch));
    if (!scratch) {
        return 1;
    }
    size_t untied = 0, details = model->launches_count + model->copies_count + model->memsets_count;
    for (size_t i = 0; i < model->ops_count; i++) {
        untied += model->ops[i].call == GW_NONE;
    }
    printf("faults %d\n", check_order(model));
    printf("calls %zu\nops %zu\nuntied %zu\ndetails %zu\n", model->calls_count, model->ops_count, untied, details);
    printf("realtime_offset_ns %" PRId64 "\n", model->run.realtime_offset_ns);
    printf("timed %s\n", model->timing == GW_TIMING_OFF ? "no" : "yes");
    for (size_t p = 0; p < model->processes_count; p++) {
        printf("process %u rank %d\n", model->processes[p].pid, model->processes[p].rank);
    }
    for (size_t t = 0; t < model->threads_count; t++) {
        printf("thread %u calls %u name %s\n", model->threads[t].tid, model->threads[t].call_count,
               model->threads[t].name ? model->threads[t].name : "?");
    }
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        const struct gw_communicator *communicator = &model->communicators[collective->communicator];
        printf("collective %s %" PRIu64 " bytes at %" PRIu64 " rank %u of %u number %u\n",
               gw_comm_kind_name((enum gw_comm_kind)collective->kind), collective->size_bytes,
               model->ops[collective->op].start_ns, communicator->rank, communicator->size, collective->sequence);
    }
    for (uint32_t d = 0; d < model->devices_count; d++) {
        print_device(model, d, scratch);
    }
    for (size_t i = 0; i < model->calls_count; i++) {
        printf("call %" PRIu64 " %" PRIu64 " %" PRIu64 " %s depth %u\n", gw_call_id(model, (uint32_t)i),
               model->calls[i].begin_ns, model->calls[i].end_ns, gw_function_name(model->calls[i].function),
               model->calls[i].depth);
        if (model->calls[i].detail_kind == GW_DETAIL_COPY) {
            static const char *const kinds[] = {[GW_HOST_NOT] = "device",
                                                [GW_HOST_PAGEABLE] = "pageable",
                                                [GW_HOST_PINNED] = "pinned",
                                                [GW_HOST_MANAGED] = "managed",
                                                [GW_HOST_UNKNOWN] = "unknown"};
            const struct gw_copy *copy = &model->copies[model->calls[i].detail];
            printf("copy of call %" PRIu64 " from %s to %s\n", gw_call_id(model, (uint32_t)i), kinds[copy->src_kind],
                   kinds[copy->dst_kind]);
        }
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        printf("op %s %" PRIu64 " %" PRIu64 " stream %u bytes %" PRIu64 " call ", gw_op_kind_name(op->kind),
               op->start_ns, op->end_ns, model->streams[op->stream].number, (uint64_t)op->size_bytes);
        if (op->call == GW_NONE) {
            printf("none\n");
        } else {
            printf("%" PRIu64 "\n", gw_call_id(model, op->call));
        }
    }
    for (size_t i = 0; i < model->ranges_count; i++) {
        printf("range %" PRIu64 " %" PRIu64 " %u %s\n", model->ranges[i].begin_ns, model->ranges[i].end_ns,
               model->threads[model->ranges[i].thread].tid, model->names[model->ranges[i].name]);
    }
    for (size_t i = 0; i < model->coverages_count; i++) {
        printf("coverage %u %s: %s\n", model->coverages[i].kind, model->coverages[i].name, model->coverages[i].detail);
    }
    for (size_t i = 0; i < model->steps_count; i++) {
        printf("step %" PRIu64 " %" PRIu64 " warmup %d\n", model->steps[i].begin_ns, model->steps[i].end_ns,
               model->steps[i].warmup);
    }
    if (with_steps) {
        printf("steps_method %s confidence %.3f\n", model->steps_method ? model->steps_method : "none",
               model->steps_confidence);
    }
    free(scratch);
    gw_model_destroy(model);
    return 0;
}
