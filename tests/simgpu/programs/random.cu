// A program of random calls: threads, devices, streams of every kind, copies of every kind, graphs, pools, events, host
// functions, errors. RANDOM_SEED, RANDOM_ACTIONS (a thread) and RANDOM_THREADS say which. Every call's result is
// printed as one checksum a thread, so that a recorded run can be compared with a bare one.
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "program.h"

struct Random {
    uint64_t state;
    // SplitMix64, after Steele, Lea and Flood.
    uint64_t next()
    {
        uint64_t z = (state += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    unsigned below(unsigned limit)
    {
        return static_cast<unsigned>(next() % limit);
    }
};

enum { STREAMS = 5, EVENTS = 4, LARGEST = 1 << 20, BYTES = LARGEST + 64, GRAPHS = 2, THREADS_AT_MOST = 4 };

// What one thread has on one device.
struct Place {
    int device;
    cudaStream_t streams[STREAMS]; // of its own, the legacy and the per-thread one
    cudaEvent_t events[EVENTS];
    unsigned char *memory, *other, *pinned, *managed, *pageable;
    cudaGraphExec_t graphs[GRAPHS];
    cudaGraph_t templates[GRAPHS];
};

struct Thread {
    Random random;
    std::vector<Place> places;
    Place *place;
    uint64_t checksum;
    std::vector<unsigned char> heap;
    unsigned number;
};

template <int thread> __global__ void forward_spin_ns(unsigned long long ns, float *data)
{
    spin(ns);
    if (data)
        data[0] = 1;
}

template <int thread, typename T> __global__ void backward_spin_ns(unsigned long long ns, T scale)
{
    spin(ns + static_cast<unsigned long long>(scale));
}

template <int thread> __global__ void tiny()
{
}

static void note(Thread &thread, cudaError_t result)
{
    thread.checksum = thread.checksum * 31 + static_cast<unsigned>(result) + 1;
}

static cudaStream_t some_stream(Thread &thread)
{
    return thread.place->streams[thread.random.below(STREAMS)];
}

static size_t some_bytes(Thread &thread)
{
    static const size_t sizes[] = {1, 4, 512, 4096, 65536, 65537, 300000, LARGEST};
    return sizes[thread.random.below(sizeof(sizes) / sizeof(*sizes))] + thread.number * 8;
}

static unsigned char *some_host(Thread &thread)
{
    return thread.random.below(2) ? thread.place->pinned : thread.place->pageable;
}

template <int thread> static void launch_one(Random &random, cudaStream_t stream, float *data)
{
    unsigned long long ns = 1000 + random.below(40) * 1000;
    dim3 grid(1 + random.below(64)), block(32u << random.below(4));
    switch (random.below(4)) {
    case 0:
        forward_spin_ns<thread><<<grid, block, 0, stream>>>(ns, nullptr);
        break;
    case 1:
        forward_spin_ns<thread><<<grid, block, 1024, stream>>>(ns, data);
        break;
    case 2:
        backward_spin_ns<thread, float><<<grid, block, 0, stream>>>(ns, 1.0f);
        break;
    default:
        tiny<thread><<<grid, block, 0, stream>>>();
    }
}

// Each thread has kernels and sizes of its own, so that what two of them do at once on one stream can be told apart.
static void launch_on(Thread &thread, cudaStream_t stream)
{
    static void (*const of_thread[])(Random &, cudaStream_t, float *) = {launch_one<0>, launch_one<1>, launch_one<2>,
                                                                         launch_one<3>};
    of_thread[thread.number](thread.random, stream, reinterpret_cast<float *>(thread.place->memory));
    note(thread, cudaGetLastError());
}

static void launch(Thread &thread)
{
    launch_on(thread, some_stream(thread));
}

static void copy_async(Thread &thread)
{
    Place &place = *thread.place;
    size_t bytes = some_bytes(thread);
    cudaStream_t stream = some_stream(thread);
    switch (thread.random.below(6)) {
    case 0:
        note(thread, cudaMemcpyAsync(place.memory, some_host(thread), bytes, cudaMemcpyHostToDevice, stream));
        break;
    case 1:
        note(thread, cudaMemcpyAsync(some_host(thread), place.memory, bytes, cudaMemcpyDeviceToHost, stream));
        break;
    case 2:
        note(thread, cudaMemcpyAsync(place.other, place.memory, bytes, cudaMemcpyDeviceToDevice, stream));
        break;
    case 3:
        note(thread, cudaMemcpyAsync(place.memory, place.pinned, bytes, cudaMemcpyDefault, stream));
        break;
    case 4:
        note(thread, cudaMemcpy2DAsync(place.memory, 1024, place.pinned, 512, 256 + thread.number, 100,
                                       cudaMemcpyHostToDevice, stream));
        break;
    default:
        note(thread, cudaMemcpyAsync(place.managed, place.memory, bytes, cudaMemcpyDefault, stream));
    }
}

static void copy_blocking(Thread &thread)
{
    Place &place = *thread.place;
    size_t bytes = some_bytes(thread);
    switch (thread.random.below(4)) {
    case 0:
        note(thread, cudaMemcpy(place.memory, some_host(thread), bytes, cudaMemcpyHostToDevice));
        break;
    case 1:
        note(thread, cudaMemcpy(some_host(thread), place.memory, bytes, cudaMemcpyDeviceToHost));
        break;
    case 2:
        note(thread, cudaMemcpy(place.other, place.memory, bytes, cudaMemcpyDeviceToDevice));
        break;
    default:
        note(thread,
             cudaMemcpy2D(place.pinned, 512, place.memory, 1024, 256 + thread.number, 64, cudaMemcpyDeviceToHost));
    }
}

static void copy_peer(Thread &thread)
{
    Place &from = *thread.place, &to = thread.places[thread.random.below(static_cast<unsigned>(thread.places.size()))];
    size_t bytes = some_bytes(thread);
    if (thread.random.below(2))
        note(thread, cudaMemcpyPeerAsync(to.memory, to.device, from.other, from.device, bytes, some_stream(thread)));
    else
        note(thread, cudaMemcpyPeer(to.memory, to.device, from.other, from.device, bytes));
}

static void set_memory(Thread &thread)
{
    size_t bytes = some_bytes(thread);
    if (thread.random.below(3))
        note(thread, cudaMemsetAsync(thread.place->memory, 7, bytes, some_stream(thread)));
    else
        note(thread, cudaMemset(thread.place->memory, 7, bytes));
}

static void use_events(Thread &thread)
{
    cudaEvent_t event = thread.place->events[thread.random.below(EVENTS)];
    note(thread, cudaEventRecord(event, some_stream(thread)));
    switch (thread.random.below(4)) {
    case 0:
        note(thread, cudaEventSynchronize(event));
        break;
    case 1:
        (void)cudaEventQuery(event); // whether it is done depends on the time, and so does the last error then
        (void)cudaGetLastError();
        break;
    default:
        note(thread, cudaStreamWaitEvent(some_stream(thread), event, 0));
    }
}

static void wait(Thread &thread)
{
    switch (thread.random.below(5)) {
    case 0:
        note(thread, cudaDeviceSynchronize());
        break;
    case 1:
        (void)cudaStreamQuery(some_stream(thread));
        (void)cudaGetLastError();
        break;
    default:
        note(thread, cudaStreamSynchronize(some_stream(thread)));
    }
}

static void allocate(Thread &thread)
{
    void *memory = nullptr;
    cudaStream_t stream = some_stream(thread);
    switch (thread.random.below(4)) {
    case 0:
        note(thread, cudaMalloc(&memory, some_bytes(thread)));
        note(thread, cudaFree(memory));
        break;
    case 1:
        note(thread, cudaMallocHost(&memory, some_bytes(thread)));
        note(thread, cudaFreeHost(memory));
        break;
    default:
        note(thread, cudaMallocAsync(&memory, some_bytes(thread), stream));
        note(thread, cudaMemsetAsync(memory, 1, 1 + thread.number, stream));
        note(thread, cudaFreeAsync(memory, stream));
    }
}

static void count_call(void *data)
{
    __atomic_add_fetch(static_cast<unsigned *>(data), 1, __ATOMIC_RELAXED);
}

static unsigned host_calls;

static void call_host(Thread &thread)
{
    note(thread, cudaLaunchHostFunc(some_stream(thread), count_call, &host_calls));
}

static void replace_stream(Thread &thread)
{
    cudaStream_t *stream = &thread.place->streams[thread.random.below(3)];
    note(thread, cudaStreamDestroy(*stream)); // with its work pending
    if (thread.random.below(2))
        note(thread, cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    else
        note(thread, cudaStreamCreateWithPriority(stream, cudaStreamDefault, thread.random.below(2) ? -1 : 0));
}

// While a stream is being captured, nobody may wait for its device or use the legacy stream.
static std::shared_mutex capturing;

static void capture(Thread &thread)
{
    Place &place = *thread.place;
    unsigned slot = thread.random.below(GRAPHS);
    cudaStream_t stream = place.streams[0], side = place.streams[1];
    cudaGraph_t graph = nullptr;
    note(thread, cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    unsigned nodes = 1 + thread.random.below(5);
    for (unsigned i = 0; i < nodes; i++) {
        switch (thread.random.below(3)) {
        case 0:
            note(thread,
                 cudaMemcpyAsync(place.memory, place.pinned, some_bytes(thread), cudaMemcpyHostToDevice, stream));
            break;
        case 1:
            note(thread, cudaMemsetAsync(place.other, 3, some_bytes(thread), stream));
            break;
        default:
            launch_on(thread, stream);
        }
    }
    if (thread.random.below(2)) {
        note(thread, cudaEventRecord(place.events[0], stream));
        note(thread, cudaStreamWaitEvent(side, place.events[0], 0));
        launch_on(thread, side);
        note(thread, cudaEventRecord(place.events[1], side));
        note(thread, cudaStreamWaitEvent(stream, place.events[1], 0));
    }
    note(thread, cudaStreamEndCapture(stream, &graph));
    // What was recorded while capturing belongs to the graph; later waits need events of their own.
    note(thread, cudaEventRecord(place.events[0], place.streams[2]));
    note(thread, cudaEventRecord(place.events[1], place.streams[2]));
    if (place.graphs[slot]) {
        note(thread, cudaGraphExecDestroy(place.graphs[slot]));
        note(thread, cudaGraphDestroy(place.templates[slot]));
    }
    place.templates[slot] = graph;
    note(thread, cudaGraphInstantiate(&place.graphs[slot], graph, 0));
}

static void replay(Thread &thread)
{
    unsigned slot = thread.random.below(GRAPHS);
    if (!thread.place->graphs[slot])
        capture(thread);
    for (unsigned i = thread.random.below(3); thread.place->graphs[slot] && i < 3; i++)
        note(thread, cudaGraphLaunch(thread.place->graphs[slot], some_stream(thread)));
}

static void fail(Thread &thread)
{
    switch (thread.random.below(3)) {
    case 0:
        note(thread, cudaSetDevice(99));
        break;
    case 1:
        tiny<0><<<1, 4096>>>();
        break;
    default:
        note(thread, cudaMemcpyAsync(nullptr, thread.place->memory, 16, static_cast<cudaMemcpyKind>(17), nullptr));
    }
    note(thread, cudaGetLastError());
}

static void change_device(Thread &thread)
{
    thread.place = &thread.places[thread.random.below(static_cast<unsigned>(thread.places.size()))];
    note(thread, cudaSetDevice(thread.place->device));
}

static void compute_on_host(Thread &thread)
{
    volatile uint64_t sum = 0;
    for (unsigned i = thread.random.below(20000); i; i--)
        sum = sum + i;
}

static const struct {
    void (*act)(Thread &thread);
    unsigned weight;
} actions[] = {
    {launch, 40},     {copy_async, 15}, {copy_blocking, 4}, {copy_peer, 2},     {set_memory, 6},
    {use_events, 10}, {wait, 6},        {allocate, 4},      {call_host, 2},     {replace_stream, 1},
    {capture, 1},     {replay, 4},      {fail, 1},          {change_device, 3}, {compute_on_host, 6},
};

static void open_place(Place &place, int device)
{
    place = Place();
    place.device = device;
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&place.streams[0], cudaStreamNonBlocking));
    CHECK(cudaStreamCreate(&place.streams[1]));
    CHECK(cudaStreamCreate(&place.streams[2]));
    place.streams[3] = cudaStreamLegacy;
    place.streams[4] = cudaStreamPerThread;
    for (cudaEvent_t &event : place.events)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMalloc(&place.memory, BYTES));
    CHECK(cudaMalloc(&place.other, BYTES));
    CHECK(cudaMallocHost(&place.pinned, BYTES));
    CHECK(cudaMallocManaged(&place.managed, BYTES));
}

static void run(Thread &thread, int devices, unsigned steps)
{
    unsigned total = 0;
    thread.heap.resize(BYTES);
    thread.places.resize(static_cast<size_t>(devices));
    for (int i = 0; i < devices; i++) {
        open_place(thread.places[static_cast<size_t>(i)], i);
        thread.places[static_cast<size_t>(i)].pageable = thread.heap.data();
    }
    thread.place = &thread.places.back();
    for (const auto &action : actions)
        total += action.weight;
    for (unsigned step = 0; step < steps; step++) {
        unsigned draw = thread.random.below(total), i = 0;
        for (; draw >= actions[i].weight; i++)
            draw -= actions[i].weight;
        bool alone = actions[i].act == capture || actions[i].act == replay;
        alone ? capturing.lock() : capturing.lock_shared();
        actions[i].act(thread);
        alone ? capturing.unlock() : capturing.unlock_shared();
    }
    for (Place &place : thread.places) {
        std::shared_lock<std::shared_mutex> lock(capturing);
        CHECK(cudaSetDevice(place.device));
        CHECK(cudaDeviceSynchronize());
    }
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = std::getenv(name);
    return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

int main()
{
    unsigned count = from_environment("RANDOM_THREADS", 3), seed = from_environment("RANDOM_SEED", 1);
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    count = std::min<unsigned>(count, THREADS_AT_MOST);
    std::vector<Thread> contents(count);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; i++) {
        contents[i].number = i;
        contents[i].random.state = seed * 1000003ull + i;
        threads.emplace_back(run, std::ref(contents[i]), devices, from_environment("RANDOM_ACTIONS", 400));
    }
    for (std::thread &thread : threads)
        thread.join();
    for (const Thread &thread : contents)
        std::printf("%016llx\n", static_cast<unsigned long long>(thread.checksum));
    std::printf("%u host functions\n", host_calls);
    return 0;
}
