/* Where gpuwitness's own parts lie, beside the running executable: in a build tree and in an installed one. */
#ifndef GW_SESSION_PATHS_H
#define GW_SESSION_PATHS_H

#include <limits.h>
#include <stdbool.h>

struct gw_paths {
    char shim[PATH_MAX];    /* libgpuwitness-shim.so; empty if it is not there */
    char tracer[PATH_MAX];  /* libgpuwitness-tracer.so, which it loads at the first CUDA call; empty likewise */
    char border[PATH_MAX];  /* libgpuwitness-daemon.so */
    char keeper[PATH_MAX];  /* gpuwitness-session, the process that owns the LTTng session */
    char mpi[PATH_MAX];     /* libgpuwitness-mpi.so, for `report --mpi`; empty if gpuwitness was built without MPI */
    char simgpu[PATH_MAX];  /* the folder of the simulated GPU's libraries; empty if there is none */
    char example[PATH_MAX]; /* the training loop of `gpuwitness demo`; empty if there is none */
};

/*
 * Fills *ret_paths from /proc/self/exe. Installed libraries are looked for in ../lib and in ../lib/gpuwitness (and
 * ../lib64, ../lib/MULTIARCH alike), the simulated GPU in ../simgpu and in the library folder's gpuwitness/simgpu.
 * Returns 0, or -errno when /proc/self/exe cannot be read. Parts that do not exist become empty strings.
 */
int gw_paths_find(struct gw_paths *ret_paths);

/* Whether the dynamic linker can be told of the libraries that are preloaded: in LD_PRELOAD a space or a colon ends a
 * path, and nothing quotes it. */
bool gw_paths_can_be_preloaded(const struct gw_paths *paths);

/* Whether the preloaded library numbers functions as this program does, which writes their names down. */
bool gw_paths_shim_fits(const struct gw_paths *paths);

#endif
