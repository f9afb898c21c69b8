/*
 * Models made by hand, for tests of what reads models: budget, verdicts, exports, plots.
 *
 * Two levels. The first adds calls, operations, gaps and steps with given times. The second is a script of a host
 * thread whose clock advances with each call, and whose operations start when stream order, launch latency and engines
 * allow. Memory that runs out ends the test program: fixtures have no error returns.
 */
#ifndef GW_TESTS_UNIT_MODEL_FIXTURE_H
#define GW_TESTS_UNIT_MODEL_FIXTURE_H

#include "analyzer/model/model.h"

struct gw_fixture;

/* A run with one process, no thread, device or stream yet; the timing backend is events. */
struct gw_fixture *gw_fixture_create(void);

/* Sorts and indexes what was added and returns it as a model (gw_model_destroy frees it); the fixture is gone then.
 * The trace spans all that was added. Steps take the operations whose enqueue begins within them. */
struct gw_model *gw_fixture_finish(struct gw_fixture *fixture);

/* The model under construction, to change what has no function below. */
struct gw_model *gw_fixture_model(struct gw_fixture *fixture);

/* Each returns the index of what it added. Indices of calls and operations are renumbered by gw_fixture_finish. */
uint32_t gw_fixture_thread(struct gw_fixture *fixture, uint32_t tid);
uint32_t gw_fixture_device(struct gw_fixture *fixture, uint32_t number);
uint32_t gw_fixture_stream(struct gw_fixture *fixture, uint32_t device, uint32_t number, uint32_t flags);
uint32_t gw_fixture_call(struct gw_fixture *fixture, uint32_t thread, const char *function, uint64_t begin_ns,
                         uint64_t end_ns, uint8_t depth);
uint32_t gw_fixture_op(struct gw_fixture *fixture, uint32_t call, uint32_t stream, enum gw_op_kind kind,
                       uint64_t start_ns, uint64_t end_ns);
void gw_fixture_op_name(struct gw_fixture *fixture, uint32_t op, const char *mangled);
void gw_fixture_copy_detail(struct gw_fixture *fixture, uint32_t call, struct gw_copy copy);
void gw_fixture_order_detail(struct gw_fixture *fixture, uint32_t call, struct gw_order order);
void gw_fixture_memory_detail(struct gw_fixture *fixture, uint32_t call, struct gw_memory memory);
void gw_fixture_gap(struct gw_fixture *fixture, uint32_t thread, uint64_t begin_ns, uint64_t end_ns, uint64_t cpu_ns);
void gw_fixture_loss(struct gw_fixture *fixture, uint64_t begin_ns, uint64_t end_ns, uint64_t count);
void gw_fixture_step(struct gw_fixture *fixture, uint64_t begin_ns, uint64_t end_ns, bool warmup);

/* ---- a scripted host thread ---- */

#define GW_SCRIPT_LATENCY_NS 5000u /* launch latency of the scripted device */
#define GW_SCRIPT_CALL_NS 2000u    /* host time of a quick call */

/* A host thread (number 0) that drives stream 1 of device 0; stream 2 is for work beside it. */
struct gw_script {
    struct gw_fixture *fixture;
    uint64_t now_ns, step_begin_ns;
    uint64_t stream_end_ns[3]; /* when all work of the stream will be done */
    uint64_t h2d_free_ns, d2h_free_ns;
    uint64_t recorded_ns; /* when the event of gw_script_record will have happened */
    uint32_t thread, device, streams[3];
    bool in_step;
};

void gw_script_begin(struct gw_script *script);
struct gw_model *gw_script_end(struct gw_script *script);

/* Ends the step before, if any, and begins the next one. */
void gw_script_step(struct gw_script *script, bool warmup);
void gw_script_end_step(struct gw_script *script, bool warmup);

void gw_script_think(struct gw_script *script, uint64_t ns);                          /* on the CPU */
void gw_script_blocked(struct gw_script *script, uint64_t ns);                        /* off the CPU */
uint32_t gw_script_call(struct gw_script *script, const char *function, uint64_t ns); /* returns the call */
uint32_t gw_script_launch(struct gw_script *script, int stream, const char *name, uint64_t duration_ns);
void gw_script_launch_blocking(struct gw_script *script, int stream, const char *name, uint64_t duration_ns);
void gw_script_copy(struct gw_script *script, int stream, struct gw_copy copy,
                    uint64_t duration_ns); /* .blocking counts */
void gw_script_stream_sync(struct gw_script *script, int stream);
void gw_script_device_sync(struct gw_script *script);
void gw_script_record(struct gw_script *script, int stream);
void gw_script_wait(struct gw_script *script, int stream);
void gw_script_free(struct gw_script *script, uint64_t own_ns); /* waits for the device, then takes own_ns */

#endif
