/* What is taken out of texts, and what stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzer/export/redact.h"

static void is_redacted(struct gw_redactor *redactor, const char *text, const char *wanted)
{
    char *found = gw_redact_text(redactor, text);
    assert_non_null(found);
    assert_string_equal(found, wanted);
    free(found);
}

static void folders_go_and_files_stay(void **state)
{
    struct gw_redactor redactor = {0};
    (void)state;
    is_redacted(&redactor, "/data/alice/lib/libx.so", "{dir1}/libx.so");
    is_redacted(&redactor, "loaded /data/alice/lib/liby.so, then (/data/bob/z)",
                "loaded {dir1}/liby.so, then ({dir2}/z)");
    is_redacted(&redactor, "path=/data/bob/z", "path={dir2}/z");
    is_redacted(&redactor, "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1");
    is_redacted(&redactor, "/usr/local/cuda-13.0/lib64/libcudart.so.13", "/usr/local/cuda-13.0/lib64/libcudart.so.13");
    is_redacted(&redactor, "/usr/library/secret/x", "{dir3}/x");
    is_redacted(&redactor, "jit(step)/jvp/dot", "jit(step)/jvp/dot");
    is_redacted(&redactor, "12 MB/s, and/or, 3/4", "12 MB/s, and/or, 3/4");
    is_redacted(&redactor, "/", "/");
    is_redacted(&redactor, "", "");
    is_redacted(&redactor, "caf\xe9", "caf?");
    gw_redactor_release(&redactor);
}

static char *copy(const char *text)
{
    char *result = strdup(text);
    assert_non_null(result);
    return result;
}

static void model_loses_what_is_private(void **state)
{
    struct gw_model *model = calloc(1, sizeof(*model));
    struct gw_redactor redactor = {0};
    (void)state;
    setenv("USER", "carol", 1);
    setenv("HOME", "/home/carol", 1);
    model->run.host = copy("node17");
    model->run.path = copy("/home/carol/runs/secret");
    model->run.command = calloc(4, sizeof(char *));
    model->run.command[0] = copy("/opt/carol/bin/train");
    model->run.command[1] = copy("--key=Passw0rd!");
    model->run.command[2] = copy("5");
    model->run.environment_json = copy("{\"CUDA_VISIBLE_DEVICES\":\"0,1\",\"CUDA_CACHE_PATH\":\"/home/carol/c\","
                                       "\"NCCL_ALGO\":\"Ring; rm\",\"EMPTY\":\"\"}");
    model->processes = calloc(1, sizeof(*model->processes));
    model->processes_count = 1;
    model->processes[0].exe = copy("/opt/carol/bin/train");
    model->processes[0].command = copy("/opt/carol/bin/train --key=Passw0rd! 5");
    model->processes[0].host = copy("node17");
    model->processes[0].environment = copy("RANK=3\nJOB=carol-17\n");
    model->threads = calloc(1, sizeof(*model->threads));
    model->threads_count = 1;
    model->threads[0].name = copy("carol at node17");
    model->coverages = calloc(1, sizeof(*model->coverages));
    model->coverages_count = 1;
    model->coverages[0].detail = copy("Passw0rd! in /opt/carol/lib/a.so of node17, nodes node170");
    model->names = calloc(1, sizeof(*model->names));
    model->names_count = 1;
    model->names[0] = copy("carol_kernel");

    assert_int_equal(gw_redact_model(model, &redactor), 0);
    assert_string_equal(model->run.path, "run");
    assert_string_equal(model->run.host, model->processes[0].host);
    assert_null(strstr(model->run.host, "node17"));
    assert_non_null(strstr(model->run.command[0], "/train"));
    assert_null(strstr(model->run.command[0], "carol"));
    assert_string_equal(model->run.command[2], "{arg3}");
    assert_string_equal(model->processes[0].command, "{arguments}");
    assert_string_equal(model->processes[0].exe, model->run.command[0]);
    assert_non_null(strstr(model->processes[0].environment, "RANK=3\nJOB={value"));
    assert_non_null(strstr(model->run.environment_json, "\"CUDA_VISIBLE_DEVICES\":\"0,1\""));
    assert_null(strstr(model->run.environment_json, "carol"));
    assert_null(strstr(model->run.environment_json, "rm"));
    assert_non_null(strstr(model->run.environment_json, "\"EMPTY\":\"\""));
    assert_null(strstr(model->threads[0].name, "carol"));
    assert_null(strstr(model->threads[0].name, "node17"));
    assert_null(strstr(model->coverages[0].detail, "Passw0rd"));
    assert_null(strstr(model->coverages[0].detail, "carol"));
    assert_non_null(strstr(model->coverages[0].detail, "node170")); /* another word */
    assert_string_equal(model->names[0], "carol_kernel");           /* a kernel's name is one word */
    gw_redactor_release(&redactor);
    gw_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_go_and_files_stay),
        cmocka_unit_test(model_loses_what_is_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
