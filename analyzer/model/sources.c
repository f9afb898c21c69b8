/* The records by what the builder does with them: one pass over each stream, streams side by side. */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/radix.h"
#include "analyzer/read/parallel.h"

/* Moves for each call after which sorting by insertion is given up: calls are nearly in order, or not at all. */
#define MOVES_A_CALL 8u

/* ---- sorting ---- */

struct place {
    uint64_t begin_ns;
    uint8_t depth;
};

static struct place place_of(const struct gw_builder *builder, uint32_t reference)
{
    const struct gw_record *record = gw_builder_record(builder, reference);
    return (struct place){record->begin_ns, GW_SITE_DEPTH(record->site)};
}

static bool goes_before(struct place a, struct place b)
{
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.depth < b.depth;
}

/* Stable, also when it is given up after that many moves; then false. */
static bool sort_by_insertion(const struct gw_builder *builder, uint32_t *calls, size_t count, size_t moves)
{
    for (size_t i = 1; i < count; i++) {
        uint32_t call = calls[i];
        struct place place = place_of(builder, call);
        size_t at = i;
        for (; at > 0 && moves && goes_before(place, place_of(builder, calls[at - 1])); at--, moves--) {
            calls[at] = calls[at - 1];
        }
        calls[at] = call;
        if (!moves) {
            return false;
        }
    }
    return true;
}

static int sort_calls(const struct gw_builder *builder, uint32_t *calls, size_t count)
{
    if (sort_by_insertion(builder, calls, count, MOVES_A_CALL * count + 1)) {
        return 0;
    }
    struct gw_sort_item *items = malloc(count * sizeof(*items));
    if (!items) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct gw_sort_item){.key = place_of(builder, calls[i]).begin_ns, .value = calls[i]};
    }
    int status = gw_radix_sort(items, count);
    for (size_t i = 0; i < count && !status; i++) {
        calls[i] = items[i].value;
    }
    free(items);
    if (!status) { /* what is left are outer and inner calls entered in the same nanosecond */
        sort_by_insertion(builder, calls, count, SIZE_MAX);
    }
    return status;
}

/* ---- sources ---- */

/* Where the block may be freed before the record is used, a copy takes its place. */
static int take_other(const struct gw_builder *builder, struct gw_source *source, const struct gw_record_block *block,
                      uint32_t place, uint32_t reference)
{
    const struct gw_record *record = &block->records[place];
    uint32_t words_end = place + 1 < block->count ? record[1].words : block->word_count;
    source->others[source->others_count++] = reference;
    return builder->uses_up ? gw_record_stream_append(&source->kept, record, gw_record_words(block, record),
                                                      words_end - record->words)
                            : 0;
}

static void take(struct gw_source *source, const struct gw_record *record, uint32_t reference)
{
    if (record->type == GW_RECORD_gpu_op) {
        source->timings[source->timings_count++] = reference;
        return;
    }
    if (record->type == GW_RECORD_call_begin) {
        source->begins[source->begins_count++] = reference;
        return;
    }
    uint8_t flags = GW_SITE_FLAGS(record->site);
    source->calls[source->calls_count++] = reference;
    source->enqueued += (flags & GW_SITE_OP_INDEX) && !(flags & GW_SITE_CAPTURED);
    source->announced += (flags & GW_SITE_HAS_BEGIN) != 0;
}

static void free_block(struct gw_builder *builder, struct gw_block_place *place)
{
    /* The inputs are the builder's to use up, see gw_builder.uses_up. */
    struct gw_record_stream *stream = (struct gw_record_stream *)builder->sources[place->source].stream;
    free(place->block);
    place->block = NULL;
    stream->blocks[place->place] = NULL;
}

void gw_builder_done(struct gw_builder *builder, uint32_t reference)
{
    struct gw_block_place *place = &builder->blocks[reference >> 16];
    if (--place->left == 0 && builder->uses_up) {
        free_block(builder, place);
    }
}

static int fill_source(void *user, size_t index)
{
    struct gw_builder *builder = user;
    struct gw_source *source = &builder->sources[index];
    const uint64_t *counts = source->stream->counts;
    size_t calls = 0, others = 0;
    for (size_t t = 0; t < GW_RECORD_COUNT; t++) {
        *(t < GW_RECORD_call_begin ? &calls : &others) += counts[t];
    }
    others -= counts[GW_RECORD_gpu_op] + counts[GW_RECORD_call_begin];
    source->calls = malloc((calls + 1) * sizeof(*source->calls));
    source->timings = malloc((counts[GW_RECORD_gpu_op] + 1) * sizeof(*source->timings));
    source->begins = malloc((counts[GW_RECORD_call_begin] + 1) * sizeof(*source->begins));
    source->others = malloc((others + 1) * sizeof(*source->others));
    if (!source->calls || !source->timings || !source->begins || !source->others) {
        return -ENOMEM;
    }
    for (size_t b = 0; b < source->stream->block_count; b++) {
        struct gw_block_place *place = &builder->blocks[source->first_block + b];
        const struct gw_record_block *block = place->block;
        for (uint32_t i = 0; i < block->count; i++) {
            const struct gw_record *record = &block->records[i];
            uint32_t reference = (uint32_t)((source->first_block + b) << 16 | i);
            if (record->type <= GW_RECORD_call_begin || record->type == GW_RECORD_gpu_op) {
                take(source, record, reference);
                place->left++;
            } else if (take_other(builder, source, block, i, reference)) {
                return -ENOMEM;
            }
        }
    }
    return sort_calls(builder, source->calls, source->calls_count);
}

static int add_blocks(struct gw_builder *builder, const struct gw_record_stream *stream, size_t source)
{
    size_t blocks = builder->blocks_count + stream->block_count;
    if (blocks > UINT32_MAX >> 16) {
        return gw_error_set(builder->error, -EFBIG,
                            "the run has more events than this version can hold; record a shorter one");
    }
    struct gw_block_place *grown = realloc(builder->blocks, (blocks + 1) * sizeof(*grown));
    if (!grown) {
        return -ENOMEM;
    }
    builder->blocks = grown;
    for (size_t b = 0; b < stream->block_count; b++) {
        builder->blocks[builder->blocks_count++] =
            (struct gw_block_place){.block = stream->blocks[b], .place = b, .source = (uint32_t)source};
    }
    return 0;
}

/* Lets the source's others refer to their copies, and frees the blocks that held nothing else. */
static int keep_copies(struct gw_builder *builder, size_t index)
{
    struct gw_source *source = &builder->sources[index];
    size_t first = builder->blocks_count, other = 0;
    int status = add_blocks(builder, &source->kept, index);
    for (size_t b = first; b < builder->blocks_count && !status; b++) {
        for (uint32_t i = 0; i < builder->blocks[b].block->count; i++) {
            source->others[other++] = (uint32_t)(b << 16 | i);
        }
    }
    for (size_t b = 0; b < source->stream->block_count && !status; b++) {
        if (!builder->blocks[source->first_block + b].left) {
            free_block(builder, &builder->blocks[source->first_block + b]);
        }
    }
    return status;
}

static int add_source(struct gw_builder *builder, size_t input, const struct gw_record_stream *stream, bool unfinished)
{
    size_t first_block = builder->blocks_count;
    int status = add_blocks(builder, stream, builder->sources_count);
    if (!status && GW_GROW(builder->sources, builder->sources_count)) {
        status = -ENOMEM;
    }
    if (!status) {
        builder->sources[builder->sources_count++] =
            (struct gw_source){.input = input, .stream = stream, .first_block = first_block, .unfinished = unfinished};
    }
    return status;
}

/* When the first and the last event of all were. */
static void find_range(struct gw_builder *builder)
{
    builder->begin_ns = GW_TIME_UNKNOWN;
    for (size_t b = 0; b < builder->blocks_count; b++) {
        const struct gw_record_block *block = builder->blocks[b].block;
        if (block->count) {
            uint64_t first_ns = block->records[0].time_ns, last_ns = block->records[block->count - 1].time_ns;
            builder->begin_ns = first_ns < builder->begin_ns ? first_ns : builder->begin_ns;
            builder->end_ns = last_ns > builder->end_ns ? last_ns : builder->end_ns;
        }
    }
}

int gw_build_sources(struct gw_builder *builder)
{
    builder->unfinished = calloc(builder->input_count, sizeof(*builder->unfinished));
    int status = builder->unfinished ? 0 : -ENOMEM;
    for (size_t i = 0; i < builder->input_count; i++) {
        for (size_t s = 0; s < builder->inputs[i].records->stream_count && !status; s++) {
            status = add_source(builder, i, &builder->inputs[i].records->streams[s], false);
        }
    }
    if (status) {
        return status;
    }
    find_range(builder);
    status = gw_parallel_for(builder->sources_count, fill_source, builder);
    for (size_t s = 0; s < builder->sources_count && builder->uses_up && !status; s++) {
        status = keep_copies(builder, s);
    }
    return status;
}

int gw_builder_add_unfinished(struct gw_builder *builder, size_t input)
{
    int status = add_source(builder, input, &builder->unfinished[input], true);
    return status ? status : fill_source(builder, builder->sources_count - 1);
}

void gw_sources_clear(struct gw_builder *builder)
{
    for (size_t s = 0; s < builder->sources_count; s++) {
        free(builder->sources[s].calls);
        free(builder->sources[s].timings);
        free(builder->sources[s].begins);
        free(builder->sources[s].others);
        gw_record_stream_clear(&builder->sources[s].kept);
    }
    for (size_t i = 0; builder->unfinished && i < builder->input_count; i++) {
        gw_record_stream_clear(&builder->unfinished[i]);
    }
    free(builder->unfinished);
    free(builder->sources);
}

/* ---- merging ---- */

static bool cursor_goes_before(const struct gw_call_merge *merge, uint32_t a, uint32_t b)
{
    const struct gw_call_cursor *first = &merge->cursors[a], *second = &merge->cursors[b];
    if (first->begin_ns != second->begin_ns) {
        return first->begin_ns < second->begin_ns;
    }
    return first->depth != second->depth ? first->depth < second->depth : a < b;
}

static void sift_down(struct gw_call_merge *merge, size_t at)
{
    uint32_t source = merge->heap[at];
    for (size_t child; (child = 2 * at + 1) < merge->heap_count; at = child) {
        if (child + 1 < merge->heap_count && cursor_goes_before(merge, merge->heap[child + 1], merge->heap[child])) {
            child++;
        }
        if (!cursor_goes_before(merge, merge->heap[child], source)) {
            break;
        }
        merge->heap[at] = merge->heap[child];
    }
    merge->heap[at] = source;
}

static void read_place(struct gw_call_merge *merge, struct gw_call_cursor *cursor)
{
    struct place place = place_of(merge->builder, *cursor->next);
    cursor->begin_ns = place.begin_ns;
    cursor->depth = place.depth;
}

int gw_call_merge_init(struct gw_call_merge *ret_merge, const struct gw_builder *builder)
{
    struct gw_call_merge *merge = ret_merge;
    *merge = (struct gw_call_merge){.builder = builder,
                                    .cursors = calloc(builder->sources_count + 1, sizeof(*merge->cursors)),
                                    .heap = calloc(builder->sources_count + 1, sizeof(*merge->heap))};
    if (!merge->cursors || !merge->heap) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        merge->cursors[s] = (struct gw_call_cursor){.next = source->calls, .end = source->calls + source->calls_count};
        if (source->calls_count) {
            read_place(merge, &merge->cursors[s]);
            merge->heap[merge->heap_count++] = s;
        }
    }
    for (size_t i = merge->heap_count / 2; i-- > 0;) {
        sift_down(merge, i);
    }
    return 0;
}

bool gw_call_merge_next(struct gw_call_merge *merge, uint32_t *ret_reference)
{
    if (!merge->heap_count) {
        return false;
    }
    struct gw_call_cursor *cursor = &merge->cursors[merge->heap[0]];
    *ret_reference = *cursor->next++;
    if (cursor->next == cursor->end) {
        merge->heap[0] = merge->heap[--merge->heap_count];
    } else {
        read_place(merge, cursor);
    }
    if (merge->heap_count > 1) {
        sift_down(merge, 0);
    }
    return true;
}

void gw_call_merge_clear(struct gw_call_merge *merge)
{
    free(merge->cursors);
    free(merge->heap);
    *merge = (struct gw_call_merge){0};
}
