/* Which collectives and messages of several ranks are one exchange, which kernel carries each out, and its bandwidth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"
#include "tests/unit/model_fixture.h"

enum { BOTH = 2 };

/* A run of one thread for each of two ranks of a communicator; calls take turns. */
struct run {
    struct gw_fixture *fixture;
    struct gw_model *model;
    struct gw_collective collectives[8];
    struct gw_communicator communicators[BOTH];
    uint32_t threads[BOTH], streams[BOTH];
    uint32_t count;
    uint64_t now_ns;
};

static void begin(struct run *run)
{
    *run = (struct run){.fixture = gw_fixture_create(), .now_ns = 1000};
    for (uint32_t r = 0; r < BOTH; r++) {
        run->threads[r] = gw_fixture_thread(run->fixture, 10 + r);
        run->streams[r] = gw_fixture_stream(run->fixture, gw_fixture_device(run->fixture, r), 1, 0);
        run->communicators[r] = (struct gw_communicator){.id = 99, .rank = r, .size = BOTH};
    }
}

/* A call of a rank; with a kind other than GW_COMM_KIND_COUNT it asks for an exchange. */
static uint32_t call(struct run *run, uint32_t rank, const char *function, enum gw_comm_kind kind, uint32_t peer)
{
    uint32_t index = gw_fixture_call(run->fixture, run->threads[rank], function, run->now_ns, run->now_ns + 10, 1);
    run->now_ns += 100;
    if (kind == GW_COMM_KIND_COUNT)
        return index;
    struct gw_call *made = &gw_fixture_model(run->fixture)->calls[index];
    made->detail_kind = GW_DETAIL_COLLECTIVE;
    made->detail = run->count;
    run->collectives[run->count++] = (struct gw_collective){.size_bytes = 1000,
                                                            .arrival_wait_ns = GW_TIME_UNKNOWN,
                                                            .transfer_ns = GW_TIME_UNKNOWN,
                                                            .communicator = rank,
                                                            .op = GW_NONE,
                                                            .stream = run->streams[rank],
                                                            .match = GW_NONE,
                                                            .rank = peer,
                                                            .kind = (uint8_t)kind,
                                                            .type = 7}; /* ncclFloat32 */
    return index;
}

static void kernel(struct run *run, uint32_t rank, uint32_t launched_in, const char *name, uint64_t start_ns)
{
    uint32_t op = gw_fixture_op(run->fixture, launched_in, run->streams[rank], GW_OP_COMM, start_ns, start_ns + 500);
    gw_fixture_op_name(run->fixture, op, name);
}

/* The collectives bound and matched; calls come in the order they were made in. */
static const struct gw_collective *end(struct run *run)
{
    run->model = gw_fixture_finish(run->fixture);
    run->model->collectives = malloc(sizeof(run->collectives));
    run->model->communicators = malloc(sizeof(run->communicators));
    assert_non_null(run->model->collectives);
    assert_non_null(run->model->communicators);
    for (uint32_t i = 0; i < run->count; i++)
        run->model->collectives[i] = run->collectives[i];
    for (uint32_t i = 0; i < BOTH; i++)
        run->model->communicators[i] = run->communicators[i];
    run->model->collectives_count = run->count;
    run->model->communicators_count = BOTH;
    struct gw_builder builder = {.model = run->model};
    assert_int_equal(gw_build_collectives(&builder), 0);
    return run->model->collectives;
}

static void bandwidth_is_that_of_the_bus(void **state)
{
    (void)state;
    assert_true(fabs(gw_comm_bus_factor(GW_COMM_ALL_REDUCE, 4) - 1.5) < 1e-12);
    assert_true(fabs(gw_comm_bus_factor(GW_COMM_ALL_GATHER, 4) - 0.75) < 1e-12);
    assert_true(fabs(gw_comm_bus_factor(GW_COMM_REDUCE_SCATTER, 4) - 0.75) < 1e-12);
    assert_true(fabs(gw_comm_bus_factor(GW_COMM_BROADCAST, 4) - 1) < 1e-12);
}

static void a_message_is_what_the_other_rank_receives(void **state)
{
    struct run run;
    (void)state;
    begin(&run);
    for (uint32_t r = 0; r < BOTH; r++) {
        call(&run, r, "ncclSend", GW_COMM_SEND, 1 - r);
        call(&run, r, "ncclRecv", GW_COMM_RECV, 1 - r);
    }
    const struct gw_collective *found = end(&run); /* send 0, receive 0, send 1, receive 1 */
    assert_int_equal(found[0].match, found[3].match);
    assert_int_equal(found[1].match, found[2].match);
    assert_int_not_equal(found[0].match, found[1].match);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(found[i].matched, 2);
        assert_int_equal(found[i].sequence, 0);
        assert_int_equal(found[i].size_bytes, 4000);
    }
    gw_model_destroy(run.model);
}

static void a_group_is_carried_out_at_its_outer_end(void **state)
{
    struct run run;
    (void)state;
    begin(&run);
    for (uint32_t r = 0; r < BOTH; r++) {
        call(&run, r, "ncclGroupStart", GW_COMM_KIND_COUNT, 0);
        call(&run, r, "ncclGroupStart", GW_COMM_KIND_COUNT, 0);
        call(&run, r, "ncclAllReduce", GW_COMM_ALL_REDUCE, 0);
        call(&run, r, "ncclGroupEnd", GW_COMM_KIND_COUNT, 0);
        call(&run, r, "ncclAllGather", GW_COMM_ALL_GATHER, 0);
        uint32_t last = call(&run, r, "ncclGroupEnd", GW_COMM_KIND_COUNT, 0);
        kernel(&run, r, last, "ncclDevKernel_AllGather_RING", 10000 + 1000 * r);
        kernel(&run, r, last, "ncclDevKernel_AllReduce_Sum_f32", 20000 + 1000 * r);
    }
    const struct gw_collective *found = end(&run);
    for (uint32_t r = 0; r < BOTH; r++) {
        assert_int_not_equal(found[2 * r].op, GW_NONE);
        assert_int_equal(run.model->ops[found[2 * r].op].start_ns, 20000 + 1000 * r);
        assert_int_not_equal(found[2 * r + 1].op, GW_NONE);
        assert_int_equal(run.model->ops[found[2 * r + 1].op].start_ns, 10000 + 1000 * r);
    }
    assert_int_equal(found[0].match, found[2].match);
    assert_int_equal(found[0].arrival_wait_ns, 1000); /* the second rank comes later, and waits for nobody */
    assert_int_equal(found[2].arrival_wait_ns, 0);
    assert_int_equal(found[2].transfer_ns, 500);
    gw_model_destroy(run.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidth_is_that_of_the_bus),
        cmocka_unit_test(a_message_is_what_the_other_rank_receives),
        cmocka_unit_test(a_group_is_carried_out_at_its_outer_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
