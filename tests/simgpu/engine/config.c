#include "tests/simgpu/engine/config.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/call.h"
#include "tests/simgpu/engine/errors.h"

static struct config config;
static pthread_once_t config_once = PTHREAD_ONCE_INIT;

static const char *const key_names[] = {
#define SIMGPU_NUMBER(key, value, meaning) #key,
#define SIMGPU_RULE(key, arguments, value, meaning)
#include "tests/simgpu/config_keys.def"
};

// What an ordinary call costs the host: launches and asynchronous submissions take about a microsecond.
static const struct {
    const char *glob;
    double cost_ns;
} default_costs[] = {
    {"cuLaunchKernel*", 1000},   {"cuLaunchCooperativeKernel*", 1000},
    {"cuMemcpy*Async*", 1000},   {"cuMemset*Async*", 1000},
    {"cuLaunchHostFunc*", 500},  {"cuEventRecord*", 300},
    {"cuStreamWaitEvent*", 300}, {"cuStreamCreate*", 5000},
    {"cuGraphLaunch*", 3000},
};

static bool parse_number(const char *text, double *ret_value)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || value < 0)
        return false;
    static const char units[] = "KMGT";
    if (*end) {
        const char *unit = strchr(units, *end);
        if (!unit || end[1])
            return false;
        for (long i = unit - units; i >= 0; i--)
            value *= 1024;
    }
    *ret_value = value;
    return true;
}

static bool parse_error(const char *text, int *ret_error)
{
    char *end;
    const long number = strtol(text, &end, 10);
    if (end != text && !*end && number > 0 && number < 1000) {
        *ret_error = (int)number;
        return true;
    }
    for (size_t i = 0; i < sim_error_count; i++) {
        if (strcmp(sim_errors[i].name, text) == 0 && sim_errors[i].code) {
            *ret_error = sim_errors[i].code;
            return true;
        }
    }
    return false;
}

static void add_rule(struct config_rule **rules, size_t *count, const char *glob, double value)
{
    struct config_rule *grown = realloc(*rules, (*count + 1) * sizeof *grown);
    char *copy = strdup(glob);
    if (!grown || !copy)
        abort();
    grown[*count] = (struct config_rule){.glob = copy, .value = value};
    *rules = grown;
    (*count)++;
}

static bool add_fault(const char *glob, double nth, int error)
{
    struct config_fault *grown = realloc(config.faults, (config.fault_count + 1) * sizeof *grown);
    char *copy = strdup(glob);
    if (!grown || !copy)
        abort();
    grown[config.fault_count++] = (struct config_fault){.glob = copy, .nth = (uint64_t)nth, .error = error};
    config.faults = grown;
    return true;
}

static bool apply_rule(const char *key, char *const word[3], int words)
{
    double a, b, c;
    if (strcmp(key, "api_cost_ns") == 0 && words == 2 && parse_number(word[1], &a))
        add_rule(&config.api_costs, &config.api_cost_count, word[0], a);
    else if (strcmp(key, "kernel") == 0 && words == 2 && parse_number(word[1], &a))
        add_rule(&config.kernels, &config.kernel_count, word[0], a);
    else if (strcmp(key, "link") == 0 && words == 3 && parse_number(word[0], &a) && a < SIMGPU_MAX_DEVICES &&
             parse_number(word[1], &b) && b < SIMGPU_MAX_DEVICES && parse_number(word[2], &c) && c > 0)
        config.link_gbps[(int)a][(int)b] = config.link_gbps[(int)b][(int)a] = c;
    else if (strcmp(key, "slowdown") == 0 && words == 2 && parse_number(word[0], &a) && a < SIMGPU_MAX_DEVICES &&
             parse_number(word[1], &b) && b > 0)
        config.slowdown[(int)a] = b;
    else if (strcmp(key, "fail") == 0 && words == 3 && parse_number(word[1], &a)) {
        int error;
        return a >= 1 && parse_error(word[2], &error) && add_fault(word[0], a, error);
    } else if (strcmp(key, "truth") == 0 && words == 1) {
        free(config.truth);
        config.truth = strdup(word[0]);
    } else {
        return false;
    }
    return true;
}

static bool apply_number(const char *key, char *const word[3], int words)
{
    double value;
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (strcmp(key_names[i], key) != 0)
            continue;
        if (words != 1 || !parse_number(word[0], &value))
            return false;
        config.number[i] = value;
        return true;
    }
    return false;
}

static void complain(const char *path, unsigned line_number, const char *line)
{
    fprintf(stderr, "simgpu: %s:%u: cannot understand '%s'; `gpuwitness demo --simgpu-help` lists the keys\n", path,
            line_number, line);
    config.broken = true;
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        fprintf(stderr, "simgpu: cannot read the configuration %s: %s\n", path, strerror(errno));
        config.broken = true;
        return;
    }
    char line[4096];
    // The first wrong line ends it: a file that is no configuration has hundreds.
    for (unsigned number = 1; !config.broken && fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "#\n")] = '\0';
        char *rest, *word[4] = {NULL}, said[sizeof line];
        memcpy(said, line, sizeof said);
        const char *key = strtok_r(line, " \t\r", &rest);
        if (!key)
            continue;
        int words = 0;
        while (words < 4 && (word[words] = strtok_r(NULL, " \t\r", &rest)))
            words++;
        if (!apply_number(key, word, words) && !apply_rule(key, word, words))
            complain(path, number, said);
    }
    fclose(file);
}

static void config_load(void)
{
    static const double defaults[] = {
#define SIMGPU_NUMBER(key, value, meaning) value,
#define SIMGPU_RULE(key, arguments, value, meaning)
#include "tests/simgpu/config_keys.def"
    };
    memcpy(config.number, defaults, sizeof defaults);
    for (int i = 0; i < SIMGPU_MAX_DEVICES; i++)
        config.slowdown[i] = 1;
    for (size_t i = 0; i < sizeof default_costs / sizeof *default_costs; i++)
        add_rule(&config.api_costs, &config.api_cost_count, default_costs[i].glob, default_costs[i].cost_ns);
    const char *path = getenv("SIMGPU_CONFIG");
    if (path && *path)
        read_file(path);
    static const struct {
        enum config_key key;
        double least, most;
    } bounds[] = {{CONFIG_devices, 1, SIMGPU_MAX_DEVICES},
                  {CONFIG_sms, 1, 1024},
                  {CONFIG_memory, 1 << 20, 1e12},
                  {CONFIG_max_concurrent_kernels, 1, 1e6}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        if (config.number[bounds[i].key] < bounds[i].least || config.number[bounds[i].key] > bounds[i].most) {
            fprintf(stderr, "simgpu: %s must be %g to %g\n", key_names[bounds[i].key], bounds[i].least, bounds[i].most);
            config.number[bounds[i].key] = defaults[bounds[i].key];
            config.broken = true;
        }
    }
}

struct config *config_get(void)
{
    pthread_once(&config_once, config_load);
    return &config;
}

double config_match(const struct config_rule *rules, size_t count, const char *name, double otherwise)
{
    for (size_t i = count; i > 0; i--) {
        if (fnmatch(rules[i - 1].glob, name, 0) == 0)
            return rules[i - 1].value;
    }
    return otherwise;
}

__attribute__((visibility("default"))) int simgpu_config_check(void)
{
    return config_get()->broken ? -EINVAL : 0;
}

__attribute__((visibility("default"))) int simgpu_config_number(const char *key, double *ret_value)
{
    const struct config *values = config_get();
    for (int i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (strcmp(key_names[i], key) == 0) {
            *ret_value = values->number[i];
            return 0;
        }
    }
    return -ENOENT;
}
