/* Clocks of hosts: fitted by the ends of collectives, in spite of wrong ones; a host that shares none is not trusted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/clocks.h"
#include "analyzer/read/clock_shift.h"
#include "analyzer/read/record_layout.h"

enum { HOSTS = 4, EXCHANGES = 300, ERROR_NS = 20000 };

#define PERIOD_NS 10000000ull
#define BEGIN_NS 1000000000000ull

/* What the clock of a host shows at a time of the first one's. */
struct host_clock {
    double offset_ns, ppm;
};

static const struct host_clock hosts[HOSTS] = {{0, 0}, {-3e6, 30}, {7e9, -55}, {4e6, 10}};
static const uint32_t of_input[HOSTS] = {0, 1, 2, 3};

struct run {
    struct gw_model model;
    struct gw_process processes[HOSTS];
    struct gw_communicator communicators[2 * HOSTS];
    struct gw_op ops[4 * EXCHANGES];
    struct gw_collective collectives[4 * EXCHANGES];
    struct gw_clock clocks[HOSTS];
};

static uint64_t shown(int host, uint64_t t_ns)
{
    return t_ns + (uint64_t)(int64_t)(hosts[host].offset_ns + hosts[host].ppm / 1e6 * (double)(t_ns - BEGIN_NS));
}

static void add(struct run *run, int host, uint32_t match, uint64_t end_ns)
{
    struct gw_model *model = &run->model;
    const uint32_t index = (uint32_t)model->collectives_count++;
    run->ops[index] = (struct gw_op){.start_ns = end_ns - 100000, .end_ns = end_ns, .kind = GW_OP_COMM};
    run->collectives[index] = (struct gw_collective){.communicator = (uint32_t)host,
                                                     .op = index,
                                                     .match = match,
                                                     .matched = 2,
                                                     .arrival_wait_ns = 1,
                                                     .transfer_ns = 1};
    model->ops_count++;
}

/* Hosts 0 and 1 share collectives, and 1 and 2; host 3 has some that it shares with nobody fitted, or with host 0. */
static struct run *make_run(bool last_shares)
{
    struct run *run = calloc(1, sizeof(*run));
    unsigned seed = 1;
    assert_non_null(run);
    run->model.processes = run->processes;
    run->model.communicators = run->communicators;
    run->model.ops = run->ops;
    run->model.collectives = run->collectives;
    run->model.processes_count = HOSTS;
    for (uint32_t h = 0; h < HOSTS; h++) {
        run->processes[h].recording = h;
        run->communicators[h].process = h;
        run->clocks[h] =
            (struct gw_clock){.how = h ? GW_CLOCK_WALL : GW_CLOCK_REFERENCE, .about_ns = shown((int)h, BEGIN_NS)};
    }
    for (uint32_t e = 0; e < EXCHANGES; e++) {
        const uint64_t end_ns = BEGIN_NS + e * PERIOD_NS;
        const int first = e % 2 ? 1 : 0, second = e % 2 ? 2 : 1;
        /* Every tenth is wrong by far; all are a little. */
        const uint64_t off_ns = e % 10 == 3 ? 50000000 : (uint64_t)rand_r(&seed) % 4000;
        add(run, first, e, shown(first, end_ns));
        add(run, second, e, shown(second, end_ns + off_ns));
    }
    for (uint32_t e = EXCHANGES; e < EXCHANGES + 50; e++) {
        const uint64_t end_ns = BEGIN_NS + (e - EXCHANGES) * PERIOD_NS;
        add(run, 3, e, shown(3, end_ns));
        if (last_shares)
            add(run, 0, e, shown(0, end_ns));
    }
    return run;
}

static void check_fitted(const struct gw_clock *clock, int host)
{
    const struct gw_clock_shift shift = {clock->offset_ns, clock->drift_ppm, clock->about_ns};
    assert_int_equal(clock->how, GW_CLOCK_FITTED);
    for (uint64_t t_ns = BEGIN_NS; t_ns <= BEGIN_NS + EXCHANGES * PERIOD_NS; t_ns += PERIOD_NS) {
        const int64_t off_ns = (int64_t)gw_clock_shifted(&shift, shown(host, t_ns)) - (int64_t)t_ns;
        assert_true(llabs(off_ns) <= ERROR_NS);
    }
}

static void test_fitted_in_spite_of_outliers(void **state)
{
    (void)state;
    struct run *run = make_run(true);
    assert_int_equal(gw_clocks_fit(&run->model, of_input, run->clocks, HOSTS), 0);
    check_fitted(&run->clocks[1], 1);
    assert_int_equal(run->clocks[1].matched, EXCHANGES / 2);
    free(run);
}

static void test_fitted_through_another_host(void **state)
{
    (void)state;
    struct run *run = make_run(false);
    assert_int_equal(gw_clocks_fit(&run->model, of_input, run->clocks, HOSTS), 0);
    check_fitted(&run->clocks[2], 2);
    free(run);
}

static void test_host_that_shares_nothing(void **state)
{
    (void)state;
    struct run *run = make_run(false);
    assert_int_equal(gw_clocks_fit(&run->model, of_input, run->clocks, HOSTS), 0);
    assert_int_equal(run->clocks[3].how, GW_CLOCK_WALL);
    /* A collective of hosts 0 and 3 that the fit did not see: nothing is said of who waited for whom. */
    add(run, 3, 0, shown(3, BEGIN_NS));
    assert_int_equal(gw_clocks_check(&run->model, of_input, run->clocks, HOSTS), 0);
    assert_int_equal(run->collectives[0].arrival_wait_ns, GW_TIME_UNKNOWN);
    assert_int_equal(run->collectives[2].arrival_wait_ns, 1);
    free(run);
}

static void test_residual(void **state)
{
    (void)state;
    struct run *run = make_run(true);
    for (size_t i = 0; i < run->model.ops_count; i++) { /* on one clock already */
        const int host = (int)run->collectives[i].communicator;
        run->ops[i].end_ns = BEGIN_NS + run->collectives[i].match * PERIOD_NS + (host == 1 ? 5000u : 0u);
        run->clocks[host].how = host ? GW_CLOCK_FITTED : GW_CLOCK_REFERENCE;
    }
    assert_int_equal(gw_clocks_check(&run->model, of_input, run->clocks, HOSTS), 0);
    assert_int_equal(run->clocks[1].residual_ns, 5000);
    assert_int_equal(run->clocks[3].residual_ns, 0);
    free(run);
}

/* Every time of a record moves, those among its words too: an operation whose end stays would be years long. */
static void test_shifting_leaves_no_time_behind(void **state)
{
    static const struct {
        uint8_t type, word;
    } times[] = {{GW_RECORD_thread_gap, GW_ARG_thread_gap_end},
                 {GW_RECORD_gpu_op, GW_ARG_gpu_op_end},
                 {GW_RECORD_gpu_node, GW_ARG_gpu_node_end},
                 {GW_RECORD_gpu_clock, GW_ARG_gpu_clock_host}};
    enum { KINDS = sizeof(times) / sizeof(times[0]) };
    const struct gw_clock_shift shift = {.offset_ns = 5000, .about_ns = 2000000};
    struct gw_record_stream stream = {.first_ns = UINT64_MAX};
    struct gw_records records = {.streams = &stream, .stream_count = 1};
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        uint64_t words[GW_RECORD_WORDS_MAX] = {0};
        words[times[i].word] = 2000000;
        const struct gw_record record = {.type = times[i].type, .time_ns = 2500000, .begin_ns = 1500000};
        assert_int_equal(gw_record_stream_append(&stream, &record, words, gw_record_words_of[times[i].type]), 0);
    }
    gw_record_stream_close(&stream);
    assert_int_equal(gw_records_shift(&records, &shift), 0);
    struct gw_record record;
    for (uint32_t i = 0, at = 0; i < KINDS; i++) {
        at = gw_record_get(stream.blocks[0], at, &record);
        assert_int_equal(record.type, times[i].type);
        assert_int_equal(record.time_ns, 2505000);
        assert_int_equal(record.begin_ns, 1505000);
        assert_int_equal(record.words[times[i].word], 2005000);
    }
    gw_record_stream_clear(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shifting_leaves_no_time_behind),
        cmocka_unit_test(test_fitted_in_spite_of_outliers),
        cmocka_unit_test(test_fitted_through_another_host),
        cmocka_unit_test(test_host_that_shares_nothing),
        cmocka_unit_test(test_residual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
