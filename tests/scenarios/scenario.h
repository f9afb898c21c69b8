/*
 * What the scenarios of cases/ share. A scenario is one small C file: a comment that tests/scenarios/run reads, and
 * run_scenario, which makes the loop with its planted fault, or without it when scenario->faulty is false.
 *
 * Lines "key: value" of the comment:
 *   source    the report the case comes from
 *   fault     what is planted, in a few words
 *   verdict   the verdict that must come first; several, comma-separated, in any order, that of which the
 *             saving is compared before the others; "none" for a control
 *   unknown   instead of verdict: the suspect that must stay unknown
 *   pair      instead of verdict: two that must both come first, in any order. The second fault is planted where
 *             scenario->second is set; the runs without the one, without the other and without both are compared, the
 *             last with what the report says all repairs save at once
 *   also      verdicts that may be confirmed as well in the faulty run
 *   repaired  verdicts that may be confirmed in the repaired run: a second fault that stays
 *   every     the fault strikes once in so many steps (1)
 *   compare   "no" when there is no repaired variant, or its steps are not comparable
 *   report    options of gpuwitness report
 *   least     fewer ranks than this do not show the fault
 *   config    a line of the simulated GPU's configuration; may be given often
 *
 * Kernels are those of kernels.cu: they take the time they are given, on a GPU too.
 */
#ifndef GW_TESTS_SCENARIOS_SCENARIO_H
#define GW_TESTS_SCENARIOS_SCENARIO_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

#define US 1000ull
#define MS 1000000ull
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum kernel {
    KERNEL_FORWARD,
    KERNEL_BACKWARD,
    KERNEL_WEIGHT_GRADIENT,
    KERNEL_OPTIMIZER,
    KERNEL_ELEMENTWISE,
    KERNEL_NORM,
    KERNEL_ATTENTION,
    KERNEL_GATE,
    KERNEL_REDUCE,
    KERNEL_EVALUATE,
    KERNELS_COUNT
};

#define TRIAL_KERNELS 24

struct scenario {
    bool faulty;
    bool second;    /* of a pair: its second fault; else as faulty */
    unsigned steps; /* begun so far; printed at the end and compared with the steps found */
};

/* Defined by each file of cases/. */
void run_scenario(struct scenario *scenario);

/* Ends the program with one line when a CUDA call failed. */
void check(cudaError_t error, const char *call, const char *file, int line);

/* Host work outside CUDA: so much time on the CPU, so that other programs lengthen it as they do real work. */
void think(uint64_t duration_ns);

/* A duration as many times as long as tests/scenarios/run --slow makes devices and links: for what one rank does on the
 * CPU while the others wait for it. What all do at the same time has to share the CPUs, and takes so long by that. */
uint64_t slowed(uint64_t duration_ns);

/* Sleeps so long, slowed, as one that waits for a disk or a lock. */
void rest(uint64_t duration_ns);

/* Kernels that take duration_ns. launch_trial: one of TRIAL_KERNELS that differ by name. */
void launch(enum kernel kernel, cudaStream_t stream, uint64_t duration_ns);
void launch_trial(unsigned number, cudaStream_t stream, uint64_t duration_ns);
void launch_many(enum kernel kernel, cudaStream_t stream, unsigned count, uint64_t duration_ns);

/* A kernel compiled and loaded while the program runs, as by a just-in-time compiler. Kernels of different numbers
 * differ in name and content. */
cudaKernel_t load_kernel(unsigned number, cudaLibrary_t *ret_library);
void launch_loaded(cudaKernel_t kernel, cudaStream_t stream, uint64_t duration_ns);

/* What a training loop has: a stream, a batch that is uploaded from one of two host buffers, a loss. */
struct trainer {
    cudaStream_t stream;
    cudaEvent_t uploaded[2]; /* its host buffer may be filled again */
    unsigned char *host[2], *device;
    size_t bytes;
    bool pinned;
    float *loss, *host_loss; /* host_loss is page-locked */
    unsigned batches;
};

struct trainer trainer_create(size_t batch_bytes, bool pinned);
void trainer_destroy(struct trainer *trainer);

/* Waits until the batch before the last has left its buffer, fills the buffer with other numbers and uploads it: the
 * host is two steps ahead at most. */
void upload_batch(struct trainer *trainer);

/* A thread that makes a batch every period_ns, asleep meanwhile, as one that waits for a disk; up to two lie ready. Set
 * period_ns, start it, take batches (waits for one), stop it. */
struct loader {
    uint64_t period_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned ready;
    bool stopped;
};

void start_loader(struct loader *loader);
void take_batch(struct loader *loader);
void stop_loader(struct loader *loader);

/* Reads a number back as loss.item() does. */
void read_scalar(struct trainer *trainer);

#endif
