// The configuration: the keys of config_keys.def, read once from the file named by SIMGPU_CONFIG.
#ifndef GW_SIMGPU_CONFIG_H
#define GW_SIMGPU_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMGPU_MAX_DEVICES 16

enum config_key {
#define SIMGPU_NUMBER(key, value, meaning) CONFIG_##key,
#define SIMGPU_RULE(key, arguments, value, meaning)
#include "tests/simgpu/config_keys.def"
    CONFIG_KEY_COUNT
};

// One `fail` line. `seen` counts the calls that matched so far.
struct config_fault {
    char *glob;
    uint64_t nth;
    int error; // CUresult
    uint64_t seen;
};

struct config_rule {
    char *glob;
    double value;
};

struct config {
    double number[CONFIG_KEY_COUNT];
    struct config_rule *api_costs, *kernels;
    size_t api_cost_count, kernel_count;
    struct config_fault *faults;
    size_t fault_count;
    double link_gbps[SIMGPU_MAX_DEVICES][SIMGPU_MAX_DEVICES]; // 0 where no `link` line says
    double slowdown[SIMGPU_MAX_DEVICES];
    char *truth; // NULL: no truth log
    bool broken; // the file could not be read or has a wrong line; the line was said on stderr
};

// The configuration; read at the first call. Borrowed, never freed. `faults[].seen` is guarded by the caller.
struct config *config_get(void);

// config_get()->number[] of a key, by its name without quotes.
#define CONFIG(key) (config_get()->number[CONFIG_##key])

// The value of the last of `count` rules whose pattern matches `name`, or `otherwise`.
double config_match(const struct config_rule *rules, size_t count, const char *name, double otherwise);

#endif
