/*
 * A small recorded run, and inputs of a fuzzer as changes to it: what is nearly a run reaches deeper into the readers
 * than bytes of no form.
 */
#ifndef GW_TESTS_FUZZ_SMALL_RUN_H
#define GW_TESTS_FUZZ_SMALL_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/read/read.h"

/* What is left of a fuzzer's input. */
struct gw_fuzz_input {
    const uint8_t *data;
    size_t size;
};

/* The next number of at most `bytes` bytes; 0 at the end of the input. */
uint64_t gw_fuzz_take(struct gw_fuzz_input *input, unsigned bytes);

/* A number as records hold them: small, near another one, or of up to eight bytes. */
uint64_t gw_fuzz_take_number(struct gw_fuzz_input *input, uint64_t near);

/* run.json of a run of a kind below GW_SMALL_RUNS: alone, one of two ranks, windowed, a flight recorder's. */
#define GW_SMALL_RUNS 4u
const char *gw_small_run_json(unsigned kind);

/* The records of some training steps on one device: calls, operations, gaps of the thread, ranges, a collective. `seed`
 * goes into process and thread numbers, so that runs differ. Release with gw_records_destroy. Aborts without memory. */
struct gw_records *gw_small_run_records(unsigned seed);

/* A copy of `size` bytes, changed as the input says: bytes overwritten, cut out, repeated. *ret_size is its size; the
 * caller frees it. Aborts without memory. */
uint8_t *gw_fuzz_patched(const uint8_t *bytes, size_t size, struct gw_fuzz_input *input, size_t *ret_size);

#endif
