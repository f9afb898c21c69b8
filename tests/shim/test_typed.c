// The table of argument forms against the table of functions, and the decoding of arguments.
#include "shim/typed/typed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shim/api/signatures.h"

static const unsigned word_counts[GW_FUNCTION_COUNT] = {
#define GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait) GW_COUNT_##sig,
#include "shim/api/functions.def"
#undef GW_FN
};

#include <cuda.h> // after the table, whose names it renames

static void forms_name_words_that_exist(void **state)
{
    unsigned typed = 0;

    (void)state;
    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++) {
        const struct gw_form *form = gw_form_of(id);

        if (!form)
            continue;
        typed++;
        assert_string_equal(form->base, gw_function_row(id)->base);
        assert_int_equal(form->kind, gw_function_row(id)->kind);
        const int words = (int)word_counts[id];
        assert_true(form->stream < words && form->a < words && form->b < words && form->c < words);
        if (form->kind != GW_KIND_MEMSET) // d is the size of an element there
            assert_true(form->d < words);
    }
    assert_true(typed > 200);
}

static void old_struct_copies_are_not_decoded(void **state)
{
    (void)state;
    assert_null(gw_form_of(GW_FUNCTION_cuMemcpy2D));
    assert_non_null(gw_form_of(GW_FUNCTION_cuMemcpy2D_v2));
    assert_non_null(gw_form_of(GW_FUNCTION_cuMemcpy2D_v2_ptds));
}

static void launches_are_packed(void **state)
{
    const struct gw_form *driver = gw_form_of(GW_FUNCTION_cuLaunchKernel);
    const struct gw_form *runtime = gw_form_of(GW_FUNCTION_cudaLaunchKernel);
    const uint64_t driver_words[] = {7, 100000, 2, 3, 256, 4, 5, 4096, 99, 0, 0};
    const uint64_t runtime_words[] = {7, 100000 | 2ull << 32, 3, 256 | 4ull << 32, 5, 0, 4096, 99};
    struct gw_launch launch;

    (void)state;
    gw_decode_launch(driver, driver_words, &launch);
    assert_int_equal(launch.func, 7);
    assert_int_equal(launch.grid, 100000 | 2ull << 32 | 3ull << 48);
    assert_int_equal(launch.block, 256 | 4 << 12 | 5 << 24 | 4096ull << 32);
    assert_int_equal(gw_form_stream(driver, driver_words), 99);

    struct gw_launch same;
    gw_decode_launch(runtime, runtime_words, &same);
    assert_memory_equal(&launch, &same, sizeof(launch));
    assert_int_equal(gw_form_stream(runtime, runtime_words), 99);
}

static void copies_have_direction_and_size(void **state)
{
    const uint64_t to_host[] = {1000, 2000, 64, 2, 5}; // cudaMemcpyDeviceToHost
    const uint64_t anywhere[] = {1000, 2000, 64};
    struct gw_copy copy;

    (void)state;
    gw_decode_copy(gw_form_of(GW_FUNCTION_cudaMemcpyAsync), to_host, &copy);
    assert_int_equal(copy.direction, GW_COPY_D2H);
    assert_int_equal(copy.src_kind, GW_HOST_NOT);
    assert_int_equal(copy.dst_kind, GW_HOST_UNKNOWN);
    assert_int_equal(copy.bytes, 64);
    gw_decode_copy(gw_form_of(GW_FUNCTION_cuMemcpy), anywhere, &copy);
    assert_int_equal(copy.direction, 0xff);
    assert_true(copy.contiguous);
}

static void struct_copies_have_all_their_rows(void **state)
{
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = (const void *)0x1000,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                        .dstDevice = 0x2000,
                        .WidthInBytes = 64,
                        .Height = 3};
    CUDA_MEMCPY3D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = 0x3000,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = (void *)0x4000,
                          .WidthInBytes = 64,
                          .Height = 3,
                          .Depth = 5};
    const uint64_t up_words[] = {(uint64_t)&up}, down_words[] = {(uint64_t)&down};
    struct gw_copy copy;

    (void)state;
    gw_decode_copy(gw_form_of(GW_FUNCTION_cuMemcpy2D_v2), up_words, &copy);
    assert_int_equal(copy.bytes, 64 * 3);
    assert_int_equal(copy.direction, GW_COPY_H2D);
    assert_true(copy.src == 0x1000 && copy.dst == 0x2000 && !copy.contiguous);
    gw_decode_copy(gw_form_of(GW_FUNCTION_cuMemcpy3D_v2), down_words, &copy);
    assert_int_equal(copy.bytes, 64 * 3 * 5);
    assert_int_equal(copy.direction, GW_COPY_D2H);
    assert_true(copy.src == 0x3000 && copy.dst == 0x4000);
}

static void images_tell_their_size(void **state)
{
    unsigned char fat[64] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 40};
    struct {
        uint32_t magic, version;
        const void *data;
    } wrapper = {0x466243b1, 1, fat};
    const void *start = NULL;

    (void)state;
    assert_int_equal(gw_image_bytes(fat, &start), 16 + 40);
    assert_ptr_equal(start, fat);
    assert_int_equal(gw_image_bytes(&wrapper, &start), 16 + 40);
    assert_ptr_equal(start, fat);
    assert_int_equal(gw_image_bytes("//\n.version 8.0", &start), 15);
    assert_int_equal(gw_image_bytes("unknown image", &start), 0);
}

static void results_are_followed_only_after_success(void **state)
{
    const struct gw_form *form = gw_form_of(GW_FUNCTION_cuMemAlloc_v2);
    uint64_t pointer = 0xabc;
    const uint64_t words[] = {(uint64_t)&pointer, 4096};

    (void)state;
    assert_int_equal(gw_form_value(form, words, 0, true), 0xabc);
    assert_int_equal(gw_form_value(form, words, 0, false), 0);
    assert_int_equal(gw_form_value(form, words, 1, false), 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_name_words_that_exist),
        cmocka_unit_test(old_struct_copies_are_not_decoded),
        cmocka_unit_test(launches_are_packed),
        cmocka_unit_test(copies_have_direction_and_size),
        cmocka_unit_test(struct_copies_have_all_their_rows),
        cmocka_unit_test(images_tell_their_size),
        cmocka_unit_test(results_are_followed_only_after_success),
    };

    gw_forms_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
