#include "analyzer/session/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/api/functions_mark.h"

/* Looks for `name` below `prefix` in each of `folders` (NULL at the end); leaves "" in ret_path when it is in none. */
static void find_in(const char *prefix, const char *const *folders, const char *name, char ret_path[PATH_MAX])
{
    ret_path[0] = '\0';
    for (; *folders != NULL; folders++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof(path), "%s/%s/%s", prefix, *folders, name);
        if (length < (int)sizeof(path) && access(path, F_OK) == 0) {
            memcpy(ret_path, path, (size_t)length + 1);
            return;
        }
    }
}

int gw_paths_find(struct gw_paths *ret_paths)
{
    static const char *const library_folders[] = {
        "lib", "lib/gpuwitness", "lib64", "lib64/gpuwitness", GW_INSTALL_LIBDIR, (GW_INSTALL_LIBDIR "/gpuwitness"),
        NULL};
    static const char *const simgpu_folders[] = {"simgpu", "lib/gpuwitness/simgpu", "lib64/gpuwitness/simgpu",
                                                 (GW_INSTALL_LIBDIR "/gpuwitness/simgpu"), NULL};
    static const char *const example_folders[] = {"examples", "lib/gpuwitness/examples", "lib64/gpuwitness/examples",
                                                  (GW_INSTALL_LIBDIR "/gpuwitness/examples"), NULL};
    char prefix[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", prefix, sizeof(prefix) - 1);
    if (length < 0)
        return -errno;
    prefix[length] = '\0';
    for (int level = 0; level < 2; level++) {
        char *slash = strrchr(prefix, '/');
        if (slash == NULL)
            return -ENOENT;
        *slash = '\0';
    }

    find_in(prefix, library_folders, "libgpuwitness-shim.so", ret_paths->shim);
    find_in(prefix, library_folders, "libgpuwitness-tracer.so", ret_paths->tracer);
    find_in(prefix, library_folders, "libgpuwitness-daemon.so", ret_paths->border);
    find_in(prefix, library_folders, "gpuwitness-session", ret_paths->keeper);
    find_in(prefix, library_folders, "libgpuwitness-mpi.so", ret_paths->mpi);
    find_in(prefix, simgpu_folders, "libcuda.so.1", ret_paths->simgpu);
    char *slash = strrchr(ret_paths->simgpu, '/');
    if (slash != NULL)
        *slash = '\0';
    find_in(prefix, example_folders, "train_loop", ret_paths->example);
    return 0;
}

bool gw_paths_can_be_preloaded(const struct gw_paths *paths)
{
    static const char ends[] = " :";
    return !strpbrk(paths->shim, ends) && !strpbrk(paths->border, ends) && !strpbrk(paths->simgpu, ends);
}

bool gw_paths_shim_fits(const struct gw_paths *paths)
{
    bool fits = false;
    struct stat status;
    void *bytes = MAP_FAILED;
    int fd = open(paths->shim, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0)
        goto end;
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    fits = bytes != MAP_FAILED &&
           memmem(bytes, (size_t)status.st_size, GW_FUNCTIONS_MARK, sizeof(GW_FUNCTIONS_MARK)) != NULL;
end:
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)status.st_size);
    if (fd >= 0)
        close(fd);
    return fits;
}
