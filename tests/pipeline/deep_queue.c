// Enqueues 100,000 kernels behind one that takes 0.4 s, so that nearly all of them are in flight at once.
#include <cuda.h>
#include <stdio.h>

int main(void)
{
    static const char image[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry empty()\n{\nret;\n}\n"
                                ".visible .entry first_spin_ns(.param .u64 ns)\n{\nret;\n}\n";
    unsigned long long ns = 400000000;
    void *parameters[] = {&ns};
    CUcontext context;
    CUmodule module;
    CUfunction first, empty;

    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuModuleLoadData(&module, image) || cuModuleGetFunction(&first, module, "first_spin_ns") ||
        cuModuleGetFunction(&empty, module, "empty") ||
        cuLaunchKernel(first, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL))
        return 1;
    for (int i = 0; i < 100000; i++)
        if (cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL))
            return 1;
    if (cuCtxSynchronize())
        return 1;
    puts("done");
    return 0;
}
