// Wrong configuration files: said on standard error, with file and line, and the driver does not start.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/simgpu/test_support.h"

// Runs cuInit in a child with `lines` as configuration; its result, and what it said.
static int init_with(const char *lines, char said[512])
{
    char path[] = "simgpu-config-XXXXXX";
    int ends[2], status;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, lines, strlen(lines)), strlen(lines));
    close(file);
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        setenv("SIMGPU_CONFIG", path, 1);
        const CUresult result = cuInit(0);
        _exit(result == CUDA_SUCCESS ? 0 : result == CUDA_ERROR_SYSTEM_NOT_READY ? 1 : 2);
    }
    close(ends[1]);
    const ssize_t size = read(ends[0], said, 511);
    said[size > 0 ? size : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    return WEXITSTATUS(status);
}

static void good_files_are_silent(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(init_with("", said), 0);
    assert_string_equal(said, "");
    assert_int_equal(init_with("# only\n\ndevices 16\nmemory 2G # two\nfail cu* 1000 719\nlink 0 15 3.5\n"
                               "kernel *gemm* 100\nslowdown 3 1.5\napi_cost_ns cuLaunch* 10",
                               said),
                     0);
    assert_string_equal(said, "");
}

static void bad_lines_are_named(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "nonsense 1",  "devices",   "devices many",         "devices 1 2",           "devices -1",
        "link 0 16 1", "link 0 1",  "slowdown 0 0",         "fail cuInit 0 1",       "fail cuInit 1 NO_SUCH_ERROR",
        "kernel only", "memory 1X", "api_cost_ns cuInit x", "fail cuInit 1 719 too",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[128], said[512];
        snprintf(text, sizeof text, "# first\n%s\n", lines[i]);
        if (init_with(text, said) != 1)
            fail_msg("'%s' was accepted", lines[i]);
        if (!strstr(said, ":2: cannot understand") || !strstr(said, lines[i]))
            fail_msg("'%s' gave: %s", lines[i], said);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); // one line
    }
}

static void one_bad_line_is_enough(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(init_with("This is\nno configuration\nat all\n", said), 1);
    assert_non_null(strstr(said, ":1: cannot understand 'This is'"));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); // one line
}

static void bounds_are_kept(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(init_with("devices 17\n", said), 1);
    assert_non_null(strstr(said, "devices must be 1 to 16"));
    assert_int_equal(init_with("sms 0\n", said), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_are_silent),
        cmocka_unit_test(bad_lines_are_named),
        cmocka_unit_test(one_bad_line_is_enough),
        cmocka_unit_test(bounds_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
