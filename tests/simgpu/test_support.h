// What the tests of the simulated driver share: a configured process, kernels to launch, the truth log read back.
#ifndef GW_SIMGPU_TEST_SUPPORT_H
#define GW_SIMGPU_TEST_SUPPORT_H

#include <cuda.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OK(expression) assert_int_equal(expression, CUDA_SUCCESS)

struct logged_op {
    unsigned device, stream;
    char kind[16], name[256], cause[16];
    uint64_t bytes, submit_ns, start_ns, end_ns, graph_node;
};

struct logged_call {
    int tid;
    unsigned depth;
    char name[64];
    uint64_t begin_ns, end_ns;
    int result;
};

// Configures this process with `lines` and a truth log, initialises the driver and makes device 0's primary context
// current. To be called once, first.
void support_start(const char *lines);
// The same without calling the driver.
void support_configure(const char *lines);
// Where this process's truth log is. Borrowed.
const char *support_truth_path(void);

// A kernel of that name from a module that accepts any.
CUfunction support_kernel(const char *name);
// Launches a kernel named NAME_spin_ns of `blocks` blocks of 32 threads for `duration_ns`.
void support_spin(const char *name, unsigned blocks, uint64_t duration_ns, CUstream stream);

// Holds a stream until support_open_gate; one stream at a time.
void support_close_gate(CUstream stream);
void support_open_gate(void);

// The latest operation of that name (or, where it starts with '=', of that kind) in the log. Fails without one.
struct logged_op support_op(const char *name);
// The latest call of that name.
struct logged_call support_call(const char *name);
// `op` must have started when `before` ended, for the given cause; or, where this thread was too slow to submit it
// before that, after the launch latency that is configured.
void support_expect_after(const struct logged_op *op, const struct logged_op *before, const char *cause);
// How many operations have that name or "=kind".
unsigned support_op_count(const char *name);

#endif
