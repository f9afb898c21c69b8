/* Stream capture and what launches graphs. Compiled once for each default stream. */
#include "runtime.h"

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    RT_CALL(RT_CONTEXT, cudaStreamBeginCapture, DRV(cuStreamBeginCapture)(stream, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                          const cudaGraphEdgeData *dependencyData, size_t numDependencies,
                                          enum cudaStreamCaptureMode mode)
{
    _Static_assert(sizeof *dependencyData == sizeof(CUgraphEdgeData), "both have the same layout and numbers");
    RT_CALL(RT_CONTEXT, cudaStreamBeginCaptureToGraph,
            DRV(cuStreamBeginCaptureToGraph)(stream, graph, dependencies, (const CUgraphEdgeData *)dependencyData,
                                             numDependencies, (CUstreamCaptureMode)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    RT_CALL(RT_CONTEXT, cudaStreamEndCapture, DRV(cuStreamEndCapture)(stream, pGraph));
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
    RT_CALL(RT_CONTEXT, cudaStreamIsCapturing,
            RT_REQUIRE(pCaptureStatus, DRV(cuStreamIsCapturing)(stream, (CUstreamCaptureStatus *)pCaptureStatus)));
}

static CUresult capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                             cudaGraph_t *graph, const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges,
                             size_t *count)
{
    cuuint64_t found_id = 0;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = DRV(cuStreamGetCaptureInfo)(stream, (CUstreamCaptureStatus *)status, &found_id, graph,
                                                  dependencies, (const CUgraphEdgeData **)edges, count);
    if (result == CUDA_SUCCESS && id)
        *id = found_id;
    return result;
}

#if RT_MAJOR >= 13
#define NAME_INFO_V3 "cudaStreamGetCaptureInfo" RT_SUFFIX_PTSZ
#else
#define NAME_INFO_V3 "cudaStreamGetCaptureInfo_v3" RT_SUFFIX_PTSZ
#endif

cudaError_t rt_capture_info_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                               cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                               const cudaGraphEdgeData **edges, size_t *count) RT_SYMBOL(NAME_INFO_V3);

cudaError_t rt_capture_info_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                               cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                               const cudaGraphEdgeData **edges, size_t *count)
{
    RT_CALL_NAMED(RT_CONTEXT, NAME_INFO_V3, capture_info(stream, status, id, graph, dependencies, edges, count));
}

#define NAME_DEPENDENCIES_V2 RT_NAME_V2("cudaStreamUpdateCaptureDependencies") RT_SUFFIX_PTSZ

cudaError_t rt_update_dependencies_v2(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                      const cudaGraphEdgeData *edges, size_t count, unsigned flags)
    RT_SYMBOL(NAME_DEPENDENCIES_V2);

cudaError_t rt_update_dependencies_v2(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                      const cudaGraphEdgeData *edges, size_t count, unsigned flags)
{
    RT_CALL_NAMED(
        RT_CONTEXT, NAME_DEPENDENCIES_V2,
        DRV(cuStreamUpdateCaptureDependencies)(stream, dependencies, (const CUgraphEdgeData *)edges, count, flags));
}

#if RT_MAJOR == 12
#define NAME_INFO_V1 "cudaStreamGetCaptureInfo" RT_SUFFIX_PTSZ
#define NAME_INFO_V2 "cudaStreamGetCaptureInfo_v2" RT_SUFFIX_PTSZ
#define NAME_DEPENDENCIES_V1 "cudaStreamUpdateCaptureDependencies" RT_SUFFIX_PTSZ

cudaError_t rt_capture_info_v1(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id)
    RT_SYMBOL(NAME_INFO_V1);
cudaError_t rt_capture_info_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                               cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
    RT_SYMBOL(NAME_INFO_V2);
cudaError_t rt_update_dependencies_v1(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count, unsigned flags)
    RT_SYMBOL(NAME_DEPENDENCIES_V1);

cudaError_t rt_capture_info_v1(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id)
{
    RT_CALL_NAMED(RT_CONTEXT, NAME_INFO_V1, capture_info(stream, status, id, NULL, NULL, NULL, NULL));
}

cudaError_t rt_capture_info_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                               cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
    RT_CALL_NAMED(RT_CONTEXT, NAME_INFO_V2, capture_info(stream, status, id, graph, dependencies, NULL, count));
}

cudaError_t rt_update_dependencies_v1(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count, unsigned flags)
{
    RT_CALL_NAMED(RT_CONTEXT, NAME_DEPENDENCIES_V1,
                  DRV(cuStreamUpdateCaptureDependencies)(stream, dependencies, NULL, count, flags));
}
#endif

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams *instantiateParams)
{
    _Static_assert(sizeof *instantiateParams == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
                   "both have the same layout and numbers");
    RT_CALL(RT_CONTEXT, cudaGraphInstantiateWithParams,
            RT_REQUIRE(pGraphExec && instantiateParams,
                       DRV(cuGraphInstantiateWithParams)(pGraphExec, graph,
                                                         (CUDA_GRAPH_INSTANTIATE_PARAMS *)instantiateParams)));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaGraphUpload, DRV(cuGraphUpload)(graphExec, stream));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    RT_CALL(RT_CONTEXT, cudaGraphLaunch, DRV(cuGraphLaunch)(graphExec, stream));
}
