/*
 * Judges of what belongs before the loop: loading and compiling, graphs, allocation.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/compiles.h"
#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/judge.h"

/* A pause this long right before a load is taken as the compiler's work. */
#define COMPILE_PAUSE_NS 500000u
/* So much may lie between the compiler's work and the load of its result. */
#define PREPARE_NS 200000000u
/* A first launch must take this many usual launches, and this long, to have loaded its kernel. */
#define LAZY_FACTOR 5u
#define LAZY_LEAST_NS 10000u
#define WARMUP_SHARE 0.05
#define WARMUP_LEAST_NS 0.5e9

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

/* ---- compilers in processes of their own ---- */

/* Compilers that ran in one pause of a thread, up to the call `fact`. */
struct compiling {
    struct gw_fact *fact;
    uint64_t pause_begin_ns, pause_ns;
    uint64_t covered_ns, covered_until_ns; /* of the pause, by the union of them */
};

/* The longest pause of the thread that the compiler ran in; fact NULL: none. Facts stand by thread, then begin. */
static struct compiling find_pause(struct gw_judge *judge, const struct gw_compile *compile)
{
    struct compiling found = {0};
    const struct gw_fact *facts = judge->facts;
    size_t low = GW_FIRST_NOT(0, judge->facts_count, f,
                              gw_fact_thread(judge, &facts[f]) < compile->thread ||
                                  (gw_fact_thread(judge, &facts[f]) == compile->thread &&
                                   judge->model->calls[facts[f].call].begin_ns <= compile->begin_ns));
    for (; low < judge->facts_count && gw_fact_thread(judge, &judge->facts[low]) == compile->thread; low++) {
        struct gw_fact *fact = &judge->facts[low];
        uint64_t blocked, pause_ns = gw_fact_pause_ns(judge, fact, &blocked);
        const uint64_t end_ns = judge->model->calls[fact->call].begin_ns;
        if (end_ns - pause_ns >= compile->end_ns)
            break;
        if (pause_ns > found.pause_ns)
            found = (struct compiling){fact, end_ns - pause_ns, pause_ns, 0, 0};
        if (end_ns >= compile->end_ns)
            break;
    }
    return found;
}

/* Takes a pause, at least half of which compilers ran in, as theirs. Returns its length, 0 for one that is not, or that
 * the load after it has been given already. */
static uint64_t take_pause(struct gw_judge *judge, const struct compiling *compiling, struct gw_finding *finding)
{
    struct gw_fact *fact = compiling->fact;
    const struct gw_fact *before = fact ? gw_fact_before(judge, fact) : NULL;
    if (!fact || fact->compiling || compiling->pause_ns < COMPILE_PAUSE_NS || !before || before->step == GW_NONE ||
        compiling->covered_ns < compiling->pause_ns / 2)
        return 0;
    fact->compiling = true;
    gw_finding_edit(finding, judge, fact, GW_EDIT_NO_THINK | GW_EDIT_NO_BLOCK);
    gw_finding_evidence(finding, compiling->pause_begin_ns, compiling->pause_ns, fact->call);
    finding->count++;
    return compiling->pause_ns;
}

/* What compilers in processes of their own are to the analysed steps. */
struct compilers {
    uint64_t count, ns; /* all that were executed in them, and how long they ran */
    uint64_t pauses, pauses_ns;
    uint32_t first_step; /* GW_NONE: none */
    const char *name;    /* of the longest one */
};

/* Returns 0 or -ENOMEM. */
static int take_compilers(struct gw_judge *judge, struct gw_finding *finding, struct compilers *ret_compilers)
{
    struct compilers all = {.first_step = GW_NONE};
    struct compiling current = {0};
    struct gw_compile *list = NULL;
    size_t count = 0;
    uint64_t longest_ns = 0;
    int ret = gw_compilers_list(judge->model, &list, &count);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i <= count; i++) {
        const struct gw_compile *compile = i < count ? &list[i] : NULL;
        if (compile && compile->phase != GW_PHASE_STEADY)
            continue;
        struct compiling next =
            compile && compile->thread != GW_NONE ? find_pause(judge, compile) : (struct compiling){0};
        if (next.fact != current.fact || !compile) {
            const uint64_t pause_ns = take_pause(judge, &current, finding);
            all.pauses += pause_ns > 0;
            all.pauses_ns += pause_ns;
            current = next;
        }
        if (!compile)
            break;
        const uint64_t length_ns = compile->end_ns - compile->begin_ns,
                       pause_end_ns = next.pause_begin_ns + next.pause_ns;
        uint64_t from_ns = compile->begin_ns > next.pause_begin_ns ? compile->begin_ns : next.pause_begin_ns;
        from_ns = from_ns > current.covered_until_ns ? from_ns : current.covered_until_ns;
        const uint64_t until_ns = compile->end_ns < pause_end_ns ? compile->end_ns : pause_end_ns;
        if (next.fact && until_ns > from_ns) {
            current.covered_ns += until_ns - from_ns;
            current.covered_until_ns = until_ns;
        }
        all.count++;
        all.ns += length_ns;
        all.first_step = all.first_step == GW_NONE ? compile->step : all.first_step;
        if (length_ns >= longest_ns) {
            longest_ns = length_ns;
            all.name = gw_compile_name(judge->model, compile);
        }
    }
    free(list);
    *ret_compilers = all;
    return 0;
}

char *gw_compiler_words(const struct gw_judge *judge, uint32_t thread, uint64_t begin_ns, uint64_t end_ns)
{
    const struct gw_model *model = judge->model;
    const struct gw_compiler *longest = NULL;
    uint64_t longest_ns = 0;
    char *words = NULL;
    for (size_t i = 0; i < model->compilers_count && model->compilers[i].begin_ns < end_ns; i++) {
        const struct gw_compiler *compiler = &model->compilers[i];
        const uint64_t from_ns = compiler->begin_ns > begin_ns ? compiler->begin_ns : begin_ns;
        const uint64_t until_ns = compiler->end_ns < end_ns ? compiler->end_ns : end_ns;
        if (compiler->process == model->threads[thread].process && until_ns > from_ns &&
            until_ns - from_ns > longest_ns) {
            longest = compiler;
            longest_ns = until_ns - from_ns;
        }
    }
    if (!longest)
        return strdup("");
    return asprintf(&words, ", while %s (process %u) ran for %.3f ms of it", longest->name, (unsigned)longest->pid,
                    (double)longest_ns / 1e6) < 0
               ? NULL
               : words;
}

int gw_judge_recompile(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct compilers compilers;
    char loads[120] = "", children[160] = "";
    uint64_t load_count;
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
    load_count = finding.count;
    if ((ret = take_compilers(judge, &finding, &compilers)) < 0)
        goto end;
    if (load_count)
        snprintf(loads, sizeof loads,
                 "%llu loads after warm-up, the first in step %u, take %.3f ms each with the host time before them",
                 (unsigned long long)load_count, judge->model->steps[first].number, load_ns / (double)load_count / 1e6);
    if (compilers.count)
        snprintf(
            children, sizeof children,
            "%s%llu compilers (%s) are executed after warm-up, the first in step %u; they run for %.3f ms in all, and "
            "hold the dispatching thread %llu more times",
            load_count ? "; " : "", (unsigned long long)compilers.count, compilers.name,
            judge->model->steps[compilers.first_step].number, (double)compilers.ns / 1e6,
            (unsigned long long)compilers.pauses);
    if (load_count || compilers.count)
        ret = gw_finding_conclude(&finding, judge, verdict, "%s%s", loads, children);
    else
        ret = gw_finding_conclude(&finding, judge, verdict, "nothing is loaded or compiled after warm-up");
end:
    gw_finding_release(&finding);
    return ret;
}

/* For how long compilers that were executed before `steady_ns` held the thread that waited for them, where no load
 * follows that is given the pause already. Returns 0 or -ENOMEM. */
static int held_before(struct gw_judge *judge, uint64_t steady_ns, double *ret_ns)
{
    struct gw_compile *list = NULL;
    size_t count = 0;
    uint64_t until_ns = 0, held_ns = 0;
    int ret = gw_compilers_list(judge->model, &list, &count);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < count && list[i].begin_ns < steady_ns; i++) {
        const struct gw_compile *compile = &list[i];
        if (compile->thread == GW_NONE)
            continue;
        const struct compiling pause = find_pause(judge, compile);
        const uint64_t pause_end_ns = pause.pause_begin_ns + pause.pause_ns;
        if (!pause.fact || pause.pause_ns < COMPILE_PAUSE_NS || pause.fact->cls == GW_CALL_COMPILE)
            continue;
        uint64_t from_ns = compile->begin_ns > until_ns ? compile->begin_ns : until_ns;
        from_ns = from_ns > pause.pause_begin_ns ? from_ns : pause.pause_begin_ns;
        const uint64_t to_ns = compile->end_ns < pause_end_ns ? compile->end_ns : pause_end_ns;
        if (to_ns > from_ns) {
            held_ns += to_ns - from_ns;
            until_ns = to_ns;
        }
    }
    free(list);
    *ret_ns = (double)held_ns;
    return 0;
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
    int ret = held_before(judge, steady, &compile_ns);
    if (ret < 0)
        return ret;
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

static bool pins(const struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_memory *memory = gw_fact_memory(judge, fact);
    const uint32_t kind = memory ? memory->kind % GW_MEMORY_FREE : GW_MEMORY_DEVICE;
    return fact->cls == GW_CALL_ALLOC && (kind == GW_MEMORY_HOST || kind == GW_MEMORY_REGISTER);
}

static bool allocates(const struct gw_judge *judge, const struct gw_fact *fact)
{
    return fact->cls == GW_CALL_ALLOC && !pins(judge, fact);
}

static int judge_memory(struct gw_judge *judge, struct gw_verdict *verdict, bool pinning)
{
    struct gw_finding finding;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    const double call_ns = gw_finding_drop_all(&finding, judge, pinning ? pins : allocates);
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
