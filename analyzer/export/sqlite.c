/*
 * SQLite with the tables, columns and codes of an Nsight Systems export, so that queries written for those work:
 * https://docs.nvidia.com/nsight-systems/UserGuide/ ("SQLite Schema Reference"). Steps and idle time, which it does not
 * know, stand in GPUWITNESS_STEPS and GPUWITNESS_GAPS, collectives in GPUWITNESS_COLLECTIVES, loads and compilers in
 * GPUWITNESS_COMPILES.
 */
#include "analyzer/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/export/exchanges.h"
#include "analyzer/export/names.h"
#include "analyzer/export/output.h"
#include "analyzer/model/compiles.h"
#include "analyzer/model/map.h"
#include "shim/api/functions.h"

/* eventType of NVTX_EVENTS */
#define NVTX_CATEGORY 33
#define NVTX_MARK 34
#define NVTX_PUSH_POP 59
#define NVTX_START_END 60
#define NVTX_DOMAIN_CREATE 75

static const char schema[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16384; BEGIN;"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
    "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT,"
    " totalMemory INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,"
    " returnValue INTEGER NOT NULL, callchainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER NOT NULL,"
    " gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL,"
    " blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,"
    " graphNodeId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " bytes INTEGER NOT NULL, graphNodeId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,"
    " globalPid INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,"
    " globalTid INTEGER, textId INTEGER, category INTEGER, color INTEGER, domainId INTEGER,"
    " uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,"
    " floatValue REAL);"
    "CREATE TABLE GPUWITNESS_STEPS (globalPid INTEGER NOT NULL, step INTEGER NOT NULL, start INTEGER NOT NULL,"
    " end INTEGER NOT NULL, warmup INTEGER NOT NULL);"
    "CREATE TABLE GPUWITNESS_GAPS (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
    " globalPid INTEGER NOT NULL, class TEXT NOT NULL, correlationId INTEGER);"
    "CREATE TABLE GPUWITNESS_COLLECTIVES (comm TEXT NOT NULL, seq INTEGER NOT NULL, rank INTEGER NOT NULL,"
    " ranks INTEGER NOT NULL, op TEXT NOT NULL, bytes INTEGER NOT NULL, globalPid INTEGER NOT NULL,"
    " correlationId INTEGER, start INTEGER, end INTEGER, arrivalWait INTEGER, transfer INTEGER, busbwGbps REAL);"
    "CREATE TABLE GPUWITNESS_COMPILES (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,"
    " kind TEXT NOT NULL, name TEXT NOT NULL, pid INTEGER, bytes INTEGER, hash TEXT, new INTEGER, step INTEGER);";

struct database {
    sqlite3 *handle;
    const struct gw_model *model;
    const struct gw_names *names;
    int status; /* the first error; nothing is done after it */
};

struct statement {
    struct database *database;
    sqlite3_stmt *handle;
    int column; /* the next to bind */
};

/* Ids in StringIds: functions by row + 1, then three forms of every name, then thread names. */
#define FUNCTION_ID(function) ((function) < GW_FUNCTION_COUNT ? (int64_t)(function) + 1 : 0)
#define NAME_ID(index, form) ((int64_t)GW_FUNCTION_COUNT + 1 + 3 * (int64_t)(index) + (form))
enum name_form { FORM_FULL = 0, FORM_SHORT, FORM_MANGLED };

static void check(struct database *self, int code)
{
    if (self->status || code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW)
        return;
    int reason = self->handle ? sqlite3_system_errno(self->handle) : 0;
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        self->status = -ENOMEM;
        break;
    case SQLITE_FULL:
        self->status = -ENOSPC;
        break;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
        self->status = reason ? -reason : -EACCES;
        break;
    default:
        self->status = reason ? -reason : -EIO;
    }
}

static struct statement prepare(struct database *self, const char *sql)
{
    struct statement statement = {.database = self};
    if (self->status == 0)
        check(self, sqlite3_prepare_v2(self->handle, sql, -1, &statement.handle, NULL));
    return statement;
}

static void put_number(struct statement *self, int64_t number)
{
    if (self->database->status == 0)
        check(self->database, sqlite3_bind_int64(self->handle, ++self->column, number));
}

/* The text must last until the row is written; NULL is NULL. */
static void put_text(struct statement *self, const char *text)
{
    if (self->database->status == 0)
        check(self->database, sqlite3_bind_text(self->handle, ++self->column, text, -1, SQLITE_STATIC));
}

static void put_null(struct statement *self)
{
    if (self->database->status == 0)
        check(self->database, sqlite3_bind_null(self->handle, ++self->column));
}

static void put_real(struct statement *self, double number)
{
    if (self->database->status == 0)
        check(self->database, sqlite3_bind_double(self->handle, ++self->column, number));
}

static void put_known(struct statement *self, bool known, uint64_t number)
{
    if (known)
        put_number(self, (int64_t)number);
    else
        put_null(self);
}

/* NULL when it is not known. */
static void put_time(struct statement *self, uint64_t time_ns)
{
    if (time_ns == GW_TIME_UNKNOWN)
        put_null(self);
    else
        put_number(self, (int64_t)time_ns);
}

static void write_row(struct statement *self)
{
    if (self->database->status == 0) {
        check(self->database, sqlite3_step(self->handle));
        check(self->database, sqlite3_reset(self->handle));
    }
    self->column = 0;
}

/* 8 bits of hardware and 8 of virtual machine (0), 24 of process, 24 of thread */
static int64_t global_id(const struct gw_model *model, uint32_t process, uint32_t tid)
{
    return (int64_t)(((uint64_t)model->processes[process].pid & 0xffffffu) << 24 | (tid & 0xffffffu));
}

static void put_string(struct statement *strings, int64_t id, const char *text)
{
    put_number(strings, id);
    put_text(strings, text);
    write_row(strings);
}

static void write_strings(struct database *self)
{
    struct statement strings = prepare(self, "INSERT INTO StringIds VALUES (?, ?)");
    struct statement threads = prepare(self, "INSERT INTO ThreadNames VALUES (?, 0, ?)");
    put_string(&strings, 0, "(unnamed)");
    for (unsigned i = 0; i < GW_FUNCTION_COUNT; i++)
        put_string(&strings, FUNCTION_ID(i), gw_function_name(i));
    for (uint32_t i = 0; i < self->names->count; i++) {
        char *mangled = gw_names_utf8(self->model->names[i]);
        put_string(&strings, NAME_ID(i, FORM_FULL), self->names->full[i]);
        put_string(&strings, NAME_ID(i, FORM_SHORT), self->names->brief[i]);
        put_string(&strings, NAME_ID(i, FORM_MANGLED), mangled ? mangled : "");
        free(mangled);
    }
    for (uint32_t i = 0; i < self->model->threads_count; i++) {
        const struct gw_thread *thread = &self->model->threads[i];
        int64_t id = NAME_ID(self->names->count + i, FORM_FULL);
        if (!thread->name)
            continue;
        put_string(&strings, id, thread->name);
        put_number(&threads, id);
        put_number(&threads, global_id(self->model, thread->process, thread->tid));
        write_row(&threads);
    }
    sqlite3_finalize(strings.handle);
    sqlite3_finalize(threads.handle);
}

static void write_target(struct database *self)
{
    const struct gw_model *model = self->model;
    struct statement processes = prepare(self, "INSERT INTO PROCESSES VALUES (?, ?, ?)");
    char name[GW_DEVICE_NAME_BYTES];
    struct statement gpus = prepare(self, "INSERT INTO TARGET_INFO_GPU VALUES (0, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    struct statement start = prepare(self, "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?1,"
                                           " datetime(?1 / 1000000000, 'unixepoch'), NULL)");
    for (uint32_t i = 0; i < model->processes_count; i++) {
        put_number(&processes, global_id(model, i, 0));
        put_number(&processes, model->processes[i].pid);
        put_text(&processes, model->processes[i].exe);
        write_row(&processes);
    }
    for (size_t i = 0; i < model->devices_count; i++) {
        const struct gw_device *device = &model->devices[i];
        put_number(&gpus, device->number);
        put_text(&gpus, gw_names_of_device(model, device, name));
        put_text(&gpus, device->pci);
        put_number(&gpus, (int64_t)device->memory_bytes);
        put_number(&gpus, device->multiprocessors);
        put_text(&gpus, device->uuid);
        put_number(&gpus, device->number);
        put_number(&gpus, device->compute_capability / 10);
        put_number(&gpus, device->compute_capability % 10);
        write_row(&gpus);
    }
    put_number(&start, model->run.realtime_offset_ns);
    write_row(&start);
    sqlite3_finalize(processes.handle);
    sqlite3_finalize(gpus.handle);
    sqlite3_finalize(start.handle);
}

static void write_calls(struct database *self)
{
    const struct gw_model *model = self->model;
    struct statement rows = prepare(self, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?, ?, NULL)");
    struct gw_correlator correlator;
    int status = gw_correlator_init(&correlator, model);
    self->status = self->status ? self->status : status;
    for (uint32_t i = 0; self->status == 0 && i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        const struct gw_thread *thread = &model->threads[call->thread];
        const struct gw_function *row = gw_function_row(call->function);
        put_number(&rows, (int64_t)call->begin_ns);
        put_number(&rows, (int64_t)call->end_ns);
        put_number(&rows, row && row->api == GW_API_DRV ? 1 : 0); /* of TRACE_PROCESS_EVENT_CUDA_RUNTIME, _DRIVER */
        put_number(&rows, global_id(model, thread->process, thread->tid));
        put_number(&rows, gw_correlator_next(&correlator, model, i));
        put_number(&rows, FUNCTION_ID(call->function));
        put_number(&rows, call->result);
        write_row(&rows);
    }
    gw_correlator_release(&correlator);
    sqlite3_finalize(rows.handle);
}

/* start, end, deviceId, contextId, streamId, correlationId, globalPid: the first columns of all operations */
static void put_op(struct statement *rows, const struct gw_model *model, const struct gw_op *op)
{
    const struct gw_stream *stream = &model->streams[op->stream];
    const struct gw_device *device = &model->devices[stream->device];
    put_number(rows, (int64_t)op->start_ns);
    put_number(rows, (int64_t)op->end_ns);
    put_number(rows, device->number);
    put_number(rows, 1);
    put_number(rows, stream->number);
    put_known(rows, op->outer_call != GW_NONE, (uint64_t)op->outer_call + 1);
    put_number(rows, global_id(model, device->process, 0));
}

static void put_graph_node(struct statement *rows, const struct gw_op *op)
{
    put_known(rows, op->graph_node != GW_NONE, op->graph_node);
}

/* The memory kinds of Nsight Systems' exports, which are not CUPTI's. */
enum { MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_MANAGED = 4, MEMORY_UNKNOWN = 7 };

static int64_t memory_kind(uint8_t kind)
{
    static const uint8_t kinds[] = {[GW_HOST_NOT] = MEMORY_DEVICE,
                                    [GW_HOST_PAGEABLE] = MEMORY_PAGEABLE,
                                    [GW_HOST_PINNED] = MEMORY_PINNED,
                                    [GW_HOST_MANAGED] = MEMORY_MANAGED,
                                    [GW_HOST_UNKNOWN] = MEMORY_UNKNOWN};
    return kind < sizeof(kinds) ? kinds[kind] : MEMORY_UNKNOWN;
}

static void write_kernel(struct statement *rows, const struct gw_model *model, const struct gw_op *op)
{
    static const struct gw_launch unknown = {0};
    const struct gw_launch *launch = gw_launch_of_op(model, op);
    launch = launch ? launch : &unknown;
    put_op(rows, model, op);
    for (int form = FORM_FULL; form <= FORM_MANGLED; form++)
        put_number(rows, op->name == GW_NONE ? 0 : NAME_ID(op->name, form));
    for (int i = 0; i < 3; i++)
        put_number(rows, launch->grid[i]);
    for (int i = 0; i < 3; i++)
        put_number(rows, launch->block[i]);
    put_number(rows, 0);
    put_number(rows, launch->shared_bytes);
    put_graph_node(rows, op);
    write_row(rows);
}

static void write_copy(struct statement *rows, const struct gw_model *model, const struct gw_op *op)
{
    static const uint8_t copy_kinds[GW_OP_KIND_COUNT] = {
        [GW_OP_H2D] = 1, [GW_OP_D2H] = 2, [GW_OP_D2D] = 8, [GW_OP_P2P] = 10};
    const struct gw_copy *copy = gw_copy_of_op(model, op);
    put_op(rows, model, op);
    put_number(rows, (int64_t)op->size_bytes);
    put_number(rows, copy_kinds[op->kind]);
    put_number(rows, copy ? memory_kind(copy->src_kind) : MEMORY_UNKNOWN);
    put_number(rows, copy ? memory_kind(copy->dst_kind) : MEMORY_UNKNOWN);
    put_graph_node(rows, op);
    write_row(rows);
}

static void write_ops(struct database *self)
{
    const struct gw_model *model = self->model;
    struct statement kernels = prepare(self, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
                                             " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    struct statement copies =
        prepare(self, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    struct statement memsets =
        prepare(self, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    struct statement graphs = prepare(self, "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; self->status == 0 && i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (!gw_op_is_shown(op))
            continue;
        if (op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM) {
            write_kernel(&kernels, model, op);
        } else if (op->kind == GW_OP_MEMSET) {
            put_op(&memsets, model, op);
            put_number(&memsets, (int64_t)op->size_bytes);
            put_graph_node(&memsets, op);
            write_row(&memsets);
        } else if (op->kind == GW_OP_GRAPH) {
            put_op(&graphs, model, op);
            write_row(&graphs);
        } else {
            write_copy(&copies, model, op);
        }
    }
    sqlite3_finalize(kernels.handle);
    sqlite3_finalize(copies.handle);
    sqlite3_finalize(memsets.handle);
    sqlite3_finalize(graphs.handle);
}

/* 0 for the domain without a name. */
static int64_t domain_id(const struct gw_range *range)
{
    return range->domain == GW_NONE ? 0 : (int64_t)range->domain + 1;
}

/* One of the columns for it, NULL in the others. */
static void put_payload(struct statement *rows, const struct gw_range *range)
{
    const struct gw_payload payload = gw_payload_of(range);
    for (int type = 1; type <= GW_PAYLOAD_TYPES; type++) {
        if (type != range->payload_type)
            put_null(rows);
        else if (payload.kind == GW_PAYLOAD_REAL)
            put_real(rows, payload.real);
        else
            put_number(rows, payload.kind == GW_PAYLOAD_SIGNED ? payload.number : (int64_t)payload.count);
    }
}

static void write_range(struct database *self, struct statement *rows, const struct gw_range *range)
{
    static const int types[] = {
        [GW_RANGE_NESTED] = NVTX_PUSH_POP, [GW_RANGE_FREE] = NVTX_START_END, [GW_RANGE_MARK] = NVTX_MARK};
    const struct gw_thread *thread = &self->model->threads[range->thread];
    put_number(rows, (int64_t)range->begin_ns);
    put_known(rows, range->kind != GW_RANGE_MARK, range->end_ns);
    put_number(rows, types[range->kind]);
    put_text(rows, self->names->full[range->name]);
    put_number(rows, global_id(self->model, thread->process, thread->tid));
    put_known(rows, range->category != 0, range->category);
    put_known(rows, range->color != 0, range->color);
    put_number(rows, domain_id(range));
    put_payload(rows, range);
    write_row(rows);
}

/* A name that was given to a domain, or to a category of one. */
static void write_naming(struct database *self, struct statement *rows, int type, const struct gw_range *range)
{
    static const struct gw_range none = {0};
    put_number(rows, (int64_t)range->begin_ns);
    put_null(rows);
    put_number(rows, type);
    put_text(rows, self->names->full[type == NVTX_CATEGORY ? range->category_name - 1 : range->domain]);
    put_null(rows);
    put_known(rows, type == NVTX_CATEGORY, range->category);
    put_null(rows);
    put_number(rows, domain_id(range));
    put_payload(rows, &none);
    write_row(rows);
}

/* Names a range's domain and category before the first range that has them. */
static void write_namings(struct database *self, struct statement *rows, struct gw_map *named,
                          const struct gw_range *range)
{
    const uint64_t domain = (uint64_t)domain_id(range);
    const struct {
        int type;
        uint64_t what; /* 0: it has none */
    } namings[] = {{NVTX_DOMAIN_CREATE, domain},
                   {NVTX_CATEGORY, range->category_name ? (uint64_t)range->category << 32 | range->category_name : 0}};
    for (size_t i = 0; i < sizeof(namings) / sizeof(namings[0]) && self->status == 0; i++) {
        const uint64_t key = domain << 8 | (uint64_t)namings[i].type;
        if (!namings[i].what || gw_map_find(named, key, namings[i].what))
            continue;
        self->status = gw_map_insert(named, key, namings[i].what, 0);
        write_naming(self, rows, namings[i].type, range);
    }
}

static void write_ranges(struct database *self)
{
    struct statement rows =
        prepare(self, "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    struct gw_map named = {0};
    for (size_t i = 0; self->status == 0 && i < self->model->ranges_count; i++) {
        write_namings(self, &rows, &named, &self->model->ranges[i]);
        write_range(self, &rows, &self->model->ranges[i]);
    }
    gw_map_clear(&named);
    sqlite3_finalize(rows.handle);
}

static void write_steps(struct database *self, const struct gw_budget *budget)
{
    const struct gw_model *model = self->model;
    struct statement steps = prepare(self, "INSERT INTO GPUWITNESS_STEPS VALUES (?, ?, ?, ?, ?)");
    struct statement gaps = prepare(self, "INSERT INTO GPUWITNESS_GAPS VALUES (?, ?, ?, ?, ?, ?)");
    for (size_t i = 0; self->status == 0 && i < model->steps_count; i++) {
        const struct gw_step *step = &model->steps[i];
        put_number(&steps, global_id(model, step->process, 0));
        put_number(&steps, step->number);
        put_number(&steps, (int64_t)step->begin_ns);
        put_number(&steps, (int64_t)step->end_ns);
        put_number(&steps, step->warmup);
        write_row(&steps);
    }
    for (size_t i = 0; self->status == 0 && i < budget->gaps_count; i++) {
        const struct gw_gap *gap = &budget->gaps[i];
        const struct gw_device *device = &model->devices[gap->device];
        put_number(&gaps, (int64_t)gap->begin_ns);
        put_number(&gaps, (int64_t)gap->end_ns);
        put_number(&gaps, device->number);
        put_number(&gaps, global_id(model, device->process, 0));
        put_text(&gaps, gw_class_name((enum gw_class)gap->cls));
        put_known(&gaps, gap->call != GW_NONE, (uint64_t)gap->call + 1);
        write_row(&gaps);
    }
    sqlite3_finalize(steps.handle);
    sqlite3_finalize(gaps.handle);
}

static void write_collectives(struct database *self)
{
    const struct gw_model *model = self->model;
    struct statement rows =
        prepare(self, "INSERT INTO GPUWITNESS_COLLECTIVES VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    struct gw_correlator correlator;
    struct gw_exchanges exchanges;
    uint32_t call = 0, number = 0;
    int status = gw_correlator_init(&correlator, model), exchanges_status = gw_exchanges_init(&exchanges, model);
    self->status = self->status ? self->status : status ? status : exchanges_status;
    for (size_t i = 0; self->status == 0 && i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        const struct gw_communicator *communicator = &model->communicators[collective->communicator];
        const struct gw_op *op = collective->op == GW_NONE ? NULL : &model->ops[collective->op];
        double bus_gbps = gw_exchange_bus_gbps(&exchanges, model, collective);
        char id[24];
        for (; call <= collective->call; call++)
            number = gw_correlator_next(&correlator, model, call);
        if (collective->match == GW_NONE)
            continue; /* the call failed */
        snprintf(id, sizeof(id), "%016" PRIx64, communicator->id);
        put_text(&rows, id);
        put_number(&rows, collective->sequence);
        put_number(&rows, communicator->rank);
        put_number(&rows, communicator->size);
        put_text(&rows, gw_comm_kind_name((enum gw_comm_kind)collective->kind));
        put_number(&rows, (int64_t)collective->size_bytes);
        put_number(&rows, global_id(model, communicator->process, 0));
        put_number(&rows, number);
        put_time(&rows, op ? op->start_ns : GW_TIME_UNKNOWN);
        put_time(&rows, op ? op->end_ns : GW_TIME_UNKNOWN);
        put_time(&rows, collective->arrival_wait_ns);
        put_time(&rows, collective->transfer_ns);
        if (bus_gbps < 0)
            put_null(&rows);
        else
            put_real(&rows, bus_gbps);
        write_row(&rows);
    }
    gw_exchanges_release(&exchanges);
    gw_correlator_release(&correlator);
    sqlite3_finalize(rows.handle);
}

static void write_compiles(struct database *self)
{
    const struct gw_model *model = self->model;
    struct statement rows = prepare(self, "INSERT INTO GPUWITNESS_COMPILES VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    struct gw_compile *list = NULL;
    size_t count = 0;
    int status = gw_compiles_list(model, &list, &count);
    self->status = self->status ? self->status : status;
    for (size_t i = 0; self->status == 0 && i < count; i++) {
        const struct gw_compile *compile = &list[i];
        const bool threaded = compile->thread != GW_NONE, child = compile->compiler != GW_NONE;
        char hash[24];
        snprintf(hash, sizeof(hash), "%016" PRIx64, compile->hash);
        put_number(&rows, (int64_t)compile->begin_ns);
        put_number(&rows, (int64_t)compile->end_ns);
        put_known(&rows, threaded,
                  threaded ? (uint64_t)global_id(model, compile->process, model->threads[compile->thread].tid) : 0);
        put_text(&rows, gw_compile_kind_name((enum gw_compile_kind)compile->kind));
        put_text(&rows, gw_compile_name(model, compile));
        put_known(&rows, child, child ? model->compilers[compile->compiler].pid : 0);
        put_known(&rows, compile->size_bytes != 0, compile->size_bytes);
        put_text(&rows, compile->hash ? hash : NULL);
        put_known(&rows, compile->hash != 0, compile->is_new);
        put_known(&rows, compile->step != GW_NONE, compile->step == GW_NONE ? 0 : model->steps[compile->step].number);
        write_row(&rows);
    }
    free(list);
    sqlite3_finalize(rows.handle);
}

static void write_all(struct database *self, const struct gw_budget *budget)
{
    check(self, sqlite3_exec(self->handle, schema, NULL, NULL, NULL));
    write_strings(self);
    write_target(self);
    write_calls(self);
    write_ops(self);
    write_ranges(self);
    write_steps(self, budget);
    write_collectives(self);
    write_compiles(self);
    if (self->status == 0)
        check(self, sqlite3_exec(self->handle, "COMMIT", NULL, NULL, NULL));
}

int gw_export_sqlite(const struct gw_model *model, const struct gw_budget *budget, const char *path)
{
    struct gw_names names;
    struct gw_output output;
    struct database self = {.model = model, .names = &names};
    self.status = gw_names_init(&names, model);
    self.status = self.status ? self.status : gw_output_open(&output, path);
    if (self.status == 0) {
        self.status = gw_output_end(&output, 0); /* SQLite opens the empty file itself */
        check(&self, sqlite3_open_v2(output.written, &self.handle, SQLITE_OPEN_READWRITE, NULL));
        if (self.status == 0)
            write_all(&self, budget);
        sqlite3_close(self.handle);
        self.status = gw_output_take(&output, self.status);
    }
    gw_names_release(&names);
    return self.status;
}
