/* Streams and events: what does not depend on the default stream. */
#include "runtime.h"

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
    RT_CALL(RT_CONTEXT, cudaStreamCreate, RT_REQUIRE(pStream, DRV(cuStreamCreate)(pStream, CU_STREAM_DEFAULT)));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaStreamCreateWithFlags, RT_REQUIRE(pStream, DRV(cuStreamCreate)(pStream, flags)));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
    RT_CALL(RT_CONTEXT, cudaStreamCreateWithPriority,
            RT_REQUIRE(pStream, DRV(cuStreamCreateWithPriority)(pStream, flags, priority)));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaStreamDestroy, DRV(cuStreamDestroy)(stream));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    RT_CALL(RT_DRIVER, cudaThreadExchangeStreamCaptureMode,
            RT_REQUIRE(mode, DRV(cuThreadExchangeStreamCaptureMode)((CUstreamCaptureMode *)mode)));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    RT_CALL(RT_CONTEXT, cudaEventCreate, RT_REQUIRE(event, DRV(cuEventCreate)(event, CU_EVENT_DEFAULT)));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    RT_CALL(RT_CONTEXT, cudaEventCreateWithFlags, RT_REQUIRE(event, DRV(cuEventCreate)(event, flags)));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaEventQuery, DRV(cuEventQuery)(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaEventSynchronize, DRV(cuEventSynchronize)(event));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    RT_CALL(RT_CONTEXT, cudaEventDestroy, DRV(cuEventDestroy)(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    RT_CALL(RT_CONTEXT, cudaEventElapsedTime, RT_REQUIRE(ms, DRV(cuEventElapsedTime)(ms, start, end)));
}

#if RT_MAJOR == 12
cudaError_t rt_event_elapsed_time_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
    RT_SYMBOL("cudaEventElapsedTime_v2");

cudaError_t rt_event_elapsed_time_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    RT_CALL_NAMED(RT_CONTEXT, "cudaEventElapsedTime_v2", RT_REQUIRE(ms, DRV(cuEventElapsedTime)(ms, start, end)));
}
#endif
