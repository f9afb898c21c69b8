#include "analyzer/session/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Puts folder/name into ret_path and returns 1 when it is there; else ret_path is empty. */
static int find(const char *folder, const char *name, char ret_path[PATH_MAX])
{
    int length = snprintf(ret_path, PATH_MAX, "%s/%s", folder, name);
    if (length > 0 && length < PATH_MAX && access(ret_path, F_OK) == 0)
        return 1;
    ret_path[0] = '\0';
    return 0;
}

void gw_runtime_find(struct gw_runtime *ret_runtime)
{
    static const char *const places[] = {"runtime", "../lib/gpuwitness/runtime"};
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    ret_runtime->folder[0] = '\0';
    if (length <= 0)
        return;
    folder[length] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash)
        return;
    *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (find(folder, places[i], ret_runtime->folder))
            return;
    }
}

void gw_runtime_program(const struct gw_runtime *runtime, const char *name, char ret_path[PATH_MAX])
{
    if (!*runtime->folder || !find(runtime->folder, name, ret_path))
        snprintf(ret_path, PATH_MAX, "%s", name);
}

void gw_runtime_enter(const struct gw_runtime *runtime)
{
    char path[PATH_MAX];
    if (!*runtime->folder)
        return;
    setenv("LD_LIBRARY_PATH", runtime->folder, 1);
    setenv("LTTNG_SESSION_CONFIG_XSD_PATH", runtime->folder, 1); /* without its schema the daemon ends */
    if (find(runtime->folder, "lttng-consumerd", path)) {
        setenv("LTTNG_CONSUMERD64_BIN", path, 1);
        setenv("LTTNG_CONSUMERD64_LIBDIR", runtime->folder, 1);
    }
}

void gw_runtime_use(const struct gw_runtime *runtime)
{
    char path[PATH_MAX];
    if (!*runtime->folder)
        return;
    if (find(runtime->folder, "babeltrace2", path))
        setenv("BABELTRACE_PLUGIN_PATH", path, 0);
    /* The system's fonts come first where it has some. */
    if (access("/etc/fonts/fonts.conf", R_OK) != 0 && find(runtime->folder, "fonts.conf", path))
        setenv("FONTCONFIG_FILE", path, 0);
}
