/* The CSV export, compared to the byte. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyzer/export/export.h"
#include "tests/unit/model_fixture.h"

static struct gw_model *make_model(void)
{
    struct gw_fixture *fixture = gw_fixture_create();
    uint32_t thread = gw_fixture_thread(fixture, 41);
    uint32_t device = gw_fixture_device(fixture, 1);
    uint32_t stream = gw_fixture_stream(fixture, device, 7, 0);
    uint32_t first = gw_fixture_call(fixture, thread, "cudaLaunchKernel", 100, 110, 1);
    uint32_t op = gw_fixture_op(fixture, first, stream, GW_OP_KERNEL, 120, 150);
    gw_fixture_op_name(fixture, op, "kernel<a, \"b\">(int)");
    uint32_t second = gw_fixture_call(fixture, thread, "cudaLaunchHostFunc", 200, 210, 1);
    gw_fixture_op(fixture, second, stream, GW_OP_HOST, 215, 216);
    uint32_t third = gw_fixture_call(fixture, thread, "cudaMemcpyAsync", 300, 310, 1);
    gw_fixture_op(fixture, third, stream, GW_OP_H2D, 320, 340);
    gw_fixture_step(fixture, 100, 300, true);
    struct gw_model *model = gw_fixture_finish(fixture);
    static const uint64_t ids[] = {5, 6, 18446744073709551615u};
    model->call_ids = malloc(sizeof(ids));
    assert_non_null(model->call_ids);
    memcpy(model->call_ids, ids, sizeof(ids));
    model->call_ids_count = 3;
    model->calls[2].result = -1;
    model->calls[1].flags = GW_CALL_NO_END;
    model->ops[2].size_bytes = 4096;
    model->ops[2].start_ns = model->ops[2].end_ns = GW_TIME_UNKNOWN;
    model->ops[2].flags = GW_OP_UNTIMED;
    return model;
}

static void expect_file(const char *folder, const char *name, const char *wanted)
{
    char path[256], text[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    unlink(path);
    assert_string_equal(text, wanted);
}

static void test_files(void **state)
{
    (void)state;
    char folder[] = "gpuwitness-csv-XXXXXX";
    const char *failed = NULL;
    struct gw_gap gap = {.begin_ns = 150, .end_ns = 320, .call = 2, .next_op = 2, .cls = GW_CLASS_IDLE_HOST};
    const struct gw_budget budget = {.gaps = &gap, .gaps_count = 1};
    struct gw_model *model = make_model();
    assert_non_null(mkdtemp(folder));
    assert_int_equal(gw_export_csv(model, &budget, folder, &failed), 0);
    expect_file(folder, "calls.csv",
                "process,tid,depth,call_id,name,begin_ns,end_ns,result\n"
                "0,41,1,5,cudaLaunchKernel,100,110,0\n"
                "0,41,1,6,cudaLaunchHostFunc,200,,\n"
                "0,41,1,18446744073709551615,cudaMemcpyAsync,300,310,-1\n");
    expect_file(folder, "ops.csv",
                "process,device,stream,kind,name,bytes,call_id,start_ns,end_ns,graph_node\n"
                "0,1,7,kernel,\"kernel<a, \"\"b\"\">(int)\",0,5,120,150,\n"
                "0,1,7,h2d,,4096,18446744073709551615,,,\n");
    expect_file(folder, "collectives.csv",
                "comm,seq,rank,op,bytes,enqueue_ns,start_ns,end_ns,arrival_wait_ns,busbw_gbps\n");
    expect_file(folder, "steps.csv", "process,step,begin_ns,end_ns,warmup\n0,0,100,300,1\n");
    expect_file(folder, "gaps.csv",
                "process,device,begin_ns,end_ns,class,call_id\n0,1,150,320,idle_host,18446744073709551615\n");
    rmdir(folder);
    gw_model_destroy(model);
}

static void test_full_disk_and_missing_folder(void **state)
{
    (void)state;
    char folder[] = "gpuwitness-csv-XXXXXX", path[256];
    const char *failed = NULL;
    const struct gw_budget budget = {0};
    struct gw_model *model = make_model();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/ops.csv", folder);
    assert_int_equal(symlink("/dev/full", path), 0);
    assert_int_equal(gw_export_csv(model, &budget, folder, &failed), -ENOSPC);
    assert_string_equal(failed, "ops.csv");
    unlink(path);
    snprintf(path, sizeof(path), "%s/calls.csv", folder);
    unlink(path);
    rmdir(folder);
    assert_int_equal(gw_export_csv(model, &budget, folder, &failed), -ENOENT);
    assert_string_equal(failed, "calls.csv");
    gw_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_full_disk_and_missing_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
