#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/details.h"
#include "shim/api/functions.h"

/* The thread of a tid, as it was found last; one slot for each of the tid's lowest bits. */
#define CACHED_THREADS 64u
/* A damaged trace can tell more than the model holds. */
#define DEPTH_MOST 127u
struct cached_thread {
    uint32_t pid, tid, thread;
    size_t input;
};

struct outer_call {
    uint64_t id;
    uint32_t call; /* index, or GW_NONE */
};

struct gathering {
    struct gw_builder *builder;
    struct gw_map begins;          /* call id, site without flags → 0: entered, 1: ended, too */
    struct outer_call *last_outer; /* of each thread: its latest call of depth 1 */
    struct cached_thread cached[CACHED_THREADS];
    struct gw_call_merge merge;
    struct gw_details details;
};

static uint64_t place_key(size_t input, const struct gw_record *record)
{
    return (uint64_t)input << 32 | GW_SITE_PID(record->site);
}

/* Makes room for details; *ret_calls: the most there can be. */
static int count_calls(struct gathering *self, size_t *ret_calls)
{
    size_t counts[GW_RECORD_COUNT] = {0};
    const struct gw_builder *builder = self->builder;
    struct gw_model *model = builder->model;
    for (size_t s = 0; s < builder->sources_count; s++) {
        for (size_t t = 0; t < GW_RECORD_COUNT; t++) {
            counts[t] += builder->sources[s].stream->counts[t];
        }
    }
    size_t most = counts[GW_RECORD_call_begin];
    for (size_t t = 0; t < GW_RECORD_call_begin; t++) {
        most += counts[t];
    }
    if (most >= GW_NONE) {
        return gw_error_set(builder->error, -EFBIG, "the run has more than 4294967294 calls; record a shorter one");
    }
    *ret_calls = most;
    return gw_details_reserve(model, counts);
}

static int collect_begins(struct gathering *self)
{
    const struct gw_builder *builder = self->builder;
    for (size_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        for (size_t i = 0; i < source->begins_count; i++) {
            struct gw_record record;
            gw_builder_record(builder, source->begins[i], &record);
            if (!gw_map_find(&self->begins, record.call, place_key(source->input, &record)) &&
                gw_map_insert(&self->begins, record.call, place_key(source->input, &record), 0)) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

/* Marks the begins whose call ended. */
static void match_ends(struct gathering *self)
{
    const struct gw_builder *builder = self->builder;
    for (size_t s = 0; s < builder->sources_count; s++) {
        const struct gw_source *source = &builder->sources[s];
        for (size_t i = 0; i < source->ends_count; i++) {
            struct gw_record record;
            gw_builder_record(builder, source->ends[i], &record);
            uint32_t *begin = gw_map_find(&self->begins, record.call, place_key(source->input, &record));
            if (begin) {
                *begin = 1;
            }
        }
    }
}

static int collect_unfinished(struct gathering *self)
{
    struct gw_builder *builder = self->builder;
    int status = 0;
    for (size_t s = 0; s < builder->sources_count && !status; s++) {
        const struct gw_source *source = &builder->sources[s];
        for (size_t i = 0; i < source->begins_count && !status; i++) {
            struct gw_record record;
            gw_builder_record(builder, source->begins[i], &record);
            uint32_t *begin = gw_map_find(&self->begins, record.call, place_key(source->input, &record));
            if (!*begin) {
                *begin = 1;
                record.begin_ns = record.time_ns;
                record.type = GW_RECORD_call;
                status = gw_record_stream_append(&builder->unfinished[source->input], &record, NULL, 0);
            }
            gw_builder_done(builder, source->begins[i]);
        }
    }
    for (size_t i = 0; i < builder->input_count && !status; i++) {
        status = gw_builder_add_unfinished(builder, i);
    }
    return status;
}

static uint32_t thread_of(struct gathering *self, size_t input, const struct gw_record *record)
{
    uint32_t pid = GW_SITE_PID(record->site), tid = GW_CALL_TID(record->call);
    struct cached_thread *cached = &self->cached[tid % CACHED_THREADS];
    if (cached->thread == GW_NONE || pid != cached->pid || tid != cached->tid || input != cached->input) {
        size_t before = self->builder->model->threads_count;
        uint32_t thread = gw_builder_thread(self->builder, input, pid, tid);
        *cached = (struct cached_thread){.pid = pid, .tid = tid, .thread = thread, .input = input};
        size_t after = self->builder->model->threads_count;
        if (after != before) {
            struct outer_call *grown = realloc(self->last_outer, after * sizeof(*grown));
            if (!grown) {
                return GW_NONE;
            }
            self->last_outer = grown;
            grown[after - 1].call = GW_NONE;
        }
    }
    return cached->thread;
}

/* Whether the call in the record is what its thread's outermost call consists of: the driver's part of a launch, of an
 * event's record or of a wait for one, with nothing to tell that the outermost call does not. */
static bool is_driver_part(const struct gathering *self, size_t input, uint32_t thread, const struct gw_record *record)
{
    const struct outer_call *outer = &self->last_outer[thread];
    if (GW_SITE_DEPTH(record->site) != 2 || outer->call == GW_NONE || outer->id != record->call ||
        (GW_SITE_FLAGS(record->site) & (GW_SITE_CAPTURED | GW_SITE_HAS_BEGIN)) ||
        (record->type != GW_RECORD_launch && record->type != GW_RECORD_order)) {
        return false;
    }
    const struct gw_call *whole = &self->builder->model->calls[outer->call];
    const uint16_t function = gw_builder_function(self->builder, input, GW_SITE_FUNCTION(record->site));
    const struct gw_function *row = gw_function_row(function);
    const uint64_t what = record->type == GW_RECORD_order ? record->words[GW_ARG_order_what] : GW_ORDER_EVENT_RECORD;
    return row && row->api == GW_API_DRV && (what == GW_ORDER_EVENT_RECORD || what == GW_ORDER_STREAM_WAIT_EVENT) &&
           whole->detail_kind == GW_DETAIL_NONE && !whole->flags && whole->depth == 1 &&
           gw_call_class(whole->function) == gw_call_class(function) && whole->result == record->result &&
           whole->begin_ns <= record->begin_ns && record->time_ns <= whole->end_ns;
}

/* Puts the arguments of such a call and what it enqueued to the outermost one. */
static int merge_driver_part(struct gathering *self, uint32_t thread, const struct gw_record *record)
{
    struct gw_model *model = self->builder->model;
    const uint32_t outer = self->last_outer[thread].call;
    struct gw_call *whole = &model->calls[outer];
    uint8_t detail_kind = GW_DETAIL_NONE;
    whole->detail = gw_details_add(&self->details, self->builder, model->threads[thread].process, record, &detail_kind);
    whole->detail_kind = detail_kind & 0xfu;
    whole->holds_part = true;
    model->merged_calls++;
    return GW_SITE_FLAGS(record->site) & GW_SITE_OP_INDEX ? gw_builder_add_op(self->builder, outer, outer, record) : 0;
}

static int gather(struct gathering *self)
{
    struct gw_builder *builder = self->builder;
    struct gw_model *model = builder->model;
    struct gw_record record;
    uint32_t reference;
    while (gw_call_merge_next(&self->merge, &reference, &record)) {
        const size_t k = model->calls_count;
        const struct gw_source *source = gw_builder_source(builder, reference);
        size_t input = source->input;
        bool unfinished = source->unfinished;
        uint32_t thread = thread_of(self, input, &record);
        if (thread == GW_NONE) {
            return -ENOMEM;
        }
        if (builder->merges_parts && !unfinished && is_driver_part(self, input, thread, &record)) {
            int status = merge_driver_part(self, thread, &record);
            if (status) {
                return status;
            }
            gw_builder_done(builder, reference);
            continue;
        }
        uint8_t site_flags = GW_SITE_FLAGS(record.site), detail_kind = GW_DETAIL_NONE;
        uint32_t process = model->threads[thread].process;
        struct gw_call *call = &model->calls[k];
        *call = (struct gw_call){
            .begin_ns = record.begin_ns,
            .end_ns = unfinished ? GW_TIME_UNKNOWN : gw_end_after(record.begin_ns, record.time_ns),
            .thread = thread,
            .result = record.result,
            .function = gw_builder_function(builder, input, GW_SITE_FUNCTION(record.site)),
            .depth = GW_SITE_DEPTH(record.site) < DEPTH_MOST ? GW_SITE_DEPTH(record.site) : DEPTH_MOST,
            .flags = (unfinished ? GW_CALL_NO_END : 0) | (site_flags & GW_SITE_CAPTURED ? GW_CALL_CAPTURED : 0),
        };
        call->detail = unfinished ? GW_NONE : gw_details_add(&self->details, builder, process, &record, &detail_kind);
        call->detail_kind = detail_kind & 0xfu;
        if (!unfinished && (site_flags & GW_SITE_HAS_BEGIN) &&
            !gw_map_find(&self->begins, record.call, place_key(input, &record))) {
            call->flags |= GW_CALL_NO_BEGIN;
        }
        struct outer_call *outer = &self->last_outer[thread];
        if (call->depth <= 1) {
            *outer = (struct outer_call){.id = record.call, .call = (uint32_t)k};
        }
        if (model->call_ids) {
            model->call_ids[model->call_ids_count++] = record.call;
        }
        model->calls_count = k + 1;
        if (!unfinished && (site_flags & GW_SITE_OP_INDEX) && !(site_flags & GW_SITE_CAPTURED)) {
            bool nested = outer->call != GW_NONE && outer->id == record.call;
            int status = gw_builder_add_op(builder, (uint32_t)k, nested ? outer->call : GW_NONE, &record);
            if (status) {
                return status;
            }
        }
        gw_builder_done(builder, reference);
    }
    return 0;
}

int gw_build_thread_calls(struct gw_model *model)
{
    uint32_t *thread_of_call = malloc((model->calls_count + 1) * sizeof(*thread_of_call));
    uint32_t *first = NULL;
    if (!thread_of_call) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->calls_count; i++) {
        thread_of_call[i] = model->calls[i].thread;
    }
    int status = gw_group(thread_of_call, model->calls_count, model->threads_count, &model->thread_calls, &first);
    free(thread_of_call);
    if (!status) {
        model->thread_calls_count = model->calls_count;
        for (size_t t = 0; t < model->threads_count; t++) {
            model->threads[t].call_first = first[t];
            model->threads[t].call_count = first[t + 1] - first[t];
        }
        free(first);
    }
    return status;
}

/* A call without an end that is followed by another of its thread did return: its end was lost, and lies before that
 * one. */
static void close_lost_ends(struct gw_model *model)
{
    for (size_t t = 0; t < model->threads_count; t++) {
        const uint32_t *calls = model->thread_calls + model->threads[t].call_first;
        uint64_t next_begin_ns = GW_TIME_UNKNOWN;
        for (uint32_t i = model->threads[t].call_count; i-- > 0;) {
            struct gw_call *call = &model->calls[calls[i]];
            if ((call->flags & GW_CALL_NO_END) && next_begin_ns != GW_TIME_UNKNOWN) {
                call->flags = (call->flags & ~GW_CALL_NO_END & 0xfu) | GW_CALL_END_LOST;
                call->end_ns = next_begin_ns;
            }
            if (call->depth <= 1) {
                next_begin_ns = call->begin_ns;
            }
        }
    }
}

int gw_build_calls(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    struct gathering self = {.builder = builder};
    size_t call_capacity = 0, op_capacity = builder->timings.count + builder->node_links_count;
    for (size_t i = 0; i < CACHED_THREADS; i++) {
        self.cached[i].thread = GW_NONE;
    }
    int status = count_calls(&self, &call_capacity);
    if (!status) {
        status = collect_begins(&self);
    }
    if (status) {
        goto end;
    }
    match_ends(&self);
    status = collect_unfinished(&self);
    if (!status) {
        status = gw_call_merge_init(&self.merge, builder);
    }
    if (status) {
        goto end;
    }
    for (size_t s = 0; s < builder->sources_count; s++) {
        op_capacity += builder->sources[s].unfinished ? 0 : builder->sources[s].enqueued;
    }
    model->calls = malloc((call_capacity + 1) * sizeof(*model->calls));
    model->ops = malloc((op_capacity + 1) * sizeof(*model->ops));
    self.last_outer = malloc((model->threads_count + 1) * sizeof(*self.last_outer));
    model->call_ids = builder->with_call_ids ? malloc((call_capacity + 1) * sizeof(*model->call_ids)) : NULL;
    if (!model->calls || !model->ops || !self.last_outer || (builder->with_call_ids && !model->call_ids)) {
        status = -ENOMEM;
        goto end;
    }
    for (size_t i = 0; i < model->threads_count; i++) {
        self.last_outer[i].call = GW_NONE;
    }
    status = gather(&self);
    if (!status) {
        status = gw_build_thread_calls(model);
    }
    if (!status) {
        close_lost_ends(model);
    }
end:
    gw_call_merge_clear(&self.merge);
    for (size_t s = 0; s < builder->sources_count; s++) {
        free(builder->sources[s].calls);
        builder->sources[s].calls = NULL;
    }
    free(self.last_outer);
    gw_map_clear(&self.begins);
    return status;
}
