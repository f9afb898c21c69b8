/*
 * What a process of the traced program tells the recorder when it executes a compiler: one write of less than PIPE_BUF
 * bytes into the FIFO that GW_EXEC_VARIABLE names, which arrives whole or not at all.
 */
#ifndef GW_SHIM_API_EXEC_NOTE_H
#define GW_SHIM_API_EXEC_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GW_EXEC_VARIABLE "GPUWITNESS_EXECS"
#define GW_EXEC_NOTE_BYTES 2048u

enum gw_exec_what {
    GW_EXEC_BEGINS = 0,  // the process itself is about to execute it
    GW_EXEC_STARTED = 1, // it was started as a child
    GW_EXEC_FAILED = 2   // what was said to begin could not be executed
};

struct gw_exec_note {
    uint64_t begin_ns;    // CLOCK_MONOTONIC
    uint32_t bytes, what; // of the whole note; enum gw_exec_what
    uint32_t pid;         // of the compiler
    uint32_t parent;      // its parent process
    uint32_t thread;      // of that, which started it; 0: not known
    char text[];          // the program and its arguments, as many as fit, each with its NUL
};

#define GW_EXEC_NOTE_HEAD ((uint32_t)offsetof(struct gw_exec_note, text))

// Whether a program of that name compiles, links or packs code: `path` ends with one of these, a version after it or
// not (gcc-12).
static inline bool gw_exec_is_compiler(const char *path)
{
    static const char *const compilers[] = {
        "ptxas", "ptxas-blackwell", "nvlink", "fatbinary", "cicc", "cudafe++", "nvcc", "cc", "c++", "gcc",
        "g++",   "clang",           "clang++"};
    const char *name = path;

    for (const char *c = path; *c; c++)
        if (*c == '/')
            name = c + 1;
    for (unsigned i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
        const char *at = name, *wanted = compilers[i];

        while (*wanted && *at == *wanted) {
            at++;
            wanted++;
        }
        if (!*wanted && (!*at || (*at == '-' && at[1] >= '0' && at[1] <= '9')))
            return true;
    }
    return false;
}

#endif
