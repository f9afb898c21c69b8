/*
 * Judges of what communication costs by itself: links, bytes, set-up, and what it does to compute beside it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/sorted.h"
#include "analyzer/verdicts/comm.h"
#include "analyzer/verdicts/kernel_times.h"
#include "shim/api/functions.h"

/* A transfer tells the bandwidth from this many latencies on. */
#define LONG_TRANSFER 4.0
/* A link is slow below this share of the best one of the run. */
#define SLOW_SHARE 0.7
/* ---- slow links ---- */

/* What shares a link: the ranks of a communicator, or two ranks that send to each other. */
struct route {
    uint64_t communicator;
    uint32_t low, high; /* ranks; high 0: all */
    double gbps;        /* median of its long transfers */
    uint32_t kernel;    /* one of them */
};

struct rated {
    struct route route;
    double gbps;
    uint32_t kernel;
};

static struct route route_of(const struct gw_judge *judge, const struct gw_comm_kernel *kernel)
{
    const struct gw_collective *collective = &judge->model->collectives[kernel->collective];
    const struct gw_communicator *communicator = &judge->model->communicators[collective->communicator];
    struct route route = {.communicator = communicator->id};
    if (kernel->is_message) {
        route.low = communicator->rank < collective->rank ? communicator->rank : collective->rank;
        route.high = communicator->rank < collective->rank ? collective->rank : communicator->rank;
    }
    return route;
}

static int compare_routes(const struct route *a, const struct route *b)
{
    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high < b->high ? -1 : a->high > b->high;
}

static int compare_rated(const void *left, const void *right)
{
    const struct rated *a = left, *b = right;
    int order = compare_routes(&a->route, &b->route);
    return order ? order : gw_by_double(&a->gbps, &b->gbps);
}

/* Whether the kernel's time tells what its link gives: long, and one message or collective only. */
static bool tells_rate(const struct gw_comm *comm, const struct gw_comm_kernel *kernel)
{
    return kernel->count == 1 && !kernel->claimed && kernel->bus_bytes > 0 &&
           (double)gw_comm_transfer_ns(kernel) >= LONG_TRANSFER * comm->latency_ns;
}

/* Routes with their median rates; the caller frees. *ret_count: how many. NULL: no memory. */
static struct route *find_routes(const struct gw_judge *judge, size_t *ret_count)
{
    const struct gw_comm *comm = judge->comm;
    struct rated *rated = calloc(comm->kernels_count + 1, sizeof *rated);
    struct route *routes = calloc(comm->kernels_count + 1, sizeof *routes);
    size_t count = 0, found = 0;
    if (!rated || !routes) {
        free(rated);
        free(routes);
        return NULL;
    }
    for (uint32_t i = 0; i < comm->kernels_count; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        if (tells_rate(comm, kernel))
            rated[count++] =
                (struct rated){route_of(judge, kernel),
                               kernel->bus_bytes / ((double)gw_comm_transfer_ns(kernel) - comm->latency_ns), i};
    }
    qsort(rated, count, sizeof *rated, compare_rated);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && !compare_routes(&rated[to].route, &rated[from].route);)
            to++;
        const struct rated *median = &rated[from + (to - from) / 2];
        routes[found] = median->route;
        routes[found].gbps = median->gbps;
        routes[found++].kernel = median->kernel;
    }
    free(rated);
    *ret_count = found;
    return routes;
}

static const struct route *find_route(const struct route *routes, size_t count, const struct route *wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (!compare_routes(&routes[i], wanted))
            return &routes[i];
    }
    return NULL;
}

int gw_judge_comm_slow_link(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm *comm = judge->comm;
    struct gw_comm_plan plan = {0};
    struct route *routes = NULL;
    size_t count = 0, best = 0, worst = 0;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS);
    if (ret <= 0)
        return ret;
    routes = find_routes(judge, &count);
    if (!routes || gw_comm_plan_init(&plan, judge) < 0) {
        ret = -ENOMEM;
        goto end;
    }
    for (size_t i = 1; i < count; i++) {
        best = routes[i].gbps > routes[best].gbps ? i : best;
        worst = routes[i].gbps < routes[worst].gbps ? i : worst;
    }
    double expected = fmax(count ? routes[best].gbps : 0, judge->model->link_gbps);
    if (!count) {
        ret = gw_verdict_rule_out(verdict, 0, "no transfer lasts long enough to be limited by a link");
        goto end;
    }
    for (size_t i = 0; i < comm->kernels_count; i++) {
        struct gw_comm_kernel *kernel = &comm->kernels[i];
        const struct route wanted = route_of(judge, kernel), *route = find_route(routes, count, &wanted);
        double expected_ns = gw_comm_expected_ns(comm, kernel, expected);
        if (!route || route->gbps >= SLOW_SHARE * expected || !tells_rate(comm, kernel) ||
            expected_ns >= (double)gw_comm_transfer_ns(kernel))
            continue;
        plan.op_ns[kernel->op] = (uint64_t)expected_ns;
        if ((ret = gw_comm_plan_mark(&plan, kernel->op)) < 0)
            goto end;
    }
    if (!plan.marked_count && count == 1 && judge->model->link_gbps <= 0) {
        ret =
            gw_verdict_unknown(verdict,
                               "all collectives run over the same links, at %.2f GB/s of bus bandwidth; to judge that, "
                               "say what the link gives (report --link-gbps)",
                               routes[best].gbps);
        goto end;
    }
    const struct gw_comm_kernel *slow = &comm->kernels[routes[worst].kernel];
    const struct gw_communicator *communicator =
        &judge->model->communicators[judge->model->collectives[slow->collective].communicator];
    ret = gw_comm_plan_conclude(
        &plan, judge, verdict,
        "the slowest of %zu routes, %s%s rank %u of %u, gives %.2f GB/s of bus bandwidth; %s %.2f", count,
        gw_comm_kind_name((enum gw_comm_kind)judge->model->collectives[slow->collective].kind),
        slow->is_message ? " of" : " on", communicator->rank, communicator->size, routes[worst].gbps,
        judge->model->link_gbps > routes[best].gbps ? "the link should give" : "the fastest gives", expected);
end:
    gw_comm_plan_release(&plan);
    free(routes);
    return ret;
}

/* ---- more than compute ---- */

int gw_judge_comm_bound(struct gw_judge *judge, struct gw_verdict *verdict)
{
    const struct gw_comm *comm = judge->comm;
    struct gw_comm_plan plan = {0};
    double cells = 0, transfer = 0;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS);
    if (ret <= 0)
        return ret;
    if ((ret = gw_comm_plan_init(&plan, judge)) < 0)
        return ret;
    for (size_t i = 0; i < judge->budget->cells_count; i++)
        cells += !judge->model->steps[judge->budget->cells[i].step].warmup && !judge->budget->cells[i].unused;
    for (size_t i = 0; i < comm->kernels_count; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        if (!kernel->claimed)
            transfer += (double)gw_comm_transfer_ns(kernel) / fmax(cells, 1);
    }
    double compute = judge->class_ns[GW_CLASS_COMPUTE];
    for (size_t i = 0; i < comm->kernels_count && transfer > compute; i++) {
        const struct gw_comm_kernel *kernel = &comm->kernels[i];
        double transfer_ns = (double)gw_comm_transfer_ns(kernel);
        if (kernel->claimed || transfer_ns <= comm->latency_ns)
            continue;
        plan.op_ns[kernel->op] = (uint64_t)(comm->latency_ns + (transfer_ns - comm->latency_ns) / 2);
        if ((ret = gw_comm_plan_mark(&plan, kernel->op)) < 0)
            goto end;
    }
    ret = gw_comm_plan_conclude(&plan, judge, verdict, "transfers take %.3f ms of a step and compute %.3f ms%s",
                                transfer / 1e6, compute / 1e6,
                                transfer > compute ? ", so that even hidden they would limit the step; the saving is "
                                                     "that of half the bytes"
                                                   : "");
end:
    gw_comm_plan_release(&plan);
    return ret;
}

/* ---- communicators ---- */

static bool makes_communicator(uint16_t function)
{
    static const char *const parts[] = {"CommInit",    "CommSplit", "CommShrink",  "CommGrow",
                                        "CommDestroy", "CommAbort", "CommFinalize"};
    const char *name = gw_function_name(function);
    name += *name == 'p';
    for (size_t i = 0; i < sizeof parts / sizeof *parts && strncmp(name, "nccl", 4) == 0; i++) {
        if (strncmp(name + 4, parts[i], strlen(parts[i])) == 0)
            return true;
    }
    return false;
}

int gw_judge_comm_init(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    double time_ns = 0;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    for (size_t i = 0; i < judge->facts_count; i++) {
        const struct gw_fact *fact = &judge->facts[i];
        const struct gw_call *call = &judge->model->calls[fact->call];
        if (fact->step == GW_NONE || !makes_communicator(call->function))
            continue;
        time_ns += (double)(call->end_ns - call->begin_ns);
        gw_finding_mark(&finding, judge, fact, GW_EDIT_DROP);
    }
    ret = gw_finding_conclude(&finding, judge, verdict,
                              "communicators are made and ended by %.1f calls a step, which take %.3f ms",
                              gw_a_step(judge, (double)finding.count), gw_a_step(judge, time_ns) / 1e6);
    gw_finding_release(&finding);
    return ret;
}

/* ---- compute beside communication ---- */

/* When each device communicates. Returns 0 or -ENOMEM. */
static int list_communication(const struct gw_judge *judge, struct gw_beside *beside)
{
    const struct gw_comm *comm = judge->comm;
    for (uint32_t d = 0; d < judge->model->devices_count; d++) {
        uint32_t first = comm->device_kernels[d], count = comm->device_kernels[d + 1] - first;
        beside[d].list = calloc(count + 1u, sizeof *beside[d].list);
        if (!beside[d].list)
            return -ENOMEM;
        for (uint32_t i = 0; i < count; i++)
            beside[d].list[i] =
                (struct gw_interval){comm->kernels[first + i].start_ns, comm->kernels[first + i].end_ns};
        beside[d].count = gw_intervals_merge(beside[d].list, count);
    }
    return 0;
}

int gw_judge_comm_contention(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm_plan plan = {0};
    struct gw_kernel_times times = {0};
    struct gw_beside *beside = NULL;
    int ret = gw_comm_ready(judge, verdict, 0);
    if (ret <= 0)
        return ret;
    beside = gw_beside_create(judge);
    if (!beside || gw_comm_plan_init(&plan, judge) < 0) {
        ret = -ENOMEM;
        goto end;
    }
    if ((ret = list_communication(judge, beside)) < 0 ||
        (ret = gw_kernel_times_compare(judge, beside, &plan, &times)) < 0)
        goto end;
    ret = gw_comm_plan_conclude(
        &plan, judge, verdict,
        "of %.1f kernels a step beside communication whose like also run without, %.1f are longer "
        "than those, by %.3f ms in all",
        gw_a_step(judge, times.compared), gw_a_step(judge, (double)plan.marked_count),
        gw_a_step(judge, times.slower_ns) / 1e6);
end:
    gw_comm_plan_release(&plan);
    gw_beside_destroy(beside, judge);
    return ret;
}
