#ifndef GW_SIMGPU_COPY_H
#define GW_SIMGPU_COPY_H

#include "tests/simgpu/driver/internal.h"

// Puts a copy on a stream and returns when the real call would: `is_sync` for those without "Async" in their name.
CUresult copy_run(const struct work *work, CUstream handle, CUstream otherwise, bool is_sync);

#endif
