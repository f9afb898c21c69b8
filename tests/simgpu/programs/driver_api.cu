// The driver's interface beside the runtime's in one program: shared handles, a module of PTX, a library, entry points
// by name.
#include <cstring>
#include <dlfcn.h>

#include <cuda.h>

#include "program.h"

#define CHECK_DRIVER(call)                                                                                             \
    do {                                                                                                               \
        CUresult check_driver = (call);                                                                                \
        if (check_driver != CUDA_SUCCESS) {                                                                            \
            std::fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, check_driver);                    \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry module_kernel(.param .u64 module_kernel_param_0)\n{\n    ret;\n}\n";

template <typename Function> static Function find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    EXPECT(symbol);
    return reinterpret_cast<Function>(symbol);
}

template <typename Function> static Function entry(const char *name)
{
    void *function = nullptr;
    cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &status));
    EXPECT(status == cudaDriverEntryPointSuccess && function);
    return reinterpret_cast<Function>(function);
}

int main()
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    EXPECT(library);
    auto init = find<CUresult (*)(unsigned)>(library, "cuInit");
    auto get_current = find<CUresult (*)(CUcontext *)>(library, "cuCtxGetCurrent");
    auto load = find<CUresult (*)(CUmodule *, const void *)>(library, "cuModuleLoadData");
    auto unload = find<CUresult (*)(CUmodule)>(library, "cuModuleUnload");
    auto get_function = find<CUresult (*)(CUfunction *, CUmodule, const char *)>(library, "cuModuleGetFunction");
    auto launch = find<CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    CUstream, void **, void **)>(library, "cuLaunchKernel");
    auto set_bytes = entry<CUresult (*)(CUdeviceptr, unsigned char, size_t, CUstream)>("cuMemsetD8Async");
    auto record = entry<CUresult (*)(CUevent, CUstream)>("cuEventRecord");

    CHECK_DRIVER(init(0));
    CUcontext context = nullptr;
    CHECK_DRIVER(get_current(&context));
    EXPECT(context == nullptr);
    unsigned char *device, back[2];
    cudaStream_t stream;
    cudaEvent_t event;
    CHECK(cudaMalloc(&device, 4096));
    CHECK_DRIVER(get_current(&context));
    EXPECT(context != nullptr);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&event));

    CUmodule module;
    CUfunction function;
    CHECK_DRIVER(load(&module, ptx));
    CHECK_DRIVER(get_function(&function, module, "module_kernel"));
    EXPECT(get_function(&function, module, "no_such_kernel") == CUDA_ERROR_NOT_FOUND);
    CHECK_DRIVER(get_function(&function, module, "module_kernel"));
    cudaLibrary_t runtime_library;
    cudaKernel_t kernel;
    CHECK(cudaLibraryLoadData(&runtime_library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&kernel, runtime_library, "module_kernel"));
    for (int step = 0; step < 25; step++) {
        unsigned long long argument = 0;
        void *arguments[] = {&argument};
        CHECK_DRIVER(set_bytes(reinterpret_cast<CUdeviceptr>(device), static_cast<unsigned char>(step), 4096, stream));
        CHECK_DRIVER(launch(function, 4, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr));
        CHECK(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(4), dim3(64), arguments, 0, stream));
        spin_ns<<<1, 32, 0, stream>>>(5000);
        CHECK_DRIVER(record(event, stream));
        CHECK(cudaEventSynchronize(event));
        CHECK(cudaMemcpy(back, device + 100, 2, cudaMemcpyDeviceToHost));
        EXPECT(back[0] == step && back[1] == step);
    }
    void *nothing = &nothing;
    cudaDriverEntryPointQueryResult status;
    CHECK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &nothing, 12000, cudaEnableDefault, &status));
    EXPECT(status == cudaDriverEntryPointSymbolNotFound && nothing == nullptr);
    CHECK(cudaLibraryUnload(runtime_library));
    CHECK_DRIVER(unload(module));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
    return 0;
}
