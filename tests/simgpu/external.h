// Kernels of the simulated libraries, whose end (NCCL's collectives) or duration (cuBLAS, cuDNN, cuFFT) they decide.
// Exported by libcuda.so.1 beside the functions of call.h.
#ifndef GW_SIMGPU_EXTERNAL_H
#define GW_SIMGPU_EXTERNAL_H

#include <stddef.h>
#include <stdint.h>

struct op;

// One launch. The library makes it in `submit`, as the beginning of whatever it keeps of the launch.
struct simgpu_launch {
    struct op *op; // set by the driver
    // All that precedes the operation is known to end by `ready_ns`, the earliest start. Engine lock held.
    void (*ready)(struct simgpu_launch *launch, uint64_t ready_ns);
};

struct simgpu_external {
    // Called for each launch, replays of a graph included, with the engine's lock held.
    struct simgpu_launch *(*submit)(void *argument);
    void *argument;
    uint64_t least_ns; // what it takes once it has all it waits for
    unsigned sms;      // multiprocessors it occupies from start to end
};

// The next kernel this thread launches or captures is one of these; NULL takes it back. Copied by that launch.
typedef void simgpu_next_kernel_fn(const struct simgpu_external *external);

// The duration of the next kernel this thread launches or captures, unless a `kernel` rule names that kernel: for
// libraries that know their kernels' arithmetic. Copied by that launch.
typedef void simgpu_next_kernel_ns_fn(uint64_t duration_ns);

// Starts the operation as soon as its device has the multiprocessors free, not before `ready_ns`. Engine lock held.
// Returns the start.
typedef uint64_t simgpu_external_start_fn(struct simgpu_launch *launch, uint64_t ready_ns);

// Ends a started operation. `effect(argument)` (NULL: none), which moves about `bytes`, is carried out in order with
// what other operations do to memory, and before the operation is complete for anybody. Engine lock held.
typedef void simgpu_external_finish_fn(struct simgpu_launch *launch, uint64_t end_ns, void (*effect)(void *, size_t),
                                       void *argument, size_t bytes);

// Carries out an effect now, in the same order. Engine lock held.
typedef void simgpu_effect_fn(void (*effect)(void *, size_t), void *argument, size_t bytes);

// The engine's lock. What the library keeps of launches may be guarded by it.
typedef void simgpu_lock_fn(void);
typedef void simgpu_unlock_fn(void);

// GB/s that a `link` line gives a pair of devices, or 0.
typedef double simgpu_link_gbps_fn(unsigned from, unsigned to);

#endif
