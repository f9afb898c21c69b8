/* Libraries loaded by the program itself, and its way round the runtime to the driver. */
#include <stdlib.h>

#include "register.h"

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jitOptions,
                                void **jitOptionsValues, unsigned int numJitOptions,
                                enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                                unsigned int numLibraryOptions)
{
    RT_CALL(RT_DRIVER, cudaLibraryLoadData,
            DRV(cuLibraryLoadData)((CUlibrary *)library, code, (CUjit_option *)jitOptions, jitOptionsValues,
                                   numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues,
                                   numLibraryOptions));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName, enum cudaJitOption *jitOptions,
                                    void **jitOptionsValues, unsigned int numJitOptions,
                                    enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
                                    unsigned int numLibraryOptions)
{
    RT_CALL(RT_DRIVER, cudaLibraryLoadFromFile,
            DRV(cuLibraryLoadFromFile)((CUlibrary *)library, fileName, (CUjit_option *)jitOptions, jitOptionsValues,
                                       numJitOptions, (CUlibraryOption *)libraryOptions, libraryOptionValues,
                                       numLibraryOptions));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    RT_CALL(RT_DRIVER, cudaLibraryUnload, DRV(cuLibraryUnload)((CUlibrary)library));
}

static cudaError_t library_kernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    CUkernel found;
    CUresult result = DRV(cuLibraryGetKernel)(&found, (CUlibrary)library, name);
    if (result != CUDA_SUCCESS)
        return (cudaError_t)result;
    *kernel = (cudaKernel_t)found;
    return rt_kernel_adopt(found);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
    RT_CALL(RT_DRIVER, cudaLibraryGetKernel, RT_REQUIRE(pKernel && name, library_kernel(pKernel, library, name)));
}

cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    RT_CALL(RT_CONTEXT, cudaLibraryGetGlobal,
            DRV(cuLibraryGetGlobal)((CUdeviceptr *)dptr, bytes, (CUlibrary)library, name));
}

cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
    RT_CALL(RT_CONTEXT, cudaLibraryGetManaged,
            DRV(cuLibraryGetManaged)((CUdeviceptr *)dptr, bytes, (CUlibrary)library, name));
}

cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol)
{
    RT_CALL(RT_DRIVER, cudaLibraryGetUnifiedFunction,
            DRV(cuLibraryGetUnifiedFunction)(fptr, (CUlibrary)library, symbol));
}

cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    RT_CALL(RT_DRIVER, cudaLibraryGetKernelCount, DRV(cuLibraryGetKernelCount)(count, (CUlibrary)lib));
}

static cudaError_t enumerate_kernels(cudaKernel_t *kernels, unsigned count, cudaLibrary_t library)
{
    cudaError_t result = (cudaError_t)DRV(cuLibraryEnumerateKernels)((CUkernel *)kernels, count, (CUlibrary)library);
    for (unsigned i = 0; result == cudaSuccess && i < count; i++) {
        if (kernels[i])
            result = rt_kernel_adopt((CUkernel)kernels[i]);
    }
    return result;
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib)
{
    RT_CALL(RT_DRIVER, cudaLibraryEnumerateKernels, RT_REQUIRE(kernels, enumerate_kernels(kernels, numKernels, lib)));
}

cudaError_t cudaGetExportTable(const void **ppExportTable, const cudaUUID_t *pExportTableId)
{
    /* Undocumented tables are not imitated. */
    (void)ppExportTable, (void)pExportTableId;
    RT_CALL(RT_NOTHING, cudaGetExportTable, cudaErrorNotSupported);
}
