#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "analyzer/model/map.h"
#include "analyzer/model/sequence.h"
#include "analyzer/model/steps.h"
#include "shim/api/kernel_name.h"

#define STEPS_ASKED 8u
#define EXACT 0.02 /* share by which a kernel's count may differ from a whole number in each step */

/* Kernels as --step knows them: by their short names. */
struct kernels {
    struct gw_map by_hash;
    char **names;     /* by number */
    uint32_t *counts; /* from the first of the steps on, by number */
    uint32_t *number; /* by name of the model: number + 1, 0: not asked yet */
};

static uint32_t name_of(const struct gw_model *model, const struct gw_sequence *sequence, size_t event)
{
    const struct gw_sequence_event *at = &sequence->events[event];
    if (!(at->traits & GW_TRAIT_KERNEL) || at->op == GW_NONE) {
        return GW_NONE;
    }
    return model->ops[model->process_ops[model->processes[sequence->process].op_first + at->op]].name;
}

/* Numbers a name of the model, the same for all that are short for the same. */
static int number_name(const struct gw_model *model, uint32_t name, struct kernels *kernels)
{
    char *text = gw_kernel_name_short(model->names[name]);
    if (!text) {
        return -ENOMEM;
    }
    const uint64_t hash = XXH3_64bits(text, strlen(text));
    const uint32_t *known = gw_map_find(&kernels->by_hash, hash, 0);
    uint32_t number = known ? *known : (uint32_t)kernels->by_hash.count;
    if (known) {
        free(text);
    } else if (gw_map_insert(&kernels->by_hash, hash, 0, number)) {
        free(text);
        return -ENOMEM;
    } else {
        kernels->names[number] = text;
    }
    kernels->number[name] = number + 1;
    return 0;
}

static int count_kernels(const struct gw_model *model, const struct gw_sequence *sequence, size_t first,
                         struct kernels *kernels)
{
    int status = 0;
    for (size_t e = first; e < sequence->count && !status; e++) {
        const uint32_t name = name_of(model, sequence, e);
        if (name == GW_NONE) {
            continue;
        }
        if (!kernels->number[name]) {
            status = number_name(model, name, kernels);
        }
        if (!status) {
            kernels->counts[kernels->number[name] - 1]++;
        }
    }
    return status;
}

/* The text as an expression that matches it and nothing longer. */
static char *quote(const char *text)
{
    char *quoted = malloc(2 * strlen(text) + 3), *to = quoted;
    if (!quoted) {
        return NULL;
    }
    *to++ = '^';
    for (; *text; text++) {
        if (strchr(".[]{}()*+?|^$\\", *text)) {
            *to++ = '\\';
        }
        *to++ = *text;
    }
    *to++ = '$';
    *to = '\0';
    return quoted;
}

static bool comes_so_often(const struct gw_model *model, const struct gw_sequence *sequence,
                           const struct gw_found_steps *found, const struct kernels *kernels, uint32_t number,
                           uint32_t times)
{
    bool is_so = true;
    for (size_t i = 0; i + 1 < found->other_count && is_so; i += found->other_count / STEPS_ASKED + 1) {
        uint32_t count = 0;
        for (size_t e = found->others[i]; e < found->others[i + 1]; e++) {
            const uint32_t name = name_of(model, sequence, e);
            count += name != GW_NONE && kernels->number[name] == number + 1;
        }
        is_so = count == times;
    }
    return is_so;
}

/* The kernel that comes as often in every step and least often, the first of several. */
static int choose_kernel(const struct gw_model *model, const struct gw_sequence *sequence,
                         const struct gw_found_steps *found, const struct kernels *kernels,
                         struct gw_other_steps *other)
{
    uint32_t best = GW_NONE;
    double least = 0;
    for (size_t e = found->others[1]; e < found->others[2]; e++) {
        const uint32_t name = name_of(model, sequence, e);
        if (name == GW_NONE) {
            continue;
        }
        const uint32_t number = kernels->number[name] - 1;
        const double each = (double)kernels->counts[number] / (double)found->other_count;
        const double whole = (double)(uint32_t)(each + 0.5);
        if (whole >= 1 && each - whole <= EXACT * whole && whole - each <= EXACT * whole &&
            (best == GW_NONE || whole < least) &&
            comes_so_often(model, sequence, found, kernels, number, (uint32_t)whole)) {
            best = number;
            least = whole;
        }
    }
    if (best == GW_NONE) {
        return 0;
    }
    other->step = quote(kernels->names[best]);
    other->every = (uint32_t)least;
    return other->step ? 0 : -ENOMEM;
}

int gw_steps_name_other(struct gw_model *model, const struct gw_sequence *sequence, const struct gw_found_steps *found)
{
    struct gw_other_steps other = {.count = found->other_count, .every = 1};
    struct kernels kernels = {.names = calloc(model->names_count + 1, sizeof(*kernels.names)),
                              .counts = calloc(model->names_count + 1, sizeof(*kernels.counts)),
                              .number = calloc(model->names_count + 1, sizeof(*kernels.number))};
    int status = kernels.names && kernels.counts && kernels.number ? 0 : -ENOMEM;
    if (!status && found->other_count > 2) {
        status = count_kernels(model, sequence, found->others[0], &kernels);
        status = status ? status : choose_kernel(model, sequence, found, &kernels, &other);
    }
    for (size_t i = 0; i < kernels.by_hash.count && kernels.names; i++) {
        free(kernels.names[i]);
    }
    gw_map_clear(&kernels.by_hash);
    free(kernels.names);
    free(kernels.counts);
    free(kernels.number);
    if (!status) {
        model->steps_other = other;
    }
    return status;
}
