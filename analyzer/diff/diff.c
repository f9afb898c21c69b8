#include "analyzer/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_ERRORS 2.0 /* standard errors: about 95 % */

/* Running mean and sum of squared deviations (Welford). */
struct sample {
    uint64_t count;
    double mean, squares;
};

static void take(struct sample *sample, double value)
{
    double off = value - sample->mean;
    sample->count++;
    sample->mean += off / (double)sample->count;
    sample->squares += off * (value - sample->mean);
}

static struct gw_diff_mean mean_of(const struct sample *sample, double per)
{
    double count = (double)sample->count;
    return (struct gw_diff_mean){.ms = sample->mean / per,
                                 .error_ms =
                                     sample->count > 1 ? sqrt(sample->squares / (count - 1) / count) / per : INFINITY};
}

struct kernel_sum {
    uint32_t name;
    double ms;
};

static int by_time(const void *left, const void *right)
{
    const struct kernel_sum *a = left, *b = right;
    return a->ms > b->ms ? -1 : a->ms < b->ms ? 1 : a->name < b->name ? -1 : a->name > b->name;
}

/* Roles of all names; what communicates is known by its operations. The folded names go into *briefs. */
static int find_roles(const struct gw_model *model, enum gw_role *roles, char **briefs)
{
    for (size_t i = 0; i < model->names_count; i++) {
        briefs[i] = gw_kernel_name_short(model->names[i]);
        if (!briefs[i])
            return -ENOMEM;
        roles[i] = gw_role_of_kernel(model->names[i], briefs[i]);
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].kind == GW_OP_COMM && model->ops[i].name != GW_NONE)
            roles[model->ops[i].name] = GW_ROLE_COMMUNICATION;
    }
    return 0;
}

static enum gw_role role_of(const struct gw_op *op, const enum gw_role *roles)
{
    return op->kind == GW_OP_COMM     ? GW_ROLE_COMMUNICATION
           : op->kind == GW_OP_MEMSET ? GW_ROLE_MEMSET
           : op->kind == GW_OP_GRAPH  ? GW_ROLE_GRAPH
           : op->name == GW_NONE      ? GW_ROLE_OTHER
                                      : roles[op->name];
}

static bool is_kernel(const struct gw_op *op)
{
    return (op->kind == GW_OP_KERNEL || op->kind == GW_OP_COMM || op->kind == GW_OP_MEMSET ||
            op->kind == GW_OP_GRAPH) &&
           !(op->flags & GW_OP_UNTIMED);
}

/* Kernels enqueued in a step, shared out among its devices. */
static void add_kernels(struct gw_diff_side *side, const struct gw_model *model, const struct gw_step *step,
                        uint32_t devices, const enum gw_role *roles, struct kernel_sum *kernels)
{
    for (uint32_t i = 0; i < step->op_count; i++) {
        const struct gw_op *op = &model->ops[model->process_ops[step->first_op + i]];
        double ms = (double)(op->end_ns - op->start_ns) / 1e6 / devices;
        if (!is_kernel(op))
            continue;
        struct gw_diff_role *role = &side->roles[role_of(op, roles)];
        role->ms += ms;
        role->count += 1.0 / devices;
        if (op->name != GW_NONE)
            kernels[op->name].ms += ms;
    }
}

/* The names of most time in each role, instances of one template once; kernels is sorted. */
static int name_roles(struct gw_diff_side *side, const struct gw_model *model, const enum gw_role *roles,
                      char *const *briefs, const struct kernel_sum *kernels)
{
    for (size_t i = 0; i < model->names_count && kernels[i].ms > 0; i++) {
        const char *brief = briefs[kernels[i].name];
        char **names = side->roles[roles[kernels[i].name]].names;
        size_t at = 0;
        while (at < GW_DIFF_NAMES && names[at] && strcmp(names[at], brief) != 0)
            at++;
        if (at == GW_DIFF_NAMES || names[at])
            continue;
        names[at] = strdup(brief);
        if (!names[at])
            return -ENOMEM;
    }
    return 0;
}

static void sum_up_steps(struct gw_diff_side *side, const struct gw_model *model, const struct gw_budget *budget,
                         const enum gw_role *roles, struct kernel_sum *kernels)
{
    struct sample step_sample = {0}, samples[GW_CLASS_COUNT] = {{0}};
    for (size_t first = 0, next; first < budget->cells_count; first = next) {
        const struct gw_step *step = &model->steps[budget->cells[first].step];
        uint64_t sums[GW_CLASS_COUNT] = {0};
        for (next = first; next < budget->cells_count && budget->cells[next].step == budget->cells[first].step; next++)
            for (int c = 0; c < GW_CLASS_COUNT; c++)
                sums[c] += budget->cells[next].ns[c];
        if (step->warmup) {
            continue;
        }
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            take(&samples[c], (double)sums[c] / 1e6 / (double)(next - first));
        take(&step_sample, (double)(step->end_ns - step->begin_ns) / 1e6);
        add_kernels(side, model, step, (uint32_t)(next - first), roles, kernels);
    }
    side->steps = (uint32_t)step_sample.count;
    side->step = mean_of(&step_sample, side->per);
    for (int c = 0; c < GW_CLASS_COUNT; c++)
        side->classes[c] = mean_of(&samples[c], side->per);
    for (int r = 0; r < GW_ROLE_COUNT && side->steps; r++) {
        side->roles[r].ms /= side->steps * side->per;
        side->roles[r].count /= side->steps * side->per;
        side->kernels_ms += side->roles[r].ms;
    }
}

static int take_verdicts(struct gw_diff_side *side, const struct gw_verdicts *verdicts)
{
    const char *const *ids;
    side->verdict_count = gw_verdict_ids(&ids);
    side->states = calloc(side->verdict_count + 1, sizeof(*side->states));
    side->savings_ms = calloc(side->verdict_count + 1, sizeof(*side->savings_ms));
    if (!side->states || !side->savings_ms)
        return -ENOMEM;
    for (size_t i = 0; i < side->verdict_count; i++) {
        side->states[i] = GW_UNKNOWN;
        for (size_t v = 0; v < verdicts->list_count; v++) {
            const struct gw_verdict *verdict = &verdicts->list[v];
            if (strcmp(verdict->id, ids[i]) != 0)
                continue;
            side->states[i] = verdict->state;
            side->savings_ms[i] = verdict->state == GW_CONFIRMED ? verdict->saving_ms / side->per : 0;
        }
    }
    return 0;
}

int gw_diff_side_create(const struct gw_model *model, const struct gw_budget *budget,
                        const struct gw_verdicts *verdicts, double per, struct gw_diff_side **ret_side)
{
    struct gw_diff_side *side = calloc(1, sizeof(*side));
    enum gw_role *roles = calloc(model->names_count + 1, sizeof(*roles));
    struct kernel_sum *kernels = calloc(model->names_count + 1, sizeof(*kernels));
    char **briefs = calloc(model->names_count + 1, sizeof(*briefs));
    int status = side && roles && kernels && briefs ? find_roles(model, roles, briefs) : -ENOMEM;
    if (status)
        goto end;
    const char *device = model->devices_count ? model->devices[0].name : NULL;
    side->path = strdup(model->run.path ? model->run.path : "");
    side->device = strdup(device ? device : "GPU");
    side->simulated = model->run.device_kind && strcmp(model->run.device_kind, "simulated") == 0;
    side->processes = (uint32_t)model->processes_count;
    side->devices = (uint32_t)model->devices_count;
    side->per = per;
    for (size_t s = 0; s < model->steps_count; s++)
        side->warmup += model->steps[s].warmup;
    for (uint32_t i = 0; i < model->names_count; i++)
        kernels[i].name = i;
    sum_up_steps(side, model, budget, roles, kernels);
    qsort(kernels, model->names_count, sizeof(*kernels), by_time);
    status = side->path && side->device ? name_roles(side, model, roles, briefs, kernels) : -ENOMEM;
    status = status ? status : take_verdicts(side, verdicts);
    status = status ? status : side->steps ? 0 : -ENODATA;
end:
    for (size_t i = 0; briefs && i < model->names_count; i++)
        free(briefs[i]);
    free(briefs);
    free(roles);
    free(kernels);
    if (status)
        gw_diff_side_destroy(side);
    else
        *ret_side = side;
    return status;
}

void gw_diff_side_destroy(struct gw_diff_side *side)
{
    if (!side)
        return;
    for (int r = 0; r < GW_ROLE_COUNT; r++)
        for (size_t i = 0; i < GW_DIFF_NAMES; i++)
            free(side->roles[r].names[i]);
    free(side->path);
    free(side->device);
    free(side->states);
    free(side->savings_ms);
    free(side);
}

struct gw_diff_change gw_diff_change(const struct gw_diff_mean *a, const struct gw_diff_mean *b)
{
    struct gw_diff_change change = {.ms = b->ms - a->ms, .error_ms = hypot(a->error_ms, b->error_ms)};
    change.is_noise = fabs(change.ms) < NOISE_ERRORS * change.error_ms || change.ms == 0;
    return change;
}
