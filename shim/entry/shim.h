/*
 * The preloaded half: what every process of a traced program tree carries, also those that never see a GPU.
 *
 * Rules
 *  1. The traced program is never harmed: same output, same exit status, same errors, same order. Whatever fails in
 * here turns that part of tracing off and passes the call through. No exit, no abort, no assert.
 *  2. A wrapper is guard, begin, real call, end; errno is the real call's. No lock is held across the real call,
 * nothing is allocated, stdio is never used.
 *  3. Nothing happens in constructors; a process that calls no CUDA never loads the tracer and never meets a session
 *     daemon.
 *  4. No dependency but libc. Symbols of loaded libraries are read from their ELF tables, so the program's dlerror
 * state, its allocator and the loader's reference counts stay as they are.
 *  5. The API is data: shim/api/functions.def drives wrappers, resolution, failure values and look-ups.
 *  6. CUDA calls of the tool's own are made by the tracer library alone.
 */
#ifndef GW_SHIM_ENTRY_SHIM_H
#define GW_SHIM_ENTRY_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/api/functions.h"
#include "shim/sink.h"

#define GW_EXPORT __attribute__((visibility("default")))
#define GW_LIKELY(condition) __builtin_expect(!!(condition), 1)

// One loaded ELF object, as far as a symbol can be found in it.
struct gw_elf {
    const char *path; // the loader's; "" for the program itself
    uintptr_t base, low, high;
    const void *dynamic;  // ElfW(Dyn), ends with DT_NULL
    const void *symbols;  // ElfW(Sym)
    const char *strings;  // NULL when the object has no dynamic symbols
    const void *versions; // ElfW(Half) a symbol, or NULL
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
};

// Calls visit for each loaded object in load order until it returns true. Takes the loader's lock.
// Returns whether a visit returned true.
bool gw_elf_each(bool (*visit)(const struct gw_elf *elf, void *data), void *data);

// The address of a defined function in that object (the default version where there are several), or NULL.
void *gw_elf_symbol(const struct gw_elf *elf, const char *name);

// Whether `path` names a library of that soname stem: "libcuda.so" fits /usr/lib/libcuda.so.1.
bool gw_elf_is(const char *path, const char *stem);

// The name of the next library the object needs, NULL after the last; *entry is NULL at first.
const char *gw_elf_next_needed(const struct gw_elf *elf, const void **entry);

// Whether that name, as other objects need it, means this object.
bool gw_elf_answers_to(const struct gw_elf *elf, const char *needed);

// How many objects were ever unloaded.
unsigned long long gw_elf_unloads(void);

// libc's own dlsym and dlvsym, whatever is preloaded. NULL only in a process without libc.
void *gw_real_dlsym(void);
void *gw_real_dlvsym(void);

// The real function for a caller without ties to one library; NULL when nothing loaded has it.
void *gw_real(unsigned function);
// The same for whoever called a wrapper, from an address in it; notes that the wrapper was reached by being linked to.
void *gw_real_linked(unsigned function, unsigned api, const void *caller);
// What the wrapper would call for that caller, as far as it is decided; NULL: what gw_real_set says.
void *gw_real_decided(unsigned function, const void *caller);
// Makes an address that the program was answered the real function of callers without ties.
void gw_real_set(unsigned function, void *address);
// The function of another preloaded library that stands between the program and CUDA, or NULL.
void *gw_interposed(unsigned function);
// After libraries were unloaded: forgets what was known of them.
void gw_forget_unloaded(void);

// Whether an address lies in a loaded libcuda, libcudart or libnccl / in the shim itself.
bool gw_address_is_api(const void *address);
bool gw_address_is_shim(const void *address);

// The exported wrapper of a row; the real function for rows that have none.
void *gw_wrapper(unsigned function);

// The function of libc's, or of another preloaded library's, that the program would have called without the shim; kept
// in *known.
void *gw_next(void **known, const char *name);

// The dlopen that the program would have called without the shim.
void *gw_next_dlopen(void);

// Notes for the tracer's coverage events.
extern struct gw_notes gw_notes;
void gw_note_route(unsigned api, enum gw_route route);
void gw_note_passed(const char *name, unsigned version);
void gw_note_missed(void);

// After a real cuGetProcAddress or cudaGetDriverEntryPoint: replaces the address answered by its wrapper's.
void gw_lookup_answer(unsigned function, const uint64_t *words, int32_t result);

// The sink in use. Until the first call it is one that loads the tracer.
extern const struct gw_sink *gw_sink;
extern __thread struct gw_thread gw_thread;

// Makes sure that the tracer is loaded, or that it cannot be. Returns the sink in use: gw_sink_is_loading says whether
// another thread still loads, after a wait.
const struct gw_sink *gw_load_tracer(struct gw_thread *thread);
bool gw_sink_is_loading(const struct gw_sink *sink);

// Copies of NVTX that came while the tracer was being loaded.
void gw_nvtx_attach_waiting(const struct gw_sink *sink);

// What a function returns when no loaded library has it.
int32_t gw_missing_status(unsigned function);

#endif
