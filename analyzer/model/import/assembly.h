/*
 * Assembles a model from calls, operations and ranges that come in any order and are tied by correlation ids. Internal
 * to analyzer/model/import: each reader of a foreign format fills one.
 *
 * Every function that adds returns 0, -ENOMEM, or -EFBIG when there are more items than an index can number.
 */
#ifndef GW_ANALYZER_MODEL_IMPORT_ASSEMBLY_H
#define GW_ANALYZER_MODEL_IMPORT_ASSEMBLY_H

#include "analyzer/model/builder.h"
#include "analyzer/read/read.h"

struct gw_import_call {
    uint32_t pid, tid;
    uint64_t begin_ns, end_ns;
    uint64_t correlation;
    const char *function; /* exported name; a trailing _vNNNN of the profiler's own is allowed */
    int32_t result;
};

/* A collective that a kernel of NCCL carries out, as its profiler says. */
struct gw_import_collective {
    uint64_t group;      /* names the communicator within the trace */
    uint64_t size_bytes; /* as struct gw_collective */
    uint32_t size;       /* ranks of the communicator */
    int32_t rank;        /* of the process in it; negative: not known, and taken as 0 */
    uint32_t peer;       /* of a message, 0 where there is none */
    uint8_t kind;        /* enum gw_comm_kind */
    uint8_t type;        /* ncclDataType_t */
};

struct gw_import_op {
    uint64_t start_ns, end_ns;
    uint64_t correlation, size_bytes;
    uint32_t pid;     /* 0: that of its call */
    uint32_t process; /* index, when its call is not known; GW_NONE: the first one */
    uint32_t device, stream;
    uint32_t name; /* of a kernel: from gw_builder_intern(), else GW_NONE */
    uint32_t graph_node;
    uint32_t grid[3], block[3], shared_bytes;
    uint8_t kind;                          /* enum gw_op_kind; a kernel of NCCL becomes GW_OP_COMM */
    uint8_t direction, src_kind, dst_kind; /* of a copy, as in struct gw_copy */
    uint32_t collective;                   /* from gw_assembly_add_collective(), else GW_NONE */
};

/* A correlation id is unique within the process whose pid the reader knows for calls and operations both, else within
 * the trace. */
enum gw_correlation_scope { GW_CORRELATION_TRACE, GW_CORRELATION_PROCESS };

struct gw_assembly {
    struct gw_builder builder; /* processes, threads, devices, streams and names; input number 0 */
    enum gw_correlation_scope scope;
    struct gw_import_op *ops;
    size_t ops_count;
    struct gw_import_collective *collectives;
    size_t collectives_count;
    struct gw_map unknown_functions; /* hash of a name, 0 → how many calls; names in unknown_names */
    char **unknown_names;
    size_t unknown_names_count;
    uint32_t unseen;         /* GW_UNSEEN_* of the format; a reader may add to it */
    uint64_t skipped_events; /* events that lacked what their kind must have */
    uint64_t hip_calls;      /* of AMD's HIP, taken for CUDA's */
};

/* Starts an empty model. Returns 0 or -ENOMEM; gw_assembly_clear() is allowed in both cases. */
int gw_assembly_init(struct gw_assembly *assembly, enum gw_correlation_scope scope);

/* Frees what the assembly still owns, the model too unless gw_assembly_finish() gave it away. */
void gw_assembly_clear(struct gw_assembly *assembly);

int gw_assembly_add_call(struct gw_assembly *assembly, const struct gw_import_call *call);
int gw_assembly_add_collective(struct gw_assembly *assembly, const struct gw_import_collective *collective,
                               uint32_t *ret_index);
int gw_assembly_add_op(struct gw_assembly *assembly, const struct gw_import_op *op);
int gw_assembly_add_range(struct gw_assembly *assembly, uint32_t pid, uint32_t tid, uint64_t begin_ns, uint64_t end_ns,
                          const char *name);

/* Adds what the later assembly holds, as if it had been added one by one. input: 0 when both are of one trace, else the
 * number of the later's, whose processes, correlation ids and clock are its own. shift: to the clock of the other;
 * NULL: none. */
int gw_assembly_append(struct gw_assembly *assembly, const struct gw_assembly *later, uint32_t input,
                       const struct gw_clock_shift *shift);

/* Notes what the trace cannot tell (kind: enum gw_coverage_kind) of its first process. */
int gw_assembly_add_coverage(struct gw_assembly *assembly, uint32_t kind, const char *name, const char *detail);

/* Sorts, nests and ties everything and gives the model to *ret_model. tool names the profiler in coverage texts.
 * Returns 0, -ENODATA when there is neither a call nor an operation, -ENOMEM or -EFBIG. */
int gw_assembly_finish(struct gw_assembly *assembly, const char *tool, struct gw_model **ret_model);

#endif
