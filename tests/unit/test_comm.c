/* What a run's transfers say of its network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analyzer/verdicts/comm.h"

#define KERNELS 40

/* A collective alone in its kernel, at a latency and a bus bandwidth. */
static struct gw_comm_kernel transfer(double bus_bytes, double latency_ns, double gbps)
{
    return (struct gw_comm_kernel){.start_ns = 1000,
                                   .arrived_ns = 5000,
                                   .end_ns = 5000 + (uint64_t)(latency_ns + bus_bytes / gbps),
                                   .bus_bytes = bus_bytes,
                                   .count = 1};
}

static void latency_is_where_the_line_of_sizes_begins(void **state)
{
    static const double latencies_ns[] = {8000, 60000, 2000000}, gbps[] = {150, 1, 0.5};
    struct gw_comm_kernel kernels[KERNELS];
    (void)state;
    for (int network = 0; network < 3; network++) {
        for (int i = 0; i < KERNELS; i++)
            kernels[i] = transfer(4096.0 * (1 << i % 8), latencies_ns[network], gbps[network]);
        kernels[3].end_ns += 30000000; /* odd ones change nothing */
        kernels[17].end_ns += 5000000;
        for (int i = 0; i < KERNELS / 2; i++) { /* nor do kernels of groups, which take long whatever their bytes */
            kernels[2 * i].count = 2;
            kernels[2 * i].end_ns += 40000000;
        }
        assert_float_equal(gw_comm_latency_ns(kernels, KERNELS), latencies_ns[network], 0.01 * latencies_ns[network]);
    }
}

static void one_size_tells_what_no_link_explains(void **state)
{
    struct gw_comm_kernel kernels[KERNELS];
    (void)state;
    for (int i = 0; i < KERNELS; i++)
        kernels[i] = transfer(8192, 2000000, 1); /* sockets: 2 ms for each small gather */
    assert_true(gw_comm_latency_ns(kernels, KERNELS) > 1900000);
    for (int i = 0; i < KERNELS; i++)
        kernels[i] = transfer(16384, 120000, 75);
    assert_true(gw_comm_latency_ns(kernels, KERNELS) > 100000);
    for (int i = 0; i < KERNELS; i++)
        kernels[i] = transfer(1048576, 8000, 0.6); /* all of it may be bytes */
    assert_float_equal(gw_comm_latency_ns(kernels, KERNELS), 20000, 0);
    for (int i = 0; i < KERNELS; i++)
        kernels[i] = transfer(64, 6000, 150);
    assert_float_equal(gw_comm_latency_ns(kernels, KERNELS), 6000, 10);
}

static void unknown_arrivals_tell_nothing(void **state)
{
    struct gw_comm_kernel kernels[2] = {transfer(4096, 9000, 10), transfer(65536, 9000, 10)};
    (void)state;
    kernels[0].arrived_ns = kernels[1].arrived_ns = GW_TIME_UNKNOWN;
    assert_float_equal(gw_comm_latency_ns(kernels, 2), 0, 0);
    assert_float_equal(gw_comm_latency_ns(kernels, 0), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latency_is_where_the_line_of_sizes_begins),
        cmocka_unit_test(one_size_tells_what_no_link_explains),
        cmocka_unit_test(unknown_arrivals_tell_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
