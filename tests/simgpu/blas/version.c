#include "tests/simgpu/blas/version.h"

#include <stddef.h>

cublasStatus_t library_property(libraryPropertyType type, int *ret_value)
{
    static const int parts[] = {[MAJOR_VERSION] = BLAS_MAJOR, [MINOR_VERSION] = BLAS_MINOR, [PATCH_LEVEL] = BLAS_PATCH};
    if (!ret_value || (unsigned)type >= sizeof parts / sizeof *parts)
        return CUBLAS_STATUS_INVALID_VALUE;
    *ret_value = parts[type];
    return CUBLAS_STATUS_SUCCESS;
}

const char *status_name(cublasStatus_t status)
{
    static const struct {
        cublasStatus_t status;
        const char *name;
    } known[] = {
#define STATUS(name) {CUBLAS_STATUS_##name, "CUBLAS_STATUS_" #name}
        STATUS(SUCCESS),       STATUS(NOT_INITIALIZED), STATUS(ALLOC_FAILED),     STATUS(INVALID_VALUE),
        STATUS(ARCH_MISMATCH), STATUS(MAPPING_ERROR),   STATUS(EXECUTION_FAILED), STATUS(INTERNAL_ERROR),
        STATUS(NOT_SUPPORTED), STATUS(LICENSE_ERROR),
#undef STATUS
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].status == status)
            return known[i].name;
    }
    return "unknown status";
}
