#include "analyzer/cli/record_options.h"

#include "analyzer/cli/cli.h"
#include "analyzer/cli/run_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROTATE_LEAST_NS 1000000000
#define WINDOW_LEAST_NS 10000000 /* switching CUPTI on and off takes some */
#define ROTATE_LEAST_BYTES (1 << 20)
#define CLOCK_OFFSET_MOST_NS 3600000000000

enum {
    KEY_SIMGPU = 1000,
    KEY_GPU_TIMING,
    KEY_TIMING_WINDOW,
    KEY_BUFFER_SIZE,
    KEY_HASH,
    KEY_QUERIES,
    KEY_DELAY,
    KEY_DURATION,
    KEY_ATTACH,
    KEY_STEPS,
    KEY_STEP,
    KEY_FLIGHT,
    KEY_SLOW_STEP,
    KEY_ROTATE,
    KEY_KEEP,
    KEY_CLOCK_OFFSET
};

static const struct argp_option options[] = {
    {"output", 'o', "RUN", 0,
     "Directory to make for the run; the ranks of one job may share it. Default: gpuwitness-PROGRAM-DATE-TIME.", 0},
    {"simgpu", KEY_SIMGPU, "CONFIG", OPTION_ARG_OPTIONAL,
     "Run on the simulated GPU instead of the machine's; CONFIG is a file, see `gpuwitness demo --simgpu-help`.", 0},
    {"gpu-timing", KEY_GPU_TIMING, "auto|cupti|events|off", 0,
     "How the GPU's times are taken: by CUDA events round each operation (events), by CUPTI's records (cupti), or not "
     "at all (off). Default: auto, which is cupti where it is found, free and permitted, else events.",
     0},
    {"timing-window", KEY_TIMING_WINDOW, "ON/PERIOD", 0,
     "Take the GPU's times only in the first ON of each PERIOD, such as 2s/10s, to see what taking them costs.", 0},
    {"hash", KEY_HASH, "off|sample|full", 0,
     "How much of each copy from the host is hashed, to find what is uploaded again. Default: sample.", 0},
    {"queries", KEY_QUERIES, "all|count", 0,
     "Calls that only ask for what is known at once (cudaGetDevice, cudaGetLastError …), of which frameworks make "
     "thousands a step: record each, or only count those that are quick, which costs a third. Default: all.",
     0},
    {"buffer-size", KEY_BUFFER_SIZE, "SIZE", 0,
     "Trace buffer of each CPU, with K, M or G behind the number. Default: 16M, less where there is little room.", 0},
    {"delay", KEY_DELAY, "TIME", 0,
     "Begin to record only that long after the program's start: a number with ms, s, min or h behind it.", 0},
    {"duration", KEY_DURATION, "TIME", 0, "Record no longer than that; the program runs on.", 0},
    {"attach-on-signal", KEY_ATTACH, NULL, 0,
     "Begin to record when SIGUSR2 is sent to gpuwitness, and stop at the next one.", 0},
    {"steps", KEY_STEPS, "A..B", 0, "Record only these steps, counted from 0 by --step.", 0},
    {"step", KEY_STEP, "REGEX", 0,
     "With --steps or --slow-step: a step begins with each NVTX range, or else kernel, whose name matches.", 0},
    {"flight-recorder", KEY_FLIGHT, "TIME", 0,
     "Keep only about the last TIME, in memory; written at the end, and to RUN/snapshot-N when SIGUSR2 is sent to "
     "gpuwitness.",
     0},
    {"slow-step", KEY_SLOW_STEP, "FACTOR", 0,
     "With --flight-recorder and --step: write a snapshot when a step lasted FACTOR times the median of those before.",
     0},
    {"rotate", KEY_ROTATE, "SIZE|TIME", 0,
     "Begin a new chunk of the trace when the current one has that size (K, M or G behind the number) or age (s, min "
     "or h).",
     0},
    {"keep", KEY_KEEP, "N", 0, "With --rotate: keep the last N chunks and the current one only. Default: all.", 0},
    {"clock-offset", KEY_CLOCK_OFFSET, "NS[,PPM]", 0,
     "For tests of runs on several hosts: let this recording look like one on a host whose clock is NS ahead and goes "
     "PPM "
     "millionths faster.",
     0},
    {"quiet", 'q', NULL, 0, "Say nothing when all went well.", 0},
    {0},
};

static const char help_text[] =
    "Runs PROGRAM unchanged and records what it does with its GPUs into the directory RUN.\v"
    "The program sees nothing but these variables: LD_PRELOAD (the recording library in front), LTTNG_HOME, "
    "GPUWITNESS_* and, unless it was set, NVTX_INJECTION64_PATH; with --simgpu also LD_LIBRARY_PATH and SIMGPU_CONFIG. "
    "Signals are passed on to it, except SIGUSR2 "
    "with --attach-on-signal or --flight-recorder.\n\n"
    "Processes that it leaves behind are recorded for up to 10 s more.\n\n"
    "Exit status: the program's own, 128 + N when signal N ended it; 127 when it was not found, 126 when it is not "
    "executable, 125 when nothing could be recorded (then it was not started), 2 for a wrong command line.\n\n"
    "Examples:\n"
    "  gpuwitness record -- python train.py\n"
    "  gpuwitness record -o run -- torchrun --nproc-per-node 4 train.py\n"
    "  srun gpuwitness record -o shared-dir/run -- python train.py\n"
    "  gpuwitness record --delay=5min --duration=30s -- python train.py\n"
    "  gpuwitness record --simgpu -o run -- ./train_loop";

static error_t take_word(const struct argp_state *state, const char *name, const char *value, const char *const *words,
                         const char **ret_word)
{
    char known[64] = "";
    for (size_t i = 0; words[i] != NULL; i++) {
        size_t length = strlen(known);
        if (strcmp(value, words[i]) == 0) {
            *ret_word = words[i];
            return 0;
        }
        snprintf(known + length, sizeof(known) - length, "%s%s", i ? ", " : "", words[i]);
    }
    return gw_usage_error(state, "--%s has no '%s'; it knows %s", name, value, known);
}

static error_t take_time(const struct argp_state *state, const char *name, const char *value, int64_t *ret_ns)
{
    if (gw_parse_time(value, ret_ns) != 0 || *ret_ns == 0)
        return gw_usage_error(state, "--%s: '%s' is no time such as 500ms, 30s, 5min or 1h", name, value);
    return 0;
}

static error_t take_timing_window(const struct argp_state *state, const char *value, struct gw_record_options *result)
{
    char on[32];
    const char *slash = strchr(value, '/');
    size_t length = slash != NULL ? (size_t)(slash - value) : 0;
    if (length > 0 && length < sizeof(on)) {
        memcpy(on, value, length);
        on[length] = '\0';
        if (gw_parse_time(on, &result->timed_ns) == 0 && gw_parse_time(slash + 1, &result->timing_period_ns) == 0 &&
            result->timed_ns >= WINDOW_LEAST_NS && result->timing_period_ns - result->timed_ns >= WINDOW_LEAST_NS)
            return 0;
    }
    return gw_usage_error(
        state, "--timing-window: '%s' is not ON/PERIOD with 10ms or more in each part, such as 2s/10s", value);
}

static error_t take_rotation(const struct argp_state *state, const char *value, struct gw_record_options *result)
{
    int64_t ns;
    result->rotate_bytes = result->rotate_ns = 0;
    if (gw_parse_time(value, &ns) == 0 && ns >= ROTATE_LEAST_NS) {
        result->rotate_ns = (uint64_t)ns;
        return 0;
    }
    if (gw_parse_size(value, &result->rotate_bytes) == 0 && result->rotate_bytes >= ROTATE_LEAST_BYTES)
        return 0;
    return gw_usage_error(state, "--rotate: '%s' is no size of 1M or more and no time of 1s or more", value);
}

static error_t take_clock_offset(const struct argp_state *state, const char *value, struct gw_record_options *result)
{
    char *end;
    long long ns = strtoll(value, &end, 10);
    double ppm = *end == ',' ? strtod(end + 1, &end) : 0;
    if (end == value || *end != '\0' || ns > CLOCK_OFFSET_MOST_NS || ns < -CLOCK_OFFSET_MOST_NS || !(ppm <= 1000) ||
        !(ppm >= -1000))
        return gw_usage_error(
            state, "--clock-offset: '%s' is not NS[,PPM] within an hour and 1000 ppm, such as 5000000,20", value);
    result->clock_offset_ns = ns;
    result->clock_ppm = ppm;
    return 0;
}

static error_t take_count(const struct argp_state *state, const char *value, unsigned *ret_count)
{
    char *end;
    unsigned long count = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || count < 1 || count > 1000000)
        return gw_usage_error(state, "--keep wants a number of chunks, not '%s'", value);
    *ret_count = (unsigned)count;
    return 0;
}

static error_t take_slow_factor(const struct argp_state *state, const char *value, double *ret_factor)
{
    char *end;
    double factor = strtod(value, &end);
    if (end == value || *end != '\0' || !(factor > 1) || factor > 1e6)
        return gw_usage_error(state, "--slow-step: '%s' is no factor above 1, such as 1.5", value);
    *ret_factor = factor;
    return 0;
}

static error_t check_steps(const struct argp_state *state, const struct gw_record_options *parsed, bool windows,
                           bool rotates)
{
    bool counts = parsed->steps != NULL || parsed->slow_factor > 0;
    if (parsed->step_mark != NULL && !counts)
        return gw_usage_error(state, "--step goes with --steps or --slow-step");
    if (counts && parsed->step_mark == NULL)
        return gw_usage_error(state, "--%s needs --step=REGEX, the kernel or NVTX range that a step begins with",
                              parsed->steps != NULL ? "steps" : "slow-step");
    if (parsed->steps != NULL && (windows || rotates || parsed->ring_ns > 0))
        return gw_usage_error(
            state, "--steps excludes --delay, --duration, --attach-on-signal, --flight-recorder and --rotate");
    if (parsed->slow_factor > 0 && parsed->ring_ns == 0)
        return gw_usage_error(state, "--slow-step goes with --flight-recorder");
    return 0;
}

static error_t check_together(const struct argp_state *state, struct gw_record_options *parsed)
{
    bool windows = gw_schedule_begins_paused(&parsed->schedule) || parsed->schedule.duration_ns > 0;
    if (parsed->command == NULL)
        return gw_usage_error(state, "no program to record");
    if (parsed->timing_period_ns > 0 && strcmp(parsed->gpu_timing, "off") == 0)
        return gw_usage_error(state, "--timing-window goes with GPU timing, which is off");
    if (parsed->schedule.usr2 == GW_USR2_WINDOW && parsed->schedule.delay_ns > 0)
        return gw_usage_error(state, "--delay and --attach-on-signal exclude each other");
    if (parsed->ring_ns > 0 && windows)
        return gw_usage_error(state, "--flight-recorder excludes --delay, --duration and --attach-on-signal");
    bool rotates = parsed->rotate_bytes > 0 || parsed->rotate_ns > 0;
    if (parsed->keep > 0 && !rotates)
        return gw_usage_error(state, "--keep goes with --rotate");
    if (rotates && (windows || parsed->ring_ns > 0))
        return gw_usage_error(state, "--rotate excludes --flight-recorder, --delay, --duration and --attach-on-signal");
    error_t result = check_steps(state, parsed, windows, rotates);
    if (result != 0)
        return result;
    if (parsed->ring_ns > 0)
        parsed->schedule.usr2 = GW_USR2_SNAPSHOT;
    return 0;
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    static const char *const timings[] = {"auto", "cupti", "events", "off", NULL};
    static const char *const hashes[] = {"off", "sample", "full", NULL};
    static const char *const queries[] = {"all", "count", NULL};
    struct gw_record_options *result = state->input;
    switch (key) {
    case 'o':
        if (*value == '\0')
            return gw_usage_error(state, "the name of the run is empty");
        result->output = value;
        return 0;
    case 'q':
        result->quiet = true;
        return 0;
    case KEY_SIMGPU:
        result->simulated = true;
        result->simgpu_config = value;
        return 0;
    case KEY_GPU_TIMING:
        return take_word(state, "gpu-timing", value, timings, &result->gpu_timing);
    case KEY_TIMING_WINDOW:
        return take_timing_window(state, value, result);
    case KEY_HASH:
        return take_word(state, "hash", value, hashes, &result->hash);
    case KEY_QUERIES:
        return take_word(state, "queries", value, queries, &result->queries);
    case KEY_BUFFER_SIZE:
        if (gw_parse_size(value, &result->buffer_bytes) != 0 || result->buffer_bytes < 64 << 10)
            return gw_usage_error(state, "'%s' is no buffer size: 64K or more, such as 16M", value);
        return 0;
    case KEY_DELAY:
        return take_time(state, "delay", value, &result->schedule.delay_ns);
    case KEY_DURATION:
        return take_time(state, "duration", value, &result->schedule.duration_ns);
    case KEY_STEPS: {
        uint32_t first, last;
        result->steps = value;
        return gw_take_steps(state, value, &first, &last);
    }
    case KEY_STEP:
        return gw_take_step(state, value, &result->step_mark);
    case KEY_SLOW_STEP:
        return take_slow_factor(state, value, &result->slow_factor);
    case KEY_ROTATE:
        return take_rotation(state, value, result);
    case KEY_CLOCK_OFFSET:
        return take_clock_offset(state, value, result);
    case KEY_KEEP:
        return take_count(state, value, &result->keep);
    case KEY_FLIGHT:
        return take_time(state, "flight-recorder", value, &result->ring_ns);
    case KEY_ATTACH:
        result->schedule.usr2 = GW_USR2_WINDOW;
        return 0;
    case ARGP_KEY_ARG:
        /* From the program's name on everything is the program's. */
        result->command = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_END:
        return check_together(state, result);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int gw_record_options_parse(int argc, char **argv, struct gw_record_options *ret_options)
{
    static const struct argp argp = {options, take_option, "[--] PROGRAM [ARGUMENT...]", help_text, NULL, NULL, NULL};
    struct gw_record_options parsed = {.gpu_timing = "auto", .hash = "sample", .queries = "all"};
    int result = gw_parse_options(&argp, argc, argv, ARGP_IN_ORDER, &parsed);
    if (result == 0)
        *ret_options = parsed;
    return result;
}
