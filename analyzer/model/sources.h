/* The records of each stream by what the builder does with them, and the calls of all streams merged in order of begin.
 * Internal to analyzer/model.
 *
 * Memory while building: 4 bytes a record; 32 more for each call of a stream whose calls are far out of order, while it
 * is sorted. Where the builder may use its inputs up, a block of records is freed with the last of its calls and times
 * of operations; records of other types but call_begin, few in most traces, are copied before, so that they hold no
 * block. */
#ifndef GW_ANALYZER_MODEL_SOURCES_H
#define GW_ANALYZER_MODEL_SOURCES_H

#include "analyzer/read/records.h"

struct gw_builder;

/* A stream of records of one input. References are block << 16 | place in the block. */
struct gw_source {
    size_t input;
    const struct gw_record_stream *stream;
    size_t first_block;           /* in the builder's list */
    bool unfinished;              /* its calls never ended: the builder made them */
    struct gw_record_stream kept; /* the copied records */
    uint32_t *calls;              /* references in order of begin, an outer call before its inner ones */
    size_t calls_count;
    uint32_t *timings; /* references of its gpu_op records */
    size_t timings_count;
    uint32_t *begins; /* of its call_begin records, until calls are merged */
    size_t begins_count;
    uint32_t *others; /* of all others */
    size_t others_count;
    size_t enqueued; /* calls that enqueued an operation */
    uint32_t *ends;  /* of calls of which the trace should have a call_begin, too, until calls are merged */
    size_t ends_count;
};

/* sources.c: fills the builder's sources and blocks from its inputs. */
int gw_build_sources(struct gw_builder *builder);

/* Adds a source for the input's unfinished calls. Returns 0 or a negative errno. */
int gw_builder_add_unfinished(struct gw_builder *builder, size_t input);

/* The call, call_begin or gpu_op record is not looked at any more; frees its block with the last of them. */
void gw_builder_done(struct gw_builder *builder, uint32_t reference);

void gw_sources_clear(struct gw_builder *builder);

struct gw_call_cursor {
    const uint32_t *next, *end;
    struct gw_record call; /* the next one */
};

/* All calls in order of begin, outer ones first; among equals those of the source that was added first. */
struct gw_call_merge {
    const struct gw_builder *builder;
    struct gw_call_cursor *cursors; /* by source */
    uint32_t *heap;                 /* sources that are not empty */
    size_t heap_count;
};

/* Stands before the first call of the builder's sources; release with gw_call_merge_clear also after a failure. Returns
 * 0 or -ENOMEM. */
int gw_call_merge_init(struct gw_call_merge *ret_merge, const struct gw_builder *builder);

/* Stores the next call and its reference; false after the last. */
bool gw_call_merge_next(struct gw_call_merge *merge, uint32_t *ret_reference, struct gw_record *ret_call);

void gw_call_merge_clear(struct gw_call_merge *merge);

#endif
