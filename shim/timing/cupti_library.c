// Finds CUPTI: as it is loaded already, beside the loaded runtime, or by name.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "shim/timing/cupti.h"

// The layouts that cupti_records.c reads are those since CUDA 11.0.
enum { VERSION_MIN = 13, VERSION_PLAIN_MAX = 99, VERSION_13 = 130000, VERSION_AFTER_13 = 140000 };

struct runtime {
    char folder[4096]; // "" when none is loaded
    int major;
};

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    static const char stem[] = "libcudart.so.";
    struct runtime *runtime = data;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(path, '/');
    const char *file = slash ? slash + 1 : path;

    (void)size;
    if (strncmp(file, stem, sizeof(stem) - 1) != 0)
        return 0;
    runtime->major = 0;
    for (const char *at = file + sizeof(stem) - 1; *at >= '0' && *at <= '9' && runtime->major < 1000; at++)
        runtime->major = runtime->major * 10 + (*at - '0');
    if (slash)
        snprintf(runtime->folder, sizeof(runtime->folder), "%.*s", (int)(slash + 1 - path), path);
    return 1;
}

static void *open_named(const char *folder, const char *version, int flags)
{
    char path[4352];

    snprintf(path, sizeof(path), "%slibcupti.so.%s", folder, version);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | flags);
}

static void *open_library(void)
{
    static const char *const versions[] = {"13", "12", "11.8"};
    enum { VERSIONS = sizeof(versions) / sizeof(versions[0]) };
    // Beside the runtime as installed, as packaged for Python, and in NVIDIA's own tree.
    static const char *const places[] = {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/"};
    struct runtime runtime = {.folder = ""};
    void *library = NULL;
    int first = 0;

    dl_iterate_phdr(visit, &runtime);
    if (runtime.major == 12)
        first = 1;
    else if (runtime.major == 11)
        first = 2;
    for (int i = 0; i < VERSIONS && !library; i++)
        library = open_named("", versions[i], RTLD_NOLOAD);
    for (int i = 0; i < VERSIONS && !library; i++)
        for (size_t p = 0; p < sizeof(places) / sizeof(places[0]) && !library && runtime.folder[0]; p++) {
            char folder[4200];

            snprintf(folder, sizeof(folder), "%s%s", runtime.folder, places[p]);
            library = open_named(folder, versions[(first + i) % VERSIONS], 0);
        }
    for (int i = 0; i < VERSIONS && !library; i++)
        library = open_named("", versions[(first + i) % VERSIONS], 0);
    return library;
}

const char *gw_cupti_load(struct gw_cupti *cupti)
{
    uint32_t version = 0;
    bool complete = true;

    cupti->library = open_library();
    if (!cupti->library) {
        dlerror(); // the program's next dlerror must not see ours
        return "no libcupti.so is there";
    }
#define GW_CUPTI_FIND(symbol, arguments)                                                                               \
    cupti->symbol = (int(*) arguments)dlsym(cupti->library, #symbol);                                                  \
    complete = complete && cupti->symbol;
    GW_CUPTI_FUNCTIONS(GW_CUPTI_FIND)
#undef GW_CUPTI_FIND
    if (!complete)
        return "the libcupti.so that is there lacks functions";
    if (cupti->cuptiGetVersion(&version) != GW_CUPTI_SUCCESS)
        return "the libcupti.so that is there does not tell its version";
    if (version < VERSION_MIN || (version > VERSION_PLAIN_MAX && version < VERSION_13) || version >= VERSION_AFTER_13)
        return "the libcupti.so that is there is of a version this one does not know";
    return NULL;
}
