#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/verdicts/array.h"
#include "analyzer/verdicts/comm.h"

int gw_comm_plan_init(struct gw_comm_plan *ret_plan, const struct gw_judge *judge)
{
    const struct gw_model *model = judge->model;
    *ret_plan = (struct gw_comm_plan){.cap_ns = -1};
    ret_plan->calls = calloc(model->calls_count + 1, 1);
    ret_plan->ops = calloc(model->ops_count + 1, 1);
    ret_plan->op_ns = malloc((model->ops_count + 1) * sizeof *ret_plan->op_ns);
    if (!ret_plan->calls || !ret_plan->ops || !ret_plan->op_ns) {
        gw_comm_plan_release(ret_plan);
        return -ENOMEM;
    }
    for (size_t i = 0; judge->replay && i < judge->replay->ops_count; i++)
        ret_plan->op_ns[judge->replay->ops[i].op] = GW_TIME_UNKNOWN;
    for (size_t i = 0; i < judge->comm->kernels_count; i++)
        ret_plan->op_ns[judge->comm->kernels[i].op] = GW_TIME_UNKNOWN;
    return 0;
}

void gw_comm_plan_release(struct gw_comm_plan *plan)
{
    free(plan->calls);
    free(plan->ops);
    free(plan->op_ns);
    free(plan->nodes);
    free(plan->marked);
    *plan = (struct gw_comm_plan){0};
}

int gw_comm_plan_mark(struct gw_comm_plan *plan, uint32_t op)
{
    if (!GW_ARRAY_RESERVE(plan->marked, plan->marked_count, &plan->marked_room))
        return -ENOMEM;
    plan->marked[plan->marked_count++] = op;
    return 0;
}

void gw_comm_plan_drop(struct gw_comm_plan *plan, const struct gw_judge *judge, uint32_t op)
{
    uint32_t call = judge->model->ops[op].outer_call;
    plan->ops[op] |= GW_OP_EDIT_DROP;
    if (call == GW_NONE)
        return;
    /* A group of ranks or of collectives has several. */
    const struct gw_op_range range = gw_call_ops_of(&judge->call_ops, call);
    for (uint32_t i = range.first; i < range.end; i++) {
        if (!(plan->ops[gw_call_ops_op(&judge->call_ops, i)] & GW_OP_EDIT_DROP))
            return;
    }
    plan->calls[call] |= GW_EDIT_DROP;
}

static char *describe(const struct gw_judge *judge, uint32_t index)
{
    const struct gw_model *model = judge->model;
    const struct gw_op *op = &model->ops[index];
    uint32_t place = gw_comm_kernel_of(judge->comm, model, index);
    uint32_t first = place == GW_NONE ? GW_NONE : judge->comm->kernels[place].collective;
    char *text = NULL;
    if (first == GW_NONE) {
        char *name = op->name == GW_NONE ? NULL : gw_kernel_name_short(model->names[op->name]);
        if (asprintf(&text, "%s", name ? name : gw_op_kind_name((enum gw_op_kind)op->kind)) < 0)
            text = NULL;
        free(name);
        return text;
    }
    const struct gw_comm_kernel *kernel = &judge->comm->kernels[place];
    const struct gw_collective *collective = &model->collectives[first];
    const struct gw_communicator *communicator = &model->communicators[collective->communicator];
    int length =
        asprintf(&text, "%s of %llu bytes%s, rank %u of %u", gw_comm_kind_name((enum gw_comm_kind)collective->kind),
                 (unsigned long long)kernel->size_bytes, kernel->count > 1 ? " in a group" : "", communicator->rank,
                 communicator->size);
    return length < 0 ? NULL : text;
}

int gw_comm_evidence(const struct gw_judge *judge, struct gw_verdict *verdict, uint32_t index)
{
    const struct gw_model *model = judge->model;
    const struct gw_op *op = &model->ops[index];
    if (verdict->evidence_count == GW_EVIDENCE_MAX)
        return 0;
    char *what = describe(judge, index);
    if (!what)
        return -ENOMEM;
    verdict->evidence[verdict->evidence_count++] = (struct gw_evidence){op->start_ns, op->end_ns - op->start_ns, what};
    if (verdict->device != GW_NONE)
        return 0;
    verdict->stream = op->stream;
    verdict->device = model->streams[op->stream].device;
    verdict->process = model->devices[verdict->device].process;
    if (op->outer_call != GW_NONE)
        verdict->thread = model->calls[op->outer_call].thread;
    return 0;
}

/* The longest of the marked operations. */
static int add_evidence(const struct gw_comm_plan *plan, const struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_op *ops = judge->model->ops;
    uint32_t longest[GW_EVIDENCE_MAX];
    uint32_t count = 0;
    for (size_t i = 0; i < plan->marked_count; i++) {
        uint64_t length = ops[plan->marked[i]].end_ns - ops[plan->marked[i]].start_ns;
        uint32_t at = count;
        while (at > 0 && ops[longest[at - 1]].end_ns - ops[longest[at - 1]].start_ns < length)
            at--;
        if (at == GW_EVIDENCE_MAX)
            continue;
        count += count < GW_EVIDENCE_MAX;
        for (uint32_t j = count - 1; j > at; j--)
            longest[j] = longest[j - 1];
        longest[at] = plan->marked[i];
    }
    int ret = 0;
    for (uint32_t i = 0; i < count && ret == 0; i++)
        ret = gw_comm_evidence(judge, verdict, longest[i]);
    return ret;
}

static int count_steps(const struct gw_comm_plan *plan, const struct gw_judge *judge, struct gw_verdict *verdict)
{
    uint8_t *affected = calloc(judge->model->steps_count + 1, 1);
    if (!affected)
        return -ENOMEM;
    for (size_t i = 0; i < plan->marked_count; i++) {
        uint32_t step = judge->comm->op_step[plan->marked[i]];
        if (step != GW_NONE && !affected[step]) {
            affected[step] = 1;
            verdict->steps_affected++;
        }
    }
    free(affected);
    return 0;
}

static int replay(struct gw_comm_plan *plan, const struct gw_judge *judge, double *ret_saving_ns)
{
    double mean = 0;
    plan->repair = (struct gw_repair){plan->calls, plan->ops, plan->op_ns, plan->nodes};
    int ret = gw_replay_run(judge->replay, &plan->repair, &mean, NULL);
    if (ret < 0)
        return ret;
    /* A mean over the steps that the repair can change as a whole. */
    *ret_saving_ns = (judge->replay_mean_ns - fmax(mean, plan->least_ns)) / judge->comm->covered;
    if (plan->cap_ns >= 0)
        *ret_saving_ns = fmin(*ret_saving_ns, plan->cap_ns);
    return 0;
}

static void claim(const struct gw_comm_plan *plan, const struct gw_judge *judge)
{
    for (size_t i = 0; i < plan->marked_count; i++) {
        uint32_t place = gw_comm_kernel_of(judge->comm, judge->model, plan->marked[i]);
        if (place != GW_NONE)
            judge->comm->kernels[place].claimed = true;
    }
}

int gw_comm_plan_conclude(struct gw_comm_plan *plan, struct gw_judge *judge, struct gw_verdict *verdict,
                          const char *format, ...)
{
    char *sign = NULL, *doubt = NULL;
    double saving = 0;
    va_list arguments;
    va_start(arguments, format);
    int ret = vasprintf(&sign, format, arguments) < 0 ? -ENOMEM : 0;
    va_end(arguments);
    if (ret < 0)
        return ret;
    verdict->per_step = gw_a_step(judge, (double)plan->marked_count);
    if ((ret = count_steps(plan, judge, verdict)) < 0)
        goto end;
    if (!plan->marked_count) {
        ret = gw_verdict_rule_out(verdict, 0, "%s", sign);
    } else if (!judge->replay) {
        ret = gw_verdict_unknown(verdict, "%s; the replay does not reproduce this run, so what it costs is not known",
                                 sign);
    } else if (!(doubt = gw_judge_doubt_words(judge))) {
        ret = -ENOMEM;
    } else if ((ret = replay(plan, judge, &saving)) < 0) {
        goto end;
    } else if (gw_judge_saving(judge, saving) == GW_RULED_OUT) {
        double bound = fmax(saving, 0) + judge->noise_ns + judge->replay_doubt_ns;
        ret = gw_verdict_rule_out(verdict, bound, "%s; it costs at most %.3f ms of a step", sign, bound / 1e6);
    } else if (plan->doubt) {
        ret = gw_verdict_unknown(verdict, "%s; this might save %.3f ms of a step, but %s", sign, saving / 1e6,
                                 plan->doubt);
    } else if (gw_judge_saving(judge, saving) == GW_UNKNOWN) {
        ret = gw_verdict_unknown(verdict, "%s; it may cost %.3f ms of a step%s", sign, fmax(saving, 0) / 1e6, doubt);
    } else {
        claim(plan, judge);
        ret =
            gw_verdict_confirm(verdict, judge, saving, "%s; without it a step would take %.3f ms instead of %.3f ms%s",
                               sign, (judge->mean_ns - saving) / 1e6, judge->mean_ns / 1e6, doubt);
        const struct gw_kept_repair kept = {.id = verdict->id,
                                            .saving_ns = saving,
                                            .covered = judge->comm->covered,
                                            .capped = plan->cap_ns >= 0 || plan->least_ns > 0};
        if (ret == 0)
            ret = gw_judge_keep_repair(judge, &plan->repair, &kept);
        if (ret == 0)
            ret = add_evidence(plan, judge, verdict);
    }
end:
    free(doubt);
    free(sign);
    return ret;
}
