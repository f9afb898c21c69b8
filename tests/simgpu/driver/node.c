// The device file of an NVIDIA GPU, for programs that look whether there is one before they load the driver (JAX):
// this library is preloaded, so that its `stat` is theirs.
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define EXPORT __attribute__((visibility("default")))

static int stat_node(const char *path, struct stat *status)
{
    static const char node[] = "/dev/nvidiactl", lookalike[] = "/dev/null"; // both are character devices
    return fstatat(AT_FDCWD, path && strcmp(path, node) == 0 ? lookalike : path, status, 0);
}

EXPORT int stat(const char *path, struct stat *status)
{
    return stat_node(path, status);
}

// On this machine, where all files are large, the same function.
int stat64_of_simgpu(const char *path, struct stat *status) __asm__("stat64");
EXPORT int stat64_of_simgpu(const char *path, struct stat *status)
{
    return stat_node(path, status);
}
