/*
 * In the place of CMocka where a test is built for another processor, for which no library of it is at hand: the part
 * of it that tests of the shim use. A test that fails ends the program.
 */
#ifndef GW_TESTS_AARCH64_CMOCKA_H
#define GW_TESTS_AARCH64_CMOCKA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function)                                                                                     \
    {                                                                                                                  \
#function, function                                                                                            \
    }

static inline void gw_cmocka_check(int holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    printf("%s:%d: not so: %s\n", file, line, what);
    exit(1);
}

#define assert_true(value) gw_cmocka_check(!!(value), #value, __FILE__, __LINE__)
#define assert_false(value) gw_cmocka_check(!(value), "not " #value, __FILE__, __LINE__)
#define assert_null(value) gw_cmocka_check(!(value), #value " is NULL", __FILE__, __LINE__)
#define assert_non_null(value) gw_cmocka_check((value) != NULL, #value " is not NULL", __FILE__, __LINE__)
#define assert_int_equal(a, b) gw_cmocka_check((uint64_t)(a) == (uint64_t)(b), #a " == " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) gw_cmocka_check((uint64_t)(a) != (uint64_t)(b), #a " != " #b, __FILE__, __LINE__)
#define assert_ptr_equal(a, b) gw_cmocka_check((const void *)(a) == (const void *)(b), #a " == " #b, __FILE__, __LINE__)
#define assert_string_equal(a, b) gw_cmocka_check(strcmp(a, b) == 0, #a " is " #b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) gw_cmocka_check(memcmp(a, b, size) == 0, #a " holds " #b, __FILE__, __LINE__)
#define assert_in_range(value, low, high)                                                                              \
    gw_cmocka_check((uint64_t)(value) >= (uint64_t)(low) && (uint64_t)(value) <= (uint64_t)(high), #value, __FILE__,   \
                    __LINE__)
#define cmocka_run_group_tests(tests, setup, teardown)                                                                 \
    ((void)(setup), (void)(teardown), gw_cmocka_run(tests, sizeof(tests) / sizeof(tests[0])))

static inline int gw_cmocka_run(const struct CMUnitTest *tests, size_t count)
{
    void *state = NULL;

    for (size_t i = 0; i < count; i++)
        tests[i].run(&state);
    printf("%zu tests\n", count);
    return 0;
}

#endif
