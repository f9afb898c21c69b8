// What can be asked: properties against attributes, kernel attributes, occupancy, launches sized by it, launch
// attributes.
#include <cstring>

#include "program.h"

__global__ void work_spin_ns(unsigned long long ns, float *)
{
    extern __shared__ float scratch[];
    (void)scratch;
    spin(ns);
}

int main()
{
    cudaDeviceProp prop;
    int value = 0, runtime = 0, driver = 0, blocks = 0, grid = 0, block = 0;
    size_t bytes = 0, total = 0;

    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    EXPECT(runtime / 1000 == CUDART_VERSION / 1000 && driver >= runtime);
    CHECK(cudaGetDeviceProperties(&prop, 0));
    EXPECT(prop.name[0] != 0 && prop.warpSize == 32);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(value == prop.multiProcessorCount);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
    EXPECT(value == prop.major);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrReservedSharedMemoryPerBlock, 0));
    EXPECT(static_cast<size_t>(value) == prop.reservedSharedMemPerBlock);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrClusterLaunch, 0));
    EXPECT(value == prop.clusterLaunch);
    char address[32];
    int found = -1;
    CHECK(cudaDeviceGetPCIBusId(address, sizeof address, 0));
    CHECK(cudaDeviceGetByPCIBusId(&found, address));
    EXPECT(found == 0);
    CHECK(cudaMemGetInfo(&bytes, &total));
    EXPECT(bytes <= total && total <= prop.totalGlobalMem);

    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, work_spin_ns));
    EXPECT(attributes.maxThreadsPerBlock > 0 && attributes.maxThreadsPerBlock <= prop.maxThreadsPerBlock);
    CHECK(cudaFuncSetAttribute(work_spin_ns, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
    CHECK(cudaFuncGetAttributes(&attributes, work_spin_ns));
    EXPECT(attributes.maxDynamicSharedSizeBytes == 64 * 1024);
    CHECK(cudaFuncSetCacheConfig(work_spin_ns, cudaFuncCachePreferL1));
    const char *name = nullptr;
    CHECK(cudaFuncGetName(&name, reinterpret_cast<const void *>(work_spin_ns)));
    EXPECT(std::strstr(name, "work_spin_ns"));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, work_spin_ns, 256, 0));
    EXPECT(blocks >= 1 && blocks * 256 <= prop.maxThreadsPerMultiProcessor);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, work_spin_ns));
    EXPECT(grid > 0 && block > 0 && block <= prop.maxThreadsPerBlock);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int step = 0; step < 25; step++) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributePriority;
        attribute.val.priority = 0;
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(static_cast<unsigned>(grid));
        config.blockDim = dim3(static_cast<unsigned>(block));
        config.dynamicSmemBytes = 1024;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        CHECK(cudaLaunchKernelEx(&config, work_spin_ns, 10000ull, static_cast<float *>(nullptr)));
        unsigned long long ns = 10000;
        float *nothing = nullptr;
        void *arguments[] = {&ns, &nothing};
        CHECK(cudaLaunchCooperativeKernel(work_spin_ns, dim3(static_cast<unsigned>(blocks)), dim3(256), arguments, 0,
                                          stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, bytes));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
