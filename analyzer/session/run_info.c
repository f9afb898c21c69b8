#include "analyzer/session/run_info.h"

#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "shim/api/codes.h"

#define SCHEMA "gpuwitness.run/1"

/* What decides how a framework uses the GPUs. Nothing else of the environment is written down: it may hold secrets. */
static const char *const interesting_prefixes[] = {
    "CUDA_", "NCCL_", "XLA_",    "PYTORCH_",      "TORCH_",  "TF_",    "JAX_",   "OMPI_COMM_", "SLURM_",
    "PMI_",  "OMP_",  "NVIDIA_", "TORCHELASTIC_", "MASTER_", "LOCAL_", "GROUP_", "ROLE_",      "SIMGPU_",
};
static const char *const interesting_names[] = {"RANK", "WORLD_SIZE", "NODE_RANK", "LD_LIBRARY_PATH"};
static const char *const secret_marks[] = {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"};

static int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

json_t *gw_run_info_clocks(void)
{
    int64_t best_width = INT64_MAX, monotonic = 0, realtime = 0;
    for (int i = 0; i < 10; i++) {
        int64_t before = read_clock_ns(CLOCK_MONOTONIC);
        int64_t wall = read_clock_ns(CLOCK_REALTIME);
        int64_t after = read_clock_ns(CLOCK_MONOTONIC);
        if (after - before < best_width) {
            best_width = after - before;
            monotonic = before + (after - before) / 2;
            realtime = wall;
        }
    }
    return json_pack("{s:I, s:I}", "monotonic_ns", (json_int_t)monotonic, "realtime_ns", (json_int_t)realtime);
}

/* Paths and variables may hold bytes that are no UTF-8, which JSON cannot: those become '?'. */
static json_t *any_string(const char *text)
{
    json_t *value = json_string(text);
    if (value != NULL)
        return value;
    char copy[4096];
    size_t length = strnlen(text, sizeof(copy) - 1);
    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    return json_stringn(copy, length);
}

static int is_interesting(const char *name, size_t length)
{
    char upper[128];
    int wanted = 0;
    if (length >= sizeof(upper))
        return 0;
    memcpy(upper, name, length);
    upper[length] = '\0';
    for (size_t i = 0; i < sizeof(interesting_prefixes) / sizeof(interesting_prefixes[0]); i++)
        wanted |= strncmp(upper, interesting_prefixes[i], strlen(interesting_prefixes[i])) == 0;
    for (size_t i = 0; i < sizeof(interesting_names) / sizeof(interesting_names[0]); i++)
        wanted |= strcmp(upper, interesting_names[i]) == 0;
    for (size_t i = 0; i < sizeof(secret_marks) / sizeof(secret_marks[0]); i++)
        wanted &= strstr(upper, secret_marks[i]) == NULL;
    return wanted;
}

static json_t *environment_of_interest(void)
{
    json_t *object = json_object();
    for (char **entry = environ; object != NULL && *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        if (equals == NULL || !is_interesting(*entry, (size_t)(equals - *entry)))
            continue;
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)(equals - *entry), *entry);
        json_object_set_new(object, name, any_string(equals + 1));
    }
    return object;
}

static json_t *boot_id(void)
{
    char line[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(line, sizeof(line), file) == NULL)
            line[0] = '\0';
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
    return json_string(line);
}

static json_t *versions(void)
{
    struct utsname system;
    if (uname(&system) != 0)
        memset(&system, 0, sizeof(system));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "gpuwitness", GW_VERSION, "lttng_ust", GW_LTTNG_UST_VERSION,
                     "lttng_ctl", GW_LTTNG_CTL_VERSION, "babeltrace", GW_BABELTRACE_VERSION, "kernel", system.release,
                     "glibc", gnu_get_libc_version());
}

json_t *gw_run_info_create(const struct gw_run_settings *settings)
{
    char host[65] = "", cwd[PATH_MAX] = "";
    gethostname(host, sizeof(host) - 1);
    if (getcwd(cwd, sizeof(cwd)) == NULL)
        cwd[0] = '\0';
    json_t *command = json_array();
    for (char *const *word = settings->command; *word != NULL; word++)
        json_array_append_new(command, any_string(*word));
    json_t *info =
        json_pack("{s:s, s:b, s:o, s:o, s:s, s:o, s:i, s:o, s:o, s:o, s:s, s:s, s:s, s:{s:s, s:i, s:i, s:I}, s:s}",
                  "schema", SCHEMA, "complete", 0, "command", command, "cwd", any_string(cwd), "host", host, "boot_id",
                  boot_id(), "recorder_pid", (int)getpid(), "start", gw_run_info_clocks(), "environment",
                  environment_of_interest(), "versions", versions(), "gpu_timing", settings->gpu_timing, "hash",
                  settings->hash, "device", settings->simulated ? "simulated" : "real", "buffers", "path",
                  settings->buffers_path, "cpus", (int)settings->buffers->cpus, "subbuffers", GW_SUBBUFFERS,
                  "subbuffer_bytes", (json_int_t)settings->buffers->subbuffer_bytes, "trace", "trace");
    if (info == NULL)
        return NULL;
    json_object_set_new(info, "event_format", json_integer(GW_EVENT_FORMAT));
    if (settings->simgpu_config != NULL)
        json_object_set_new(info, "simgpu_config", any_string(settings->simgpu_config));
    if (settings->timing_period_ns > 0)
        json_object_set_new(info, "timing_window",
                            json_pack("{s:I, s:I}", "on_ns", (json_int_t)settings->timed_ns, "period_ns",
                                      (json_int_t)settings->timing_period_ns));
    if (settings->clock_offset_ns != 0 || settings->clock_ppm != 0)
        json_object_set_new(
            info, "clock_offset",
            json_pack("{s:I, s:f}", "ns", (json_int_t)settings->clock_offset_ns, "ppm", settings->clock_ppm));
    if (settings->windows)
        json_object_set_new(info, "windows", json_array());
    if (settings->step_mark != NULL)
        json_object_set_new(info, "step_mark", any_string(settings->step_mark));
    if (settings->steps != NULL)
        json_object_set_new(info, "recorded_steps", any_string(settings->steps));
    if (settings->rotate_bytes > 0 || settings->rotate_ns > 0)
        json_object_set_new(info, "rotation",
                            json_pack("{s:I, s:I, s:i}", "bytes", (json_int_t)settings->rotate_bytes, "ns",
                                      (json_int_t)settings->rotate_ns, "keep", (int)settings->keep));
    if (settings->ring_ns > 0)
        json_object_set_new(info, "flight_recorder", json_pack("{s:I}", "asked_ns", (json_int_t)settings->ring_ns));
    if (settings->slow_factor > 0)
        json_object_set_new(json_object_get(info, "flight_recorder"), "slow_factor", json_real(settings->slow_factor));
    if (settings->job != NULL)
        json_object_set_new(info, "job",
                            json_pack("{s:s, s:i, s:i}", "id", settings->job->id, "rank", (int)settings->job->rank,
                                      "size", (int)settings->job->size));
    return info;
}

int gw_run_info_write(const char *dir, const json_t *info)
{
    char path[PATH_MAX + 32], draft[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/run.json", dir);
    snprintf(draft, sizeof(draft), "%s/.run.json.new", dir);
    errno = EIO;
    if (json_dump_file(info, draft, JSON_INDENT(2)) != 0 || rename(draft, path) != 0) {
        int result = -errno;
        unlink(draft);
        return result;
    }
    return 0;
}

int gw_run_info_read(const char *dir, json_t **ret_info)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/run.json", dir);
    struct stat file;
    /* A FIFO in its place would wait for whoever writes into it. */
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    json_t *info =
        fstat(fd, &file) == 0 && S_ISREG(file.st_mode) ? json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL) : NULL;
    close(fd);
    const char *schema = json_string_value(json_object_get(info, "schema"));
    if (schema == NULL || strcmp(schema, SCHEMA) != 0) {
        json_decref(info);
        return -EINVAL;
    }
    *ret_info = info;
    return 0;
}
