// The table of functions against itself and against the look-ups that a real CUDA 13 runtime was seen to make.
#include "shim/api/functions.h"
#include "shim/api/functions_mark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *requests_path, *cuda11_path;

static void every_row_is_found_by_its_names(void **state)
{
    (void)state;
    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++) {
        const struct gw_function *row = gw_function_row(id);

        assert_string_equal(gw_function_name(id), row->symbol);
        assert_int_equal(gw_function_find(row->symbol), id);
        assert_true(gw_function_first(row->base) <= id);
        if (row->version)
            assert_int_equal(gw_function_lookup(row->base, row->version, row->stream_mode), id);
    }
}

static void the_mark_is_of_these_rows(void **state)
{
    uint64_t value = 14695981039346656037u;
    char expected[64];

    (void)state;
    for (unsigned id = 0; id < GW_FUNCTION_COUNT; id++) {
        for (const char *c = gw_function_name(id); *c; c++)
            value = (value ^ (uint8_t)*c) * 1099511628211u;
        value = (value ^ '\n') * 1099511628211u;
    }
    snprintf(expected, sizeof(expected), "gpuwitness functions %016llx", (unsigned long long)value);
    assert_string_equal(GW_FUNCTIONS_MARK, expected);
}

static void unknown_names_are_not_found(void **state)
{
    (void)state;
    assert_int_equal(gw_function_find(""), GW_FUNCTION_NONE);
    assert_int_equal(gw_function_find("malloc"), GW_FUNCTION_NONE);
    assert_int_equal(gw_function_find("cuMemcpyHtoD_v9"), GW_FUNCTION_NONE);
    assert_int_equal(gw_function_lookup("", 13000, false), GW_FUNCTION_NONE);
    assert_int_equal(gw_function_lookup("cuCtxSynchronize", 1000, false), GW_FUNCTION_NONE);
    assert_string_equal(gw_function_name(GW_FUNCTION_NONE), "?");
    assert_null(gw_function_row(GW_FUNCTION_COUNT));
}

static void requests_of_the_runtime_get_their_version(void **state)
{
    char line[256];
    unsigned checked = 0;
    FILE *requests = fopen(requests_path, "r");

    (void)state;
    assert_non_null(requests);
    while (fgets(line, sizeof(line), requests)) {
        char base[128], symbol[128];
        unsigned version, flags;

        // "(none)": the library answering had no such function; the first line has an empty name.
        if (sscanf(line, "%127s v=%u fl=%u %127s", base, &version, &flags, symbol) != 4 || symbol[0] == '(')
            continue;
        assert_string_equal(gw_function_name(gw_function_lookup(base, version, flags == 2)), symbol);
        checked++;
    }
    fclose(requests);
    assert_true(checked > 400);
}

// What CUDA 11.8 declares and CUDA 13.0 does not, or otherwise: a wrapper hands on at least as many words.
static void functions_of_cuda_11_pass(void **state)
{
    static const char *const sigs[] = {
#define GW_FN(api, symbol, base, version, stream_mode, ret, sig, kind, wait) #sig,
#include "shim/api/functions.def"
#undef GW_FN
    };
    char symbol[128], sig[32];
    unsigned checked = 0;
    FILE *functions = fopen(cuda11_path, "r");

    (void)state;
    assert_non_null(functions);
    while (fscanf(functions, "%127s %31s", symbol, sig) == 2) {
        unsigned id = gw_function_find(symbol);

        assert_int_not_equal(id, GW_FUNCTION_NONE);
        if (strcmp(sig, "N") != 0)
            assert_int_equal(strncmp(sigs[id], sig, strlen(sig)), 0);
        checked++;
    }
    fclose(functions);
    assert_true(checked >= 40);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_its_names), cmocka_unit_test(the_mark_is_of_these_rows),
        cmocka_unit_test(unknown_names_are_not_found),     cmocka_unit_test(requests_of_the_runtime_get_their_version),
        cmocka_unit_test(functions_of_cuda_11_pass),
    };

    if (argc != 3) {
        fprintf(stderr, "usage: %s REQUESTS CUDA11_FUNCTIONS\n", argv[0]);
        return 2;
    }
    requests_path = argv[1];
    cuda11_path = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
