/* The records by what the builder does with them: one pass over each stream, streams side by side. */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/radix.h"
#include "analyzer/read/parallel.h"
#include "analyzer/read/record_block.h"
#include "analyzer/read/record_layout.h"

/* Moves for each call after which sorting by insertion is given up: calls are nearly in order, or not at all. */
#define MOVES_A_CALL 8u
/* Calls whose places are remembered while they are sorted: nearly all moves are among the last few. */
#define RECENT_CALLS 4096u

/* ---- sorting ---- */

struct place {
    uint64_t begin_ns;
    uint8_t depth;
};

static struct place place_in(const struct gw_record *record)
{
    return (struct place){record->begin_ns, GW_SITE_DEPTH(record->site)};
}

static struct place place_of(const struct gw_builder *builder, uint32_t reference)
{
    struct gw_record record;
    gw_builder_record_head(builder, reference, &record);
    return place_in(&record);
}

static bool goes_before(struct place a, struct place b)
{
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.depth < b.depth;
}

/* Calls as they are sorted by insertion. */
struct sorting {
    struct place recent[RECENT_CALLS]; /* of the last ones, that of the call at i in [i % RECENT_CALLS] */
    size_t moves_left;                 /* 0: given up */
};

/* The place of one of count calls. */
static struct place place_at(const struct gw_builder *builder, const struct sorting *sorting, const uint32_t *calls,
                             size_t count, size_t at)
{
    return count - at <= RECENT_CALLS ? sorting->recent[at % RECENT_CALLS] : place_of(builder, calls[at]);
}

static void remember(struct sorting *sorting, size_t count, size_t at, struct place place)
{
    if (count - at <= RECENT_CALLS) {
        sorting->recent[at % RECENT_CALLS] = place;
    }
}

/* Puts the last of count calls, whose place is given, where it belongs among those before it. */
static void insert_last(const struct gw_builder *builder, struct sorting *sorting, uint32_t *calls, size_t count,
                        struct place place)
{
    size_t at = count - 1;
    const uint32_t call = calls[at];
    for (; at > 0 && sorting->moves_left; at--) {
        const struct place before = place_at(builder, sorting, calls, count, at - 1);
        if (!goes_before(place, before)) {
            break;
        }
        calls[at] = calls[at - 1];
        remember(sorting, count, at, before);
        sorting->moves_left--;
    }
    calls[at] = call;
    remember(sorting, count, at, place);
}

/* Sorts calls that are too far out of order for that. */
static int sort_calls(const struct gw_builder *builder, uint32_t *calls, size_t count)
{
    struct sorting sorting = {.moves_left = SIZE_MAX};
    struct gw_sort_item *items = malloc((count + 1) * sizeof(*items));
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
    /* What is left are outer and inner calls entered in the same nanosecond. */
    for (size_t i = 0; i < count && !status; i++) {
        insert_last(builder, &sorting, calls, i + 1, place_of(builder, calls[i]));
    }
    return status;
}

/* ---- sources ---- */

/* Where the block may be freed before the record is used, a copy takes its place. */
static int take_other(const struct gw_builder *builder, struct gw_source *source, uint32_t reference)
{
    source->others[source->others_count++] = reference;
    if (!builder->uses_up) {
        return 0;
    }
    struct gw_record record;
    gw_builder_record(builder, reference, &record);
    return gw_record_stream_append(&source->kept, &record, record.words, gw_record_words_of[record.type]);
}

static int take(const struct gw_builder *builder, struct gw_source *source, const struct gw_record *record,
                uint32_t reference, struct sorting *sorting)
{
    if (record->type == GW_RECORD_gpu_op) {
        source->timings[source->timings_count++] = reference;
        return 0;
    }
    if (record->type == GW_RECORD_call_begin) {
        source->begins[source->begins_count++] = reference;
        return 0;
    }
    uint8_t flags = GW_SITE_FLAGS(record->site);
    source->calls[source->calls_count++] = reference;
    source->enqueued += (flags & GW_SITE_OP_INDEX) && !(flags & GW_SITE_CAPTURED);
    if (sorting->moves_left) {
        insert_last(builder, sorting, source->calls, source->calls_count, place_in(record));
    }
    if (!(flags & GW_SITE_HAS_BEGIN)) {
        return 0;
    }
    if (GW_GROW(source->ends, source->ends_count)) {
        return -ENOMEM;
    }
    source->ends[source->ends_count++] = reference;
    return 0;
}

static void free_block(struct gw_builder *builder, struct gw_block_place *place)
{
    /* The inputs are the builder's to use up, see gw_builder.uses_up. */
    struct gw_record_stream *stream = (struct gw_record_stream *)builder->sources[place->source].stream;
    gw_record_block_destroy(place->block);
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
    struct sorting sorting = {.moves_left = MOVES_A_CALL * calls + 1};
    for (size_t b = 0; b < source->stream->block_count; b++) {
        struct gw_block_place *place = &builder->blocks[source->first_block + b];
        struct gw_record record;
        for (uint32_t i = 0, at = 0, next; i < place->block->count; i++, at = next) {
            const uint32_t reference = (uint32_t)((source->first_block + b) << 16 | at);
            next = gw_record_get_head(place->block, at, &record);
            const bool is_own = record.type <= GW_RECORD_call_begin || record.type == GW_RECORD_gpu_op;
            place->left += is_own;
            if (is_own ? take(builder, source, &record, reference, &sorting) : take_other(builder, source, reference)) {
                return -ENOMEM;
            }
        }
    }
    gw_record_stream_close(&source->kept);
    return sorting.moves_left ? 0 : sort_calls(builder, source->calls, source->calls_count);
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
        const struct gw_record_block *block = builder->blocks[b].block;
        struct gw_record record;
        for (uint32_t i = 0, at = 0; i < block->count; i++) {
            source->others[other++] = (uint32_t)(b << 16 | at);
            at = gw_record_get_head(block, at, &record);
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
            builder->begin_ns = block->first_ns < builder->begin_ns ? block->first_ns : builder->begin_ns;
            builder->end_ns = block->last_ns > builder->end_ns ? block->last_ns : builder->end_ns;
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
        free(builder->sources[s].ends);
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
    const struct place first = place_in(&merge->cursors[a].call), second = place_in(&merge->cursors[b].call);
    return goes_before(first, second) || (!goes_before(second, first) && a < b);
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
            gw_builder_record(builder, *source->calls, &merge->cursors[s].call);
            merge->heap[merge->heap_count++] = s;
        }
    }
    for (size_t i = merge->heap_count / 2; i-- > 0;) {
        sift_down(merge, i);
    }
    return 0;
}

bool gw_call_merge_next(struct gw_call_merge *merge, uint32_t *ret_reference, struct gw_record *ret_call)
{
    if (!merge->heap_count) {
        return false;
    }
    struct gw_call_cursor *cursor = &merge->cursors[merge->heap[0]];
    *ret_reference = *cursor->next++;
    *ret_call = cursor->call;
    if (cursor->next == cursor->end) {
        merge->heap[0] = merge->heap[--merge->heap_count];
    } else {
        gw_builder_record(merge->builder, *cursor->next, &cursor->call);
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
