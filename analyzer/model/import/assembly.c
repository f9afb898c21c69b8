#include "analyzer/model/import/assembly.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "analyzer/model/import/tie.h"
#include "analyzer/read/clock_shift.h"
#include "shim/api/functions.h"

#define UNKNOWN_SAID_MAX 8u
#define ITEMS_MAX ((size_t)GW_NONE - 1)
#define INPUT_SHIFT 40

int gw_assembly_init(struct gw_assembly *assembly, enum gw_correlation_scope scope)
{
    *assembly = (struct gw_assembly){.scope = scope,
                                     .unseen = GW_UNSEEN_CPU_TIME | GW_UNSEEN_ORDERS | GW_UNSEEN_NCCL |
                                               GW_UNSEEN_BYTES | GW_UNSEEN_COMPILERS};
    assembly->builder.model = calloc(1, sizeof(*assembly->builder.model));
    return assembly->builder.model ? 0 : -ENOMEM;
}

void gw_assembly_clear(struct gw_assembly *assembly)
{
    for (size_t i = 0; i < assembly->unknown_names_count; i++) {
        free(assembly->unknown_names[i]);
    }
    free(assembly->unknown_names);
    gw_map_clear(&assembly->unknown_functions);
    free(assembly->ops);
    free(assembly->collectives);
    gw_model_destroy(assembly->builder.model);
    gw_builder_clear(&assembly->builder);
    *assembly = (struct gw_assembly){0};
}

/* Length of the name without a trailing "_v7000". */
static size_t length_without_version(const char *name)
{
    size_t length = strlen(name), end = length;
    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') {
        end--;
    }
    return end < length && end >= 2 && name[end - 1] == 'v' && name[end - 2] == '_' ? end - 2 : length;
}

/* The CUDA function that a function of AMD's HIP follows: of the same name but for a few. GW_FUNCTION_NONE: none. */
static unsigned find_hip(const char *name)
{
    static const struct {
        const char *hip, *cuda;
    } others[] = {{"hipExtLaunchKernel", "cudaLaunchKernel"},
                  {"hipExtModuleLaunchKernel", "cuLaunchKernel"},
                  {"hipModuleLaunchKernel", "cuLaunchKernel"},
                  {"hipHostMalloc", "cudaHostAlloc"},
                  {"hipHostFree", "cudaFreeHost"},
                  {"hipMemcpyWithStream", "cudaMemcpy"}};
    static const char *const prefixes[] = {"cuda", "cu"};
    unsigned id = GW_FUNCTION_NONE;
    char cuda[128];
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(name, others[i].hip) == 0) {
            return gw_function_find(others[i].cuda);
        }
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && id == GW_FUNCTION_NONE; i++) {
        if (snprintf(cuda, sizeof(cuda), "%s%s", prefixes[i], name + strlen("hip")) < (int)sizeof(cuda)) {
            id = gw_function_find(cuda);
            id = id == GW_FUNCTION_NONE ? gw_function_first(cuda) : id;
        }
    }
    return id;
}

/* The row of an exported name as profilers spell it: Nsight Systems adds the version of the call's parameters, and
 * older profilers name the base where this table's toolkit exports a versioned symbol. */
static unsigned find_function(struct gw_assembly *assembly, const char *name)
{
    char bare[128];
    if (strncmp(name, "hip", 3) == 0) {
        unsigned followed = find_hip(name);
        assembly->hip_calls += followed != GW_FUNCTION_NONE;
        return followed;
    }
    unsigned id = gw_function_find(name);
    size_t length = length_without_version(name);
    if (id == GW_FUNCTION_NONE && length < sizeof(bare)) {
        memcpy(bare, name, length);
        bare[length] = '\0';
        id = gw_function_find(bare);
        id = id == GW_FUNCTION_NONE ? gw_function_first(bare) : id;
    }
    return id;
}

static int count_unknown(struct gw_assembly *assembly, const char *name, uint32_t calls)
{
    uint64_t hash = XXH3_64bits(name, strlen(name));
    uint32_t *known = gw_map_find(&assembly->unknown_functions, hash, 0);
    if (known) {
        *known += calls;
        return 0;
    }
    char *copy = strdup(name);
    if (!copy || GW_GROW(assembly->unknown_names, assembly->unknown_names_count) ||
        gw_map_insert(&assembly->unknown_functions, hash, 0, calls)) {
        free(copy);
        return -ENOMEM;
    }
    assembly->unknown_names[assembly->unknown_names_count++] = copy;
    return 0;
}

static uint32_t unknown_calls(const struct gw_assembly *assembly, const char *name)
{
    const uint32_t *calls = gw_map_find(&assembly->unknown_functions, XXH3_64bits(name, strlen(name)), 0);
    return calls ? *calls : 0;
}

static int put_call(struct gw_model *model, const struct gw_call *call, uint64_t correlation)
{
    if (model->calls_count >= ITEMS_MAX) {
        return -EFBIG;
    }
    if (GW_GROW(model->calls, model->calls_count) || GW_GROW(model->call_ids, model->call_ids_count)) {
        return -ENOMEM;
    }
    model->call_ids[model->call_ids_count++] = correlation;
    model->calls[model->calls_count++] = *call;
    return 0;
}

static int put_range(struct gw_model *model, const struct gw_range *range)
{
    if (model->ranges_count >= ITEMS_MAX) {
        return -EFBIG;
    }
    if (GW_GROW(model->ranges, model->ranges_count)) {
        return -ENOMEM;
    }
    model->ranges[model->ranges_count++] = *range;
    return 0;
}

int gw_assembly_add_call(struct gw_assembly *assembly, const struct gw_import_call *call)
{
    uint32_t thread = gw_builder_thread(&assembly->builder, 0, call->pid, call->tid);
    unsigned function = find_function(assembly, call->function);
    if (thread == GW_NONE || (function == GW_FUNCTION_NONE && count_unknown(assembly, call->function, 1))) {
        return -ENOMEM;
    }
    struct gw_call added = {.begin_ns = call->begin_ns,
                            .end_ns = call->end_ns,
                            .thread = thread,
                            .detail = GW_NONE,
                            .result = call->result,
                            .function = (uint16_t)function,
                            .depth = 1};
    return put_call(assembly->builder.model, &added, call->correlation);
}

int gw_assembly_add_collective(struct gw_assembly *assembly, const struct gw_import_collective *collective,
                               uint32_t *ret_index)
{
    if (assembly->collectives_count >= ITEMS_MAX) {
        return -EFBIG;
    }
    if (GW_GROW(assembly->collectives, assembly->collectives_count)) {
        return -ENOMEM;
    }
    *ret_index = (uint32_t)assembly->collectives_count;
    assembly->collectives[assembly->collectives_count++] = *collective;
    return 0;
}

int gw_assembly_add_op(struct gw_assembly *assembly, const struct gw_import_op *op)
{
    if (assembly->ops_count >= ITEMS_MAX) {
        return -EFBIG;
    }
    if (GW_GROW(assembly->ops, assembly->ops_count)) {
        return -ENOMEM;
    }
    struct gw_import_op *added = &assembly->ops[assembly->ops_count++];
    *added = *op;
    if (op->kind == GW_OP_KERNEL && op->name != GW_NONE) {
        added->kind = gw_builder_kernel_kind(assembly->builder.model, op->name);
    }
    return 0;
}

int gw_assembly_add_range(struct gw_assembly *assembly, uint32_t pid, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
                          const char *name)
{
    struct gw_range range = {.begin_ns = begin_ns, .end_ns = end_ns, .domain = GW_NONE};
    range.thread = gw_builder_thread(&assembly->builder, 0, pid, tid);
    if (range.thread == GW_NONE || gw_builder_intern(&assembly->builder, name, &range.name)) {
        return -ENOMEM;
    }
    return put_range(assembly->builder.model, &range);
}

/* What an appended assembly's numbers and times become. */
struct appended {
    uint32_t *names, *processes, *threads;
    uint32_t input;
    const struct gw_clock_shift *shift;
};

static uint64_t shifted(const struct appended *as, uint64_t time_ns)
{
    return as->shift ? gw_clock_shifted(as->shift, time_ns) : time_ns;
}

/* Ids of different traces are told apart by bits that no profiler's correlation ids use. */
static uint64_t renumbered(const struct appended *as, uint64_t correlation)
{
    return correlation == UINT64_MAX ? correlation : correlation + ((uint64_t)as->input << INPUT_SHIFT);
}

static int copy_text(char **target, const char *text)
{
    if (!text || *target) {
        return 0;
    }
    *target = strdup(text);
    return *target ? 0 : -ENOMEM;
}

static int append_owners(struct gw_builder *builder, const struct gw_model *from, const struct appended *as)
{
    int status = 0;
    for (size_t i = 0; i < from->names_count && !status; i++) {
        status = gw_builder_intern(builder, from->names[i], &as->names[i]);
    }
    for (size_t i = 0; i < from->processes_count && !status; i++) {
        const struct gw_process *process = &from->processes[i];
        as->processes[i] = gw_builder_process(builder, as->input, process->pid);
        if (as->processes[i] == GW_NONE) {
            return -ENOMEM;
        }
        struct gw_process *added = &builder->model->processes[as->processes[i]];
        added->rank = process->rank >= 0 ? process->rank : added->rank;
        added->ranks = process->ranks ? process->ranks : added->ranks;
        status = copy_text(&added->exe, process->exe);
    }
    for (size_t i = 0; i < from->threads_count && !status; i++) {
        const struct gw_thread *thread = &from->threads[i];
        as->threads[i] = gw_builder_thread(builder, as->input, from->processes[thread->process].pid, thread->tid);
        status = as->threads[i] == GW_NONE ? -ENOMEM
                                           : copy_text(&builder->model->threads[as->threads[i]].name, thread->name);
    }
    return status;
}

static int append_host(struct gw_model *model, const struct gw_model *from, const struct appended *as)
{
    int status = 0;
    for (size_t i = 0; i < from->calls_count && !status; i++) {
        struct gw_call call = from->calls[i];
        call.thread = as->threads[call.thread];
        call.begin_ns = shifted(as, call.begin_ns);
        call.end_ns = shifted(as, call.end_ns);
        status = put_call(model, &call, renumbered(as, from->call_ids[i]));
    }
    for (size_t i = 0; i < from->ranges_count && !status; i++) {
        struct gw_range range = from->ranges[i];
        range.thread = as->threads[range.thread];
        range.name = as->names[range.name];
        range.begin_ns = shifted(as, range.begin_ns);
        range.end_ns = shifted(as, range.end_ns);
        status = put_range(model, &range);
    }
    return status;
}

static int append_ops(struct gw_assembly *assembly, const struct gw_assembly *later, const struct appended *as)
{
    const struct gw_model *from = later->builder.model;
    uint32_t first_collective = (uint32_t)assembly->collectives_count, added, process = GW_NONE;
    int status = 0;
    if (as->input) {
        process = from->processes_count ? as->processes[0] : gw_builder_process(&assembly->builder, as->input, 0);
        status = process == GW_NONE ? -ENOMEM : 0;
    }
    for (size_t i = 0; i < later->collectives_count && !status; i++) {
        status = gw_assembly_add_collective(assembly, &later->collectives[i], &added);
    }
    for (size_t i = 0; i < later->ops_count && !status; i++) {
        struct gw_import_op op = later->ops[i];
        op.name = op.name == GW_NONE ? GW_NONE : as->names[op.name];
        op.collective += op.collective == GW_NONE ? 0 : first_collective;
        op.correlation = renumbered(as, op.correlation);
        op.process = process;
        op.start_ns = shifted(as, op.start_ns);
        op.end_ns = shifted(as, op.end_ns);
        status = gw_assembly_add_op(assembly, &op);
    }
    return status;
}

int gw_assembly_append(struct gw_assembly *assembly, const struct gw_assembly *later, uint32_t input,
                       const struct gw_clock_shift *shift)
{
    const struct gw_model *from = later->builder.model;
    struct appended as = {.names = malloc((from->names_count + 1) * sizeof(*as.names)),
                          .processes = malloc((from->processes_count + 1) * sizeof(*as.processes)),
                          .threads = malloc((from->threads_count + 1) * sizeof(*as.threads)),
                          .input = input,
                          .shift = shift};
    int status = as.names && as.processes && as.threads ? append_owners(&assembly->builder, from, &as) : -ENOMEM;
    status = status ? status : append_host(assembly->builder.model, from, &as);
    status = status ? status : append_ops(assembly, later, &as);
    for (size_t i = 0; i < later->unknown_names_count && !status; i++) {
        const char *name = later->unknown_names[i];
        status = count_unknown(assembly, name, unknown_calls(later, name));
    }
    assembly->skipped_events += later->skipped_events;
    assembly->hip_calls += later->hip_calls;
    free(as.names);
    free(as.processes);
    free(as.threads);
    return status;
}

int gw_assembly_add_coverage(struct gw_assembly *assembly, uint32_t kind, const char *name, const char *detail)
{
    struct gw_model *model = assembly->builder.model;
    struct gw_coverage coverage = {.kind = kind, .name = strdup(name), .detail = strdup(detail)};
    if (!coverage.name || !coverage.detail || GW_GROW(model->coverages, model->coverages_count)) {
        free(coverage.name);
        free(coverage.detail);
        return -ENOMEM;
    }
    model->coverages[model->coverages_count++] = coverage;
    return 0;
}

/* A few names of functions that this version does not know; a damaged trace may have any number. */
static int say_unknown_functions(struct gw_assembly *assembly)
{
    int status = 0;
    for (size_t i = 0; i < assembly->unknown_names_count && i < UNKNOWN_SAID_MAX && !status; i++) {
        const char *name = assembly->unknown_names[i];
        char detail[256];
        snprintf(detail, sizeof(detail), "%u calls of %.100s, which this version does not know: taken as other calls",
                 unknown_calls(assembly, name), name);
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "unknown function", detail);
    }
    return status;
}

/* How many operations without a call begin before all others of their stream. */
static size_t count_early(const struct gw_model *model)
{
    size_t early = 0;
    for (size_t s = 0; s < model->streams_count; s++) {
        const struct gw_stream *stream = &model->streams[s];
        for (uint32_t i = 0; i < stream->op_count; i++) {
            if (model->ops[model->stream_ops[stream->op_first + i]].call != GW_NONE) {
                break;
            }
            early++;
        }
    }
    return early;
}

static void say_untied(const struct gw_model *model, size_t untied, char *detail, size_t size)
{
    if (model->calls_count == 0) {
        snprintf(detail, size, "%zu GPU operations and not one call: what the host did cannot be told", untied);
    } else {
        snprintf(detail, size,
                 "%zu GPU operations without the call that enqueued them; %zu of them come first on their stream, as "
                 "what was enqueued before recording began does",
                 untied, count_early(model));
    }
}

static int say_missing(struct gw_assembly *assembly, const char *tool, size_t untied)
{
    char detail[256];
    int status = 0;
    snprintf(detail, sizeof(detail), "%s does not record it: all time outside CUDA calls counts as busy host", tool);
    status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "thread CPU time", detail);
    if (!status) {
        snprintf(detail, sizeof(detail), "%s does not record them: repeated uploads and round trips cannot be told",
                 tool);
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "contents of copies", detail);
    }
    if (!status) {
        snprintf(detail, sizeof(detail), "%s is not read for them: waits of a stream for an event cannot be told",
                 tool);
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "events between streams", detail);
    }
    if (!status && (assembly->unseen & GW_UNSEEN_LOADS)) {
        snprintf(detail, sizeof(detail), "%s does not record them: compilation cannot be told", tool);
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "loads of modules", detail);
    }
    if (!status && untied) {
        say_untied(assembly->builder.model, untied, detail, sizeof(detail));
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "enqueue calls", detail);
    }
    if (!status && assembly->skipped_events) {
        snprintf(detail, sizeof(detail),
                 "%llu events lack a field that their kind must have, or have no valid one, and were skipped",
                 (unsigned long long)assembly->skipped_events);
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "damaged events", detail);
    }
    if (!status && assembly->hip_calls) {
        snprintf(detail, sizeof(detail),
                 "%llu calls of AMD's HIP are taken for, and named as, the CUDA functions they follow",
                 (unsigned long long)assembly->hip_calls);
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "names of calls", detail);
    }
    return status ? status : say_unknown_functions(assembly);
}

/* Launches of kernels, where the trace has not one kernel; else 0. */
static size_t count_launches_without_kernels(const struct gw_model *model)
{
    size_t launches = 0;
    for (size_t i = 0; i < model->ops_count; i++) {
        const enum gw_op_kind kind = model->ops[i].kind;
        if (kind == GW_OP_KERNEL || kind == GW_OP_COMM || kind == GW_OP_GRAPH) {
            return 0;
        }
    }
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        launches += call->depth == 1 && gw_call_class(call->function) == GW_CALL_LAUNCH;
    }
    return launches;
}

int gw_assembly_finish(struct gw_assembly *assembly, const char *tool, struct gw_model **ret_model)
{
    struct gw_model *model = assembly->builder.model;
    size_t untied = 0;
    if (model->calls_count == 0 && assembly->ops_count == 0) {
        return -ENODATA;
    }
    int status = gw_tie_calls(assembly);
    status = status ? status : gw_tie_ops(assembly, &untied);
    status = status ? status : gw_tie_extent(assembly);
    status = status ? status : gw_build_lanes(model);
    status = status ? status : say_missing(assembly, tool, untied);
    const size_t launches = status ? 0 : count_launches_without_kernels(model);
    if (launches) {
        char detail[128];
        snprintf(detail, sizeof(detail), "%zu launches and not one kernel: when the GPU was busy cannot be told",
                 launches);
        status = gw_assembly_add_coverage(assembly, GW_COVERAGE_DISABLED, "kernels", detail);
    }
    if (status) {
        return status;
    }
    model->timing = launches ? GW_TIMING_OFF : GW_TIMING_CUPTI;
    model->run.unseen = assembly->unseen;
    model->run.finished = true;
    *ret_model = model;
    assembly->builder.model = NULL;
    return 0;
}
