#include "tests/simgpu/engine/external.h"

#include "tests/simgpu/engine/clock.h"
#include "tests/simgpu/engine/config.h"
#include "tests/simgpu/engine/thread.h"

#define EXPORT __attribute__((visibility("default")))

simgpu_next_kernel_fn simgpu_next_kernel;
simgpu_next_kernel_ns_fn simgpu_next_kernel_ns;
simgpu_external_start_fn simgpu_external_start;
simgpu_external_finish_fn simgpu_external_finish;
simgpu_effect_fn simgpu_effect;
simgpu_lock_fn simgpu_lock;
simgpu_unlock_fn simgpu_unlock;
simgpu_link_gbps_fn simgpu_link_gbps;

EXPORT void simgpu_next_kernel(const struct simgpu_external *external)
{
    sim_thread.next_kernel = external;
}

EXPORT void simgpu_next_kernel_ns(uint64_t duration_ns)
{
    sim_thread.next_kernel_ns = duration_ns;
}

static void launch_ready(struct op *op)
{
    struct simgpu_launch *launch = op->on_ready_argument;
    launch->ready(launch, op->start_ns);
}

void external_attach(struct op *op, const struct simgpu_external *external)
{
    struct simgpu_launch *launch = external->submit(external->argument);
    launch->op = op;
    op->on_ready = launch_ready;
    op->on_ready_argument = launch;
    op->units = external->sms;
    op->duration_ns = external->least_ns;
}

EXPORT uint64_t simgpu_external_start(struct simgpu_launch *launch, uint64_t ready_ns)
{
    struct op *op = launch->op;
    struct timeline *compute = &op->device->engines[ENGINE_COMPUTE];
    op->start_ns = timeline_reserve(compute, ready_ns, op->duration_ns, op->units, engine_past_ns());
    if (op->start_ns > op->submit_ns + op->latency_ns && op->start_ns > op->ready_ns)
        op->cause = CAUSE_ENGINE;
    struct communication *slot = &op->device->communication[op->device->communication_next++ % COMMUNICATION_KEPT];
    *slot = (struct communication){.op = op, .interval = {op->start_ns, op->start_ns + op->duration_ns, op->units}};
    return op->start_ns;
}

EXPORT void simgpu_external_finish(struct simgpu_launch *launch, uint64_t end_ns, void (*effect)(void *, size_t),
                                   void *argument, size_t bytes)
{
    struct op *op = launch->op;
    struct device *device = op->device;
    for (unsigned i = 0; i < COMMUNICATION_KEPT; i++) {
        struct communication *known = &device->communication[i];
        if (known->op != op)
            continue;
        timeline_extend(&device->engines[ENGINE_COMPUTE], &known->interval, end_ns);
        known->op = NULL;
    }
    if (effect)
        op->effect = (struct effect){
            .type = EFFECT_CALL, .to = argument, .width_bytes = bytes, .height = 1, .depth = 1, .call = effect};
    engine_finish(op, op->start_ns, end_ns);
}

EXPORT void simgpu_effect(void (*effect)(void *, size_t), void *argument, size_t bytes)
{
    const struct effect now = {
        .type = EFFECT_CALL, .to = argument, .width_bytes = bytes, .height = 1, .depth = 1, .call = effect};
    effect_start(&now);
}

void external_share(struct op *op, uint64_t start_ns)
{
    const struct device *device = op->device;
    const uint64_t end_ns = start_ns + op->duration_ns;
    unsigned taken = 0;
    bool is_contended = false;
    for (unsigned i = 0; i < COMMUNICATION_KEPT; i++) {
        const struct interval *other = &device->communication[i].interval;
        if (other->start_ns >= end_ns || other->end_ns <= start_ns)
            continue;
        taken += other->units;
        is_contended |= other->start_ns <= start_ns;
    }
    const unsigned sms = device->engines[ENGINE_COMPUTE].units;
    const unsigned left = taken < sms ? sms - taken : 1;
    if (op->units > left)
        op->units = left;
    if (is_contended)
        op->duration_ns = (uint64_t)((double)op->duration_ns * CONFIG(contention));
}

EXPORT void simgpu_lock(void)
{
    engine_lock();
}

EXPORT void simgpu_unlock(void)
{
    engine_unlock();
}

EXPORT double simgpu_link_gbps(unsigned from, unsigned to)
{
    return from < SIMGPU_MAX_DEVICES && to < SIMGPU_MAX_DEVICES ? config_get()->link_gbps[from][to] : 0;
}
