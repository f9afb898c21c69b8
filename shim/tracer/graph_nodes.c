// How many nodes a graph has. Asks the driver, which has the names of the kinds in cuda.h.
#include <stdbool.h>
#include <sys/mman.h>

#include "shim/tracer/driver.h"
#include "shim/tracer/objects.h"

#pragma GCC poison malloc calloc realloc free printf fprintf snprintf puts abort exit

#define KIND_GRAPH 4 // CU_GRAPH_NODE_TYPE_GRAPH
#define DEEPEST 32   // child graphs in child graphs; those of a broken driver may have no end

static bool count_nodes(const struct gw_driver *driver, gw_handle graph, int depth, uint64_t *count)
{
    size_t nodes = 0;
    bool counted = true;

    if (depth > DEEPEST || driver->cuGraphGetNodes(graph, NULL, &nodes))
        return false;
    *count += nodes;
    if (!nodes || !driver->cuGraphNodeGetType || !driver->cuGraphChildGraphNodeGetGraph)
        return nodes == 0;
    size_t bytes = nodes * sizeof(gw_handle);
    // A mapping of its own, because the program's allocator is not to be called.
    gw_handle *handles = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (handles == MAP_FAILED)
        return false;
    counted = driver->cuGraphGetNodes(graph, handles, &nodes) == 0;
    for (size_t i = 0; counted && i < nodes; i++) {
        gw_handle child = 0;
        int kind = 0;
        counted = driver->cuGraphNodeGetType(handles[i], &kind) == 0;
        if (counted && kind == KIND_GRAPH)
            counted = driver->cuGraphChildGraphNodeGetGraph(handles[i], &child) == 0 &&
                      count_nodes(driver, child, depth + 1, count);
    }
    munmap(handles, bytes);
    return counted;
}

uint32_t gw_graph_nodes(uint64_t graph)
{
    const struct gw_driver *driver = gw_driver();
    uint64_t count = 0;

    if (!driver || !driver->cuGraphGetNodes || !count_nodes(driver, graph, 0, &count))
        return 0;
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}
