#include "analyzer/model/causality.h"

#include "analyzer/model/sorted.h"

static bool is_timed(const struct gw_op *op)
{
    return !(op->flags & (GW_OP_UNTIMED | GW_OP_NO_CALL)) && op->call != GW_NONE && op->kind != GW_OP_HOST;
}

/* Counts it when `first_ns` should not lie after `second_ns` and does, by more than the error. */
static void expect_order(struct gw_causality *causality, uint64_t first_ns, uint64_t second_ns, uint64_t error_ns,
                         uint64_t *count)
{
    if (first_ns <= second_ns || first_ns - second_ns <= error_ns) {
        return;
    }
    uint64_t beyond_ns = first_ns - second_ns - error_ns;
    (*count)++;
    causality->clock_off_ns = beyond_ns > causality->clock_off_ns ? beyond_ns : causality->clock_off_ns;
}

static void check_stream(const struct gw_model *model, const struct gw_stream *stream, struct gw_causality *causality)
{
    const struct gw_op *latest = NULL; /* the operation before that ended last */
    for (uint32_t i = 0; i < stream->op_count; i++) {
        const struct gw_op *op = &model->ops[model->stream_ops[stream->op_first + i]];
        if (!is_timed(op)) {
            continue;
        }
        const struct gw_call *call = &model->calls[op->call];
        causality->checked++;
        expect_order(causality, call->begin_ns, op->start_ns, op->error_ns, &causality->before_launch);
        if (latest && latest->call != op->call && model->calls[latest->call].end_ns <= call->begin_ns) {
            expect_order(causality, latest->end_ns, op->start_ns, (uint64_t)latest->error_ns + op->error_ns,
                         &causality->overlapping);
        }
        latest = !latest || op->end_ns > latest->end_ns ? op : latest;
    }
}

static uint64_t enqueued_ns(const struct gw_model *model, const struct gw_op *op)
{
    return op->call == GW_NONE ? op->start_ns : model->calls[op->call].end_ns;
}

/* The last operation with times of the stream that was enqueued before `time_ns`, or NULL. */
static const struct gw_op *last_before(const struct gw_model *model, const struct gw_stream *stream, uint64_t time_ns)
{
    const uint32_t *ops = &model->stream_ops[stream->op_first];
    for (size_t low = GW_FIRST_NOT(0, stream->op_count, i, enqueued_ns(model, &model->ops[ops[i]]) <= time_ns); low > 0;
         low--) {
        const struct gw_op *op = &model->ops[ops[low - 1]];
        if (is_timed(op)) {
            return op;
        }
    }
    return NULL;
}

static void check_wait(const struct gw_model *model, const struct gw_call *call, uint32_t stream,
                       struct gw_causality *causality)
{
    const struct gw_op *op = last_before(model, &model->streams[stream], call->begin_ns);
    if (op) {
        expect_order(causality, op->end_ns, call->end_ns, op->error_ns, &causality->after_wait);
    }
}

static uint32_t devices_of(const struct gw_model *model, uint32_t process)
{
    uint32_t count = 0;
    for (size_t d = 0; d < model->devices_count; d++) {
        count += model->devices[d].process == process;
    }
    return count;
}

void gw_model_check_causality(const struct gw_model *model, struct gw_causality *ret_causality)
{
    struct gw_causality causality = {0};
    for (size_t s = 0; s < model->streams_count; s++) {
        check_stream(model, &model->streams[s], &causality);
    }
    for (size_t i = 0; i < model->calls_count; i++) {
        const struct gw_call *call = &model->calls[i];
        if (call->detail_kind != GW_DETAIL_ORDER || call->result != 0 ||
            (call->flags & (GW_CALL_NO_END | GW_CALL_END_LOST))) {
            continue;
        }
        const struct gw_order *order = &model->orders[call->detail];
        uint32_t process = model->threads[call->thread].process;
        if (order->what == GW_ORDER_STREAM_SYNC && order->stream != GW_NONE) {
            check_wait(model, call, order->stream, &causality);
        } else if (order->what == GW_ORDER_DEVICE_SYNC && devices_of(model, process) == 1) {
            for (uint32_t s = 0; s < model->streams_count; s++) {
                if (model->devices[model->streams[s].device].process == process) {
                    check_wait(model, call, s, &causality);
                }
            }
        }
    }
    *ret_causality = causality;
}
