#include "analyzer/cli/simgpu_check.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNDERSTOOD = 0, NOT_UNDERSTOOD = 1, NOT_ASKED = 2 };

/* In a process of its own: what the library sets up goes with it. */
static int ask(const char *folder, const char *config)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/libcuda.so.1", folder) >= (int)sizeof(path) ||
        setenv("SIMGPU_CONFIG", config, 1) != 0)
        return NOT_ASKED;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*check)(void) = library ? (int (*)(void))dlsym(library, "simgpu_config_check") : NULL;
    if (!check)
        return NOT_ASKED;
    return check() == 0 ? UNDERSTOOD : NOT_UNDERSTOOD;
}

int gw_simgpu_check(const char *folder, const char *config)
{
    int status = 0;
    pid_t child = fork(), waited;
    if (child < 0)
        return -errno;
    if (child == 0)
        _exit(ask(folder, config));
    do
        waited = waitpid(child, &status, 0);
    while (waited < 0 && errno == EINTR);
    if (waited < 0)
        return -errno;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == NOT_ASKED)
        return -ELIBACC;
    return WEXITSTATUS(status) == UNDERSTOOD ? 0 : -EINVAL;
}
