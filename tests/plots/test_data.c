/* What plots show is what the model holds: bytes that are live, rates of exchanges, lateness, and round ticks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plots/budget_data.h"
#include "plots/chart.h"
#include "plots/comm_data.h"
#include "plots/memory_data.h"
#include "plots/ranks_data.h"
#include "tests/plots/plot_fixture.h"

#define MIB (1ull << 20)

static void memory_is_live_until_released(void **state)
{
    struct plot_fixture fixture;
    struct gw_memory_data data;
    (void)state;

    plot_fixture_memory(&fixture);
    assert_int_equal(gw_memory_data_create(fixture.model, &data), 0);
    assert_int_equal(data.processes_count, 1);
    assert_int_equal(data.processes[0].most_bytes, (256 + 32 + 5) * MIB);
    assert_int_equal(data.processes[0].left_bytes, 256 * MIB);
    /* The driver's call within the runtime's is the same allocation. */
    assert_int_equal(data.sums[GW_MEMORY_GROUP_DEVICE].allocations, 41);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_DEVICE].releases, 40);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_DEVICE].bytes, (256 + 8 * (1 + 2 + 3 + 4 + 5)) * MIB);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_DEVICE].call_ns, 81 * 10000);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_POOL].allocations, 40);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_POOL].most_bytes, 32 * MIB);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_POOL].by_size[gw_memory_bin(32 * MIB)], 40);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_HOST].most_bytes, 64 * MIB);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_MANAGED].allocations, 0);
    assert_int_equal(data.unmatched, 1);
    assert_int_equal(data.failed, 0);
    gw_memory_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* Allocations that failed take nothing; one at a pointer that is live ends what was there. */
static void memory_survives_what_was_not_seen(void **state)
{
    struct plot_fixture fixture;
    struct gw_memory_data data;
    size_t allocations = 0;
    (void)state;

    plot_fixture_memory(&fixture);
    for (size_t i = 0; i < fixture.model->calls_count; i++) {
        struct gw_call *call = &fixture.model->calls[i];
        const struct gw_memory *memory = &fixture.model->memories[call->detail];
        if (memory->kind == GW_MEMORY_DEVICE && memory->size_bytes == 256 * MIB)
            call->result = 2;
        if (memory->kind == (GW_MEMORY_ASYNC | GW_MEMORY_FREE))
            call->detail_kind = GW_DETAIL_NONE; /* its event was lost */
        allocations += call->depth == 1 && memory->kind == GW_MEMORY_ASYNC;
    }
    assert_int_equal(gw_memory_data_create(fixture.model, &data), 0);
    assert_int_equal(data.failed, 1);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_POOL].allocations, allocations);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_POOL].releases, 0);
    assert_int_equal(data.sums[GW_MEMORY_GROUP_POOL].most_bytes, 32 * MIB);
    assert_int_equal(data.processes[0].most_bytes, (32 + 5) * MIB);
    assert_int_equal(data.processes[0].left_bytes, 32 * MIB);
    gw_memory_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* As the reader keeps them. */
static size_t share_arguments(struct gw_model *model)
{
    size_t kept = 0, calls = 0;
    for (size_t i = 0; i < model->calls_count; i++) {
        struct gw_call *call = &model->calls[i];
        if (call->detail_kind != GW_DETAIL_MEMORY)
            continue;
        const struct gw_memory memory = model->memories[call->detail];
        size_t at = 0;
        while (at < kept && (model->memories[at].ptr != memory.ptr || model->memories[at].kind != memory.kind ||
                             model->memories[at].size_bytes != memory.size_bytes))
            at++;
        model->memories[at] = memory;
        kept += at == kept;
        call->detail = (uint32_t)at;
        calls++;
    }
    model->memories_count = kept;
    return calls;
}

static void memory_of_calls_that_share_their_arguments(void **state)
{
    struct plot_fixture fixture;
    struct gw_memory_data alone, shared;
    (void)state;

    plot_fixture_memory(&fixture);
    assert_int_equal(gw_memory_data_create(fixture.model, &alone), 0);
    assert_true(share_arguments(fixture.model) > 2 * fixture.model->memories_count);
    assert_int_equal(gw_memory_data_create(fixture.model, &shared), 0);
    assert_int_equal(shared.changes_count, alone.changes_count);
    assert_memory_equal(shared.sums, alone.sums, sizeof(alone.sums));
    gw_memory_data_clear(&alone);
    gw_memory_data_clear(&shared);
    plot_fixture_destroy(&fixture);
}

static void exchanges_have_their_rates(void **state)
{
    struct plot_fixture fixture;
    struct gw_comm_data data;
    (void)state;

    plot_fixture_ranks(&fixture, 4, 40);
    assert_int_equal(gw_comm_data_create(&fixture.source, &data), 0);
    assert_int_equal(data.exchanges_count, 40 * 4);
    assert_int_equal(data.unmatched, 0);
    for (size_t i = 0; i < data.exchanges_count; i++) {
        const struct gw_exchange *exchange = &data.exchanges[i];
        double bus_bytes = 2.0 * 3.0 / 4.0 * (double)exchange->size_bytes;
        assert_int_equal(exchange->ranks, 4);
        assert_int_equal(exchange->calls, 1);
        assert_true(fabs(exchange->bus_bytes - bus_bytes) < 1.0);
        assert_true(fabs((double)exchange->transfer_ns -
                         (PLOT_FIXTURE_LATENCY_NS + bus_bytes / PLOT_FIXTURE_BYTES_PER_NS)) <= 1.0);
    }
    /* Latency and rate are found again. */
    assert_true(fabs(data.latency_ns - PLOT_FIXTURE_LATENCY_NS) < 2.0);
    assert_true(fabs(data.best_rate - PLOT_FIXTURE_BYTES_PER_NS) < 0.01);
    gw_comm_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* Collectives of one group are one kernel: its bytes are theirs together. */
static void groups_are_one_exchange(void **state)
{
    struct plot_fixture fixture;
    struct gw_comm_data data;
    uint64_t all_bytes = 0, found_bytes = 0;
    (void)state;

    plot_fixture_ranks(&fixture, 4, 10);
    for (size_t i = 0; i < fixture.model->collectives_count; i++) {
        struct gw_collective *collective = &fixture.model->collectives[i];
        all_bytes += collective->communicator == 0 ? collective->size_bytes : 0;
        /* The second of each pair goes into the kernel of the first. */
        for (size_t k = 0; k < i; k++)
            if (collective->match % 2 && fixture.model->collectives[k].match + 1 == collective->match &&
                fixture.model->collectives[k].communicator == collective->communicator)
                collective->op = fixture.model->collectives[k].op;
    }
    assert_int_equal(gw_comm_data_create(&fixture.source, &data), 0);
    assert_int_equal(data.exchanges_count, 20);
    for (size_t i = 0; i < data.exchanges_count; i++) {
        assert_int_equal(data.exchanges[i].calls, 2);
        found_bytes += data.exchanges[i].size_bytes;
    }
    assert_int_equal(found_bytes, all_bytes);
    gw_comm_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* A device's communication is what computing hides and what the budget calls exposed, together. */
static void shares_agree_with_the_budget(void **state)
{
    struct plot_fixture fixture;
    struct gw_comm_data data;
    (void)state;

    plot_fixture_ranks(&fixture, 4, 40);
    assert_int_equal(gw_comm_data_create(&fixture.source, &data), 0);
    assert_int_equal(data.shares_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct gw_comm_share *share = &data.shares[i];
        double exposed_ns = share->wait_ns + share->transfer_ns + share->unsplit_ns, all_ns = 0.0;
        for (size_t k = 0; k < fixture.model->ops_count; k++) {
            const struct gw_op *op = &fixture.model->ops[k];
            /* They do not overlap on a device, and each lies within the step that asks for it. */
            if (op->kind == GW_OP_COMM && fixture.model->streams[op->stream].device == share->device &&
                op->start_ns >= fixture.model->steps[2].begin_ns)
                all_ns += (double)(op->end_ns - op->start_ns) / 38.0;
        }
        assert_true(fabs(share->all_ns - all_ns) < 1.0);
        assert_true(exposed_ns > 0.0 && exposed_ns < share->all_ns);
    }
    gw_comm_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

static void the_late_rank_is_found(void **state)
{
    struct plot_fixture fixture;
    struct gw_ranks_data data;
    (void)state;

    plot_fixture_ranks(&fixture, 4, 40);
    assert_int_equal(gw_ranks_data_create(fixture.model, &data), 0);
    assert_int_equal(data.rows_count, 4);
    assert_int_equal(data.steps, 40);
    assert_int_equal(data.exchanges, 160);
    assert_true(data.by_step);
    assert_true(data.warmup[1] && !data.warmup[2]);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(data.rows[i].rank, i);
        assert_true(data.rows[i].last_share == (i == 2 ? 1.0 : 0.0));
        /* Four collectives a step, each 300 µs late, with 40 µs of jitter at most. */
        assert_true(i == 2 ? data.rows[i].late_ns > 4 * 260000.0 && data.rows[i].late_ns < 4 * 340000.0
                           : data.rows[i].late_ns < 4 * 40000.0);
        for (size_t step = 0; step < 40; step++)
            assert_false(isnan(data.late_ns[i * 40 + step]));
    }
    gw_ranks_data_clear(&data);
    /* One rank alone is compared with nobody. */
    for (size_t i = 0; i < fixture.model->collectives_count; i++)
        if (fixture.model->collectives[i].communicator)
            fixture.model->collectives[i].arrival_wait_ns = GW_TIME_UNKNOWN;
    assert_int_equal(gw_ranks_data_create(fixture.model, &data), 0);
    assert_int_equal(data.rows_count, 0);
    gw_ranks_data_clear(&data);
    plot_fixture_destroy(&fixture);
}

/* Gives a run of two ranks a second process with steps of its own, which has the second device. */
static void split_processes(struct plot_fixture *fixture, const char *command)
{
    struct gw_model *model = fixture->model;
    size_t steps = model->steps_count;

    model->processes = reallocarray(model->processes, 2, sizeof(*model->processes));
    model->steps = reallocarray(model->steps, 2 * steps, sizeof(*model->steps));
    assert_non_null(model->processes);
    assert_non_null(model->steps);
    model->processes[1] = (struct gw_process){.pid = 101, .rank = -1, .command = strdup(command)};
    model->processes_count = 2;
    model->devices[1].process = model->threads[1].process = 1;
    for (size_t i = 0; i < steps; i++) {
        model->steps[steps + i] = model->steps[i];
        model->steps[steps + i].process = 1;
        model->steps[steps + i].end_ns -= 1000000;
    }
    model->steps_count *= 2;
    model->communicators_count = 0;
    gw_budget_destroy(fixture->budget);
    assert_int_equal(gw_budget_create(model, &fixture->budget), 0);
    fixture->source.budget = fixture->budget;
}

/* Steps of the same command are averaged, those of another program are left out. */
static void programs_are_not_mixed(void **state)
{
    struct plot_fixture fixture;
    struct gw_budget_data data;
    uint32_t median;
    (void)state;

    for (int same = 0; same < 2; same++) {
        plot_fixture_ranks(&fixture, 2, 12);
        split_processes(&fixture, same ? fixture.model->processes[0].command : "another");
        assert_int_equal(gw_budget_data_create(&fixture.source, &data), 0);
        assert_int_equal(data.devices, same ? 2 : 1);
        assert_int_equal(data.other_processes, same ? 0 : 1);
        median = fixture.budget->median_step;
        assert_true(fabs(data.median.total_ns -
                         (double)(fixture.model->steps[median].end_ns - fixture.model->steps[median].begin_ns)) < 1.0);
        assert_true(fabs(data.rows[5].total_ns - (same ? 3.5e6 : data.median.total_ns)) < 1.0);
        gw_budget_data_clear(&data);
        plot_fixture_destroy(&fixture);
    }
}

/* Ticks lie within the axis, rise, and stand at round values. */
static void check_axis(const struct gw_axis *axis, const char *first, const char *last)
{
    unsigned int ticks = gw_axis_ticks(axis);
    char text[GW_UNIT_TEXT];

    assert_true(ticks >= 2);
    for (unsigned int i = 0; i < ticks; i++) {
        double value = gw_axis_tick(axis, i);
        assert_true(value >= axis->low * (1 - 1e-6) && value <= axis->high * (1 + 1e-6));
        assert_true(i == 0 || value > gw_axis_tick(axis, i - 1));
    }
    gw_axis_label(axis, gw_axis_tick(axis, 0), text);
    assert_string_equal(text, first);
    gw_axis_label(axis, gw_axis_tick(axis, ticks - 1), text);
    assert_string_equal(text, last);
}

static void axes_have_round_ticks(void **state)
{
    struct gw_axis axis = gw_axis_linear(GW_AXIS_DURATION, 0.0, 3.9e6, 8);
    (void)state;

    check_axis(&axis, "0.0 ms", "3.5 ms");
    axis = gw_axis_rounded(axis);
    check_axis(&axis, "0.0 ms", "4.0 ms");
    axis = gw_axis_rounded(gw_axis_linear(GW_AXIS_BYTES, 0.0, 70.0 * MIB, 6));
    check_axis(&axis, "0 B", "80 MiB");
    axis = gw_axis_linear(GW_AXIS_NUMBER, 0.0, 2.5, 20);
    check_axis(&axis, "0", "2");
    axis = gw_axis_linear(GW_AXIS_PERCENT, 0.0, 0.7, 5);
    check_axis(&axis, "0.0 %", "0.6 %");
    axis = gw_axis_logarithmic(GW_AXIS_RATE, 3.0, 4.0);
    check_axis(&axis, "1 GB/s", "10 GB/s");
    assert_int_equal(gw_axis_ticks(&axis), 4);
    axis = gw_axis_logarithmic(GW_AXIS_RATE, 0.00002, 40.0);
    check_axis(&axis, "10 kB/s", "100 GB/s");
    axis = gw_axis_logarithmic(GW_AXIS_BYTES, 3000.0, 900000.0);
    check_axis(&axis, "256 B", "1 MiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_live_until_released),
        cmocka_unit_test(memory_survives_what_was_not_seen),
        cmocka_unit_test(memory_of_calls_that_share_their_arguments),
        cmocka_unit_test(exchanges_have_their_rates),
        cmocka_unit_test(groups_are_one_exchange),
        cmocka_unit_test(shares_agree_with_the_budget),
        cmocka_unit_test(the_late_rank_is_found),
        cmocka_unit_test(programs_are_not_mixed),
        cmocka_unit_test(axes_have_round_ticks),
    };
    return cmocka_run_group_tests_name("plots.data", tests, NULL, NULL);
}
