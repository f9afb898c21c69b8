#include "analyzer/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/verdicts/device_steps.h"

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

/* What is summed up over kernels. */
struct kernel_work {
    uint32_t *devices;    /* of each step that counts; 0: it does not */
    double *computing_ms; /* by step: of kernels other than communication, mean over devices */
    double *device_ms;    /* by device: the same in all its steps that count */
    uint32_t *device_steps;
    enum gw_role *roles; /* by name */
    char **briefs;       /* by name: folded */
    struct kernel_sum *kernels;
};

/* Kernels as far as they run within steps, as the budget counts them, shared out among the step's devices. */
static void add_kernel(struct gw_diff_side *side, const struct gw_model *model, const struct gw_interval *times,
                       const struct gw_op *op, const struct kernel_work *work)
{
    const uint32_t process = model->devices[model->streams[op->stream].device].process;
    struct gw_diff_role *role = &side->roles[role_of(op, work->roles)];
    for (size_t s = gw_step_time_after(model, times, process, op->start_ns);
         s < model->steps_count && model->steps[s].process == process && times[s].begin_ns < op->end_ns; s++) {
        const struct gw_interval *step = &times[s];
        if (!work->devices[s])
            continue;
        const uint64_t from = op->start_ns > step->begin_ns ? op->start_ns : step->begin_ns;
        const uint64_t to = op->end_ns < step->end_ns ? op->end_ns : step->end_ns;
        const double ms = (double)(to - from) / 1e6 / work->devices[s];
        role->ms += ms;
        role->count += op->start_ns >= step->begin_ns ? 1.0 / work->devices[s] : 0;
        work->computing_ms[s] += op->kind != GW_OP_COMM ? ms : 0;
        work->device_ms[model->streams[op->stream].device] += op->kind != GW_OP_COMM ? (double)(to - from) / 1e6 : 0;
        if (op->name != GW_NONE)
            work->kernels[op->name].ms += ms;
    }
}

/* The names of most time in each role, instances of one template once; work->kernels is sorted. */
static int name_roles(struct gw_diff_side *side, const struct gw_model *model, const struct kernel_work *work)
{
    for (size_t i = 0; i < model->names_count && work->kernels[i].ms > 0; i++) {
        const char *brief = work->briefs[work->kernels[i].name];
        char **names = side->roles[work->roles[work->kernels[i].name]].names;
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

/* Cells of one step on from `first`. */
static size_t cells_of_step(const struct gw_budget *budget, size_t first)
{
    size_t next = first + 1;
    while (next < budget->cells_count && budget->cells[next].step == budget->cells[first].step)
        next++;
    return next - first;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* By how much the kernels of a step are longer, mean over devices, than on the device in the middle: where some devices
 * have more to do or are slower, the others wait for them, and they themselves for nobody. */
static double uneven_ms(const struct kernel_work *work, size_t devices_count)
{
    size_t count = 0;
    double sum = 0;
    for (size_t d = 0; d < devices_count; d++) {
        if (work->device_steps[d])
            work->device_ms[count++] = work->device_ms[d] / work->device_steps[d];
    }
    qsort(work->device_ms, count, sizeof(*work->device_ms), compare_doubles);
    for (size_t i = 0; i < count; i++)
        sum += work->device_ms[i];
    return count ? fmax(sum / (double)count - work->device_ms[(count - 1) / 2], 0) : 0;
}

static void sum_up_steps(struct gw_diff_side *side, const struct gw_model *model, const struct gw_budget *budget,
                         const struct kernel_work *work, bool *used)
{
    struct sample step_sample = {0}, samples[GW_CLASS_COUNT] = {{0}}, parts[GW_SCALING_PARTS] = {{0}};
    for (size_t first = 0, count; first < budget->cells_count; first += count) {
        const uint32_t index = budget->cells[first].step;
        double class_ms[GW_CLASS_COUNT] = {0}, part_ms[GW_SCALING_PARTS];
        count = cells_of_step(budget, first);
        if (!work->devices[index])
            continue;
        for (size_t i = first; i < first + count; i++) {
            if (budget->cells[i].unused)
                continue;
            used[budget->cells[i].device] = true;
            work->device_steps[budget->cells[i].device]++;
            for (int c = 0; c < GW_CLASS_COUNT; c++)
                class_ms[c] += (double)budget->cells[i].ns[c] / 1e6 / work->devices[index];
        }
        for (int c = 0; c < GW_CLASS_COUNT; c++)
            take(&samples[c], class_ms[c]);
        take(&step_sample, (double)(budget->times[index].end_ns - budget->times[index].begin_ns) / 1e6);
        gw_scaling_group(class_ms, work->computing_ms[index], part_ms);
        for (int p = 0; p < GW_SCALING_PARTS; p++)
            take(&parts[p], part_ms[p]);
    }
    for (size_t d = 0; d < model->devices_count; d++)
        side->used_devices += used[d];
    for (int p = 0; p < GW_SCALING_PARTS; p++)
        side->parts[p] = mean_of(&parts[p], side->per);
    const double uneven = uneven_ms(work, model->devices_count) / side->per;
    side->parts[GW_SCALING_KERNELS].ms -= uneven;
    side->parts[GW_SCALING_STRAGGLERS].ms += uneven;
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
    struct kernel_work work = {.devices = calloc(model->steps_count + 1, sizeof(*work.devices)),
                               .computing_ms = calloc(model->steps_count + 1, sizeof(*work.computing_ms)),
                               .device_ms = calloc(model->devices_count + 1, sizeof(*work.device_ms)),
                               .device_steps = calloc(model->devices_count + 1, sizeof(*work.device_steps)),
                               .roles = calloc(model->names_count + 1, sizeof(*work.roles)),
                               .briefs = calloc(model->names_count + 1, sizeof(*work.briefs)),
                               .kernels = calloc(model->names_count + 1, sizeof(*work.kernels))};
    bool *used = calloc(model->devices_count + 1, sizeof(*used));
    int status = side && work.devices && work.computing_ms && work.device_ms && work.device_steps && work.roles &&
                         work.briefs && work.kernels && used
                     ? find_roles(model, work.roles, work.briefs)
                     : -ENOMEM;
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
        work.kernels[i].name = i;
    for (size_t i = 0; i < budget->cells_count; i++)
        work.devices[budget->cells[i].step] += !model->steps[budget->cells[i].step].warmup && !budget->cells[i].unused;
    for (size_t i = 0; i < model->ops_count; i++) {
        if (is_kernel(&model->ops[i]) && model->ops[i].stream != GW_NONE)
            add_kernel(side, model, budget->times, &model->ops[i], &work);
    }
    sum_up_steps(side, model, budget, &work, used);
    qsort(work.kernels, model->names_count, sizeof(*work.kernels), by_time);
    status = side->path && side->device ? name_roles(side, model, &work) : -ENOMEM;
    status = status ? status : take_verdicts(side, verdicts);
    status = status ? status : side->steps ? 0 : -ENODATA;
end:
    for (size_t i = 0; work.briefs && i < model->names_count; i++)
        free(work.briefs[i]);
    free(work.briefs);
    free(work.roles);
    free(work.kernels);
    free(work.computing_ms);
    free(work.device_ms);
    free(work.device_steps);
    free(work.devices);
    free(used);
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
