/* Statistics of a difference, and roles of kernels. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/diff/diff.h"

static void roles_are_told_by_names(void **state)
{
    static const struct {
        const char *name;
        enum gw_role role;
    } kernels[] = {
        {"ampere_sgemm_128x64_tn", GW_ROLE_MATMUL},
        {"nvjet_hsh_256x128_64x4", GW_ROLE_MATMUL},
        {"gemm_fusion_dot_12", GW_ROLE_MATMUL},
        {"_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsEEvv", GW_ROLE_ATTENTION},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>", GW_ROLE_ELEMENTWISE},
        {"loop_add_fusion_3", GW_ROLE_ELEMENTWISE},
        {"input_reduce_fusion", GW_ROLE_REDUCTION},
        {"triton_softmax", GW_ROLE_SOFTMAX},
        {"multi_tensor_apply_kernel", GW_ROLE_OPTIMIZER},
        {"vectorized_layer_norm_kernel", GW_ROLE_NORMALISATION},
        {"cudnn_infer_ampere_scudnn_winograd_128x128", GW_ROLE_CONVOLUTION},
        {"indexSelectLargeIndex", GW_ROLE_INDEXING},
        {"void at::native::elementwise_kernel<128, at::native::lambda_adam_sort>(int)", GW_ROLE_ELEMENTWISE},
        {"my_kernel", GW_ROLE_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        char *brief = gw_kernel_name_short(kernels[i].name);
        assert_non_null(brief);
        assert_string_equal(gw_role_name(gw_role_of_kernel(kernels[i].name, brief)), gw_role_name(kernels[i].role));
        free(brief);
    }
}

#define STEPS 4u

/* One process, one device, steps of these lengths in ms, of which compute takes half and idle_host half; a second
 * device is there and never used. host-sync would save 3 ms a step. */
static struct gw_diff_side *side_of(const double *lengths_ms, size_t count, size_t warmup, double per)
{
    struct gw_process process = {.pid = 1};
    struct gw_device devices[2] = {{.number = 0}, {.number = 1}};
    struct gw_step steps[STEPS] = {{0}};
    struct gw_interval times[STEPS] = {{0}};
    struct gw_step_budget cells[2 * STEPS] = {{0}};
    struct gw_model model = {.processes = &process, .processes_count = 1, .devices = devices, .devices_count = 2};
    struct gw_budget budget = {.cells = cells, .cells_count = 2 * count, .times = times};
    struct gw_verdict verdict = {.id = "host-sync", .state = GW_CONFIRMED, .saving_ms = 3};
    struct gw_verdicts verdicts = {.list = &verdict, .list_count = 1};
    struct gw_diff_side *side = NULL;
    for (size_t i = 0; i < count; i++) {
        steps[i].end_ns = (uint64_t)(lengths_ms[i] * 1e6);
        steps[i].warmup = i < warmup;
        times[i].end_ns = steps[i].end_ns;
        struct gw_step_budget *used = &cells[2 * i], *unused = &cells[2 * i + 1];
        used->step = unused->step = (uint32_t)i;
        used->ns[GW_CLASS_COMPUTE] = used->ns[GW_CLASS_IDLE_HOST] = steps[i].end_ns / 2;
        unused->device = 1;
        unused->unused = true;
        unused->ns[GW_CLASS_IDLE_HOST] = steps[i].end_ns;
    }
    model.steps = steps;
    model.steps_count = count;
    int status = gw_diff_side_create(&model, &budget, &verdicts, per, &side);
    assert_true(status == 0 || status == -ENODATA);
    return side;
}

static double saving_of(const struct gw_diff_side *side, const char *id)
{
    const char *const *ids;
    const size_t count = gw_verdict_ids(&ids);
    size_t at = 0;
    while (at < count && strcmp(ids[at], id) != 0)
        at++;
    assert_in_range(at, 0, count - 1);
    return side->savings_ms[at];
}

static void errors_are_those_of_means(void **state)
{
    static const double lengths[] = {1000, 2, 4, 6}; /* the first is warm-up */
    (void)state;
    struct gw_diff_side *side = side_of(lengths, 4, 1, 1), *halves = side_of(lengths, 4, 1, 2);
    assert_int_equal(side->steps, 3);
    assert_int_equal(side->warmup, 1);
    assert_true(fabs(side->step.ms - 4) < 1e-12);
    assert_true(fabs(side->step.error_ms - 2 / sqrt(3)) < 1e-12); /* deviation 2, three steps */
    assert_true(fabs(side->classes[GW_CLASS_COMPUTE].ms - 2) < 1e-12);
    assert_true(fabs(side->classes[GW_CLASS_COMPUTE].error_ms - 1 / sqrt(3)) < 1e-12);
    assert_true(fabs(side->classes[GW_CLASS_IDLE_HOST].ms - 2) < 1e-12);
    assert_int_equal(side->used_devices, 1);
    assert_true(fabs(halves->step.ms - 2) < 1e-12);
    assert_true(fabs(halves->step.error_ms - 1 / sqrt(3)) < 1e-12);
    assert_true(fabs(saving_of(side, "host-sync") - 3) < 1e-12);
    assert_true(fabs(saving_of(halves, "host-sync") - 1.5) < 1e-12);
    gw_diff_side_destroy(side);
    gw_diff_side_destroy(halves);
}

static void noise_is_two_standard_errors(void **state)
{
    (void)state;
    struct gw_diff_mean a = {10, 3}, near = {19.9, 4}, far = {20.1, 4};
    struct gw_diff_change change = gw_diff_change(&a, &near);
    assert_true(fabs(change.error_ms - 5) < 1e-12);
    assert_true(change.is_noise);
    assert_false(gw_diff_change(&a, &far).is_noise);
    assert_true(gw_diff_change(&a, &a).is_noise);
}

static void one_step_leaves_noise_unknown(void **state)
{
    static const double one[] = {5}, two[] = {1, 1};
    (void)state;
    struct gw_diff_side *a = side_of(one, 1, 0, 1), *b = side_of(two, 2, 0, 1);
    char *answer = gw_diff_answer(a, b, "step");
    assert_true(isinf(gw_diff_change(&a->step, &b->step).error_ms));
    assert_true(gw_diff_change(&a->step, &b->step).is_noise);
    assert_non_null(strstr(answer, "single step"));
    free(answer);
    gw_diff_side_destroy(a);
    gw_diff_side_destroy(b);
}

static void warmup_alone_is_nothing_to_compare(void **state)
{
    static const double lengths[] = {1, 1};
    (void)state;
    assert_null(side_of(lengths, 2, 2, 1));
}

/* A step of 10 ms after another, on two devices whose kernels are given; what is not computing is idle_host. */
static struct gw_diff_side *side_of_kernels(const struct gw_op *ops, size_t count, size_t steps_count)
{
    struct gw_process process = {.pid = 1};
    struct gw_device devices[2] = {{.number = 0}, {.number = 1}};
    struct gw_stream streams[2] = {{.device = 0}, {.device = 1}};
    struct gw_step steps[STEPS] = {{0}};
    struct gw_interval times[STEPS] = {{0}};
    struct gw_step_budget cells[2 * STEPS] = {{0}};
    static char name[] = "ampere_sgemm_128x64_tn";
    char *names[] = {name};
    struct gw_model model = {.processes = &process,
                             .processes_count = 1,
                             .devices = devices,
                             .devices_count = 2,
                             .streams = streams,
                             .streams_count = 2,
                             .names = names,
                             .names_count = 1,
                             .ops = (struct gw_op *)ops,
                             .ops_count = count,
                             .steps = steps,
                             .steps_count = steps_count};
    struct gw_budget budget = {.cells = cells, .cells_count = 2 * steps_count, .times = times};
    struct gw_verdicts verdicts = {0};
    struct gw_diff_side *side = NULL;
    for (size_t s = 0; s < steps_count; s++) {
        steps[s].begin_ns = times[s].begin_ns = s * 10000000;
        steps[s].end_ns = times[s].end_ns = (s + 1) * 10000000;
        for (uint32_t d = 0; d < 2; d++) {
            struct gw_step_budget *cell = &cells[2 * s + d];
            cell->step = (uint32_t)s;
            cell->device = d;
            for (size_t i = 0; i < count; i++) {
                uint64_t from = ops[i].start_ns > times[s].begin_ns ? ops[i].start_ns : times[s].begin_ns;
                uint64_t to = ops[i].end_ns < times[s].end_ns ? ops[i].end_ns : times[s].end_ns;
                cell->ns[GW_CLASS_COMPUTE] += ops[i].stream == d && from < to ? to - from : 0;
            }
            cell->ns[GW_CLASS_IDLE_HOST] = 10000000 - cell->ns[GW_CLASS_COMPUTE];
        }
    }
    assert_int_equal(gw_diff_side_create(&model, &budget, &verdicts, 1, &side), 0);
    return side;
}

static void a_kernel_counts_in_the_step_it_begins_in(void **state)
{
    const struct gw_op op = {.start_ns = 8000000, .end_ns = 14000000, .stream = 0, .kind = GW_OP_KERNEL};
    (void)state;
    struct gw_diff_side *side = side_of_kernels(&op, 1, 2);
    /* Mean over two steps and two devices. */
    assert_true(fabs(side->roles[GW_ROLE_MATMUL].count - 0.25) < 1e-12);
    assert_true(fabs(side->roles[GW_ROLE_MATMUL].ms - 6.0 / 4) < 1e-12);
    gw_diff_side_destroy(side);
}

static void what_one_device_has_to_do_more_the_others_wait_for(void **state)
{
    const struct gw_op ops[] = {{.start_ns = 1000000, .end_ns = 3000000, .stream = 0, .kind = GW_OP_KERNEL},
                                {.start_ns = 1000000, .end_ns = 7000000, .stream = 1, .kind = GW_OP_KERNEL}};
    double sum_ms = 0;
    (void)state;
    struct gw_diff_side *side = side_of_kernels(ops, 2, 1);
    for (int p = 0; p < GW_SCALING_PARTS; p++)
        sum_ms += side->parts[p].ms;
    assert_true(fabs(sum_ms - 10) < 1e-12);
    assert_true(fabs(side->parts[GW_SCALING_KERNELS].ms - 2) < 1e-12);
    assert_true(fabs(side->parts[GW_SCALING_STRAGGLERS].ms - 2) < 1e-12);
    gw_diff_side_destroy(side);
}

static void groups_sum_to_the_step(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        double class_ms[GW_CLASS_COUNT], part_ms[GW_SCALING_PARTS], step_ms = 0, sum_ms = 0;
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            step_ms += class_ms[c] = (double)((round * 7919u + (unsigned)c * 104729u) % 1000u) / 100;
        gw_scaling_group(class_ms, round, part_ms);
        for (int p = 0; p < GW_SCALING_PARTS; p++)
            sum_ms += part_ms[p];
        assert_true(fabs(sum_ms - step_ms) < 1e-9);
        assert_true(part_ms[GW_SCALING_KERNELS] == round);
    }
}

static void losses_are_against_the_perfect_step(void **state)
{
    static const double mean[] = {4, 4, 4, 4};
    (void)state;
    struct gw_diff_side *a = side_of(mean, 4, 1, 1), *b = side_of(mean, 4, 1, 1);
    struct gw_scaling scaling;
    assert_false(gw_scaling_of(a, b, false, &scaling));
    b->used_devices = 4;
    assert_true(gw_scaling_of(a, b, false, &scaling)); /* as much work on each: nothing lost */
    assert_true(fabs(scaling.efficiency - 1) < 1e-12);
    assert_int_equal(scaling.state, GW_RULED_OUT);
    assert_true(gw_scaling_of(a, b, true, &scaling)); /* as much work in all: nothing gained by four */
    assert_true(fabs(scaling.ideal_ms - 1) < 1e-12);
    assert_true(fabs(scaling.loss.ms - 3) < 1e-12);
    assert_true(fabs(scaling.efficiency - 0.25) < 1e-12);
    assert_int_equal(scaling.state, GW_CONFIRMED);
    double sum_ms = 0;
    for (int p = 0; p < GW_SCALING_PARTS; p++)
        sum_ms += scaling.parts[p].ms;
    assert_true(fabs(sum_ms - scaling.loss.ms) < 1e-12);
    assert_true(fabs(scaling.parts[GW_SCALING_HOST].ms - 1.5) < 1e-12); /* half of a step is idle_host */
    gw_diff_side_destroy(a);
    gw_diff_side_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roles_are_told_by_names),
        cmocka_unit_test(groups_sum_to_the_step),
        cmocka_unit_test(a_kernel_counts_in_the_step_it_begins_in),
        cmocka_unit_test(what_one_device_has_to_do_more_the_others_wait_for),
        cmocka_unit_test(losses_are_against_the_perfect_step),
        cmocka_unit_test(errors_are_those_of_means),
        cmocka_unit_test(noise_is_two_standard_errors),
        cmocka_unit_test(one_step_leaves_noise_unknown),
        cmocka_unit_test(warmup_alone_is_nothing_to_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
