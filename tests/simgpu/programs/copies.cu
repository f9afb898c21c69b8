// Copies of rows, boxes, arrays and symbols.
#include <cstring>

#include "program.h"

__constant__ float coefficients[64];
__device__ int board[32][32];

static void rows()
{
    const size_t width = 100, height = 20, host_pitch = 128;
    std::vector<unsigned char> host(host_pitch * height), back(host_pitch * height, 0xFF);
    unsigned char *device;
    size_t pitch = 0;

    CHECK(cudaMallocPitch(&device, &pitch, width, height));
    EXPECT(pitch >= width);
    for (int step = 0; step < 10; step++) {
        for (size_t i = 0; i < host.size(); i++)
            host[i] = static_cast<unsigned char>(i * 7 + static_cast<size_t>(step));
        CHECK(cudaMemcpy2D(device, pitch, host.data(), host_pitch, width, height, cudaMemcpyHostToDevice));
        spin_ns<<<1, 32>>>(5000);
        CHECK(cudaMemcpy2D(back.data(), host_pitch, device, pitch, width, height, cudaMemcpyDeviceToHost));
        for (size_t y = 0; y < height; y++)
            EXPECT(!std::memcmp(&back[y * host_pitch], &host[y * host_pitch], width) &&
                   back[y * host_pitch + width] == 0xFF);
    }
    CHECK(cudaMemset2D(device, pitch, 9, width / 2, height));
    CHECK(cudaMemcpy2D(back.data(), host_pitch, device, pitch, width, height, cudaMemcpyDeviceToHost));
    EXPECT(back[host_pitch * 3] == 9 && back[host_pitch * 3 + width / 2] == host[host_pitch * 3 + width / 2]);
    CHECK_FAILS(cudaMemcpy2D(device, 10, host.data(), host_pitch, width, height, cudaMemcpyHostToDevice),
                cudaErrorInvalidPitchValue);
    (void)cudaGetLastError();
    CHECK(cudaFree(device));
}

static void boxes()
{
    const cudaExtent extent = make_cudaExtent(40, 6, 5);
    std::vector<unsigned char> host(40 * 6 * 5), back(40 * 6 * 5);
    cudaPitchedPtr device;

    CHECK(cudaMalloc3D(&device, extent));
    for (int step = 0; step < 10; step++) {
        for (size_t i = 0; i < host.size(); i++)
            host[i] = static_cast<unsigned char>(i + static_cast<size_t>(step) * 3);
        cudaMemcpy3DParms up = {};
        up.srcPtr = make_cudaPitchedPtr(host.data(), 40, 40, 6);
        up.dstPtr = device;
        up.extent = extent;
        up.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&up));
        cudaMemcpy3DParms down = {};
        down.srcPtr = device;
        down.dstPtr = make_cudaPitchedPtr(back.data(), 40, 40, 6);
        down.extent = extent;
        down.kind = cudaMemcpyDeviceToHost;
        CHECK(cudaMemcpy3DAsync(&down, nullptr));
        CHECK(cudaDeviceSynchronize());
        EXPECT(back == host);
    }
    CHECK(cudaMemset3D(device, 0x33, make_cudaExtent(40, 3, 5)));
    cudaMemcpy3DParms down = {};
    down.srcPtr = device;
    down.dstPtr = make_cudaPitchedPtr(back.data(), 40, 40, 6);
    down.extent = extent;
    down.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&down));
    EXPECT(back[40 * 6 * 2 + 40 * 2] == 0x33 && back[40 * 6 * 2 + 40 * 4] == host[40 * 6 * 2 + 40 * 4]);
    CHECK(cudaFree(device.ptr));
}

static void arrays()
{
    const size_t width = 64, height = 32;
    std::vector<float> host(width * height), back(width * height);
    cudaArray_t array, second;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>(), read;
    cudaExtent extent;
    unsigned flags = 9;

    for (size_t i = 0; i < host.size(); i++)
        host[i] = static_cast<float>(i);
    CHECK(cudaMallocArray(&array, &desc, width, height));
    CHECK(cudaMallocArray(&second, &desc, width, height));
    CHECK(cudaArrayGetInfo(&read, &extent, &flags, array));
    EXPECT(read.x == 32 && read.f == cudaChannelFormatKindFloat && extent.width == width && extent.height == height);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, host.data(), width * sizeof(float), width * sizeof(float), height,
                              cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(second, 0, 0, array, 0, 0, width * sizeof(float), height));
    CHECK(cudaMemcpy2DFromArray(back.data(), width * sizeof(float), second, 0, 0, width * sizeof(float), height,
                                cudaMemcpyDeviceToHost));
    EXPECT(back == host);

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc texture = {};
    texture.readMode = cudaReadModeElementType;
    cudaTextureObject_t object = 0;
    CHECK(cudaCreateTextureObject(&object, &resource, &texture, nullptr));
    cudaResourceDesc read_resource = {};
    CHECK(cudaGetTextureObjectResourceDesc(&read_resource, object));
    EXPECT(read_resource.res.array.array == array);
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(second));
}

static void symbols()
{
    float sent[64], received[64];
    int cell = 0;
    void *address = nullptr;
    size_t bytes = 0;

    for (int step = 0; step < 10; step++) {
        for (int i = 0; i < 64; i++)
            sent[i] = static_cast<float>(i * step);
        CHECK(cudaMemcpyToSymbol(coefficients, sent, sizeof sent));
        CHECK(cudaMemcpyFromSymbol(received, coefficients, sizeof received));
        EXPECT(!std::memcmp(sent, received, sizeof sent));
    }
    CHECK(cudaGetSymbolSize(&bytes, board));
    EXPECT(bytes == sizeof board);
    CHECK(cudaGetSymbolAddress(&address, board));
    CHECK(cudaMemset(address, 0, bytes));
    const int seven = 7;
    CHECK(cudaMemcpyToSymbolAsync(board, &seven, sizeof seven, 5 * sizeof(int), cudaMemcpyHostToDevice, nullptr));
    CHECK(cudaMemcpy(&cell, static_cast<int *>(address) + 5, sizeof cell, cudaMemcpyDeviceToHost));
    EXPECT(cell == 7);
    CHECK_FAILS(cudaMemcpyToSymbol(coefficients, sent, sizeof sent, 4), cudaErrorInvalidValue);
    int not_a_symbol;
    CHECK_FAILS(cudaGetSymbolAddress(&address, not_a_symbol), cudaErrorInvalidSymbol);
    (void)cudaGetLastError();
}

int main()
{
    rows();
    boxes();
    arrays();
    symbols();
    return 0;
}
