/*
 * Scenarios of several ranks that communicate by NCCL, as processes or as threads of one process; each rank has the
 * device of its number. SCENARIO_RANKS and SCENARIO_PLACE (threads, processes) in the environment replace what the
 * scenario asks for.
 */
#ifndef GW_TESTS_SCENARIOS_RANKS_H
#define GW_TESTS_SCENARIOS_RANKS_H

#include <nccl.h>

#include "tests/scenarios/scenario.h"

#define NCCL(call) check_nccl((call), #call, __FILE__, __LINE__)

#define BUCKETS_MAX 64

struct rank {
    struct scenario *scenario;
    int number, count;
    bool faulty;
    ncclUniqueId id;
    ncclComm_t comm;
    struct trainer trainer;     /* its stream is the compute stream */
    cudaStream_t communication; /* a stream of its own */
    cudaEvent_t computed[BUCKETS_MAX], reduced;
    float *buckets; /* device memory */
};

enum rank_place { RANKS_IN_PROCESSES, RANKS_IN_THREADS };

/* Ends the program with one line when a call of NCCL failed. */
void check_nccl(ncclResult_t result, const char *call, const char *file, int line);

/* Runs body once for each rank, all of them at once, with everything of struct rank made and a communicator of all;
 * returns when all are done. bytes: of each rank's buckets. Steps are counted by rank_step. */
void run_ranks(struct scenario *scenario, enum rank_place place, int count, size_t bytes, void (*body)(struct rank *));

/* Begins a step: counts it, and waits for the step before the last. */
void rank_step(struct rank *rank);

/* What takes more ranks as long to reduce as `bytes` take two, so that a scenario has the same proportions on any
 * number of them: in a ring each link carries 2 (n - 1) / n of the bytes. */
size_t ring_bytes(const struct rank *rank, size_t bytes);

/* Sums the buckets over the ranks, on a stream: `bytes` of them, or what takes more than two ranks as long. */
void all_reduce(struct rank *rank, size_t bytes, cudaStream_t stream);

/* The same on the communication stream, after what is on the compute stream by now. */
void all_reduce_beside(struct rank *rank, unsigned bucket, size_t bytes);

/* Lets the compute stream wait for the communication stream. */
void join_communication(struct rank *rank);

/* A step as frameworks make it: four buckets of gradients, each reduced beside the backward pass as soon as it is
 * there; the last one, which nothing hides, has last_bytes. */
void bucketed_step(struct rank *rank, uint64_t backward_ns, size_t bytes, size_t last_bytes);

#endif
