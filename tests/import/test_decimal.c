/* Numbers of JSON to integers, exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/model/import/decimal.h"

static void check(const char *text, int decimals, int64_t wanted)
{
    int64_t value = -77;
    assert_true(gw_decimal_read(text, strlen(text), decimals, &value));
    assert_int_equal(value, wanted);
}

static void refuse(const char *text, int decimals)
{
    int64_t value = -77;
    assert_false(gw_decimal_read(text, strlen(text), decimals, &value));
    assert_int_equal(value, -77);
}

static void test_microseconds_keep_nanoseconds(void **state)
{
    (void)state;
    check("1661938466265032", 3, 1661938466265032000);
    check("4458676522690.655", 3, 4458676522690655);
    check("1661938466265032.001", 3, 1661938466265032001); /* a double cannot hold it */
    check("0.0004", 3, 0);
    check("0.0005", 3, 1);
    check("2393.5774999", 3, 2393577);
    check("-19360192", 0, -19360192);
    check("00012.5", 0, 13);
}

static void test_exponents(void **state)
{
    (void)state;
    check("1.5e3", 0, 1500);
    check("1661938466265.032e+3", 3, 1661938466265032000);
    check("15E-1", 0, 2);
    check("1e-30", 0, 0);
    check("0e999999999999", 0, 0);
    check("0.00000000000000000000000000000000000000000000001e47", 0, 1);
}

static void test_limits(void **state)
{
    (void)state;
    check("9223372036854775807", 0, INT64_MAX);
    check("-9223372036854775807", 0, -INT64_MAX);
    refuse("9223372036854775808", 0);
    refuse("9223372036854775807", 3);
    refuse("1e40", 0);
    refuse("99999999999999999999999999999999999999999999999999", 0);
    check("1.99999999999999999999999999999999999999999999999999", 0, 2);
}

static void test_what_is_no_number(void **state)
{
    (void)state;
    refuse("", 0);
    refuse("-", 0);
    refuse(".", 0);
    refuse("1e", 0);
    refuse("1e+", 0);
    refuse("1.2.3", 0);
    refuse("12x", 0);
    refuse("0x10", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_microseconds_keep_nanoseconds),
        cmocka_unit_test(test_exponents),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_what_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
