// Capture and graph hooks that streams, events and work need. Engine lock held.
#ifndef GW_SIMGPU_DRIVER_INTERNAL_H
#define GW_SIMGPU_DRIVER_INTERNAL_H

#include "tests/simgpu/driver/work.h"

// Adds work as a node after the stream's heads and makes it the only head. CUDA_ERROR_STREAM_CAPTURE_INVALIDATED when
// the capture is.
CUresult capture_add(struct CUstream_st *stream, const struct work *work);
// Whether calls that may synchronise are refused to this thread now; makes the capture in the way invalid.
CUresult capture_forbids_unsafe(void);
// Whether work on the legacy stream would depend on a capture of a blocking stream of `context`; invalidates it.
CUresult capture_forbids_legacy(const struct CUctx_st *context);
CUresult capture_invalidate(struct capture *capture, CUresult result);
CUresult capture_record_event(struct CUevent_st *event, struct CUstream_st *stream, unsigned flags);
CUresult capture_wait_event(struct CUstream_st *stream, struct CUevent_st *event, unsigned flags);
// The capture the event was recorded in, if that still goes on.
struct capture *capture_of_event(struct CUevent_st *event);
void capture_drop_event(struct CUevent_st *event);    // the event is recorded anew or destroyed
void capture_drop_stream(struct CUstream_st *stream); // the stream is destroyed
// The address of the allocation node that capture_add has just made of the stream.
CUdeviceptr capture_last_alloc(const struct CUstream_st *stream);

uint64_t thread_serial(void);
// Makes every stream handle of `context` stale.
void streams_delete_all(struct CUctx_st *context);
void stream_init_legacy(struct CUctx_st *context);
void images_delete_all(struct CUctx_st *context);

#endif
