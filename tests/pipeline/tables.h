/* The two sides of the comparison, loaded: the simulated GPU's truth log and the analyzer's CSV export. */
#ifndef GW_TESTS_PIPELINE_TABLES_H
#define GW_TESTS_PIPELINE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_row {
    uint64_t begin_ns, end_ns;
    uint64_t call_id; /* 0 in the truth */
    uint32_t process; /* in the truth: number of the file */
    uint32_t tid;
    unsigned depth;
    int result;
    bool ended;
    char name[80];
};

/* Calls of a function and thread that are exported as counted, not one by one. */
struct counted_row {
    uint64_t begin_ns; /* of the first */
    uint64_t count, total_ns;
    uint32_t tid;
    char name[80];
};

struct op_row {
    uint64_t submit_ns; /* of an exported operation: begin of its outermost call */
    uint64_t call_end_ns;
    uint64_t start_ns, end_ns, bytes;
    uint64_t error_ns; /* how far off the model says its times may be */
    uint32_t process, device, stream;
    uint64_t graph_node;  /* 0: none */
    bool timed, in_graph; /* in the truth: it is a node; exported: it is all of a replay */
    char kind[8];
    char name[256]; /* cut: names are compared as far as they go */
};

struct tables {
    struct call_row *calls;
    size_t call_count;
    struct counted_row *counted; /* one a thread and function */
    size_t counted_count;
    struct op_row *ops;
    size_t op_count;
    uint64_t stated_floor_ns; /* of the run, as the report says it */
};

/* Each adds a file to the tables and ends the program with a message when it cannot be read or is not what it should
 * be. */
void tables_add_truth(struct tables *tables, const char *path, uint32_t process);
void tables_add_export(struct tables *tables, const char *folder);

/* Sets error_ns of the exported operations, and the stated floor, from the model of their run. */
void tables_add_errors(struct tables *tables, const char *run_path);

void tables_clear(struct tables *tables);

#endif
