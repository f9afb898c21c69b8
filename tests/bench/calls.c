/*
 * gw-bench-calls: what a traced call costs the program. Runs `launches`, which calls a driver that does nothing,
 * bare, preloaded but not recorded, before the steps to record, and recorded (GPU timing and hashes off), with
 * launches, the cheapest of calls and one that can block, and `bare`, which writes three-field tracepoints into the
 * same kind of recording; and the same with launches of 5 us; and what the preloaded library adds to /bin/true. Prints
 * nanoseconds a call and the ratios; fails when a run fails, never for its time.
 */
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[4096]; // where the programs lie

// Runs a shell command line and reads the number it prints. Returns a negative number when it fails.
static double measure(const char *format, const char *run)
{
    char command[20000], line[64] = "";
    double value = -1;

    snprintf(command, sizeof(command), format, folder, folder, run);
    FILE *output = popen(command, "r");
    if (!output)
        return -1;
    if (fgets(line, sizeof(line), output))
        value = strtod(line, NULL);
    return pclose(output) == 0 ? value : -1;
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// The shortest of many runs of /bin/true, in milliseconds, or a negative number.
static double start_ms(char *preload)
{
    char *const arguments[] = {"true", NULL}, *const environment[] = {preload, NULL};
    double best = 1e9;

    for (unsigned i = 0; i < 300; i++) {
        double begin = now_ms(), took;
        pid_t pid;
        int status;

        if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environment) != 0 ||
            waitpid(pid, &status, 0) != pid || status != 0)
            return -1;
        took = now_ms() - begin;
        best = took < best ? took : best;
    }
    return best;
}

// The same as the launches, with other calls.
static int measure_others(const char *scratch)
{
    static const struct {
        const char *call, *title;
    } others[] = {{"quick", "the cheapest call"}, {"blocking", "a call that can block"}};

    for (unsigned i = 0; i < 2; i++) {
        double ns[3];
        const char *const formats[] = {
            "cd %s && LD_LIBRARY_PATH=bench %s/gw-bench-launches # %s",
            "cd %s && LD_LIBRARY_PATH=bench LTTNG_HOME=/nonexistent LD_PRELOAD=%s/../lib/libgpuwitness-shim.so "
            "./gw-bench-launches # %s",
            "cd %s && LD_LIBRARY_PATH=bench %s/gpuwitness record -q --gpu-timing=off -o %s/$BENCH_CALL -- "
            "./gw-bench-launches"};

        setenv("BENCH_CALL", others[i].call, 1);
        for (unsigned k = 0; k < 3; k++) {
            ns[k] = measure(formats[k], scratch);
            if (ns[k] < 0)
                return -1;
        }
        printf("%-27s %7.1f ns, not recording %.1f, recorded %.1f (+%.1f)\n", others[i].title, ns[0], ns[1], ns[2],
               ns[2] - ns[0]);
    }
    unsetenv("BENCH_CALL");
    return 0;
}

int main(void)
{
    char self[4096], scratch[] = "/tmp/gw-bench-XXXXXX", cleanup[64];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int status = 1;

    if (length <= 0 || !mkdtemp(scratch)) {
        perror("gw-bench-calls");
        return 1;
    }
    self[length] = '\0';
    snprintf(folder, sizeof(folder), "%s", dirname(self));

    double untraced = measure("LD_LIBRARY_PATH=%s/bench %s/gw-bench-launches # %s", "");
    double idle = measure("cd %s && LD_LIBRARY_PATH=bench LTTNG_HOME=/nonexistent "
                          "LD_PRELOAD=%s/../lib/libgpuwitness-shim.so ./gw-bench-launches # %s",
                          "");
    double waiting = measure("cd %s && LD_LIBRARY_PATH=bench %s/gpuwitness record -q --gpu-timing=off --step=^step$ "
                             "--steps=1000..1001 -o %s/waiting -- ./gw-bench-launches",
                             scratch);
    double traced = measure("cd %s && LD_LIBRARY_PATH=bench %s/gpuwitness record -q --gpu-timing=off -o %s/calls -- "
                            "./gw-bench-launches",
                            scratch);
    double bare = measure("cd %s && %s/gpuwitness record -q --gpu-timing=off -o %s/bare -- ./gw-bench-bare", scratch);

    // A loop bound by launches of the length that frameworks have.
    double real = measure("BENCH_LAUNCH_NS=5000 LD_LIBRARY_PATH=%s/bench %s/gw-bench-launches # %s", "");
    double recorded = measure("cd %s && BENCH_LAUNCH_NS=5000 LD_LIBRARY_PATH=bench %s/gpuwitness record -q "
                              "--gpu-timing=off -o %s/real -- ./gw-bench-launches",
                              scratch);

    if (untraced < 0 || idle < 0 || waiting < 0 || traced < 0 || bare < 0 || real < 0 || recorded < 0) {
        fprintf(stderr,
                "gw-bench-calls: a run failed (untraced %.0f, not recording %.0f, before the steps %.0f, recorded "
                "%.0f, bare %.0f; of 5 us: "
                "untraced %.0f, recorded %.0f)\n",
                untraced, idle, waiting, traced, bare, real, recorded);
        goto end;
    }
    printf("untraced launch             %7.1f ns\n", untraced);
    printf("preloaded, not recording    %7.1f ns  (+%.1f; goal +15)\n", idle, idle - untraced);
    printf("before the steps to record  %7.1f ns  (+%.1f; goal +15)\n", waiting, waiting - untraced);
    printf("bare three-field tracepoint %7.1f ns\n", bare);
    printf("recorded launch             %7.1f ns  (+%.1f; goal +200), %.2f tracepoints (goal 2.2)\n", traced,
           traced - untraced, (traced - untraced) / bare);
    printf("loop of launches of 5 us    %7.1f ns, recorded %.1f ns: %+.1f %% (goal +3)\n", real, recorded,
           100 * (recorded / real - 1));
    char preload[PATH_MAX + 64], nothing[] = "NOTHING=";
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/../lib/libgpuwitness-shim.so", folder);
    double alone_ms = start_ms(nothing), preloaded_ms = start_ms(preload);

    if (measure_others(scratch) != 0 || alone_ms < 0 || preloaded_ms < 0) {
        fprintf(stderr, "gw-bench-calls: a run of other calls or of /bin/true failed\n");
        goto end;
    }
    printf("/bin/true                   %7.2f ms, preloaded %.2f ms (+%.2f; goal +1)\n", alone_ms, preloaded_ms,
           preloaded_ms - alone_ms);
    status = 0;
end:
    snprintf(cleanup, sizeof(cleanup), "rm -rf %s", scratch);
    return system(cleanup) == 0 ? status : 1;
}
