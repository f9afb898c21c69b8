#include <pthread.h>
#include <string.h>

#include "analyzer/model/model.h"
#include "shim/api/functions.h"

static bool ends_with(const char *text, const char *tail)
{
    size_t length = strlen(text), tail_length = strlen(tail);
    return length >= tail_length && strcmp(text + length - tail_length, tail) == 0;
}

static bool starts_with(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

/* Functions without typed arguments: only the name tells. */
static enum gw_call_class class_of_plain(const char *base)
{
    if (strcmp(base, "cuFuncLoad") == 0 || starts_with(base, "cuLink") || starts_with(base, "cuModuleGetFunction") ||
        starts_with(base, "cuLibraryGetKernel") || strcmp(base, "cuKernelGetFunction") == 0 ||
        strcmp(base, "cudaGetKernel") == 0 || strcmp(base, "cudaGetFuncBySymbol") == 0 ||
        starts_with(base, "cudaLibraryGetKernel")) {
        return GW_CALL_COMPILE;
    }
    if (starts_with(base, "cuGraph") || starts_with(base, "cudaGraph")) {
        return starts_with(base, "cuGraphics") || starts_with(base, "cudaGraphics") ? GW_CALL_OTHER : GW_CALL_GRAPH;
    }
    return GW_CALL_OTHER;
}

static enum gw_call_class class_of_row(const struct gw_function *row)
{
    if (row->api == GW_API_NCCL) {
        return GW_CALL_COMM;
    }
    switch ((enum gw_function_kind)row->kind) {
    case GW_KIND_LAUNCH:
        return GW_CALL_LAUNCH;
    case GW_KIND_COPY:
        return GW_CALL_COPY;
    case GW_KIND_MEMSET:
        return GW_CALL_MEMSET;
    case GW_KIND_MEMORY:
        return GW_CALL_ALLOC;
    case GW_KIND_MODULE:
        return GW_CALL_COMPILE;
    case GW_KIND_ORDER:
        return ends_with(row->base, "Synchronize") ? GW_CALL_SYNC : GW_CALL_ORDER;
    case GW_KIND_GRAPH:
        return ends_with(row->base, "GraphLaunch") ? GW_CALL_GRAPH_LAUNCH : GW_CALL_GRAPH;
    case GW_KIND_NONE:
    case GW_KIND_REGISTER:
    case GW_KIND_COMM: /* NCCL's, above */
        break;
    }
    return class_of_plain(row->base);
}

/* Asked for every call, often more than once: the names are looked at once. */
static uint8_t classes[GW_FUNCTION_COUNT];

static void fill_classes(void)
{
    for (unsigned function = 0; function < GW_FUNCTION_COUNT; function++)
        classes[function] = (uint8_t)class_of_row(gw_function_row(function));
}

enum gw_call_class gw_call_class(uint16_t function)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_classes);
    return function < GW_FUNCTION_COUNT ? (enum gw_call_class)classes[function] : GW_CALL_OTHER;
}
