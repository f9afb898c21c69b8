/* Collectives that were captured into graphs: they run when the graph is launched, each time anew. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"
#include "shim/api/functions.h"

/* The collectives of a capture, or of the graph it became: those of its thread among places in `list`. Other threads,
 * and other ranks, may capture at the same time. */
struct captured_range {
    uint32_t first, count, thread;
};

struct capturing {
    struct gw_model *model;
    uint32_t *list; /* captured collectives, in order of capture */
    size_t list_count;
    struct gw_map ranges; /* graph or exec handle, process << 1 | is exec → place in found */
    struct captured_range *found;
    size_t found_count;
    uint32_t *first;    /* by thread: where its capture began in list; GW_NONE: it captures nothing */
    uint32_t *outer;    /* by thread: its latest outermost call */
    uint32_t *launched; /* by thread: the latest of these that launched a graph; a nested call says so again */
    uint32_t *carriers, *carriers_first; /* communication kernels by outermost call */
    struct gw_collective *runs;          /* one for each launch */
    size_t runs_count;
};

static bool is_function(const struct gw_call *call, const char *name)
{
    const char *own = gw_function_name(call->function);
    const size_t prefix = strncmp(own, "cuda", 4) == 0 ? 4 : 2;
    return strlen(own) > prefix && strncmp(own + prefix, name, strlen(name)) == 0;
}

static int remember(struct capturing *self, uint64_t handle, uint32_t process, bool is_exec,
                    struct captured_range range)
{
    const uint64_t key = (uint64_t)process << 1 | is_exec;
    uint32_t *known = gw_map_find(&self->ranges, handle, key);
    if (GW_GROW(self->found, self->found_count) ||
        (!known && gw_map_insert(&self->ranges, handle, key, (uint32_t)self->found_count))) {
        return -ENOMEM;
    }
    if (known) {
        *known = (uint32_t)self->found_count; /* a handle that is used again */
    }
    self->found[self->found_count++] = range;
    return 0;
}

static struct captured_range recall(const struct capturing *self, uint64_t handle, uint32_t process, bool is_exec)
{
    const uint32_t *known = gw_map_find(&self->ranges, handle, (uint64_t)process << 1 | is_exec);
    return known && self->found ? self->found[*known] : (struct captured_range){0};
}

/* Each collective of the graph once more, bound to the launch's next kernel of its kind. Messages share kernels. */
static int launch(struct capturing *self, uint32_t call, struct captured_range range)
{
    struct gw_model *model = self->model;
    uint32_t at = self->carriers_first[call];
    const uint32_t end = self->carriers_first[call + 1];
    for (uint32_t i = 0; i < range.count; i++) {
        struct gw_collective run = model->collectives[self->list[range.first + i]];
        if (model->calls[run.call].thread != range.thread) {
            continue;
        }
        const bool is_message = gw_comm_is_message(&run);
        run.call = call;
        run.is_captured = false;
        run.op = GW_NONE;
        for (uint32_t k = at; k < end && run.op == GW_NONE; k++) {
            if (gw_comm_names_kind(model, &model->ops[self->carriers[k]], (enum gw_comm_kind)run.kind)) {
                run.op = self->carriers[k];
                run.stream = model->ops[run.op].stream;
                at = is_message ? k : k + 1;
            }
        }
        if (GW_GROW(self->runs, self->runs_count)) {
            return -ENOMEM;
        }
        self->runs[self->runs_count++] = run;
    }
    return 0;
}

static int take_call(struct capturing *self, uint32_t index)
{
    struct gw_model *model = self->model;
    const struct gw_call *call = &model->calls[index];
    const uint32_t process = model->threads[call->thread].process;
    if (call->depth <= 1) {
        self->outer[call->thread] = index;
    }
    if (call->result != 0 || call->detail == GW_NONE) {
        return 0;
    }
    if (call->detail_kind == GW_DETAIL_COLLECTIVE) {
        struct gw_collective *collective = &model->collectives[call->detail];
        if (self->first[call->thread] != GW_NONE && collective->op == GW_NONE) {
            collective->is_captured = true;
            self->list[self->list_count++] = call->detail;
        }
        return 0;
    }
    if (call->detail_kind != GW_DETAIL_GRAPH) {
        return 0;
    }
    const struct gw_graph *graph = &model->graphs[call->detail];
    if (is_function(call, "StreamBeginCapture")) {
        self->first[call->thread] = (uint32_t)self->list_count;
    } else if (is_function(call, "StreamEndCapture")) {
        const uint32_t first = self->first[call->thread];
        self->first[call->thread] = GW_NONE;
        if (first != GW_NONE) {
            return remember(self, graph->graph, process, false,
                            (struct captured_range){first, (uint32_t)self->list_count - first, call->thread});
        }
    } else if (is_function(call, "GraphInstantiate") || is_function(call, "GraphExecUpdate")) {
        return remember(self, graph->exec, process, true, recall(self, graph->graph, process, false));
    } else if (is_function(call, "GraphLaunch") && self->outer[call->thread] != GW_NONE &&
               self->launched[call->thread] != self->outer[call->thread]) {
        self->launched[call->thread] = self->outer[call->thread];
        return launch(self, self->outer[call->thread], recall(self, graph->exec, process, true));
    }
    return 0;
}

/* Counted two places on, so that filling leaves each call's begin in its own place. */
static int list_carriers(struct capturing *self)
{
    const struct gw_model *model = self->model;
    self->carriers = malloc((model->ops_count + 1) * sizeof(*self->carriers));
    self->carriers_first = calloc(model->calls_count + 2, sizeof(*self->carriers_first));
    if (!self->carriers || !self->carriers_first) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].kind == GW_OP_COMM && model->ops[i].outer_call != GW_NONE) {
            self->carriers_first[model->ops[i].outer_call + 2]++;
        }
    }
    for (size_t c = 2; c < model->calls_count + 2; c++) {
        self->carriers_first[c] += self->carriers_first[c - 1];
    }
    for (uint32_t i = 0; i < model->ops_count; i++) {
        if (model->ops[i].kind == GW_OP_COMM && model->ops[i].outer_call != GW_NONE) {
            self->carriers[self->carriers_first[model->ops[i].outer_call + 1]++] = i;
        }
    }
    return 0;
}

static int add_runs(struct capturing *self)
{
    struct gw_model *model = self->model;
    struct gw_collective *grown =
        realloc(model->collectives, (model->collectives_count + self->runs_count + 1) * sizeof(*grown));
    if (!grown) {
        return -ENOMEM;
    }
    model->collectives = grown;
    if (self->runs_count) {
        memcpy(grown + model->collectives_count, self->runs, self->runs_count * sizeof(*grown));
    }
    model->collectives_count += self->runs_count;
    return 0;
}

int gw_build_captured(struct gw_model *model)
{
    struct capturing self = {.model = model};
    int status = -ENOMEM;
    if (!model->graphs_count) {
        return 0;
    }
    self.list = malloc((model->collectives_count + 1) * sizeof(*self.list));
    self.first = malloc((3 * model->threads_count + 1) * sizeof(*self.first));
    if (!self.list || !self.first) {
        goto end;
    }
    for (size_t t = 0; t < 3 * model->threads_count; t++) {
        self.first[t] = GW_NONE;
    }
    self.outer = self.first + model->threads_count;
    self.launched = self.outer + model->threads_count;
    status = list_carriers(&self);
    for (uint32_t i = 0; i < model->calls_count && !status; i++) {
        status = take_call(&self, i);
    }
    status = status ? status : add_runs(&self);
end:
    free(self.list);
    free(self.first);
    free(self.found);
    free(self.carriers);
    free(self.carriers_first);
    free(self.runs);
    gw_map_clear(&self.ranges);
    return status;
}
