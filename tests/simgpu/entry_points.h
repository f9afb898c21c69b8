// Functions of the simulated driver, looked up by the simulated libraries that stand on it.
#ifndef GW_SIMGPU_ENTRY_POINTS_H
#define GW_SIMGPU_ENTRY_POINTS_H

#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct entry_point {
    const char *name;
    int version;   // 0: not of the driver's interface
    size_t offset; // of the pointer, in the caller's table
};

#define ENTRY_POINT(table, member, name, version)                                                                      \
    {                                                                                                                  \
        name, version, offsetof(table, member)                                                                         \
    }

// Fills the table's pointers from libcuda.so.1, NULL when it could not be opened. False: one of them is not there.
static inline bool find_entry_points(void *library, const struct entry_point *entries, size_t count, void *table)
{
    PFN_cuGetProcAddress_v12000 get =
        library ? (PFN_cuGetProcAddress_v12000)dlsym(library, "cuGetProcAddress_v2") : NULL;
    if (!get)
        return false;
    for (size_t i = 0; i < count; i++) {
        void *found = NULL;
        CUdriverProcAddressQueryResult status;
        if (entries[i].version == 0)
            found = dlsym(library, entries[i].name);
        else if (get(entries[i].name, &found, entries[i].version, CU_GET_PROC_ADDRESS_DEFAULT, &status))
            return false;
        if (!found)
            return false;
        memcpy((char *)table + entries[i].offset, &found, sizeof found);
    }
    return true;
}

#endif
