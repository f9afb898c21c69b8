/*
 * Several ranks in one graph: lanes, each of which is run in order by itself, and the exchanges that tie them together.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyzer/verdicts/replay.h"

/* Lanes are those of the model, numbered through over all processes. */
int gw_replay_find_lanes(struct gw_replay *replay, const struct gw_lane_steps *steps)
{
    const struct gw_model *model = replay->host->model;
    replay->thread_lane = calloc(model->threads_count + 1, sizeof *replay->thread_lane);
    replay->device_lane = calloc(model->devices_count + 1, sizeof *replay->device_lane);
    if (!replay->thread_lane || !replay->device_lane)
        return -ENOMEM;
    for (size_t d = 0; d < model->devices_count; d++)
        replay->device_lane[d] = steps->first[model->devices[d].process] + model->devices[d].lane;
    for (size_t t = 0; t < model->threads_count; t++)
        replay->thread_lane[t] = steps->first[model->threads[t].process] + model->threads[t].lane;
    replay->lanes_count = steps->first[model->processes_count];
    return 0;
}

int gw_replay_list_lanes(struct gw_replay *replay)
{
    replay->lane_nodes = calloc(replay->nodes_count + 1, sizeof *replay->lane_nodes);
    replay->lane_first = calloc(replay->lanes_count + 2, sizeof *replay->lane_first);
    if (!replay->lane_nodes || !replay->lane_first)
        return -ENOMEM;
    uint32_t *next = replay->lane_first + 1; /* moves up to where the following lane begins */
    for (size_t i = 0; i < replay->nodes_count; i++)
        next[replay->thread_lane[replay->nodes[i].thread] + 1]++;
    for (uint32_t l = 1; l <= replay->lanes_count; l++)
        next[l] += next[l - 1];
    for (uint32_t i = 0; i < replay->nodes_count; i++)
        replay->lane_nodes[next[replay->thread_lane[replay->nodes[i].thread]]++] = i;
    return 0;
}

/* A collective of the graph: its operation's place, its exchange. */
struct part {
    uint32_t place, match;
};

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->match < b->match ? -1 : a->match > b->match;
}

static uint64_t latest_arrival(const struct gw_model *model, const struct gw_collective *collective)
{
    return model->ops[collective->op].start_ns + collective->arrival_wait_ns;
}

static int list_legs(struct gw_replay *replay, const struct gw_model *model, const uint32_t *place,
                     const uint32_t *in_graph, const uint32_t *whole)
{
    struct part *parts = calloc(model->collectives_count + 1, sizeof *parts);
    uint64_t *latest = calloc(replay->ops_count + 1, sizeof *latest);
    size_t count = 0;
    int ret = -ENOMEM;
    replay->legs = calloc(model->collectives_count + 1, sizeof *replay->legs);
    replay->exchanges = calloc(model->collectives_count + 1, sizeof *replay->exchanges);
    if (!parts || !latest || !replay->legs || !replay->exchanges)
        goto end;
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        if (collective->op == GW_NONE || collective->match == GW_NONE || place[collective->op] == GW_NONE ||
            in_graph[collective->match] != whole[collective->match])
            continue;
        uint32_t at = place[collective->op];
        uint64_t arrival = latest_arrival(model, collective);
        latest[at] = arrival > latest[at] ? arrival : latest[at];
        parts[count++] = (struct part){at, collective->match};
        replay->exchanges[collective->match] = whole[collective->match];
    }
    qsort(parts, count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < count; i++) {
        struct gw_replay_op *op = &replay->ops[parts[i].place];
        uint64_t end = model->ops[op->op].end_ns;
        if (!op->leg_count++)
            op->leg_first = (uint32_t)i;
        op->transfer_ns = end > latest[parts[i].place] ? end - latest[parts[i].place] : 0;
        replay->legs[i] = parts[i].match;
    }
    replay->legs_count = count;
    replay->exchanges_count = model->collectives_count;
    ret = 0;
end:
    free(parts);
    free(latest);
    return ret;
}

int gw_replay_find_exchanges(struct gw_replay *replay)
{
    const struct gw_model *model = replay->host->model;
    size_t room = model->ops_count + 2 * model->collectives_count + 1;
    if (!model->collectives_count)
        return 0;
    uint32_t *place = malloc(room * sizeof *place);
    if (!place)
        return -ENOMEM;
    uint32_t *in_graph = place + model->ops_count, *whole = in_graph + model->collectives_count;
    for (size_t i = 0; i < model->ops_count; i++)
        place[i] = GW_NONE;
    for (size_t i = 0; i < 2 * model->collectives_count; i++)
        in_graph[i] = 0;
    for (uint32_t i = 0; i < replay->ops_count; i++)
        place[replay->ops[i].op] = i;
    for (size_t i = 0; i < model->collectives_count; i++) {
        const struct gw_collective *collective = &model->collectives[i];
        if (collective->match == GW_NONE)
            continue;
        /* One without times leaves the exchange without a whole: its ranks cannot be told to have arrived. */
        whole[collective->match] = collective->arrival_wait_ns == GW_TIME_UNKNOWN ? GW_NONE : collective->matched;
        in_graph[collective->match] += collective->op != GW_NONE && place[collective->op] != GW_NONE;
    }
    int ret = list_legs(replay, model, place, in_graph, whole);
    free(place);
    return ret;
}
