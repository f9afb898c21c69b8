// The table of forms.
#include "shim/typed/typed.h"

#include <stddef.h>
#include <string.h>

#define NONE GW_WORD_NONE
#define IN_STRUCT GW_WORD_IN_STRUCT
#define OP(kind) (1 + GW_GPU_OP_##kind)
#define OUT_A 1
#define OUT_B 2

// name, style, stream, function or config
#define LAUNCH(name, how, stream_word, first)                                                                          \
    {                                                                                                                  \
        .base = name, .kind = GW_KIND_LAUNCH, .op = OP(KERNEL), .style = how, .stream = stream_word, .a = first,       \
        .b = NONE, .c = NONE, .d = NONE                                                                                \
    }
// name, style, direction, blocking, stream, dst, src, bytes, kind
#define COPY(name, how, direction, blocks, stream_word, to, from, count, word)                                         \
    {                                                                                                                  \
        .base = name, .since = 3020, .kind = GW_KIND_COPY, .op = OP(COPY), .style = how, .code = direction,            \
        .blocking = blocks, .stream = stream_word, .a = to, .b = from, .c = count, .d = word                           \
    }
// name, stream, dst, count, rows, bytes an element
#define MEMSET(name, stream_word, to, count, rows, element)                                                            \
    {                                                                                                                  \
        .base = name, .kind = GW_KIND_MEMSET, .op = OP(MEMSET), .stream = stream_word, .a = to, .b = count, .c = rows, \
        .d = element                                                                                                   \
    }
// name, kind, out, stream, pointer, bytes, rows
#define MEMORY(name, what, is_out, stream_word, pointer, count, rows)                                                  \
    {                                                                                                                  \
        .base = name, .kind = GW_KIND_MEMORY, .code = what, .out = is_out, .stream = stream_word, .a = pointer,        \
        .b = count, .c = rows, .d = NONE                                                                               \
    }
#define FREE(name, what, stream_word) MEMORY(name, (what) + GW_MEMORY_FREE, 0, stream_word, 0, NONE, NONE)
// name, what, out, stream, event, value
#define ORDER(name, what, is_out, stream_word, event, word)                                                            \
    {                                                                                                                  \
        .base = name, .kind = GW_KIND_ORDER, .code = GW_ORDER_##what, .out = is_out, .stream = stream_word,            \
        .a = event, .b = word, .c = NONE, .d = NONE                                                                    \
    }
// name, out, handle, image, bytes
#define MODULE(name, is_out, handle, image, count)                                                                     \
    {                                                                                                                  \
        .base = name, .kind = GW_KIND_MODULE, .out = is_out, .stream = NONE, .a = handle, .b = image, .c = count,      \
        .d = NONE                                                                                                      \
    }
// name, operation, out, stream, graph, exec
#define GRAPH(name, operation, is_out, stream_word, graph, exec)                                                       \
    {                                                                                                                  \
        .base = name, .kind = GW_KIND_GRAPH, .op = operation, .out = is_out, .stream = stream_word, .a = graph,        \
        .b = exec, .c = NONE, .d = NONE                                                                                \
    }

// name, kind, communicator, count, data type, reduction, root or peer, stream; the same for the name with a p
#define COMM_FORM(name, what, handle, count, type, reduction, rank, stream_word)                                       \
    {                                                                                                                  \
        .base = name, .kind = GW_KIND_COMM, .code = GW_COMM_##what, .stream = stream_word, .a = handle, .b = count,    \
        .c = type, .d = reduction, .root = rank                                                                        \
    }
#define COMM(name, what, handle, count, type, reduction, rank, stream_word)                                            \
    COMM_FORM("nccl" name, what, handle, count, type, reduction, rank, stream_word),                                   \
        COMM_FORM("pnccl" name, what, handle, count, type, reduction, rank, stream_word)

// For an order form whose stream word is a pointer to the new stream, the stream travels as field a with OUT_A and
// stream NONE; gw_write_order knows that from the code.
static const struct gw_form forms[] = {
    LAUNCH("cuLaunchKernel", GW_STYLE_DRIVER_SHAPE, 8, 0),
    LAUNCH("cuLaunchCooperativeKernel", GW_STYLE_DRIVER_SHAPE, 8, 0),
    LAUNCH("cuLaunchKernelEx", GW_STYLE_DRIVER_CONFIG, IN_STRUCT, 1),
    LAUNCH("cuLaunch", GW_STYLE_FUNCTION_ONLY, NONE, 0),
    LAUNCH("cuLaunchGrid", GW_STYLE_FUNCTION_ONLY, NONE, 0),
    LAUNCH("cuLaunchGridAsync", GW_STYLE_FUNCTION_ONLY, 3, 0),
    LAUNCH("cudaLaunchKernel", GW_STYLE_RUNTIME_SHAPE, 7, 0),
    LAUNCH("__cudaLaunchKernel", GW_STYLE_RUNTIME_SHAPE, 7, 0),
    LAUNCH("cudaLaunchCooperativeKernel", GW_STYLE_RUNTIME_SHAPE, 7, 0),
    LAUNCH("cudaLaunchKernelExC", GW_STYLE_RUNTIME_CONFIG, IN_STRUCT, 1),

    COPY("cuMemcpy", GW_STYLE_ASK, 0, 1, NONE, 0, 1, 2, NONE),
    COPY("cuMemcpyAsync", GW_STYLE_ASK, 0, 0, 3, 0, 1, 2, NONE),
    COPY("cuMemcpyHtoD", GW_STYLE_PLAIN, GW_COPY_H2D, 1, NONE, 0, 1, 2, NONE),
    COPY("cuMemcpyDtoH", GW_STYLE_PLAIN, GW_COPY_D2H, 1, NONE, 0, 1, 2, NONE),
    COPY("cuMemcpyDtoD", GW_STYLE_PLAIN, GW_COPY_D2D, 1, NONE, 0, 1, 2, NONE),
    COPY("cuMemcpyHtoDAsync", GW_STYLE_PLAIN, GW_COPY_H2D, 0, 3, 0, 1, 2, NONE),
    COPY("cuMemcpyDtoHAsync", GW_STYLE_PLAIN, GW_COPY_D2H, 0, 3, 0, 1, 2, NONE),
    COPY("cuMemcpyDtoDAsync", GW_STYLE_PLAIN, GW_COPY_D2D, 0, 3, 0, 1, 2, NONE),
    COPY("cuMemcpyPeer", GW_STYLE_PLAIN, GW_COPY_P2P, 1, NONE, 0, 2, 4, NONE),
    COPY("cuMemcpyPeerAsync", GW_STYLE_PLAIN, GW_COPY_P2P, 0, 5, 0, 2, 4, NONE),
    COPY("cuMemcpyHtoA", GW_STYLE_PLAIN, GW_COPY_H2D, 1, NONE, 0, 2, 3, NONE),
    COPY("cuMemcpyAtoH", GW_STYLE_PLAIN, GW_COPY_D2H, 1, NONE, 0, 1, 3, NONE),
    COPY("cuMemcpyDtoA", GW_STYLE_PLAIN, GW_COPY_D2D, 1, NONE, 0, 2, 3, NONE),
    COPY("cuMemcpyAtoD", GW_STYLE_PLAIN, GW_COPY_D2D, 1, NONE, 0, 1, 3, NONE),
    COPY("cuMemcpyAtoA", GW_STYLE_PLAIN, GW_COPY_D2D, 1, NONE, 0, 2, 4, NONE),
    COPY("cuMemcpyHtoAAsync", GW_STYLE_PLAIN, GW_COPY_H2D, 0, 4, 0, 2, 3, NONE),
    COPY("cuMemcpyAtoHAsync", GW_STYLE_PLAIN, GW_COPY_D2H, 0, 4, 0, 1, 3, NONE),
    COPY("cuMemcpy2D", GW_STYLE_STRUCT_2D, 0, 1, NONE, 0, NONE, NONE, NONE),
    COPY("cuMemcpy2DUnaligned", GW_STYLE_STRUCT_2D, 0, 1, NONE, 0, NONE, NONE, NONE),
    COPY("cuMemcpy2DAsync", GW_STYLE_STRUCT_2D, 0, 0, 1, 0, NONE, NONE, NONE),
    COPY("cuMemcpy3D", GW_STYLE_STRUCT_3D, 0, 1, NONE, 0, NONE, NONE, NONE),
    COPY("cuMemcpy3DAsync", GW_STYLE_STRUCT_3D, 0, 0, 1, 0, NONE, NONE, NONE),
    COPY("cuMemcpy3DPeer", GW_STYLE_STRUCT_3D, GW_COPY_P2P, 1, NONE, 0, NONE, NONE, NONE),
    COPY("cuMemcpy3DPeerAsync", GW_STYLE_STRUCT_3D, GW_COPY_P2P, 0, 1, 0, NONE, NONE, NONE),
    COPY("cudaMemcpy", GW_STYLE_KIND_WORD, 0, 1, NONE, 0, 1, 2, 3),
    COPY("cudaMemcpyAsync", GW_STYLE_KIND_WORD, 0, 0, 4, 0, 1, 2, 3),
    COPY("cudaMemcpyPeer", GW_STYLE_PLAIN, GW_COPY_P2P, 1, NONE, 0, 2, 4, NONE),
    COPY("cudaMemcpyPeerAsync", GW_STYLE_PLAIN, GW_COPY_P2P, 0, 5, 0, 2, 4, NONE),
    COPY("cudaMemcpyToSymbol", GW_STYLE_KIND_WORD, 0, 1, NONE, 0, 1, 2, 4),
    COPY("cudaMemcpyFromSymbol", GW_STYLE_KIND_WORD, 0, 1, NONE, 0, 1, 2, 4),
    COPY("cudaMemcpyToSymbolAsync", GW_STYLE_KIND_WORD, 0, 0, 5, 0, 1, 2, 4),
    COPY("cudaMemcpyFromSymbolAsync", GW_STYLE_KIND_WORD, 0, 0, 5, 0, 1, 2, 4),

    MEMSET("cuMemsetD8", NONE, 0, 2, NONE, 1),
    MEMSET("cuMemsetD16", NONE, 0, 2, NONE, 2),
    MEMSET("cuMemsetD32", NONE, 0, 2, NONE, 4),
    MEMSET("cuMemsetD8Async", 3, 0, 2, NONE, 1),
    MEMSET("cuMemsetD16Async", 3, 0, 2, NONE, 2),
    MEMSET("cuMemsetD32Async", 3, 0, 2, NONE, 4),
    MEMSET("cuMemsetD2D8", NONE, 0, 3, 4, 1),
    MEMSET("cuMemsetD2D16", NONE, 0, 3, 4, 2),
    MEMSET("cuMemsetD2D32", NONE, 0, 3, 4, 4),
    MEMSET("cuMemsetD2D8Async", 5, 0, 3, 4, 1),
    MEMSET("cuMemsetD2D16Async", 5, 0, 3, 4, 2),
    MEMSET("cuMemsetD2D32Async", 5, 0, 3, 4, 4),
    MEMSET("cudaMemset", NONE, 0, 2, NONE, 1),
    MEMSET("cudaMemsetAsync", 3, 0, 2, NONE, 1),
    MEMSET("cudaMemset2D", NONE, 0, 3, 4, 1),
    MEMSET("cudaMemset2DAsync", 5, 0, 3, 4, 1),

    MEMORY("cuMemAlloc", GW_MEMORY_DEVICE, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cuMemAllocPitch", GW_MEMORY_DEVICE, OUT_A, NONE, 0, 2, 3),
    MEMORY("cuMemAllocHost", GW_MEMORY_HOST, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cuMemHostAlloc", GW_MEMORY_HOST, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cuMemHostRegister", GW_MEMORY_REGISTER, 0, NONE, 0, 1, NONE),
    MEMORY("cuMemAllocManaged", GW_MEMORY_MANAGED, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cuMemAllocAsync", GW_MEMORY_ASYNC, OUT_A, 2, 0, 1, NONE),
    MEMORY("cuMemAllocFromPoolAsync", GW_MEMORY_ASYNC, OUT_A, 3, 0, 1, NONE),
    MEMORY("cuArrayCreate", GW_MEMORY_ARRAY, OUT_A, NONE, 0, NONE, NONE),
    MEMORY("cuArray3DCreate", GW_MEMORY_ARRAY, OUT_A, NONE, 0, NONE, NONE),
    MEMORY("cuMipmappedArrayCreate", GW_MEMORY_ARRAY, OUT_A, NONE, 0, NONE, NONE),
    MEMORY("cuMemPoolCreate", GW_MEMORY_POOL, OUT_A, NONE, 0, NONE, NONE),
    MEMORY("cuMemPoolTrimTo", GW_MEMORY_POOL, 0, NONE, 0, 1, NONE),
    MEMORY("cuMemCreate", GW_MEMORY_VIRTUAL, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cuMemMap", GW_MEMORY_VIRTUAL, 0, NONE, 0, 1, NONE),
    MEMORY("cuMemAddressReserve", GW_MEMORY_VIRTUAL, OUT_A, NONE, 0, 1, NONE),
    FREE("cuMemFree", GW_MEMORY_DEVICE, NONE),
    FREE("cuMemFreeHost", GW_MEMORY_HOST, NONE),
    FREE("cuMemHostUnregister", GW_MEMORY_REGISTER, NONE),
    FREE("cuMemFreeAsync", GW_MEMORY_ASYNC, 1),
    FREE("cuArrayDestroy", GW_MEMORY_ARRAY, NONE),
    FREE("cuMipmappedArrayDestroy", GW_MEMORY_ARRAY, NONE),
    FREE("cuMemPoolDestroy", GW_MEMORY_POOL, NONE),
    FREE("cuMemRelease", GW_MEMORY_VIRTUAL, NONE),
    FREE("cuMemUnmap", GW_MEMORY_VIRTUAL, NONE),
    FREE("cuMemAddressFree", GW_MEMORY_VIRTUAL, NONE),
    MEMORY("cudaMalloc", GW_MEMORY_DEVICE, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cudaMallocPitch", GW_MEMORY_DEVICE, OUT_A, NONE, 0, 2, 3),
    MEMORY("cudaMallocHost", GW_MEMORY_HOST, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cudaHostAlloc", GW_MEMORY_HOST, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cudaHostRegister", GW_MEMORY_REGISTER, 0, NONE, 0, 1, NONE),
    MEMORY("cudaMallocManaged", GW_MEMORY_MANAGED, OUT_A, NONE, 0, 1, NONE),
    MEMORY("cudaMallocAsync", GW_MEMORY_ASYNC, OUT_A, 2, 0, 1, NONE),
    MEMORY("cudaMallocFromPoolAsync", GW_MEMORY_ASYNC, OUT_A, 3, 0, 1, NONE),
    MEMORY("cudaMallocArray", GW_MEMORY_ARRAY, OUT_A, NONE, 0, NONE, NONE),
    MEMORY("cudaMalloc3DArray", GW_MEMORY_ARRAY, OUT_A, NONE, 0, NONE, NONE),
    MEMORY("cudaMemPoolCreate", GW_MEMORY_POOL, OUT_A, NONE, 0, NONE, NONE),
    MEMORY("cudaMemPoolTrimTo", GW_MEMORY_POOL, 0, NONE, 0, 1, NONE),
    FREE("cudaFree", GW_MEMORY_DEVICE, NONE),
    FREE("cudaFreeHost", GW_MEMORY_HOST, NONE),
    FREE("cudaHostUnregister", GW_MEMORY_REGISTER, NONE),
    FREE("cudaFreeAsync", GW_MEMORY_ASYNC, 1),
    FREE("cudaFreeArray", GW_MEMORY_ARRAY, NONE),
    FREE("cudaMemPoolDestroy", GW_MEMORY_POOL, NONE),

    ORDER("cuStreamCreate", STREAM_CREATE, OUT_A, NONE, 0, 1),
    ORDER("cuStreamCreateWithPriority", STREAM_CREATE, OUT_A, NONE, 0, 1),
    ORDER("cuStreamDestroy", STREAM_DESTROY, 0, 0, NONE, NONE),
    ORDER("cuStreamSynchronize", STREAM_SYNC, 0, 0, NONE, NONE),
    ORDER("cuStreamQuery", STREAM_QUERY, 0, 0, NONE, NONE),
    ORDER("cuStreamWaitEvent", STREAM_WAIT_EVENT, 0, 0, 1, 2),
    ORDER("cuStreamAddCallback", HOST_FUNCTION, 0, 0, NONE, NONE),
    ORDER("cuLaunchHostFunc", HOST_FUNCTION, 0, 0, NONE, NONE),
    ORDER("cuEventCreate", EVENT_CREATE, OUT_A, NONE, 0, 1),
    ORDER("cuEventDestroy", EVENT_DESTROY, 0, NONE, 0, NONE),
    ORDER("cuEventRecord", EVENT_RECORD, 0, 1, 0, NONE),
    ORDER("cuEventRecordWithFlags", EVENT_RECORD, 0, 1, 0, 2),
    ORDER("cuEventSynchronize", EVENT_SYNC, 0, NONE, 0, NONE),
    ORDER("cuEventQuery", EVENT_QUERY, 0, NONE, 0, NONE),
    ORDER("cuCtxSynchronize", DEVICE_SYNC, 0, NONE, NONE, NONE),
    ORDER("cudaStreamCreate", STREAM_CREATE, OUT_A, NONE, 0, NONE),
    ORDER("cudaStreamCreateWithFlags", STREAM_CREATE, OUT_A, NONE, 0, 1),
    ORDER("cudaStreamCreateWithPriority", STREAM_CREATE, OUT_A, NONE, 0, 1),
    ORDER("cudaStreamDestroy", STREAM_DESTROY, 0, 0, NONE, NONE),
    ORDER("cudaStreamSynchronize", STREAM_SYNC, 0, 0, NONE, NONE),
    ORDER("cudaStreamQuery", STREAM_QUERY, 0, 0, NONE, NONE),
    ORDER("cudaStreamWaitEvent", STREAM_WAIT_EVENT, 0, 0, 1, 2),
    ORDER("cudaStreamAddCallback", HOST_FUNCTION, 0, 0, NONE, NONE),
    ORDER("cudaLaunchHostFunc", HOST_FUNCTION, 0, 0, NONE, NONE),
    ORDER("cudaEventCreate", EVENT_CREATE, OUT_A, NONE, 0, NONE),
    ORDER("cudaEventCreateWithFlags", EVENT_CREATE, OUT_A, NONE, 0, 1),
    ORDER("cudaEventDestroy", EVENT_DESTROY, 0, NONE, 0, NONE),
    ORDER("cudaEventRecord", EVENT_RECORD, 0, 1, 0, NONE),
    ORDER("cudaEventRecordWithFlags", EVENT_RECORD, 0, 1, 0, 2),
    ORDER("cudaEventSynchronize", EVENT_SYNC, 0, NONE, 0, NONE),
    ORDER("cudaEventQuery", EVENT_QUERY, 0, NONE, 0, NONE),
    ORDER("cudaDeviceSynchronize", DEVICE_SYNC, 0, NONE, NONE, NONE),
    ORDER("cudaThreadSynchronize", DEVICE_SYNC, 0, NONE, NONE, NONE),

    MODULE("cuModuleLoad", OUT_A, 0, NONE, NONE),
    MODULE("cuModuleLoadData", OUT_A, 0, 1, NONE),
    MODULE("cuModuleLoadDataEx", OUT_A, 0, 1, NONE),
    MODULE("cuModuleLoadFatBinary", OUT_A, 0, 1, NONE),
    MODULE("cuModuleUnload", 0, 0, NONE, NONE),
    MODULE("cuLibraryLoadData", OUT_A, 0, 1, NONE),
    MODULE("cuLibraryLoadFromFile", OUT_A, 0, NONE, NONE),
    MODULE("cuLibraryUnload", 0, 0, NONE, NONE),
    MODULE("cuLinkCreate", 0, NONE, NONE, NONE),
    MODULE("cuLinkAddData", 0, 0, 2, 3),
    MODULE("cuLinkAddFile", 0, 0, NONE, NONE),
    MODULE("cuLinkComplete", 0, 0, NONE, NONE),
    MODULE("cuLinkDestroy", 0, 0, NONE, NONE),
    MODULE("cudaLibraryLoadData", OUT_A, 0, 1, NONE),
    MODULE("cudaLibraryLoadFromFile", OUT_A, 0, NONE, NONE),
    MODULE("cudaLibraryUnload", 0, 0, NONE, NONE),

    GRAPH("cuStreamBeginCapture", 0, 0, 0, NONE, NONE),
    GRAPH("cuStreamBeginCaptureToGraph", 0, 0, 0, 1, NONE),
    GRAPH("cuStreamEndCapture", 0, OUT_A, 0, 1, NONE),
    GRAPH("cuGraphCreate", 0, OUT_A, NONE, 0, NONE),
    GRAPH("cuGraphClone", 0, OUT_A, NONE, 0, NONE),
    GRAPH("cuGraphInstantiate", 0, OUT_B, NONE, 1, 0),
    GRAPH("cuGraphInstantiateWithFlags", 0, OUT_B, NONE, 1, 0),
    GRAPH("cuGraphInstantiateWithParams", 0, OUT_B, NONE, 1, 0),
    GRAPH("cuGraphExecUpdate", 0, 0, NONE, 1, 0),
    GRAPH("cuGraphUpload", 0, 0, 1, NONE, 0),
    GRAPH("cuGraphLaunch", OP(GRAPH), 0, 1, NONE, 0),
    GRAPH("cuGraphDestroy", 0, 0, NONE, 0, NONE),
    GRAPH("cuGraphExecDestroy", 0, 0, NONE, NONE, 0),
    GRAPH("cudaStreamBeginCapture", 0, 0, 0, NONE, NONE),
    GRAPH("cudaStreamBeginCaptureToGraph", 0, 0, 0, 1, NONE),
    GRAPH("cudaStreamEndCapture", 0, OUT_A, 0, 1, NONE),
    GRAPH("cudaGraphCreate", 0, OUT_A, NONE, 0, NONE),
    GRAPH("cudaGraphClone", 0, OUT_A, NONE, 0, NONE),
    GRAPH("cudaGraphInstantiate", 0, OUT_B, NONE, 1, 0),
    GRAPH("cudaGraphInstantiateWithFlags", 0, OUT_B, NONE, 1, 0),
    GRAPH("cudaGraphInstantiateWithParams", 0, OUT_B, NONE, 1, 0),
    GRAPH("cudaGraphExecUpdate", 0, 0, NONE, 1, 0),
    GRAPH("cudaGraphUpload", 0, 0, 1, NONE, 0),
    GRAPH("cudaGraphLaunch", OP(GRAPH), 0, 1, NONE, 0),
    GRAPH("cudaGraphDestroy", 0, 0, NONE, 0, NONE),
    GRAPH("cudaGraphExecDestroy", 0, 0, NONE, NONE, 0),

    COMM("AllReduce", ALL_REDUCE, 5, 2, 3, 4, NONE, 6),
    COMM("Reduce", REDUCE, 6, 2, 3, 4, 5, 7),
    COMM("ReduceScatter", REDUCE_SCATTER, 5, 2, 3, 4, NONE, 6),
    COMM("Broadcast", BROADCAST, 5, 2, 3, NONE, 4, 6),
    COMM("Bcast", BROADCAST, 4, 1, 2, NONE, 3, 5),
    COMM("AllGather", ALL_GATHER, 4, 2, 3, NONE, NONE, 5),
    COMM("AlltoAll", ALL_TO_ALL, 4, 2, 3, NONE, NONE, 5),
    COMM("Gather", GATHER, 5, 2, 3, NONE, 4, 6),
    COMM("Scatter", SCATTER, 5, 2, 3, NONE, 4, 6),
    COMM("Send", SEND, 4, 1, 2, NONE, 3, 5),
    COMM("Recv", RECV, 4, 1, 2, NONE, 3, 5),
};

_Static_assert(sizeof(forms) / sizeof(forms[0]) < 255, "the map holds one byte a function");

static uint8_t form_of[GW_FUNCTION_COUNT]; // 1 + index; written once, by gw_forms_init

void gw_forms_init(void)
{
    for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        unsigned first = gw_function_first(forms[i].base);

        for (unsigned id = first; id < GW_FUNCTION_COUNT; id++) {
            const struct gw_function *row = gw_function_row(id);

            if (strcmp(row->base, forms[i].base) != 0)
                break;
            if (row->api != GW_API_DRV || row->version >= forms[i].since)
                form_of[id] = (uint8_t)(i + 1);
        }
    }
}

const struct gw_form *gw_form_of(unsigned function)
{
    return form_of[function] ? &forms[form_of[function] - 1] : NULL;
}

uint64_t gw_form_value(const struct gw_form *form, const uint64_t *words, unsigned field, bool succeeded)
{
    const int8_t fields[] = {form->a, form->b, form->c, form->d};
    int8_t word = fields[field];

    if (word < 0)
        return 0;
    if (!(form->out >> field & 1))
        return words[word];
    return succeeded && words[word] ? *(const uint64_t *)words[word] : 0;
}
