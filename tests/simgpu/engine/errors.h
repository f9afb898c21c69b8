// The CUresult codes of cuda.h with their names and texts.
#ifndef GW_SIMGPU_ERRORS_H
#define GW_SIMGPU_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

struct sim_error {
    int code;
    const char *name;
    const char *text;
};

extern const struct sim_error sim_errors[];
extern const size_t sim_error_count;

// The entry of `code`, or NULL for a number that is no CUresult.
const struct sim_error *sim_error_find(int code);

// Whether `code` destroys the context it occurs in, so that every later call of that context fails with it.
bool sim_error_is_sticky(int code);

#endif
