/* Temporary folders of readers: what a killed one left is removed, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/read/scratch.h"

static char base[] = P_tmpdir "/scratch-test-XXXXXX";

static const char *in(const char *folder, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("x", out);
    assert_int_equal(fclose(out), 0);
}

static void fill(const char *folder)
{
    write_file(in(folder, "metadata"));
    assert_int_equal(symlink(base, in(folder, "stream")), 0);
    assert_int_equal(mkdir(in(folder, "index"), 0700), 0);
    write_file(in(folder, "index/stream.idx"));
}

static void test_what_a_killed_reader_left(void **state)
{
    (void)state;
    int ends[2];
    char left[PATH_MAX] = "";
    struct gw_scratch mine = {0};
    assert_int_equal(gw_scratch_create(&mine), 0);
    fill(mine.path);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct gw_scratch scratch = {0};
        if (gw_scratch_create(&scratch) == 0) {
            fill(scratch.path);
            if (write(ends[1], scratch.path, strlen(scratch.path)) < 0)
                _exit(1);
        }
        raise(SIGKILL);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(read(ends[0], left, sizeof left - 1) > 0);
    close(ends[0]);
    close(ends[1]);

    /* What only looks like one: of another program, and a link to a folder elsewhere. */
    assert_int_equal(mkdir(in(base, "gpuwitness-read"), 0700), 0);
    assert_int_equal(mkdir(in(base, "target"), 0700), 0);
    write_file(in(base, "target/kept"));
    assert_int_equal(symlink(in(base, "target"), in(base, "gpuwitness-read-linked")), 0);

    assert_int_equal(access(left, F_OK), 0);
    gw_scratch_clean();
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(access(in(mine.path, "index/stream.idx"), F_OK), 0);
    assert_int_equal(access(in(base, "gpuwitness-read"), F_OK), 0);
    assert_int_equal(access(in(base, "target/kept"), F_OK), 0);

    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", mine.path);
    gw_scratch_remove(&mine);
    assert_null(mine.path);
    assert_int_equal(access(path, F_OK), -1);
    gw_scratch_remove(&mine);
    assert_int_equal(access(in(base, "target/kept"), F_OK), 0);

    unlink(in(base, "gpuwitness-read-linked"));
    unlink(in(base, "target/kept"));
    rmdir(in(base, "target"));
    rmdir(in(base, "gpuwitness-read"));
    assert_int_equal(rmdir(base), 0); /* nothing else was left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_a_killed_reader_left)};
    if (!mkdtemp(base) || setenv("TMPDIR", base, 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
