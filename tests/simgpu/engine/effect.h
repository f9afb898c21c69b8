// What operations do to memory, carried out in order on a thread of its own (or at once when small and nothing is
// pending), so that a large copy costs its caller only what a real asynchronous copy costs.
#ifndef GW_SIMGPU_EFFECT_H
#define GW_SIMGPU_EFFECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum effect_type { EFFECT_NONE, EFFECT_COPY, EFFECT_FILL, EFFECT_CALL };

struct effect {
    enum effect_type type;
    char *to;
    const char *from;                          // COPY
    void *release;                             // COPY: freed afterwards; NULL for nothing
    size_t to_pitch, to_slice;                 // bytes between rows and between slices
    size_t from_pitch, from_slice;             // COPY
    size_t width_bytes, height, depth;         // of the box
    uint32_t value;                            // FILL
    unsigned value_bytes;                      // FILL: 1, 2 or 4
    void (*call)(void *argument, size_t size); // CALL, with `to` and `width_bytes`; takes no engine lock.
                                               // Small work, whatever the bytes, where height and depth are 0
};

// Starts or queues the effect. Returns the number after which it is done. Engine lock held.
uint64_t effect_start(const struct effect *effect);

// Whether all effects up to `seq` are done. Any thread.
bool effect_done(uint64_t seq);

// Blocks until they are. Engine lock not held.
void effect_wait(uint64_t seq);

void effect_after_fork(void);

#endif
