/*
 * The events of the LTTng-UST provider `gpuwitness`: the contract between the traced process and analyzer/read.
 *
 * An array is named after its elements in their order, joined by "_": writing it takes as long as writing one field.
 * Readers ask for the elements by name, and find them as fields of their own in older traces.
 *
 * Every call event begins with the same ones:
 *   begin   u64  CLOCK_MONOTONIC ns when the call was entered; the event's own time is its end (one clock read and
 *                27 % fewer bytes than a pair of events)
 *   call    u64  call id, tid << 42 | sequence: a runtime call and the driver calls nested in it carry the same one
 *   site    u64  pid << 32 | function << 16 | depth << 8 | flags (GW_SITE_*); function: row of shim/api/functions.def
 *   result  u64  what the function returned (0 when it returns no status)
 *
 * A stream is named by its handle, which is unique within the process at a time. Default streams have none of their own
 * and get one: device << 56 for the legacy stream (0 on device 0), device << 56 | tid << 8 | 2 for a thread's
 * per-thread stream.
 *
 * Times on the device (gpu_op) are already on CLOCK_MONOTONIC.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER gpuwitness

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "shim/tracer/events.h"

#if !defined(GW_SHIM_TRACER_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define GW_SHIM_TRACER_EVENTS_H

#include <lttng/tracepoint.h>
#include <stdint.h>

// Never from the program's memory: a fault in it would leave the buffer locked.
#define GW_WORDS_FIELD(name, count) lttng_ust_field_array(uint64_t, name, name, count)
#define GW_CALL_FIELDS GW_WORDS_FIELD(begin_call_site_result, 4)

/* A call without typed arguments. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, call, LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result),
                           LTTNG_UST_TP_FIELDS(GW_CALL_FIELDS))

/* Entry of a call that can block, at depth 1 only; the event's own time is the entry. The matching end repeats call. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, call_begin, LTTNG_UST_TP_ARGS(const uint64_t *, call_site),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(call_site, 2)))

/* Kernel launch. grid: x | y << 32 | z << 48. block: x | y << 12 | z << 24 | dynamic shared memory bytes << 32. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, launch,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result_func_stream_grid_block),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(begin_call_site_result_func_stream_grid_block, 8)))

/* Copy. how: enum gw_copy_direction | enum gw_host_kind of source << 8 | of destination << 16 | blocking call << 24.
 * hash: XXH3 of (a sample of) the host bytes, 0 when not taken. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, copy,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result_dst_src_bytes_stream_how_hash),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(begin_call_site_result_dst_src_bytes_stream_how_hash,
                                                              10)))

/* Memset of device memory. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, memset,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result_dst_bytes_stream),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(begin_call_site_result_dst_bytes_stream, 7)))

/* Allocation or release. kind: enum gw_memory_kind. ptr is what was returned or released; bytes 0 on release. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, memory,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result_ptr_bytes_stream_kind),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(begin_call_site_result_ptr_bytes_stream_kind, 8)))

/* Streams and events: create, destroy, record, wait, query, synchronise. what: enum gw_order_kind. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, order,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result_stream_event_what_value),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(begin_call_site_result_stream_event_what_value, 8)))

/* Module or library load, link, unload. bytes: GW_IMAGE, hash of the image where it is known (0 otherwise). */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, module,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result, uint64_t, handle, uint64_t,
                                             bytes, uint64_t, hash),
                           LTTNG_UST_TP_FIELDS(GW_CALL_FIELDS lttng_ust_field_integer(uint64_t, handle, handle)
                                                   lttng_ust_field_integer(uint64_t, bytes, bytes)
                                                       lttng_ust_field_integer(uint64_t, hash, hash)))

/* Graphs: capture, instantiate, update, upload, launch, destroy. nodes: with those of child graphs, a conditional node
 * counting as one whatever its bodies hold; 0 where it is not known. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, graph,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result, uint64_t, graph, uint64_t, exec,
                                             uint64_t, stream, uint32_t, nodes),
                           LTTNG_UST_TP_FIELDS(GW_CALL_FIELDS lttng_ust_field_integer(uint64_t, graph, graph)
                                                   lttng_ust_field_integer(uint64_t, exec, exec)
                                                       lttng_ust_field_integer(uint64_t, stream, stream)
                                                           lttng_ust_field_integer(uint32_t, nodes, nodes)))

/* A collective, send or receive of NCCL, as the program asked for it; within a group its kernel is launched by the
 * group's end. comm: the communicator's handle. what: GW_COMM_WHAT. send, recv: its buffers, 0 where it has none of the
 * kind; what they hold is on the device and not looked at. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, comm,
                           LTTNG_UST_TP_ARGS(const uint64_t *, begin_call_site_result, uint64_t, comm, uint64_t, count,
                                             uint64_t, what, uint64_t, stream, uint64_t, send, uint64_t, recv),
                           LTTNG_UST_TP_FIELDS(GW_CALL_FIELDS lttng_ust_field_integer(uint64_t, comm, comm)
                                                   lttng_ust_field_integer(uint64_t, count, count)
                                                       lttng_ust_field_integer(uint64_t, what, what)
                                                           lttng_ust_field_integer(uint64_t, stream, stream)
                                                               lttng_ust_field_integer(uint64_t, send, send)
                                                                   lttng_ust_field_integer(uint64_t, recv, recv)))

/* Calls of one function, which only asks for what is known at once, that a thread made since begin: only counted.
 * where: pid << 32 | tid. what: GW_COUNTED_WHAT. total: ns that those at depth 1 took. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, counted, LTTNG_UST_TP_ARGS(const uint64_t *, begin_where_what_total),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(begin_where_what_total, 4)))

/* A thread was outside CUDA for longer than the threshold, or after an asynchronous call that took longer: [begin, end)
 * before its next call, with the CPU time it used then. switches, of the call before it too: voluntary |
 * involuntary << 32. faults: minor | major << 32. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, thread_gap,
                           LTTNG_UST_TP_ARGS(const uint64_t *, call_begin_end_cpu_switches_faults),
                           LTTNG_UST_TP_FIELDS(GW_WORDS_FIELD(call_begin_end_cpu_switches_faults, 6)))

/* One device operation with its times. where: pid << 32 | device << 24 | kind << 16 | op index within the call << 8 |
 * flags (GW_GPU_OP_*). kind: enum gw_gpu_op_kind. error is the half width of the interval each end lies in. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, gpu_op,
                           LTTNG_UST_TP_ARGS(uint64_t, call, uint64_t, where, uint64_t, stream, uint64_t, start,
                                             uint64_t, end, uint32_t, error),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, call, call)
                                                   lttng_ust_field_integer(uint64_t, where, where)
                                                       lttng_ust_field_integer(uint64_t, stream, stream)
                                                           lttng_ust_field_integer(uint64_t, start, start)
                                                               lttng_ust_field_integer(uint64_t, end, end)
                                                                   lttng_ust_field_integer(uint32_t, error, error)))

/* One operation of a graph's launch, where its nodes are timed; the launch has no gpu_op then. where as in gpu_op, with
 * the node's own kind, the launch's op index, and a copy's enum gw_copy_direction as flags. node: unique within the
 * graph. what: a kernel's handle, which stands for its name alone and is announced by a function event; else the bytes.
 */
LTTNG_UST_TRACEPOINT_EVENT(
    gpuwitness, gpu_node,
    LTTNG_UST_TP_ARGS(uint64_t, call, uint64_t, where, uint64_t, stream, uint64_t, start, uint64_t, end, uint32_t,
                      error, uint64_t, node, uint64_t, what),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, call, call) lttng_ust_field_integer(uint64_t, where, where)
            lttng_ust_field_integer(uint64_t, stream, stream) lttng_ust_field_integer(uint64_t, start, start)
                lttng_ust_field_integer(uint64_t, end, end) lttng_ust_field_integer(uint32_t, error, error)
                    lttng_ust_field_integer(uint64_t, node, node) lttng_ust_field_integer(uint64_t, what, what)))

/* One calibration of a device's clock against CLOCK_MONOTONIC: device time 0 of the timing epoch is host ns; floor: the
 * shortest interval the backend can tell from nothing. backend: enum gw_timing_backend. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, gpu_clock,
                           LTTNG_UST_TP_ARGS(uint32_t, pid, uint32_t, device, uint32_t, backend, uint64_t, host,
                                             uint64_t, error, uint64_t, floor_ns),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid) lttng_ust_field_integer(
                               uint32_t, device, device) lttng_ust_field_integer(uint32_t, backend, backend)
                                                   lttng_ust_field_integer(uint64_t, host, host)
                                                       lttng_ust_field_integer(uint64_t, error, error)
                                                           lttng_ust_field_integer(uint64_t, floor_ns, floor_ns)))

/* Once a process, when its first CUDA call loads the tracer. environment: NAME=VALUE lines of the rank variables. */
LTTNG_UST_TRACEPOINT_EVENT(
    gpuwitness, process,
    LTTNG_UST_TP_ARGS(uint32_t, pid, uint32_t, ppid, const char *, exe, const char *, command, const char *, host,
                      const char *, environment),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid) lttng_ust_field_integer(uint32_t, ppid, ppid)
                            lttng_ust_field_string(exe, exe) lttng_ust_field_string(command, command)
                                lttng_ust_field_string(host, host) lttng_ust_field_string(environment, environment)))

/* Once a thread, before its first call event. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, thread, LTTNG_UST_TP_ARGS(uint32_t, pid, uint32_t, tid, const char *, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid)
                                                   lttng_ust_field_integer(uint32_t, tid, tid)
                                                       lttng_ust_field_string(name, name)))

/* What the tool's own code took in the calls that were measured so far: how many, and the sum of their ns. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, own_time, LTTNG_UST_TP_ARGS(uint32_t, pid, uint64_t, sampled, uint64_t, total),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid)
                                                   lttng_ust_field_integer(uint64_t, sampled, sampled)
                                                       lttng_ust_field_integer(uint64_t, total, total)))

/* Once a device and process, when it is first used. shape: multiprocessors | compute capability << 32
 * (major*10+minor) | visible devices << 48 (0: not known). */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, device,
                           LTTNG_UST_TP_ARGS(uint32_t, pid, uint32_t, device, const char *, name, const char *, uuid,
                                             const char *, pci, uint64_t, memory_bytes, uint64_t, shape),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid) lttng_ust_field_integer(
                               uint32_t, device, device) lttng_ust_field_string(name, name)
                                                   lttng_ust_field_string(uuid, uuid) lttng_ust_field_string(pci, pci)
                                                       lttng_ust_field_integer(uint64_t, memory_bytes, memory_bytes)
                                                           lttng_ust_field_integer(uint64_t, shape, shape)))

/* A stream at its creation or first use. number: small stable number within (pid, device); 0 is the legacy default
 * stream, 1 the first other one seen. flags: GW_STREAM_*. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, stream,
                           LTTNG_UST_TP_ARGS(uint32_t, pid, uint32_t, device, uint64_t, stream, uint32_t, number,
                                             uint32_t, flags),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid)
                                                   lttng_ust_field_integer(uint32_t, device, device)
                                                       lttng_ust_field_integer(uint64_t, stream, stream)
                                                           lttng_ust_field_integer(uint32_t, number, number)
                                                               lttng_ust_field_integer(uint32_t, flags, flags)))

/* Name of a kernel handle, before its first launch event. */
LTTNG_UST_TRACEPOINT_EVENT(gpuwitness, function, LTTNG_UST_TP_ARGS(uint32_t, pid, uint64_t, func, const char *, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid)
                                                   lttng_ust_field_integer(uint64_t, func, func)
                                                       lttng_ust_field_string(name, name)))

/* A communicator of NCCL, before its first comm event. id: the same for all its ranks, in every process; parent: the id
 * it was split from, or 0. where: rank | ranks << 32. */
LTTNG_UST_TRACEPOINT_EVENT(
    gpuwitness, communicator,
    LTTNG_UST_TP_ARGS(uint32_t, pid, uint64_t, comm, uint64_t, id, uint64_t, parent, uint64_t, where, uint32_t, device),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid) lttng_ust_field_integer(uint64_t, comm, comm)
                            lttng_ust_field_integer(uint64_t, id, id) lttng_ust_field_integer(uint64_t, parent, parent)
                                lttng_ust_field_integer(uint64_t, where, where)
                                    lttng_ust_field_integer(uint32_t, device, device)))

/* The program said through NVTX what a thread does. where: pid << 32 | tid. what, id, tag: GW_NVTX_WHAT, _ID, _TAG.
 * value: the payload's bytes. text: empty when the string was registered, and at the ends of ranges. */
LTTNG_UST_TRACEPOINT_EVENT(
    gpuwitness, nvtx,
    LTTNG_UST_TP_ARGS(uint64_t, where, uint64_t, what, uint64_t, id, uint64_t, tag, uint64_t, value, const char *,
                      text),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, where, where) lttng_ust_field_integer(uint64_t, what, what)
                            lttng_ust_field_integer(uint64_t, id, id) lttng_ust_field_integer(uint64_t, tag, tag)
                                lttng_ust_field_integer(uint64_t, value, value) lttng_ust_field_string(text, text)))

/* The program named something through NVTX. what: GW_NVTX_WHAT of enum gw_nvtx_name, which says what id is. */
LTTNG_UST_TRACEPOINT_EVENT(
    gpuwitness, nvtx_name, LTTNG_UST_TP_ARGS(uint64_t, where, uint64_t, what, uint64_t, id, const char *, text),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, where, where) lttng_ust_field_integer(uint64_t, what, what)
                            lttng_ust_field_integer(uint64_t, id, id) lttng_ust_field_string(text, text)))

/* What was seen and what was not: enum gw_coverage_kind, the library or function name, and a detail for a person. */
LTTNG_UST_TRACEPOINT_EVENT(
    gpuwitness, coverage, LTTNG_UST_TP_ARGS(uint32_t, pid, uint32_t, kind, const char *, name, const char *, detail),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, pid, pid) lttng_ust_field_integer(uint32_t, kind, kind)
                            lttng_ust_field_string(name, name) lttng_ust_field_string(detail, detail)))

#endif /* GW_SHIM_TRACER_EVENTS_H */

#include <lttng/tracepoint-event.h>
