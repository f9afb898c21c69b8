/*
 * source: triton#2845
 * fault: a compiler is executed within the loop, by every road there is, and the step waits for it
 * verdict: recompile
 * every: 4
 * also: hiccup
 */
#include "tests/scenarios/scenario.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define ROADS 4

static char folder[] = "/tmp/gw-compiler-XXXXXX", source[64], object[64], line[4300];

static void fail(const char *what)
{
    fprintf(stderr, "executed_compiler: %s failed\n", what);
    exit(1);
}

/* Two steps in a row compile the same: then the second has nothing new. */
static void write_source(unsigned number)
{
    FILE *file = fopen(source, "w");
    if (!file)
        fail(source);
    fprintf(file, ".version 8.0\n.target sm_80\n.address_size 64\n");
    fprintf(file, ".visible .entry kernel_%u(.param .u64 p)\n{\n.reg .b64 %%r<400>;\nld.param.u64 %%r0, [p];\n",
            number);
    for (int i = 1; i < 400; i++)
        fprintf(file, "mad.lo.s64 %%r%d, %%r%d, %%r%d, %u;\n", i, i - 1, i / 2, number + 1);
    fprintf(file, "st.u64 [%%r0], %%r399;\nret;\n}\n");
    if (fclose(file) != 0)
        fail(source);
}

static void wait_for(pid_t child)
{
    int status;
    if (child <= 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("the compiler");
}

static void compile(unsigned road)
{
    char *arguments[] = {(char *)"ptxas", (char *)"-arch=sm_80", (char *)"-o", object, source, NULL};
    pid_t child = 0;
    FILE *output;
    switch (road % ROADS) {
    case 0:
        if (posix_spawn(&child, GW_PTXAS, NULL, NULL, arguments, environ) != 0)
            fail("posix_spawn");
        wait_for(child);
        break;
    case 1:
        child = fork();
        if (child == 0) {
            execl(GW_PTXAS, "ptxas", "-arch=sm_80", source, "-o", object, (char *)NULL);
            _exit(127);
        }
        wait_for(child);
        break;
    case 2:
        if (system(line) != 0)
            fail("system");
        break;
    default:
        output = popen(line, "r");
        if (!output || pclose(output) != 0)
            fail("popen");
    }
}

static unsigned long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

/* EXECUTED_COMPILER=FILE: "step begin_ns end_ns" of each, for tests. */
void run_scenario(struct scenario *scenario)
{
    const char *told = getenv("EXECUTED_COMPILER");
    FILE *file = told ? fopen(told, "w") : NULL;
    struct trainer trainer = trainer_create(32 * KIB, true);
    if (!mkdtemp(folder))
        fail(folder);
    snprintf(source, sizeof(source), "%s/kernel.ptx", folder);
    snprintf(object, sizeof(object), "%s/kernel.cubin", folder);
    snprintf(line, sizeof(line), "'%s' -arch=sm_80 '%s' -o '%s'", GW_PTXAS, source, object);
    for (unsigned step = 0; step < 48; step++) {
        const unsigned number = step / 4;
        scenario->steps++;
        upload_batch(&trainer);
        launch_many(KERNEL_FORWARD, trainer.stream, 6, 200 * US);
        if (scenario->faulty && step % 4 == 3) {
            write_source(number / 2);
            const unsigned long long begin_ns = now_ns();
            compile(number);
            if (file)
                fprintf(file, "%u %llu %llu\n", step, begin_ns, now_ns());
        }
        launch_many(KERNEL_BACKWARD, trainer.stream, 6, 300 * US);
        launch(KERNEL_OPTIMIZER, trainer.stream, 100 * US);
    }
    trainer_destroy(&trainer);
    if (file)
        fclose(file);
    unlink(source);
    unlink(object);
    rmdir(folder);
}
