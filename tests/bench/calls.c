/*
 * gw-bench-calls: what a traced launch costs the program. Runs `launches`, which calls a driver that does nothing,
 * bare, preloaded but not recorded, before the steps to record, and recorded (GPU timing and hashes off), and `bare`,
 * which writes three-field tracepoints into the same kind of recording; and the same with launches of 5 us. Prints
 * nanoseconds a call and the ratios; fails when a run fails, never for its time.
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
    status = 0;
end:
    snprintf(cleanup, sizeof(cleanup), "rm -rf %s", scratch);
    return system(cleanup) == 0 ? status : 1;
}
