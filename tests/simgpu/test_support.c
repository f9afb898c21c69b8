#include "tests/simgpu/test_support.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/simgpu/call.h"

static char folder[] = "simgpu-test-XXXXXX", truth_path[256];
static CUmodule module;
static sem_t gate;

static void remove_folder(void)
{
    char path[300];
    unlink(truth_path);
    snprintf(path, sizeof path, "%s/config", folder);
    unlink(path);
    rmdir(folder);
}

void support_configure(const char *lines)
{
    char path[300];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config", folder);
    snprintf(truth_path, sizeof truth_path, "%s/truth.%d.csv", folder, (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "# a test's\n%s\ntruth %s/truth\n", lines, folder);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(setenv("SIMGPU_CONFIG", path, 1), 0);
    assert_int_equal(atexit(remove_folder), 0);
}

void support_start(const char *lines)
{
    // The magic of a fat binary: its names are not read, so that any is accepted.
    static const unsigned image[4] = {0xba55ed50u};
    CUcontext context;
    support_configure(lines);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, image));
}

const char *support_truth_path(void)
{
    return truth_path;
}

CUfunction support_kernel(const char *name)
{
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

void support_spin(const char *name, unsigned blocks, uint64_t duration_ns, CUstream stream)
{
    char full[64];
    void *parameters[] = {&duration_ns};
    snprintf(full, sizeof full, "%s_spin_ns", name);
    OK(cuLaunchKernel(support_kernel(full), blocks, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void wait_at_gate(void *unused)
{
    (void)unused;
    while (sem_wait(&gate) != 0) {
    }
}

void support_close_gate(CUstream stream)
{
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    OK(cuLaunchHostFunc(stream, wait_at_gate, NULL));
}

void support_open_gate(void)
{
    assert_int_equal(sem_post(&gate), 0);
}

// Splits a row without quotes into its fields, empty ones too.
static unsigned split(char *line, char *field[12])
{
    unsigned count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *rest = line; rest && count < 12;)
        field[count++] = strsep(&rest, ",");
    return count;
}

static unsigned find_op(const char *name, struct logged_op *ret)
{
    char line[512], *field[12];
    unsigned found = 0;
    FILE *file = fopen(truth_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (split(line, field) != 11 || strcmp(field[0], "op") != 0 || strcmp(field[1], "device") == 0)
            continue;
        if (*name == '=' ? strcmp(field[3], name + 1) != 0 : strcmp(field[4], name) != 0)
            continue;
        found++;
        *ret = (struct logged_op){.device = (unsigned)atoi(field[1]),
                                  .stream = (unsigned)atoi(field[2]),
                                  .bytes = strtoull(field[5], NULL, 10),
                                  .submit_ns = strtoull(field[6], NULL, 10),
                                  .start_ns = strtoull(field[7], NULL, 10),
                                  .end_ns = strtoull(field[8], NULL, 10),
                                  .graph_node = strtoull(field[9], NULL, 10)};
        snprintf(ret->kind, sizeof ret->kind, "%s", field[3]);
        snprintf(ret->name, sizeof ret->name, "%s", field[4]);
        snprintf(ret->cause, sizeof ret->cause, "%s", field[10]);
    }
    fclose(file);
    return found;
}

struct logged_op support_op(const char *name)
{
    struct logged_op op;
    if (!find_op(name, &op))
        fail_msg("no operation %s in the truth log", name);
    return op;
}

unsigned support_op_count(const char *name)
{
    struct logged_op op;
    return find_op(name, &op);
}

void support_expect_after(const struct logged_op *op, const struct logged_op *before, const char *cause)
{
    double latency_ns;
    assert_int_equal(simgpu_config_number("launch_latency_ns", &latency_ns), 0);
    const uint64_t earliest_ns = op->submit_ns + (uint64_t)latency_ns;
    if (before->end_ns <= earliest_ns) {
        assert_int_equal(op->start_ns, earliest_ns);
        return;
    }
    assert_int_equal(op->start_ns, before->end_ns);
    assert_string_equal(op->cause, cause);
}

struct logged_call support_call(const char *name)
{
    char line[512], *field[12];
    struct logged_call call = {0};
    FILE *file = fopen(truth_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (split(line, field) != 7 || strcmp(field[0], "call") != 0 || strcmp(field[3], name) != 0)
            continue;
        call = (struct logged_call){.tid = atoi(field[1]),
                                    .depth = (unsigned)atoi(field[2]),
                                    .begin_ns = strtoull(field[4], NULL, 10),
                                    .end_ns = strtoull(field[5], NULL, 10),
                                    .result = atoi(field[6])};
        snprintf(call.name, sizeof call.name, "%s", field[3]);
    }
    fclose(file);
    if (!call.begin_ns)
        fail_msg("no call %s in the truth log", name);
    return call;
}
