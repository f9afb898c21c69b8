/*
 * Judges of what belongs before the loop: loading and compiling, graphs, allocation.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/verdicts/judge.h"

/* A pause this long right before a load is taken as the compiler's work. */
#define COMPILE_PAUSE_NS 500000u
/* So much may lie between the compiler's work and the load of its result. */
#define PREPARE_NS 200000000u
/* A first launch must take this many usual launches, and this long, to have loaded its kernel. */
#define LAZY_FACTOR 5u
#define LAZY_LEAST_NS 10000u
#define TRIAL_KERNELS 3u
#define WARMUP_SHARE 0.05
#define WARMUP_LEAST_NS 1e9

static bool is_load(const struct gw_fact *fact)
{
    return fact->cls == GW_CALL_COMPILE || (fact->loads && fact->cls != GW_CALL_LAUNCH);
}

/* Whether a call may stand between the compiler's work and the load of its result: XLA replaces its graphs, orders its
 * streams and uploads arguments first. */
static bool prepares_load(const struct gw_fact *fact)
{
    return !is_load(fact) && (fact->cls == GW_CALL_OTHER || fact->cls == GW_CALL_ORDER || fact->cls == GW_CALL_GRAPH ||
                              fact->cls == GW_CALL_ALLOC || fact->cls == GW_CALL_COPY);
}

/* Takes the long pauses before a load, and before the calls that prepare it, as the compiler's work. Returns them. */
static uint64_t take_compiling(struct gw_judge *judge, struct gw_fact *load, struct gw_finding *finding)
{
    const uint8_t edit = GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK;
    uint64_t pauses = 0, begin = judge->model->calls[load->call].begin_ns;
    for (struct gw_fact *fact = load; fact == load || prepares_load(fact); fact--) {
        uint64_t blocked = 0, pause = gw_fact_pause_ns(judge, fact, &blocked);
        if (pause >= COMPILE_PAUSE_NS) {
            fact->compiling = true;
            pauses += pause;
            begin = judge->model->calls[fact->call].begin_ns - pause;
            gw_finding_edit(finding, judge, fact, fact == load ? GW_EDIT_DROP | edit : edit);
        }
        if (!gw_fact_before(judge, fact) || begin - judge->model->calls[fact[-1].call].begin_ns > PREPARE_NS)
            break;
    }
    if (pauses)
        gw_finding_evidence(finding, begin, judge->model->calls[load->call].end_ns - begin, load->call);
    return pauses;
}

int gw_judge_recompile(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double load_ns = 0;
    uint32_t first = GW_NONE;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        struct gw_fact *fact = &judge->facts[i];
        const struct gw_fact *before = gw_fact_before(judge, fact);
        const struct gw_call *call = &judge->model->calls[fact->call];
        uint32_t step = fact->step == GW_NONE && before ? before->step : fact->step;
        if (!is_load(fact) || step == GW_NONE)
            continue;
        load_ns += (double)(call->end_ns - call->begin_ns + take_compiling(judge, fact, &finding));
        if (first == GW_NONE)
            first = step;
        if (fact->compiling)
            finding.count++;
        else
            gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
    }
    if (!finding.count)
        ret = gw_finding_conclude(&finding, judge, verdict, "nothing is loaded or compiled after warm-up");
    else
        ret =
            gw_finding_conclude(&finding, judge, verdict,
                                "%llu loads after warm-up, the first in step %u, take %.3f ms each with the host time "
                                "before them",
                                (unsigned long long)finding.count, judge->model->steps[first].number,
                                load_ns / (double)finding.count / 1e6);
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_compile_warmup(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_model *model = judge->model;
    uint64_t steady = UINT64_MAX, end = 0;
    double compile_ns = 0, total_ns = judge->mean_ns * judge->steps;
    for (size_t s = 0; s < model->steps_count; s++) {
        if (model->steps[s].warmup)
            continue;
        steady = model->steps[s].begin_ns < steady ? model->steps[s].begin_ns : steady;
        end = model->steps[s].end_ns > end ? model->steps[s].end_ns : end;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &model->calls[fact->call];
        uint64_t blocked = 0, pause = gw_fact_pause_ns(judge, fact, &blocked);
        if (call->begin_ns >= steady || (!is_load(fact) && !fact->loads))
            continue;
        compile_ns +=
            (double)(fact->cls == GW_CALL_COMPILE ? call->end_ns - call->begin_ns : gw_fact_compile_ns(judge, fact));
        /* Other calls load what was compiled long ago: the host's time before them is the program's own. */
        if (pause >= COMPILE_PAUSE_NS && fact->cls == GW_CALL_COMPILE)
            compile_ns += (double)pause;
    }
    if (compile_ns < WARMUP_LEAST_NS || compile_ns < WARMUP_SHARE * (total_ns + compile_ns))
        return gw_verdict_rule_out(
            verdict, gw_a_step(judge, compile_ns),
            "loading and compiling before the first steady step takes %.1f ms, %.1f %% of the run", compile_ns / 1e6,
            100 * compile_ns / fmax(total_ns + compile_ns, 1));
    verdict->per_step = 0;
    return gw_verdict_confirm(verdict, judge, gw_a_step(judge, compile_ns),
                              "loading and compiling before the first steady step takes %.1f s, %.0f %% of the run",
                              compile_ns / 1e9, 100 * compile_ns / (total_ns + compile_ns));
}

int gw_judge_lazy_load(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_model *model = judge->model;
    struct gw_finding finding;
    uint8_t *seen = calloc(model->names_count + 1, 1);
    uint8_t *first_use = calloc(model->calls_count + 1, 1);
    uint64_t usual = judge->replay ? judge->replay->quick_ns : 2000;
    int ret = seen && first_use ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0)
        goto end;
    for (size_t i = 0; i < model->ops_count; i++) {
        const struct gw_op *op = &model->ops[i];
        if (op->kind != GW_OP_KERNEL || op->name == GW_NONE || seen[op->name])
            continue;
        seen[op->name] = 1;
        if (op->outer_call != GW_NONE)
            first_use[op->outer_call] = 1;
    }
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &model->calls[fact->call];
        uint64_t length = call->end_ns - call->begin_ns;
        if (fact->step == GW_NONE || fact->cls != GW_CALL_LAUNCH)
            continue;
        if (fact->loads || (first_use[fact->call] && length > LAZY_LEAST_NS && length > LAZY_FACTOR * usual))
            gw_finding_mark(&finding, judge, fact, GW_EDIT_QUICK);
    }
    ret = gw_finding_conclude(&finding, judge, verdict, "%llu first launches of a kernel after warm-up stall",
                              (unsigned long long)finding.count);
    gw_finding_release(&finding);
end:
    free(seen);
    free(first_use);
    return ret;
}

int gw_judge_graph_recapture(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double build_ns = 0;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &judge->model->calls[fact->call];
        bool captured = call->flags & GW_CALL_CAPTURED;
        if (fact->step == GW_NONE || (fact->cls != GW_CALL_GRAPH && !captured))
            continue;
        build_ns += (double)(call->end_ns - call->begin_ns);
        if (captured)
            gw_finding_edit(&finding, judge, fact, GW_EDIT_DROP | GW_EDIT_NO_THINK);
        else
            gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              "%.2f calls a step capture, build or update graphs, %.3f ms in all",
                              gw_a_step(judge, (double)finding.count), gw_a_step(judge, build_ns) / 1e6);
    gw_finding_release(&finding);
    return ret;
}

/* What belongs to a trial besides its kernel: workspaces, waits and time stamps right before and after it. */
static void drop_round_trial(struct gw_judge *judge, struct gw_finding *finding, const struct gw_fact *trial)
{
    for (int direction = 0; direction < 2; direction++) {
        const struct gw_fact *fact = trial;
        while ((fact = direction ? gw_fact_after(judge, fact) : gw_fact_before(judge, fact)) &&
               fact->step == trial->step && (fact->cls == GW_CALL_ALLOC || fact->cls == GW_CALL_SYNC))
            gw_finding_edit(finding, judge, fact, GW_EDIT_DROP);
    }
}

int gw_judge_autotune(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_model *model = judge->model;
    struct gw_finding finding;
    if (!judge->gpu_timed)
        return gw_verdict_unknown(verdict, "needs GPU timing (record --gpu-timing=events)");
    uint32_t *only_step = calloc(model->names_count + 1, sizeof *only_step);
    uint32_t *trials = calloc(model->steps_count + 1, sizeof *trials);
    int ret = only_step && trials ? gw_finding_init(&finding, judge) : -ENOMEM;
    if (ret < 0)
        goto end;
    /* 0: name not launched yet; step + 2: in that step alone; 1: in several, or outside the analysed steps. */
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < judge->facts_count; i++) {
            const struct gw_fact *fact = &judge->facts[i];
            const struct gw_op *op = fact->cls == GW_CALL_LAUNCH ? gw_fact_op(judge, fact) : NULL;
            if (!op || op->kind != GW_OP_KERNEL || op->name == GW_NONE)
                continue;
            uint32_t *known = &only_step[op->name], mine = fact->step == GW_NONE ? 1 : fact->step + 2;
            if (pass == 0)
                *known = *known == 0 || *known == mine ? mine : 1;
            else if (*known == mine && mine >= 2 && pass == 1)
                trials[fact->step]++;
            else if (*known == mine && mine >= 2 && trials[fact->step] >= TRIAL_KERNELS) {
                gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP | GW_EDIT_NO_OP);
                drop_round_trial(judge, &finding, fact);
            }
        }
    }
    ret =
        gw_finding_conclude(&finding, judge, verdict, "%llu kernels run in one step only, at least %u of them together",
                            (unsigned long long)finding.count, TRIAL_KERNELS);
    gw_finding_release(&finding);
end:
    free(only_step);
    free(trials);
    return ret;
}

static int judge_memory(struct gw_judge *judge, struct gw_verdict *verdict, bool pinning)
{
    struct gw_finding finding;
    double call_ns = 0;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &judge->model->calls[fact->call];
        const struct gw_memory *memory = gw_fact_memory(judge, fact);
        uint32_t kind = memory ? memory->kind % GW_MEMORY_FREE : GW_MEMORY_DEVICE;
        bool pins = kind == GW_MEMORY_HOST || kind == GW_MEMORY_REGISTER;
        if (fact->step == GW_NONE || fact->cls != GW_CALL_ALLOC || pins != pinning)
            continue;
        call_ns += (double)(call->end_ns - call->begin_ns);
        gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              pinning ? "%.2f calls a step lock or unlock pages of host memory, %.3f ms in all"
                                      : "%.2f allocations and releases a step take %.3f ms",
                              gw_a_step(judge, (double)finding.count), gw_a_step(judge, call_ns) / 1e6);
    gw_finding_release(&finding);
    return ret;
}

int gw_judge_alloc_churn(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_memory(judge, verdict, false);
}

int gw_judge_pinning_in_loop(struct gw_judge *judge, struct gw_verdict *verdict)
{
    return judge_memory(judge, verdict, true);
}
