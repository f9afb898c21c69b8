/* What notes of executed compilers make of a list, whatever order they come in and whenever they are read. */
#include "analyzer/session/execs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/api/exec_note.h"

struct bench {
    char folder[64];
    struct gw_execs *execs;
    int fifo;
};

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    assert_non_null(bench);
    snprintf(bench->folder, sizeof(bench->folder), "/tmp/gw-execs-XXXXXX");
    assert_non_null(mkdtemp(bench->folder));
    assert_int_equal(gw_execs_create(bench->folder, &bench->execs), 0);
    bench->fifo = open(gw_execs_path(bench->execs), O_RDWR);
    assert_true(bench->fifo >= 0);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    close(bench->fifo);
    gw_execs_destroy(bench->execs);
    rmdir(bench->folder);
    free(bench);
    return 0;
}

static void say(const struct bench *bench, enum gw_exec_what what, pid_t pid, uint64_t begin_ns, const char *name)
{
    union {
        struct gw_exec_note note;
        char bytes[GW_EXEC_NOTE_BYTES];
    } message = {.note = {.begin_ns = begin_ns, .what = what, .pid = (uint32_t)pid}};
    const uint32_t length = (uint32_t)strlen(name) + 1;
    message.note.bytes = GW_EXEC_NOTE_HEAD + length;
    memcpy(message.bytes + GW_EXEC_NOTE_HEAD, name, length);
    assert_int_equal(write(bench->fifo, &message, message.note.bytes), message.note.bytes);
}

/* "NAME BEGIN END" of each, END 0 while it runs. */
static void describe(const struct bench *bench, char *text, size_t room)
{
    json_t *all = gw_execs_json(bench->execs), *item;
    size_t i, at = 0;
    assert_non_null(all);
    text[0] = '\0';
    json_array_foreach(json_object_get(all, "list"), i, item)
    {
        at += (size_t)snprintf(text + at, room - at, "%s%s %lld %lld", at != 0 ? ", " : "",
                               json_string_value(json_object_get(item, "name")),
                               json_integer_value(json_object_get(item, "begin_ns")),
                               json_integer_value(json_object_get(item, "end_ns")));
        assert_true(at < room);
    }
    json_decref(all);
}

/* Without waiting: all that was said before the list is asked for is in it. */
static void expect(const struct bench *bench, const char *wanted)
{
    char text[1024];
    describe(bench, text, sizeof(text));
    assert_string_equal(text, wanted);
}

static void one_goes_over_into_the_next(void **state)
{
    const struct bench *bench = *state;
    say(bench, GW_EXEC_BEGINS, getpid(), 100, "nvcc");
    say(bench, GW_EXEC_BEGINS, getpid(), 200, "/usr/bin/ptxas");
    expect(bench, "nvcc 100 200, ptxas 200 0");
}

static void a_parent_says_it_late(void **state)
{
    const struct bench *bench = *state;
    say(bench, GW_EXEC_BEGINS, getpid(), 200, "ptxas");
    say(bench, GW_EXEC_STARTED, getppid(), 150, "gcc");
    say(bench, GW_EXEC_STARTED, getpid(), 100, "nvcc");
    expect(bench, "nvcc 100 200, gcc 150 0, ptxas 200 0");
}

static void what_failed_is_taken_back(void **state)
{
    const struct bench *bench = *state;
    say(bench, GW_EXEC_BEGINS, getpid(), 150, "cicc");
    say(bench, GW_EXEC_STARTED, getpid(), 100, "nvcc");
    expect(bench, "nvcc 100 150, cicc 150 0");
    say(bench, GW_EXEC_FAILED, getpid(), 160, "cicc");
    expect(bench, "nvcc 100 0");
    say(bench, GW_EXEC_BEGINS, getpid(), 170, "ptxas");
    expect(bench, "nvcc 100 170, ptxas 170 0");
}

/* A process that was over when its first note was read: that one still ends where the next begins, and that has an end,
 * whether or not the thread has had a CPU since. */
static void all_is_read_late(void **state)
{
    const struct bench *bench = *state;
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    say(bench, GW_EXEC_BEGINS, child, 100, "nvcc");
    say(bench, GW_EXEC_BEGINS, child, 200, "ptxas");
    char text[1024];
    describe(bench, text, sizeof(text));
    unsigned long long end_ns = 0;
    assert_int_equal(sscanf(text, "nvcc 100 200, ptxas 200 %llu", &end_ns), 1);
    assert_true(end_ns > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_goes_over_into_the_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_parent_says_it_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_failed_is_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_is_read_late, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
