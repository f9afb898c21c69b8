#include "analyzer/model/import/nsys.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/import/assembly.h"

#define TOOL "an Nsight Systems export"
#define COLUMNS_MAX 24
#define NVTX_PUSH_POP 59 /* eventType of NVTX_EVENTS */
#define NVTX_START_END 60

/* globalTid: 8 bits of hardware, 8 of virtual machine, 24 of process, 24 of thread */
#define GLOBAL_PID(global) ((uint32_t)((uint64_t)(global) >> 24 & 0xffffffu))
#define GLOBAL_TID(global) ((uint32_t)((uint64_t)(global)&0xffffffu))

struct nsys {
    const char *path;
    sqlite3 *database;
    struct gw_assembly assembly;
    struct gw_model *model; /* the one being assembled, then the finished one */
    struct gw_map strings;  /* StringIds.id, 0 → index into texts */
    char **texts;
    size_t texts_count;
    struct gw_error *error;
};

struct row {
    sqlite3_stmt *statement;
};

static int64_t number(const struct row *row, int column, int64_t otherwise)
{
    return sqlite3_column_type(row->statement, column) == SQLITE_NULL ? otherwise
                                                                      : sqlite3_column_int64(row->statement, column);
}

/* Sizes and counts: below 0 there are none, and 0 means unknown. */
static uint64_t amount(const struct row *row, int column)
{
    int64_t value = number(row, column, 0);
    return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const struct row *row, int column)
{
    return (const char *)sqlite3_column_text(row->statement, column);
}

static int say_damage(struct nsys *self, const char *table)
{
    if (sqlite3_errcode(self->database) == SQLITE_NOMEM) {
        return -ENOMEM;
    }
    return gw_error_set(self->error, -EBADMSG, "%s: table %s cannot be read (%s): export the report again", self->path,
                        table, sqlite3_errmsg(self->database));
}

static bool has_column(struct nsys *self, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(self->database, NULL, table, column, NULL, NULL, NULL, NULL, NULL) ==
           SQLITE_OK;
}

typedef int take_row(struct nsys *self, const struct row *row);

/* Reads the columns of every row of a table in their order; a column the table lacks reads as NULL. The first `needed`
 * columns must be there, and not NULL: other rows count as damaged. *ret_found: false, and nothing read, when the table
 * is not there. */
static int read_table(struct nsys *self, const char *table, const char *const *columns, int count, int needed,
                      take_row *take, bool *ret_found)
{
    char query[1024];
    int length = snprintf(query, sizeof(query), "SELECT ");
    sqlite3_stmt *statement = NULL;
    int status = 0, stepped;
    *ret_found = false;
    if (!has_column(self, table, columns[0])) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        bool there = has_column(self, table, columns[i]);
        if (!there && i < needed) {
            return gw_error_set(self->error, -EBADMSG,
                                "%s: table %s has no column %s: export the report again with a current version",
                                self->path, table, columns[i]);
        }
        length += snprintf(query + length, sizeof(query) - (size_t)length, "%s%s%s%s", i ? "," : "", there ? "\"" : "",
                           there ? columns[i] : "NULL", there ? "\"" : "");
    }
    snprintf(query + length, sizeof(query) - (size_t)length, " FROM %s", table);
    if (sqlite3_prepare_v2(self->database, query, -1, &statement, NULL) != SQLITE_OK) {
        return say_damage(self, table);
    }
    struct row row = {.statement = statement};
    while (!status && (stepped = sqlite3_step(statement)) != SQLITE_DONE) {
        bool whole = true;
        if (stepped != SQLITE_ROW) {
            status = say_damage(self, table);
            break;
        }
        for (int i = 0; i < needed; i++) {
            whole = whole && sqlite3_column_type(statement, i) != SQLITE_NULL;
        }
        if (whole) {
            status = take(self, &row);
        } else {
            self->assembly.skipped_events++;
        }
    }
    sqlite3_finalize(statement);
    *ret_found = !status;
    return status;
}

static int take_string(struct nsys *self, const struct row *row)
{
    char *copy = strdup(text(row, 1));
    uint64_t id = (uint64_t)number(row, 0, 0);
    if (!copy || GW_GROW(self->texts, self->texts_count) ||
        (!gw_map_find(&self->strings, id, 0) && gw_map_insert(&self->strings, id, 0, (uint32_t)self->texts_count))) {
        free(copy);
        return -ENOMEM;
    }
    self->texts[self->texts_count++] = copy;
    return 0;
}

static const char *string_of(const struct nsys *self, int64_t id)
{
    const uint32_t *index = gw_map_find(&self->strings, (uint64_t)id, 0);
    return index ? self->texts[*index] : NULL;
}

/* Begin and end as columns 0 and 1; false, and counted, when they are no interval. */
static bool take_times(struct nsys *self, const struct row *row, uint64_t *begin_ns, uint64_t *end_ns)
{
    int64_t begin = number(row, 0, -1), end = number(row, 1, -1);
    if (begin < 0 || end < begin) {
        self->assembly.skipped_events++;
        return false;
    }
    *begin_ns = (uint64_t)begin;
    *end_ns = (uint64_t)end;
    return true;
}

static int take_runtime(struct nsys *self, const struct row *row)
{
    struct gw_import_call call = {.pid = GLOBAL_PID(number(row, 2, 0)),
                                  .tid = GLOBAL_TID(number(row, 2, 0)),
                                  .correlation = (uint64_t)number(row, 4, 0),
                                  .function = string_of(self, number(row, 3, -1)),
                                  .result = (int32_t)number(row, 5, 0)};
    if (!call.function) {
        call.function = "(unnamed)";
    }
    return take_times(self, row, &call.begin_ns, &call.end_ns) ? gw_assembly_add_call(&self->assembly, &call) : 0;
}

/* Columns 0 to 5 of every table of operations. */
#define OP_COLUMNS "start", "end", "deviceId", "streamId", "correlationId", "globalPid"
#define OP_NEEDED 4

static bool take_op(struct nsys *self, const struct row *row, struct gw_import_op *op)
{
    *op = (struct gw_import_op){.device = (uint32_t)number(row, 2, 0),
                                .stream = (uint32_t)number(row, 3, 0),
                                .correlation = (uint64_t)number(row, 4, -1),
                                .pid = GLOBAL_PID(number(row, 5, 0)),
                                .process = GW_NONE,
                                .name = GW_NONE,
                                .collective = GW_NONE,
                                .graph_node = GW_NONE};
    return take_times(self, row, &op->start_ns, &op->end_ns);
}

static int take_kernel(struct nsys *self, const struct row *row)
{
    struct gw_import_op op;
    const char *name = string_of(self, number(row, 6, -1));
    if (!take_op(self, row, &op)) {
        return 0;
    }
    if (!name) {
        name = string_of(self, number(row, 7, -1));
    }
    int status = name ? gw_builder_intern(&self->assembly.builder, name, &op.name) : 0;
    op.kind = GW_OP_KERNEL;
    op.graph_node = (uint32_t)number(row, 8, GW_NONE);
    for (int i = 0; i < 3; i++) {
        op.grid[i] = (uint32_t)number(row, 9 + i, 0);
        op.block[i] = (uint32_t)number(row, 12 + i, 0);
    }
    op.shared_bytes = (uint32_t)number(row, 15, 0) + (uint32_t)number(row, 16, 0);
    return status ? status : gw_assembly_add_op(&self->assembly, &op);
}

/* The memory kinds of an export, which are not CUPTI's: pageable, pinned, device, array, managed, device static,
 * managed static. */
static uint8_t host_kind(int64_t memory_kind)
{
    static const uint8_t kinds[] = {GW_HOST_PAGEABLE, GW_HOST_PINNED, GW_HOST_NOT,    GW_HOST_NOT,
                                    GW_HOST_MANAGED,  GW_HOST_NOT,    GW_HOST_MANAGED};
    return memory_kind >= 0 && memory_kind < (int64_t)sizeof(kinds) ? kinds[memory_kind] : GW_HOST_UNKNOWN;
}

static int take_memcpy(struct nsys *self, const struct row *row)
{
    /* by CUPTI's copy kinds: unknown, HtoD, DtoH, HtoA, AtoH, AtoA, AtoD, DtoA, DtoD, HtoH, PtoP, and those of managed
     * memory that moves: HtoD, DtoH, DtoD */
    static const struct {
        uint8_t kind, direction;
    } copies[] = {{GW_OP_D2D, GW_COPY_D2D},  {GW_OP_H2D, GW_COPY_H2D}, {GW_OP_D2H, GW_COPY_D2H},
                  {GW_OP_H2D, GW_COPY_H2D},  {GW_OP_D2H, GW_COPY_D2H}, {GW_OP_D2D, GW_COPY_D2D},
                  {GW_OP_D2D, GW_COPY_D2D},  {GW_OP_D2D, GW_COPY_D2D}, {GW_OP_D2D, GW_COPY_D2D},
                  {GW_OP_HOST, GW_COPY_H2H}, {GW_OP_P2P, GW_COPY_P2P}, {GW_OP_H2D, GW_COPY_H2D},
                  {GW_OP_D2H, GW_COPY_D2H},  {GW_OP_P2P, GW_COPY_P2P}};
    struct gw_import_op op;
    int64_t kind = number(row, 7, 0);
    if (!take_op(self, row, &op)) {
        return 0;
    }
    if (kind < 0 || kind >= (int64_t)(sizeof(copies) / sizeof(copies[0]))) {
        kind = 0;
    }
    op.size_bytes = amount(row, 6);
    op.kind = copies[kind].kind;
    op.direction = copies[kind].direction;
    op.src_kind = host_kind(number(row, 8, -1));
    op.dst_kind = host_kind(number(row, 9, -1));
    op.graph_node = (uint32_t)number(row, 10, GW_NONE);
    return gw_assembly_add_op(&self->assembly, &op);
}

static int take_memset(struct nsys *self, const struct row *row)
{
    struct gw_import_op op;
    if (!take_op(self, row, &op)) {
        return 0;
    }
    op.kind = GW_OP_MEMSET;
    op.size_bytes = amount(row, 6);
    op.graph_node = (uint32_t)number(row, 7, GW_NONE);
    return gw_assembly_add_op(&self->assembly, &op);
}

/* A graph launch recorded as one operation. */
static int take_graph(struct nsys *self, const struct row *row)
{
    struct gw_import_op op;
    if (!take_op(self, row, &op)) {
        return 0;
    }
    op.kind = GW_OP_GRAPH;
    return gw_assembly_add_op(&self->assembly, &op);
}

static int take_nvtx(struct nsys *self, const struct row *row)
{
    uint64_t begin_ns, end_ns;
    int64_t type = number(row, 3, 0);
    const char *name = text(row, 4) ? text(row, 4) : string_of(self, number(row, 5, -1));
    if ((type != NVTX_PUSH_POP && type != NVTX_START_END) || !name || number(row, 1, -1) < 0 ||
        !take_times(self, row, &begin_ns, &end_ns)) {
        return 0;
    }
    return gw_assembly_add_range(&self->assembly, GLOBAL_PID(number(row, 2, 0)), GLOBAL_TID(number(row, 2, 0)),
                                 begin_ns, end_ns, name);
}

static int set_text(char **target, const char *value)
{
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy) {
        return -ENOMEM;
    }
    free(*target);
    *target = copy;
    return 0;
}

static int take_thread_name(struct nsys *self, const struct row *row)
{
    const struct gw_builder *builder = &self->assembly.builder;
    const uint32_t *process = gw_map_find(&builder->processes, GLOBAL_PID(number(row, 0, 0)), 0);
    const uint32_t *thread = process ? gw_map_find(&builder->threads, GLOBAL_TID(number(row, 0, 0)), *process) : NULL;
    return thread ? set_text(&builder->model->threads[*thread].name, string_of(self, number(row, 1, -1))) : 0;
}

static int take_process(struct nsys *self, const struct row *row)
{
    const struct gw_builder *builder = &self->assembly.builder;
    const uint32_t *process = gw_map_find(&builder->processes, GLOBAL_PID(number(row, 0, 0)), 0);
    return process ? set_text(&builder->model->processes[*process].exe, text(row, 1)) : 0;
}

static int take_session_start(struct nsys *self, const struct row *row)
{
    self->model->run.realtime_offset_ns = number(row, 0, 0);
    return 0;
}

/* The description of a device as a process numbers it: columns of TARGET_INFO_GPU. */
static int take_gpu(struct nsys *self, const struct row *row)
{
    struct gw_model *model = self->model;
    for (size_t i = 0; i < model->devices_count; i++) {
        struct gw_device *device = &model->devices[i];
        if (device->number != (uint32_t)number(row, 0, 0)) {
            continue;
        }
        device->memory_bytes = amount(row, 2);
        device->multiprocessors = (uint32_t)amount(row, 3);
        device->compute_capability = (uint32_t)amount(row, 4) * 10 + (uint32_t)amount(row, 5);
        if (set_text(&device->name, text(row, 1)) || set_text(&device->pci, text(row, 6)) ||
            set_text(&device->uuid, text(row, 7))) {
            return -ENOMEM;
        }
    }
    return 0;
}

struct table {
    const char *name;
    const char *columns[COLUMNS_MAX];
    int needed;
    take_row *take;
};

static int read_tables(struct nsys *self, const struct table *tables, size_t count, size_t *ret_found)
{
    for (size_t t = 0; t < count; t++) {
        int columns = 0;
        bool found;
        while (tables[t].columns[columns]) {
            columns++;
        }
        int status =
            read_table(self, tables[t].name, tables[t].columns, columns, tables[t].needed, tables[t].take, &found);
        if (!status && !found && ret_found) {
            status = gw_assembly_add_coverage(&self->assembly, GW_COVERAGE_DISABLED, tables[t].name,
                                              "the export has no such table: nothing of this kind was recorded");
        }
        if (status) {
            return status;
        }
        if (ret_found) {
            *ret_found += found;
        }
    }
    return 0;
}

static const struct table string_tables[] = {{"StringIds", {"id", "value"}, 2, take_string}};

static const struct table activity_tables[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     {"start", "end", "globalTid", "nameId", "correlationId", "returnValue"},
     3,
     take_runtime},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     {OP_COLUMNS, "demangledName", "shortName", "graphNodeId", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
      "staticSharedMemory", "dynamicSharedMemory"},
     OP_NEEDED,
     take_kernel},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     {OP_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind", "graphNodeId"},
     OP_NEEDED,
     take_memcpy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", {OP_COLUMNS, "bytes", "graphNodeId"}, OP_NEEDED, take_memset},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {OP_COLUMNS}, OP_NEEDED, take_graph},
};

static const struct table range_tables[] = {
    {"NVTX_EVENTS", {"start", "end", "globalTid", "eventType", "text", "textId"}, 1, take_nvtx}};

/* Read when processes, threads and devices are known. */
static const struct table name_tables[] = {
    {"ThreadNames", {"globalTid", "nameId"}, 2, take_thread_name},
    {"PROCESSES", {"globalPid", "name"}, 2, take_process},
    {"TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, 1, take_session_start},
};

static const struct table device_tables[] = {
    {"TARGET_INFO_GPU",
     {"id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor", "busLocation", "uuid"},
     1,
     take_gpu},
};

#define READ(tables, ret_found) read_tables(self, tables, sizeof(tables) / sizeof((tables)[0]), ret_found)

static int fill_run(struct nsys *self)
{
    struct gw_run_info *run = &self->model->run;
    const char *program = self->model->processes_count ? self->model->processes[0].exe : NULL;
    run->path = strdup(self->path);
    run->device_kind = strdup("gpu");
    run->gpu_timing = strdup("cupti");
    run->command = calloc(2, sizeof(*run->command));
    if (!run->path || !run->device_kind || !run->gpu_timing || !run->command) {
        return -ENOMEM;
    }
    return program && !(run->command[0] = strdup(program)) ? -ENOMEM : 0;
}

static int read_export(struct nsys *self, struct gw_model **ret_model)
{
    size_t found = 0;
    struct gw_model *finished = NULL;
    if (has_column(self, "CUPTI_ACTIVITY_KIND_RUNTIME", "nameId") && !has_column(self, "StringIds", "id")) {
        return gw_error_set(self->error, -EBADMSG,
                            "%s: the table StringIds with the names of calls is missing: export the report again",
                            self->path);
    }
    int status = READ(string_tables, NULL);
    status = status ? status : READ(activity_tables, &found);
    status = status ? status : READ(range_tables, NULL);
    status = status ? status : READ(name_tables, NULL);
    status = status ? status : gw_assembly_finish(&self->assembly, TOOL, &finished);
    status = status ? status : READ(device_tables, NULL);
    status = status ? status : fill_run(self);
    if (status) {
        gw_model_destroy(finished);
    } else {
        *ret_model = finished;
    }
    return status;
}

int gw_nsys_read(const char *path, struct gw_model **ret_model, struct gw_error *error)
{
    struct nsys self = {.path = path, .error = error};
    int status = 0;
    if (sqlite3_open_v2(path, &self.database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        status = gw_error_set(error, -EIO, "%s: cannot be opened as a database: %s", path,
                              self.database ? sqlite3_errmsg(self.database) : "no memory");
        goto end;
    }
    if (sqlite3_exec(self.database, "SELECT name FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK) {
        status = gw_error_set(error, -EBADMSG, "%s: the database is damaged (%s): export the report again", path,
                              sqlite3_errmsg(self.database));
        goto end;
    }
    /* Exports of one process by old versions do not name the process of an operation. */
    bool tells_process = has_column(&self, "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid") ||
                         has_column(&self, "CUPTI_ACTIVITY_KIND_MEMCPY", "globalPid") ||
                         has_column(&self, "CUPTI_ACTIVITY_KIND_MEMSET", "globalPid");
    status = gw_assembly_init(&self.assembly, tells_process ? GW_CORRELATION_PROCESS : GW_CORRELATION_TRACE);
    self.model = self.assembly.builder.model;
    status = status ? status : read_export(&self, ret_model);
    if (status == -ENODATA) {
        gw_error_set(error, status,
                     "%s: an SQLite database without CUDA activity: no Nsight Systems export, or recorded without "
                     "--trace=cuda",
                     path);
    } else if (status == -ENOMEM) {
        gw_error_set(error, status, "%s: no memory to read the export", path);
    } else if (status == -EFBIG) {
        gw_error_set(error, status, "%s: more events than a model can hold", path);
    }
end:
    for (size_t i = 0; i < self.texts_count; i++) {
        free(self.texts[i]);
    }
    free(self.texts);
    gw_map_clear(&self.strings);
    gw_assembly_clear(&self.assembly);
    sqlite3_close(self.database);
    return status;
}
