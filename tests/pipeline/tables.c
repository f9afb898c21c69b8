#include "tests/pipeline/tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/build.h"

#define FIELDS_MAX 16

static void die(const char *path, const char *what)
{
    fprintf(stderr, "gw-compare-truth: %s: %s\n", path, what);
    exit(2);
}

/* Cuts a line into fields in place, as RFC 4180. */
static int split(char *line, char **fields)
{
    int count = 0;
    char *read = line;
    while (count < FIELDS_MAX) {
        char *write = read;
        fields[count++] = write;
        bool quoted = *read == '"';
        read += quoted;
        while (*read && *read != '\n' && (quoted || *read != ',')) {
            if (quoted && *read == '"') {
                quoted = read[1] == '"';
                read++;
                if (!quoted) {
                    break;
                }
            }
            *write++ = *read++;
        }
        char next = *read;
        *write = '\0';
        if (next != ',') {
            break;
        }
        read++;
    }
    return count;
}

static void *add_row(void **rows, size_t *count, size_t bytes)
{
    if ((*count & (*count - 1)) == 0) {
        *rows = realloc(*rows, (*count ? *count * 2 : 1) * bytes);
        if (!*rows) {
            die("memory", strerror(ENOMEM));
        }
    }
    return memset((char *)*rows + (*count)++ * bytes, 0, bytes);
}

static struct call_row *add_call(struct tables *tables)
{
    return add_row((void **)&tables->calls, &tables->call_count, sizeof(struct call_row));
}

static struct op_row *add_op(struct tables *tables)
{
    return add_row((void **)&tables->ops, &tables->op_count, sizeof(struct op_row));
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

static FILE *open_table(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        die(path, strerror(errno));
    }
    return file;
}

void tables_add_truth(struct tables *tables, const char *path, uint32_t process)
{
    char *line = NULL, *fields[FIELDS_MAX];
    size_t capacity = 0;
    int headers = 0;
    FILE *file = open_table(path);
    while (getline(&line, &capacity, file) > 0) {
        if (*line == '\n') {
            continue; /* how the log fills a block it ends early */
        }
        int count = split(line, fields);
        if (strcmp(fields[1], "tid") == 0 || strcmp(fields[1], "device") == 0) {
            headers++;
        } else if (strcmp(fields[0], "call") == 0 && count == 7) {
            struct call_row *call = add_call(tables);
            call->process = process;
            call->tid = (uint32_t)number(fields[1]);
            call->depth = (unsigned)number(fields[2]);
            snprintf(call->name, sizeof(call->name), "%s", fields[3]);
            call->begin_ns = number(fields[4]);
            call->end_ns = number(fields[5]);
            call->ended = *fields[5] != '\0';
            call->result = (int)strtol(fields[6], NULL, 10);
        } else if (strcmp(fields[0], "op") == 0 && count == 11) {
            if (strcmp(fields[3], "host") == 0) {
                continue;
            }
            struct op_row *op = add_op(tables);
            op->process = process;
            op->device = (uint32_t)number(fields[1]);
            op->stream = (uint32_t)number(fields[2]);
            snprintf(op->kind, sizeof(op->kind), "%s", fields[3]);
            snprintf(op->name, sizeof(op->name), "%s", fields[4]);
            op->bytes = number(fields[5]);
            op->submit_ns = number(fields[6]);
            op->start_ns = number(fields[7]);
            op->end_ns = number(fields[8]);
            op->timed = true;
            op->graph_node = number(fields[9]);
            op->in_graph = op->graph_node != 0;
        } else {
            die(path, "a line is neither a call nor an operation");
        }
    }
    if (headers != 2) {
        die(path, "this is not a truth log");
    }
    free(line);
    fclose(file);
}

static int by_call_id(const void *left, const void *right)
{
    const struct call_row *a = left, *b = right;
    if (a->call_id != b->call_id) {
        return a->call_id < b->call_id ? -1 : 1;
    }
    return a->depth < b->depth ? -1 : a->depth > b->depth;
}

/* Outermost call of an operation; calls are sorted by id, then depth. */
static const struct call_row *find_call(const struct tables *tables, uint32_t process, uint64_t call_id)
{
    size_t low = 0, high = tables->call_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (tables->calls[middle].call_id < call_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low < tables->call_count && tables->calls[low].call_id == call_id) {
        if (tables->calls[low].process == process) {
            return &tables->calls[low];
        }
        low++;
    }
    return NULL;
}

static void add_counted(struct tables *tables, const char *folder)
{
    char *line = NULL, *fields[FIELDS_MAX], path[4096];
    size_t capacity = 0;
    snprintf(path, sizeof(path), "%s/counted.csv", folder);
    FILE *file = open_table(path);
    for (bool header = true; getline(&line, &capacity, file) > 0; header = false) {
        struct counted_row *row = NULL;
        if (split(line, fields) != 7) {
            die(path, "a line has not 7 fields");
        }
        if (header) {
            continue;
        }
        for (size_t i = 0; i < tables->counted_count && !row; i++) {
            bool same = tables->counted[i].tid == (uint32_t)number(fields[1]) &&
                        strcmp(tables->counted[i].name, fields[2]) == 0;
            row = same ? &tables->counted[i] : NULL;
        }
        if (!row) {
            row = add_row((void **)&tables->counted, &tables->counted_count, sizeof(*row));
            row->tid = (uint32_t)number(fields[1]);
            row->begin_ns = number(fields[3]);
            snprintf(row->name, sizeof(row->name), "%s", fields[2]);
        }
        row->begin_ns = number(fields[3]) < row->begin_ns ? number(fields[3]) : row->begin_ns;
        row->count += number(fields[5]);
        row->total_ns += number(fields[6]);
    }
    free(line);
    fclose(file);
}

void tables_add_export(struct tables *tables, const char *folder)
{
    char *line = NULL, *fields[FIELDS_MAX], path[4096];
    size_t capacity = 0;
    snprintf(path, sizeof(path), "%s/calls.csv", folder);
    FILE *file = open_table(path);
    for (bool header = true; getline(&line, &capacity, file) > 0; header = false) {
        if (split(line, fields) != 8) {
            die(path, "a line has not 8 fields");
        }
        if (header) {
            continue;
        }
        struct call_row *call = add_call(tables);
        call->process = (uint32_t)number(fields[0]);
        call->tid = (uint32_t)number(fields[1]);
        call->depth = (unsigned)number(fields[2]);
        call->call_id = number(fields[3]);
        snprintf(call->name, sizeof(call->name), "%s", fields[4]);
        call->begin_ns = number(fields[5]);
        call->end_ns = number(fields[6]);
        call->ended = *fields[6] != '\0';
        call->result = (int)strtol(fields[7], NULL, 10);
    }
    fclose(file);
    if (tables->call_count) {
        qsort(tables->calls, tables->call_count, sizeof(*tables->calls), by_call_id);
    }
    add_counted(tables, folder);
    snprintf(path, sizeof(path), "%s/ops.csv", folder);
    file = open_table(path);
    for (bool header = true; getline(&line, &capacity, file) > 0; header = false) {
        if (split(line, fields) != 10) {
            die(path, "a line has not 10 fields");
        }
        if (header) {
            continue;
        }
        struct op_row *op = add_op(tables);
        op->process = (uint32_t)number(fields[0]);
        op->device = (uint32_t)number(fields[1]);
        op->stream = (uint32_t)number(fields[2]);
        snprintf(op->kind, sizeof(op->kind), "%s", strcmp(fields[3], "comm") == 0 ? "kernel" : fields[3]);
        snprintf(op->name, sizeof(op->name), "%s", fields[4]);
        op->bytes = number(fields[5]);
        op->start_ns = number(fields[7]);
        op->end_ns = number(fields[8]);
        op->timed = *fields[7] != '\0';
        op->graph_node = number(fields[9]);
        op->in_graph = strcmp(op->kind, "graph") == 0;
        const struct call_row *call = find_call(tables, op->process, number(fields[6]));
        op->submit_ns = call ? call->begin_ns : op->start_ns;
        op->call_end_ns = call && call->ended ? call->end_ns : UINT64_MAX;
    }
    free(line);
    fclose(file);
}

void tables_add_errors(struct tables *tables, const char *run_path)
{
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    uint64_t half_ns;
    size_t count = 0;
    if (gw_model_build(run_path, NULL, &model, &error)) {
        die(run_path, error.text);
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind != GW_OP_HOST && count < tables->op_count) {
            tables->ops[count++].error_ns = op->error_ns;
        }
    }
    if (count != tables->op_count) {
        die(run_path, "the run has not as many operations as were exported");
    }
    tables->stated_floor_ns = gw_timing_floor(model, &half_ns);
    gw_model_destroy(model);
}

void tables_clear(struct tables *tables)
{
    free(tables->calls);
    free(tables->counted);
    free(tables->ops);
    *tables = (struct tables){0};
}
