#include "analyzer/model/sequence.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/map.h"

/* What a token is made of, in one number: a domain in the highest bits keeps waits and operations apart. */
static uint64_t op_identity(const struct gw_op *op)
{
    uint64_t what = op->name == GW_NONE ? 0 : op->name + 1u;
    if (op->graph_node != GW_NONE) {
        return (uint64_t)GW_OP_GRAPH << 40 | what; /* the first of its nodes tells graphs apart */
    }
    if (op->kind != GW_OP_KERNEL && op->kind != GW_OP_COMM) {
        /* sizes drift with the shapes: the power of two will do */
        what = op->size_bytes ? 64u - (uint64_t)__builtin_clzll(op->size_bytes) : 0;
    }
    return (uint64_t)op->kind << 40 | what;
}

/* What kernels of optimizers have in their names: PyTorch's (fused and for many tensors at a time), Apex',
 * TensorFlow's, and what people write. */
static const char *const update_names[] = {"optim",         "adam",          "sgd",          "adagrad",
                                           "rmsprop",       "adafactor",     "fusedlamb",    "multi_tensor_apply",
                                           "weight_update", "update_weight", "param_update", "update_param",
                                           "apply_grad"};

/* Likewise, as words by themselves: opt_kernel, but neither optional nor adopt. */
static const char *const update_words[] = {"opt", "optim", "lamb", "lion"};

static bool has_word(const char *name, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = strcasestr(name, word); at; at = strcasestr(at + 1, word)) {
        if ((at == name || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[length])) {
            return true;
        }
    }
    return false;
}

static bool is_update(const char *name)
{
    for (size_t i = 0; i < sizeof(update_words) / sizeof(*update_words); i++) {
        if (has_word(name, update_words[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(update_names) / sizeof(*update_names); i++) {
        if (strcasestr(name, update_names[i])) {
            return true;
        }
    }
    return false;
}

/* By name of the model: whether such kernels update parameters. None do in a process that replays graphs: all of a step
 * may be one operation, and what warmed it up many. NULL when there is no memory. */
static bool *find_updates(const struct gw_model *model, const uint32_t *ops, uint32_t op_count)
{
    bool *updates = calloc(model->names_count + 1, sizeof(*updates)), hidden = false;
    for (uint32_t i = 0; i < op_count && !hidden; i++) {
        hidden = model->ops[ops[i]].kind == GW_OP_GRAPH || model->ops[ops[i]].graph_node != GW_NONE;
    }
    for (size_t n = 0; n < model->names_count && updates && !hidden; n++) {
        updates[n] = is_update(model->names[n]);
    }
    return updates;
}

static uint8_t op_traits(const struct gw_op *op, const bool *updates)
{
    if (op->graph_node != GW_NONE) {
        return GW_TRAIT_KERNEL | GW_TRAIT_REPLAY;
    }
    switch ((enum gw_op_kind)op->kind) {
    case GW_OP_KERNEL:
        return GW_TRAIT_KERNEL | (op->name != GW_NONE && updates[op->name] ? GW_TRAIT_UPDATE : 0);
    case GW_OP_COMM:
        return GW_TRAIT_KERNEL;
    case GW_OP_GRAPH:
        return GW_TRAIT_KERNEL | GW_TRAIT_REPLAY;
    case GW_OP_H2D:
        return GW_TRAIT_UPLOAD;
    case GW_OP_D2H:
        return GW_TRAIT_READ;
    default:
        return 0;
    }
}

static int number_of(struct gw_map *map, uint64_t a, uint64_t b, uint32_t *ret_number)
{
    const uint32_t *known = gw_map_find(map, a, b);
    if (known) {
        *ret_number = *known;
        return 0;
    }
    *ret_number = (uint32_t)map->count;
    return gw_map_insert(map, a, b, *ret_number);
}

static bool is_of(const struct gw_model *model, const struct gw_call *call, const struct gw_sequence *sequence)
{
    const struct gw_thread *thread = &model->threads[call->thread];
    return call->depth <= 1 && thread->process == sequence->process && thread->lane == sequence->lane;
}

static bool is_wait(const struct gw_model *model, const struct gw_call *call, const struct gw_sequence *sequence)
{
    return gw_call_class(call->function) == GW_CALL_SYNC && is_of(model, call, sequence);
}

static int by_index(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Calls in order of begin among which all of the sequence's are: of several processes, its own threads' only, so that
 * many processes do not each look at everybody's. *ret_calls NULL: all calls. */
static int list_calls(const struct gw_model *model, const struct gw_sequence *sequence, uint32_t **ret_calls,
                      size_t *ret_count)
{
    size_t count = 0, threads = 0, at = 0;
    if (model->processes_count == 1) {
        *ret_calls = NULL;
        *ret_count = model->calls_count;
        return 0;
    }
    for (size_t t = 0; t < model->threads_count; t++) {
        count += model->threads[t].process == sequence->process ? model->threads[t].call_count : 0;
    }
    uint32_t *calls = malloc((count + 1) * sizeof(*calls));
    if (!calls) {
        return -ENOMEM;
    }
    for (size_t t = 0; t < model->threads_count; t++) {
        const struct gw_thread *thread = &model->threads[t];
        if (thread->process == sequence->process && thread->call_count) {
            memcpy(calls + at, model->thread_calls + thread->call_first, thread->call_count * sizeof(*calls));
            at += thread->call_count;
            threads++;
        }
    }
    if (threads > 1) {
        qsort(calls, count, sizeof(*calls), by_index);
    }
    *ret_calls = calls;
    *ret_count = count;
    return 0;
}

static const struct gw_call *call_at(const struct gw_model *model, const uint32_t *calls, size_t place)
{
    return &model->calls[calls ? calls[place] : place];
}

/* The lane of the process with the most operations, the first of equal ones. */
static uint32_t leading_lane(const struct gw_model *model, uint32_t process)
{
    uint32_t leading = 0, most = 0;
    for (size_t d = 0; d < model->devices_count; d++) {
        if (model->devices[d].process != process) {
            continue;
        }
        uint32_t ops = 0;
        for (size_t s = 0; s < model->streams_count; s++) {
            const struct gw_device *device = &model->devices[model->streams[s].device];
            ops +=
                device->process == process && device->lane == model->devices[d].lane ? model->streams[s].op_count : 0;
        }
        if (ops > most) {
            most = ops;
            leading = model->devices[d].lane;
        }
    }
    return leading;
}

static bool is_of_lane(const struct gw_model *model, const struct gw_op *op, uint32_t lane)
{
    return op->stream == GW_NONE || model->devices[model->streams[op->stream].device].lane == lane;
}

/* Whether a node belongs to the graph replay that the event is: no step begins within one. */
static bool goes_on(const struct gw_model *model, const uint32_t *ops, const struct gw_op *node,
                    const struct gw_sequence_event *event)
{
    if (node->graph_node == GW_NONE || gw_host_call(node) == GW_NONE || event->op == GW_NONE) {
        return false;
    }
    const struct gw_op *first = &model->ops[ops[event->op]];
    return first->graph_node != GW_NONE && gw_host_call(first) == gw_host_call(node);
}

/* When each operation was enqueued, where the calls of some are not known: such a one was so before it started and
 * before the next one was; times never go back. *ret_times NULL: each as its call began. Returns 0 or -ENOMEM. */
static int enqueue_times(const struct gw_model *model, const uint32_t *ops, uint32_t count, uint64_t **ret_times)
{
    uint32_t known = 0;
    while (known < count && gw_host_call(&model->ops[ops[known]]) != GW_NONE) {
        known++;
    }
    if (known == count) {
        *ret_times = NULL;
        return 0;
    }
    uint64_t *times = malloc(((size_t)count + 1) * sizeof(*times));
    for (uint32_t i = count; times && i-- > 0;) {
        const struct gw_op *op = &model->ops[ops[i]];
        uint32_t call = gw_host_call(op);
        times[i] = call == GW_NONE ? op->start_ns : model->calls[call].begin_ns;
        if (call == GW_NONE && i + 1 < count && times[i + 1] < times[i]) {
            times[i] = times[i + 1];
        }
    }
    *ret_times = times;
    return times ? 0 : -ENOMEM;
}

static uint64_t silence_between(uint64_t left_ns, uint64_t begin_ns)
{
    const uint64_t silence_ns = begin_ns > left_ns ? begin_ns - left_ns : 0;
    return silence_ns < GW_SILENCE_MOST_NS ? silence_ns : GW_SILENCE_MOST_NS;
}

/* By thread of the model: whether it launches what computes. NULL when there is no memory. */
static bool *find_launching(const struct gw_model *model, const uint32_t *ops, uint32_t op_count)
{
    bool *launching = calloc(model->threads_count + 1, sizeof(*launching));
    for (uint32_t i = 0; i < op_count && launching; i++) {
        const struct gw_op *op = &model->ops[ops[i]];
        if (gw_host_call(op) != GW_NONE && (op->kind == GW_OP_KERNEL || op->kind == GW_OP_GRAPH)) {
            launching[model->calls[gw_host_call(op)].thread] = true;
        }
    }
    return launching;
}

/* Whether the upload is that of a thread that does nothing else: it comes when it comes. */
static bool is_loaded(const struct gw_model *model, const struct gw_op *op, const bool *launching)
{
    return op->kind == GW_OP_H2D && gw_host_call(op) != GW_NONE && !launching[model->calls[gw_host_call(op)].thread];
}

/* The streams of the lanes, from the map that numbered them. */
static int list_streams(const struct gw_map *lanes, struct gw_sequence *sequence)
{
    sequence->lane_streams = malloc((lanes->count + 1) * sizeof(*sequence->lane_streams));
    for (size_t i = 0; i < lanes->count && sequence->lane_streams; i++) {
        uint32_t stream = (uint32_t)lanes->entries[i].b;
        sequence->lane_streams[lanes->entries[i].value] = stream;
        sequence->stream_count = stream >= sequence->stream_count ? stream + 1 : sequence->stream_count;
    }
    return sequence->lane_streams ? 0 : -ENOMEM;
}

int gw_sequence_create(const struct gw_model *model, uint32_t process, bool without_loaders,
                       struct gw_sequence *ret_sequence)
{
    const uint32_t *ops = model->process_ops + model->processes[process].op_first;
    uint32_t op_count = model->processes[process].op_count;
    struct gw_map tokens = {0}, lanes = {0};
    struct gw_sequence sequence = {.process = process, .lane = leading_lane(model, process)};
    uint32_t *calls = NULL;
    size_t waits = 0, call = 0, call_count = 0;
    int status = list_calls(model, &sequence, &calls, &call_count);
    if (status) {
        return status;
    }
    for (size_t i = 0; i < call_count; i++) {
        waits += is_wait(model, call_at(model, calls, i), &sequence);
    }
    uint64_t *enqueued_ns = NULL;
    status = enqueue_times(model, ops, op_count, &enqueued_ns);
    bool *updates = find_updates(model, ops, op_count), *launching = find_launching(model, ops, op_count);
    sequence.events = malloc((op_count + waits + 1) * sizeof(*sequence.events));
    if (!sequence.events || status || !updates || !launching) {
        free(sequence.events);
        free(launching);
        free(enqueued_ns);
        free(updates);
        free(calls);
        return -ENOMEM;
    }
    uint32_t uploader = GW_NONE;
    uint64_t left_ns = UINT64_MAX; /* when the host last left CUDA */
    for (uint32_t i = 0; i <= op_count && !status; i++) {
        struct gw_sequence_event next = {.begin_ns = UINT64_MAX, .op = i, .last_op = i};
        const struct gw_op *op = i < op_count ? &model->ops[ops[i]] : NULL;
        if (op) {
            next.begin_ns = enqueued_ns ? enqueued_ns[i] : model->calls[gw_host_call(op)].begin_ns;
        }
        for (; call < call_count && call_at(model, calls, call)->begin_ns < next.begin_ns && !status; call++) {
            const struct gw_call *wait = call_at(model, calls, call);
            if (!is_of(model, wait, &sequence)) {
                continue;
            }
            const uint64_t silence_ns = silence_between(left_ns, wait->begin_ns);
            left_ns = left_ns == UINT64_MAX || wait->end_ns > left_ns ? wait->end_ns : left_ns;
            if (!is_wait(model, wait, &sequence)) {
                continue;
            }
            struct gw_sequence_event *event = &sequence.events[sequence.count++];
            *event = (struct gw_sequence_event){.begin_ns = wait->begin_ns,
                                                .silence_ns = silence_ns & GW_SILENCE_MOST_NS,
                                                .op = GW_NONE,
                                                .call = (uint32_t)(wait - model->calls),
                                                .traits = GW_TRAIT_SYNC};
            uint64_t identity = (uint64_t)1 << 60 | wait->function;
            status = number_of(&tokens, identity, 0, &event->token);
            status = status ? status : number_of(&lanes, identity, 0, &event->lane);
        }
        const bool loaded = op && is_loaded(model, op, launching);
        sequence.has_loaders |= loaded;
        if (op && !status && is_of_lane(model, op, sequence.lane) && !(loaded && without_loaders)) {
            if (sequence.count && goes_on(model, ops, op, &sequence.events[sequence.count - 1])) {
                sequence.events[sequence.count - 1].last_op = i;
                continue;
            }
            next.silence_ns = silence_between(left_ns, next.begin_ns) & GW_SILENCE_MOST_NS;
            if (gw_host_call(op) == GW_NONE && (left_ns == UINT64_MAX || next.begin_ns > left_ns)) {
                left_ns = next.begin_ns;
            }
            next.device = op->stream == GW_NONE ? UINT16_MAX : (uint16_t)model->streams[op->stream].device;
            next.traits = op_traits(op, updates) & 0x3fu;
            if (op->kind == GW_OP_H2D && !loaded && gw_host_call(op) != GW_NONE) {
                const uint32_t thread = model->calls[gw_host_call(op)].thread;
                sequence.has_uploaders |= uploader != GW_NONE && uploader != thread;
                uploader = thread;
            }
            status = number_of(&tokens, op_identity(op), 0, &next.token);
            status = status ? status : number_of(&lanes, op_identity(op), op->stream + 1u, &next.lane);
            sequence.events[sequence.count++] = next;
        }
    }
    sequence.token_count = (uint32_t)tokens.count;
    sequence.lane_count = (uint32_t)lanes.count;
    status = status ? status : list_streams(&lanes, &sequence);
    gw_map_clear(&tokens);
    gw_map_clear(&lanes);
    free(calls);
    free(enqueued_ns);
    free(updates);
    free(launching);
    if (status) {
        gw_sequence_clear(&sequence);
    } else {
        *ret_sequence = sequence;
    }
    return status;
}

void gw_sequence_clear(struct gw_sequence *sequence)
{
    free(sequence->events);
    free(sequence->lane_streams);
    *sequence = (struct gw_sequence){0};
}

double gw_similarity(const struct gw_sequence *sequence, uint32_t *counts, size_t first, size_t first_end,
                     size_t second, size_t second_end)
{
    size_t shared = 0, total = first_end - first + second_end - second;
    for (size_t i = first; i < first_end; i++) {
        counts[sequence->events[i].token]++;
    }
    for (size_t i = second; i < second_end; i++) {
        uint32_t *count = &counts[sequence->events[i].token];
        shared += *count > 0;
        *count -= *count > 0;
    }
    for (size_t i = first; i < first_end; i++) {
        counts[sequence->events[i].token] = 0;
    }
    return total ? 2.0 * (double)shared / (double)total : 0.0;
}
