/* The state while a model is built; each source file of the builder fills one part. Internal to analyzer/model. */
#ifndef GW_ANALYZER_MODEL_BUILDER_H
#define GW_ANALYZER_MODEL_BUILDER_H

#include "analyzer/model/build.h"
#include "analyzer/model/map.h"
#include "analyzer/model/sources.h"

/* What a handle means from a time on; a handle that is reused has several, newest first. */
struct gw_version {
    uint64_t since_ns;
    uint32_t value;  /* stream or name index */
    uint32_t device; /* of a stream */
    uint32_t older;  /* index into versions, GW_NONE at the last */
};

struct gw_block_place {
    struct gw_record_block *block; /* NULL once it was freed */
    size_t place;                  /* in its stream */
    uint32_t source;               /* index */
    uint32_t left;                 /* of its calls, call_begin and gpu_op: those not done with */
};

/* Where a process comes from. */
struct gw_origin {
    size_t input;
    uint64_t since_ns;      /* its first CUDA call; 0 when that is not known */
    uint64_t sampled_calls; /* of the own_time record in use */
};

/* A gpu_node record, and the one of the same launch before it. */
struct gw_node_link {
    uint32_t reference, before; /* GW_NONE: none */
};

struct gw_builder {
    struct gw_model *model;
    const struct gw_model_input *inputs;
    size_t input_count;
    bool with_call_ids;          /* see gw_model_options */
    bool merges_parts;           /* see gw_model_options */
    bool uses_up;                /* it may free what it has read of the inputs */
    uint64_t begin_ns, end_ns;   /* of all events; GW_TIME_UNKNOWN and 0 without any */
    struct gw_map processes;     /* input, pid → process */
    struct gw_origin *origins;   /* of each process */
    struct gw_map threads;       /* tid, process → thread */
    struct gw_map tids;          /* tid, input → thread */
    struct gw_map devices;       /* ordinal, process → device */
    struct gw_map stream_keys;   /* number, device → stream */
    struct gw_map numbers_taken; /* device, 0 → streams up to this number are there, of those that had to be made */
    struct gw_map handles;       /* handle, process → newest version of a stream */
    struct gw_map functions;     /* handle, process → newest version of a kernel name */
    struct gw_map communicators; /* handle, process → newest version of a communicator */
    struct gw_map names;         /* hash of a name, 0 → name */
    struct gw_version *versions;
    size_t versions_count, versions_capacity;
    uint16_t
        *function_ids; /* per input, 65536 each: row of this build's table for a recorded id; NULL: they are the same */
    struct gw_source *sources; /* every stream of every input, and the unfinished calls */
    size_t sources_count;
    struct gw_record_stream *unfinished; /* by input: calls that never ended, made from their begins */
    struct gw_block_place *blocks;       /* every block of every source */
    size_t blocks_count;
    struct gw_map timings; /* call id, process << 8 | op index → reference to its gpu_op record; taken ones: GW_NONE */
    size_t timings_left;   /* not taken */
    struct gw_record timed; /* the record of timed_reference, which is asked for twice: for its device, for its times */
    uint32_t timed_reference; /* GW_NONE: none */
    struct gw_map nodes;      /* the same keys → last of the launch's gpu_node records in node_links */
    struct gw_node_link *node_links;
    size_t node_links_count;
    struct gw_error *error;
};

/* 13 days: what lasts longer, so that sums of it are no numbers any more, is only told by a damaged trace. */
#define GW_LENGTH_MOST_NS (1ull << 50)

/* The end of what begins at begin_ns: lengths are differences, and in a damaged trace an end can come before its begin.
 */
static inline uint64_t gw_end_after(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns < begin_ns || end_ns - begin_ns > GW_LENGTH_MOST_NS ? begin_ns : end_ns;
}

/* Appends one zeroed item to a counted array of the model, doubling at powers of two. */
#define GW_GROW(array, count) gw_grow((void **)&(array), (count), sizeof(*(array)))
int gw_grow(void **array, size_t count, size_t item_bytes);

/* context.c: processes, threads, devices, streams, kernel names, coverage, in order of time. */
int gw_build_context(struct gw_builder *builder);

/* Index of the process, thread or device, made when it is new; GW_NONE only when there is no memory. */
uint32_t gw_builder_process(struct gw_builder *builder, size_t input, uint32_t pid);
uint32_t gw_builder_thread(struct gw_builder *builder, size_t input, uint32_t pid, uint32_t tid);
uint32_t gw_builder_device(struct gw_builder *builder, uint32_t process, uint32_t number);

/* What the stream handle means in the process at a time; number is the device's ordinal, or GW_NONE for any. Made when
 * it was never announced. GW_NONE only when there is no memory. */
uint32_t gw_builder_stream(struct gw_builder *builder, uint32_t process, uint64_t handle, uint32_t number,
                           uint64_t time_ns);

/* The stream of that number on a device, made with handle and flags when it is new. GW_NONE only when there is no
 * memory. */
uint32_t gw_builder_add_stream(struct gw_builder *builder, uint32_t device, uint32_t number, uint64_t handle,
                               uint32_t flags);

/* Index of the text in the model's names, added when it is new. Returns 0 or -ENOMEM. */
int gw_builder_intern(struct gw_builder *builder, const char *text, uint32_t *ret_name);

/* Name index of a kernel handle at a time, or GW_NONE. */
uint32_t gw_builder_name(const struct gw_builder *builder, uint32_t process, uint64_t handle, uint64_t time_ns);

/* The communicator a handle means in the process at a time, made when it was never announced. GW_NONE only when there
 * is no memory. */
uint32_t gw_builder_communicator(struct gw_builder *builder, uint32_t process, uint64_t handle, uint64_t time_ns);

/* collectives.c. After the operations: what carried each collective out, and which belong together. */
int gw_build_collectives(struct gw_builder *builder);

/* Of collectives that are tied to calls and operations already: which belong together. Returns 0 or -ENOMEM. */
int gw_match_collectives(struct gw_model *model);

/* A send or receive. */
bool gw_comm_is_message(const struct gw_collective *collective);

/* Whether the kernel's name is that of such an exchange. */
bool gw_comm_names_kind(const struct gw_model *model, const struct gw_op *op, enum gw_comm_kind kind);

/* captured.c. After collectives are bound to kernels: those that were captured become one more for each launch of their
 * graph, with the launch's call and kernel. Returns 0 or -ENOMEM. */
int gw_build_captured(struct gw_model *model);

/* lanes.c. After the operations: which threads and devices belong together. Returns 0 or -ENOMEM. */
int gw_build_lanes(struct gw_model *model);

/* calls.c: calls with their details, sorted, thread_calls, and through gw_builder_add_op the operations they enqueued.
 */
int gw_build_calls(struct gw_builder *builder);

/* Lists the calls, which are in order, by thread. */
int gw_build_thread_calls(struct gw_model *model);

/* GW_OP_COMM for a kernel of NCCL, else GW_OP_KERNEL; name: index or GW_NONE. */
uint8_t gw_builder_kernel_kind(const struct gw_model *model, uint32_t name);

/* ops.c. Before the calls: the map of timings. */
int gw_build_timings(struct gw_builder *builder);

/* Adds the operation that the call enqueued; record is the call's. outer_call: index or GW_NONE. The model's ops have
 * room. */
int gw_builder_add_op(struct gw_builder *builder, uint32_t call, uint32_t outer_call, const struct gw_record *record);

/* nodes.c. Before the calls: the nodes of each graph launch. */
int gw_build_nodes(struct gw_builder *builder);

/* Adds an operation like `launch`, which is the whole replay's, for each of its nodes that was timed; key: as in
 * timings. Returns how many. The model's ops have room. */
size_t gw_builder_add_nodes(struct gw_builder *builder, const struct gw_op *launch, uint64_t call_id, uint64_t key);

/* GW_OP_* of a copy, by its enum gw_copy_direction. */
uint8_t gw_builder_copy_kind(uint8_t direction);

/* After the calls: operations whose call was lost, stream_ops, process_ops. */
int gw_build_op_lists(struct gw_builder *builder);

/* Ordinal of the device that timed the operation of the call's record, or GW_NONE. */
uint32_t gw_builder_op_device(struct gw_builder *builder, uint32_t process, const struct gw_record *record);

/* Row of this build's table for a function id as recorded. */
static inline uint16_t gw_builder_function(const struct gw_builder *builder, size_t input, uint16_t recorded)
{
    return builder->function_ids ? builder->function_ids[input << 16 | recorded] : recorded;
}

/* The source that a record is of, by the record's reference. */
static inline const struct gw_source *gw_builder_source(const struct gw_builder *builder, uint32_t reference)
{
    return &builder->sources[builder->blocks[reference >> 16].source];
}

/* Reads a record by its reference: block << 16 | place in the block. */
static inline void gw_builder_record(const struct gw_builder *builder, uint32_t reference, struct gw_record *ret_record)
{
    gw_record_get(builder->blocks[reference >> 16].block, reference & 0xffffu, ret_record);
}

/* The same without the record's words. */
static inline void gw_builder_record_head(const struct gw_builder *builder, uint32_t reference,
                                          struct gw_record *ret_record)
{
    gw_record_get_head(builder->blocks[reference >> 16].block, reference & 0xffffu, ret_record);
}

/* Indices 0 … count−1 grouped by group_of[i] < groups, in order within a group: *ret_first[g] … *ret_first[g + 1] − 1
 * of *ret_indices. Entries with group GW_NONE are left out. The caller frees both. Returns 0 or -ENOMEM. */
int gw_group(const uint32_t *group_of, size_t count, size_t groups, uint32_t **ret_indices, uint32_t **ret_first);

/* extras.c: gaps of threads, losses, clocks. */
int gw_build_extras(struct gw_builder *builder);
int gw_build_engines(struct gw_builder *builder);

/* compilers.c. After the calls: what the recorders saw of compilers. */
int gw_build_compilers(struct gw_builder *builder);

/* unrecorded.c. After all others: what was not recorded on purpose becomes a loss, and what its edges cut says so. */
int gw_build_unrecorded(struct gw_builder *builder);

/* Takes steps out of the model that reach into such a loss. */
void gw_drop_unrecorded_steps(struct gw_model *model);

/* ranges.c. After the context: what the program said through NVTX. */
int gw_build_ranges(struct gw_builder *builder);
void gw_builder_sort_ranges(struct gw_model *model);

/* ranks.c. Fills rank and ranks of a process from its environment. */
void gw_take_rank(struct gw_process *process);

/* After the ranges of processes: which ranks are missing or died; adds lines to the run's problems. */
int gw_build_ranks(struct gw_builder *builder);

/* The part of it that needs no recordings: which ranks are missing. Returns 0 or -ENOMEM. */
int gw_note_missing_ranks(struct gw_model *model);

/* ranks.c. Takes out the steps in which ranks may have waited for one that had died, and says so. Returns 0 or -ENOMEM.
 */
int gw_drop_steps_after_deaths(struct gw_model *model);

/* build.c. Adds a copy of the line to a NULL-terminated list, which is NULL while it is empty. Returns 0 or -ENOMEM. */
int gw_add_problem(char ***problems, const char *line);

/* Releases what the builder owns, not the model. */
void gw_builder_clear(struct gw_builder *builder);

/* floor.c: timing_floor_ns and timing_half_ns of each device, from the errors its operations state. After the
 * operations and clocks. */
int gw_build_floor(struct gw_builder *builder);

#endif
