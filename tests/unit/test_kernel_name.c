/* Kernel names for people, and the two containers the builder stands on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzer/model/map.h"
#include "analyzer/model/model.h"
#include "analyzer/model/radix.h"

static void expect_name(const char *mangled, const char *wanted)
{
    char *name = gw_kernel_name_short(mangled);
    assert_non_null(name);
    assert_string_equal(name, wanted);
    free(name);
}

static void test_names(void **state)
{
    (void)state;
    expect_name("vectorAdd", "vectorAdd");
    expect_name("_Z9vectorAddPKfS0_Pfi", "vectorAdd");
    expect_name("_Z7forwardIfLi4EEvPKT_PS0_i", "forward<>");
    expect_name(
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
        "at::native::vectorized_elementwise_kernel<>");
    expect_name("_ZN12_GLOBAL__N_16kernelEv", "kernel");
    expect_name("_ZN7FunctorclEi", "Functor::operator()");
    expect_name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    expect_name("void cub::DeviceReduce<float, (int)3>(float*)", "cub::DeviceReduce<>");
    expect_name("_Znot a name", "name");
    expect_name("größe_µ", "größe_µ");
    expect_name("", "");
    expect_name("open<bracket", "open<>");
    expect_name("_ZZN1a1bEvENKUlvE_clEv", "a::b");
}

static void expect_variant(const char *mangled, const char *wanted)
{
    char *name = gw_kernel_name_variant(mangled);
    assert_non_null(name);
    assert_string_equal(name, wanted);
    free(name);
}

static void test_variants(void **state)
{
    (void)state;
    expect_variant("vectorAdd", "vectorAdd");
    expect_variant("_Z7forwardIfLi4EEvPKT_PS0_i", "forward<float, 4>");
    expect_variant(
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
        "at::native::vectorized_elementwise_kernel<4, FillFunctor<>, Array<>>");
    expect_variant("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>(Params)",
                   "cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>");
    expect_variant("void cub::DeviceReduce<float, (int)3>(float*)", "cub::DeviceReduce<float, 3>");
    expect_variant("f<a::b<c>::d, unsigned int>", "f<d, unsigned int>");
    expect_variant("open<bracket", "open<>");
    expect_variant("empty<>", "empty<>");
    expect_variant("two<a, b>::three<c>", "two<a, b>::three<c>");
    expect_variant("trailing<a,>", "trailing<a,>");
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void test_radix_sort_is_stable(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct gw_sort_item *items = malloc(COUNT * sizeof(*items));
    uint64_t random = 42;
    for (unsigned spread = 1; spread < 64; spread += 9) {
        for (uint32_t i = 0; i < COUNT; i++) {
            items[i] = (struct gw_sort_item){.key = 1000 + (next_random(&random) >> (64 - spread)), .value = i};
        }
        assert_int_equal(gw_radix_sort(items, COUNT), 0);
        for (uint32_t i = 1; i < COUNT; i++) {
            assert_true(items[i - 1].key < items[i].key ||
                        (items[i - 1].key == items[i].key && items[i - 1].value < items[i].value));
        }
    }
    assert_int_equal(gw_radix_sort(items, 0), 0);
    free(items);
}

static void test_map(void **state)
{
    (void)state;
    struct gw_map map = {0};
    assert_null(gw_map_find(&map, 1, 1));
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(gw_map_insert(&map, i, 1, (uint32_t)i), 0);           /* like call ids */
        assert_int_equal(gw_map_insert(&map, i << 20, 2, (uint32_t)i + 1), 0); /* like pointers */
    }
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(*gw_map_find(&map, i, 1), i);
        assert_int_equal(*gw_map_find(&map, i << 20, 2), i + 1);
    }
    assert_null(gw_map_find(&map, 5000, 1));
    assert_null(gw_map_find(&map, 3, 2));
    gw_map_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_radix_sort_is_stable),
        cmocka_unit_test(test_map),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
