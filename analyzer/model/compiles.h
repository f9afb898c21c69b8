/*
 * Compilation and loading of code: loads of modules and libraries, PTX that the driver compiles, links, look-ups of
 * kernels, and compilers that the program executed. Where each happened, how long it held the thread that waited for
 * it, and whether the same had been seen before.
 */
#ifndef GW_ANALYZER_MODEL_COMPILES_H
#define GW_ANALYZER_MODEL_COMPILES_H

#include "analyzer/model/model.h"

enum gw_compile_kind {
    GW_COMPILE_LOAD = 0, /* of a module or library */
    GW_COMPILE_JIT,      /* a load or link of PTX */
    GW_COMPILE_LINK,
    GW_COMPILE_LOOKUP, /* of a kernel, which may load it */
    GW_COMPILE_CHILD,  /* a compiler in a process of its own */
    GW_COMPILE_KIND_COUNT
};

enum gw_compile_phase {
    GW_PHASE_COLD = 0, /* before the first analysed step of its process ends its warm-up */
    GW_PHASE_STEADY,   /* in an analysed step */
    GW_PHASE_ELSEWHERE /* between and after them, or in a run without steps */
};

struct gw_compile {
    uint64_t begin_ns, end_ns;
    uint64_t held_ns; /* the longest stretch of it in which the thread below was in it, or made no other call */
    uint64_t size_bytes, hash; /* of the image, or of a compiler's input; 0: not known */
    uint32_t process, thread;  /* GW_NONE: no traced one. Of a compiler whose thread makes no calls, the one that makes
                                  most in the process */
    uint32_t step;             /* of the model, GW_NONE: in none */
    uint32_t call;             /* index, GW_NONE: a compiler … */
    uint32_t compiler;         /* … of this index, else GW_NONE */
    uint8_t kind, phase;       /* enum gw_compile_kind, enum gw_compile_phase */
    bool is_new;               /* hash is known and none of the kind had it before */
};

/* Lists them in order of begin. *ret_list: the caller frees. Returns 0 or -ENOMEM. */
int gw_compiles_list(const struct gw_model *model, struct gw_compile **ret_list, size_t *ret_count);

/* Likewise compilers that were executed alone (GW_COMPILE_CHILD), without looking at the calls. */
int gw_compilers_list(const struct gw_model *model, struct gw_compile **ret_list, size_t *ret_count);

/* "load", "jit", "link", "lookup", "child" as in JSON and CSV. */
const char *gw_compile_kind_name(enum gw_compile_kind kind);

/* "cold", "steady", "elsewhere". */
const char *gw_compile_phase_name(enum gw_compile_phase phase);

/* What it is: the function called, or the compiler's name. */
const char *gw_compile_name(const struct gw_model *model, const struct gw_compile *compile);

#endif
