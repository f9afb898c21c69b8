// The truth log: what really happened, one row for each API call and each device operation.
// Rows go straight into a shared mapping of the file, so that a killed process loses none that was finished; what is
// left over of such a file's last block are empty lines.
#ifndef GW_SIMGPU_TRUTH_H
#define GW_SIMGPU_TRUTH_H

#include <stdbool.h>
#include <stdint.h>

struct truth_op {
    unsigned device, stream;
    const char *kind, *name, *cause;
    uint64_t bytes, submit_ns, start_ns, end_ns, graph_node;
};

// Whether a truth log is configured and could be opened. Opens it at the first call.
bool truth_enabled(void);

void truth_write_call(int tid, unsigned depth, const char *name, uint64_t begin_ns, uint64_t end_ns, int result);
void truth_write_op(const struct truth_op *op);

// In the child of a fork: forget the parent's file, so that the next row opens the child's own.
void truth_after_fork(void);

#endif
