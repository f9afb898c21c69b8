/* Streams and events: what takes a stream, 0 being the default one. Compiled once for each default stream. */
#include "runtime.h"

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaStreamSynchronize, DRV(cuStreamSynchronize)(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaStreamQuery, DRV(cuStreamQuery)(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaStreamWaitEvent, DRV(cuStreamWaitEvent)(stream, event, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    RT_CALL(RT_CONTEXT, cudaStreamGetPriority, RT_REQUIRE(priority, DRV(cuStreamGetPriority)(hStream, priority)));
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    RT_CALL(RT_CONTEXT, cudaStreamGetFlags, RT_REQUIRE(flags, DRV(cuStreamGetFlags)(hStream, flags)));
}

cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    RT_CALL(RT_CONTEXT, cudaStreamGetId, RT_REQUIRE(streamId, DRV(cuStreamGetId)(hStream, streamId)));
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
    RT_CALL(RT_CONTEXT, cudaStreamGetDevice, RT_REQUIRE(device, DRV(cuStreamGetDevice)(hStream, device)));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaStreamAttachMemAsync,
            DRV(cuStreamAttachMemAsync)(stream, (CUdeviceptr)devPtr, length, flags));
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    RT_CALL(RT_CONTEXT, cudaStreamCopyAttributes, DRV(cuStreamCopyAttributes)(dst, src));
}

cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr, cudaStreamAttrValue *value_out)
{
    _Static_assert(sizeof *value_out == sizeof(CUstreamAttrValue), "both have the same layout and numbers");
    RT_CALL(RT_CONTEXT, cudaStreamGetAttribute,
            RT_REQUIRE(value_out,
                       DRV(cuStreamGetAttribute)(hStream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value_out)));
}

cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr, const cudaStreamAttrValue *value)
{
    RT_CALL(
        RT_CONTEXT, cudaStreamSetAttribute,
        RT_REQUIRE(value, DRV(cuStreamSetAttribute)(hStream, (CUstreamAttrID)attr, (const CUstreamAttrValue *)value)));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaEventRecord, DRV(cuEventRecord)(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaEventRecordWithFlags, DRV(cuEventRecordWithFlags)(event, stream, flags));
}
