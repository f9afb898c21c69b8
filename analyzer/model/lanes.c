/* Lanes of a process: threads that dispatch to the same devices, and these. */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/builder.h"

/* A thread belongs with a device from this share of the device's work on: one that only sets it up does not. */
#define SHARE_PERCENT 1u

struct use {
    uint32_t thread, device, count;
};

struct lanes {
    struct gw_model *model;
    struct use *uses;
    size_t uses_count, uses_room;
    size_t last;          /* the use found last: most often it is the next one too */
    struct gw_map places; /* thread, device → place in uses */
    uint32_t *parent;     /* of threads, then devices */
    uint64_t *device_work;
};

static uint32_t root_of(const struct lanes *self, uint32_t node)
{
    while (self->parent[node] != node) {
        node = self->parent[node];
    }
    return node;
}

static void join(struct lanes *self, uint32_t thread, uint32_t device)
{
    const uint32_t a = root_of(self, thread), b = root_of(self, (uint32_t)self->model->threads_count + device);
    self->parent[a > b ? a : b] = a > b ? b : a;
}

static int note_use(struct lanes *self, uint32_t call, uint32_t stream)
{
    if (call == GW_NONE || stream == GW_NONE) {
        return 0;
    }
    const uint32_t thread = self->model->calls[call].thread, device = self->model->streams[stream].device;
    self->device_work[device]++;
    if (self->last < self->uses_count && self->uses[self->last].thread == thread &&
        self->uses[self->last].device == device) {
        self->uses[self->last].count++;
        return 0;
    }
    uint32_t *place = gw_map_find(&self->places, thread, device);
    if (place) {
        self->last = *place;
        self->uses[*place].count++;
        return 0;
    }
    if (self->uses_count == self->uses_room) {
        const size_t room = self->uses_room ? 2 * self->uses_room : 64;
        struct use *grown = realloc(self->uses, room * sizeof(*grown));
        if (!grown) {
            return -ENOMEM;
        }
        self->uses = grown;
        self->uses_room = room;
    }
    self->uses[self->uses_count] = (struct use){thread, device, 1};
    return gw_map_insert(&self->places, thread, device, (uint32_t)self->uses_count++);
}

static int find_uses(struct lanes *self)
{
    const struct gw_model *model = self->model;
    int status = 0;
    for (size_t i = 0; i < model->ops_count && !status; i++) {
        status = note_use(self, model->ops[i].call, model->ops[i].stream);
    }
    for (uint32_t i = 0; i < model->calls_count && !status; i++) {
        if (model->calls[i].detail_kind == GW_DETAIL_ORDER && model->calls[i].detail != GW_NONE) {
            status = note_use(self, i, model->orders[model->calls[i].detail].stream);
        }
    }
    return status;
}

/* Numbers the lanes of each process in the order of their first devices; a thread without a device is in lane 0. */
static int number_lanes(struct lanes *self)
{
    struct gw_model *model = self->model;
    const size_t nodes = model->threads_count + model->devices_count;
    uint32_t *next = calloc(model->processes_count + 1, sizeof(*next));
    uint32_t *number = malloc((nodes + 1) * sizeof(*number));
    if (!next || !number) {
        free(next);
        free(number);
        return -ENOMEM;
    }
    for (size_t n = 0; n < nodes; n++) {
        number[n] = GW_NONE;
    }
    for (uint32_t d = 0; d < model->devices_count; d++) {
        uint32_t *lane = &number[root_of(self, (uint32_t)model->threads_count + d)];
        if (*lane == GW_NONE) {
            *lane = next[model->devices[d].process]++;
        }
        model->devices[d].lane = *lane;
    }
    for (uint32_t t = 0; t < model->threads_count; t++) {
        const uint32_t lane = number[root_of(self, t)];
        model->threads[t].lane = lane == GW_NONE ? 0 : lane;
    }
    free(next);
    free(number);
    return 0;
}

int gw_build_lanes(struct gw_model *model)
{
    struct lanes self = {.model = model};
    const size_t nodes = model->threads_count + model->devices_count;
    int status = -ENOMEM;
    self.parent = malloc((nodes + 1) * sizeof(*self.parent));
    self.device_work = calloc(model->devices_count + 1, sizeof(*self.device_work));
    if (!self.parent || !self.device_work) {
        goto end;
    }
    for (uint32_t n = 0; n < nodes; n++) {
        self.parent[n] = n;
    }
    status = find_uses(&self);
    for (size_t u = 0; u < self.uses_count && !status; u++) {
        const struct use *use = &self.uses[u];
        if ((uint64_t)use->count * 100 >= self.device_work[use->device] * SHARE_PERCENT) {
            join(&self, use->thread, use->device);
        }
    }
    status = status ? status : number_lanes(&self);
end:
    free(self.uses);
    free(self.parent);
    free(self.device_work);
    gw_map_clear(&self.places);
    return status;
}
