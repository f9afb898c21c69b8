/*
 * Judges of what communication costs by itself: links, bytes, set-up, and what it does to compute beside it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
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

/* What shares a link: the ranks of a communicator, or two ranks that send to each other. How many messages share a
 * kernel says what rate to expect of one of them. */
struct route {
    uint64_t communicator;
    uint32_t low, high;          /* ranks; high 0: all */
    uint32_t messages;           /* in the kernel */
    double gbps;                 /* median of its long transfers */
    double best_gbps;            /* of routes with as many messages, or what the link should give */
    uint32_t collective, kernel; /* one of them */
};

/* A transfer. In a kernel of several messages each is at least this quick: what limits the kernel may be another. */
struct rated {
    struct route route;
    uint32_t device;
    double gbps;
};

static struct route route_of(const struct gw_judge *judge, uint32_t index)
{
    const struct gw_collective *collective = &judge->model->collectives[index];
    const struct gw_communicator *communicator = &judge->model->communicators[collective->communicator];
    uint32_t place = gw_comm_kernel_of(judge->comm, judge->model, collective->op);
    struct route route = {.communicator = communicator->id, .collective = index, .kernel = place};
    route.messages = judge->comm->kernels[place].count;
    if (judge->comm->kernels[place].is_message) {
        route.low = communicator->rank < collective->rank ? communicator->rank : collective->rank;
        route.high = communicator->rank < collective->rank ? collective->rank : communicator->rank;
    }
    return route;
}

static int compare_routes(const struct route *a, const struct route *b)
{
    if (a->messages != b->messages)
        return a->messages < b->messages ? -1 : 1;
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
    /* Both ends of one message tell the same, those of one among several need not. */
    if (!order && a->route.messages > 1 && a->device != b->device)
        order = a->device < b->device ? -1 : 1;
    return order ? order : gw_by_double(&a->gbps, &b->gbps);
}

/* The largest of the kernel's messages, by kernel; the caller frees. NULL: no memory. */
static uint64_t *find_largest(const struct gw_judge *judge)
{
    const struct gw_comm *comm = judge->comm;
    uint64_t *largest = calloc(comm->kernels_count + 1, sizeof *largest);
    for (size_t i = 0; largest && i < judge->model->collectives_count; i++) {
        const struct gw_collective *collective = &judge->model->collectives[i];
        uint32_t place = collective->op == GW_NONE ? GW_NONE : gw_comm_kernel_of(comm, judge->model, collective->op);
        if (place != GW_NONE && collective->size_bytes > largest[place])
            largest[place] = collective->size_bytes;
    }
    return largest;
}

/* Whether the kernel's time tells what the links of this part of it give: long, one collective or nothing but messages,
 * of which this is a largest. */
static bool tells_rate(const struct gw_judge *judge, uint32_t index, const uint64_t *largest)
{
    const struct gw_comm *comm = judge->comm;
    const struct gw_collective *collective = &judge->model->collectives[index];
    uint32_t place = collective->op == GW_NONE ? GW_NONE : gw_comm_kernel_of(comm, judge->model, collective->op);
    if (place == GW_NONE)
        return false;
    const struct gw_comm_kernel *kernel = &comm->kernels[place];
    bool alone = kernel->count == 1 && kernel->bus_bytes > 0;
    bool among = kernel->count > 1 && kernel->is_message && collective->size_bytes == largest[place] &&
                 collective->rank != judge->model->communicators[collective->communicator].rank;
    return (alone || among) && !kernel->claimed &&
           (double)gw_comm_transfer_ns(kernel) >= LONG_TRANSFER * comm->latency_ns;
}

/* What the kernel takes at a rate of each of its messages, or of its collective. */
static double expected_ns(const struct gw_comm *comm, const struct gw_comm_kernel *kernel, uint64_t largest,
                          double gbps)
{
    return kernel->count == 1 ? gw_comm_expected_ns(comm, kernel, gbps) : comm->latency_ns + (double)largest / gbps;
}

/* Routes with their median rates, in order; the caller frees. *ret_count: how many. NULL: no memory. */
static struct route *find_routes(const struct gw_judge *judge, const uint64_t *largest, size_t *ret_count)
{
    const struct gw_comm *comm = judge->comm;
    struct rated *rated = calloc(judge->model->collectives_count + 1, sizeof *rated);
    struct route *routes = calloc(judge->model->collectives_count + 1, sizeof *routes);
    size_t count = 0, found = 0;
    if (!rated || !routes) {
        free(rated);
        free(routes);
        return NULL;
    }
    for (uint32_t i = 0; i < judge->model->collectives_count; i++) {
        if (!tells_rate(judge, i, largest))
            continue;
        struct rated *this = &rated[count++];
        this->route = route_of(judge, i);
        const struct gw_comm_kernel *kernel = &comm->kernels[this->route.kernel];
        this->device = kernel->device;
        this->gbps = (kernel->count == 1 ? kernel->bus_bytes : (double)largest[this->route.kernel]) /
                     ((double)gw_comm_transfer_ns(kernel) - comm->latency_ns);
    }
    qsort(rated, count, sizeof *rated, compare_rated);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && !compare_routes(&rated[to].route, &rated[from].route) &&
                        (rated[to].device == rated[from].device || rated[to].route.messages == 1);)
            to++;
        const struct rated *median = &rated[from + (to - from) / 2];
        bool again = found && !compare_routes(&routes[found - 1], &median->route);
        if (again && routes[found - 1].gbps >= median->gbps)
            continue;
        found -= again;
        routes[found] = median->route;
        routes[found++].gbps = median->gbps;
    }
    free(rated);
    *ret_count = found;
    return routes;
}

static int compare_found(const void *left, const void *right)
{
    return compare_routes(left, right);
}

/* Says of each route what the best of its kind gives. */
static void find_best(const struct gw_judge *judge, struct route *routes, size_t count)
{
    for (size_t from = 0, to; from < count; from = to) {
        double best = routes[from].messages == 1 ? judge->model->link_gbps : 0;
        for (to = from; to < count && routes[to].messages == routes[from].messages; to++)
            best = fmax(best, routes[to].gbps);
        for (size_t i = from; i < to; i++)
            routes[i].best_gbps = best;
    }
}

/* The route that falls furthest behind the best of its kind; NULL without any. */
static const struct route *find_worst(const struct route *routes, size_t count)
{
    const struct route *worst = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!worst || routes[i].gbps / routes[i].best_gbps < worst->gbps / worst->best_gbps)
            worst = &routes[i];
    }
    return worst;
}

/* Gives transfers over slow routes the rate of the best of their kind. Returns 0 or -ENOMEM. */
static int mend_slow(struct gw_comm_plan *plan, const struct gw_judge *judge, const struct route *routes, size_t count,
                     const uint64_t *largest)
{
    const struct gw_comm *comm = judge->comm;
    for (uint32_t i = 0; i < judge->model->collectives_count; i++) {
        if (!tells_rate(judge, i, largest))
            continue;
        const struct route wanted = route_of(judge, i);
        const struct route *route = bsearch(&wanted, routes, count, sizeof *routes, compare_found);
        const struct gw_comm_kernel *kernel = &comm->kernels[wanted.kernel];
        if (!route || route->gbps >= SLOW_SHARE * route->best_gbps || plan->op_ns[kernel->op] != GW_TIME_UNKNOWN)
            continue;
        double mended_ns = expected_ns(comm, kernel, largest[wanted.kernel], route->best_gbps);
        if (mended_ns >= (double)gw_comm_transfer_ns(kernel))
            continue;
        plan->op_ns[kernel->op] = (uint64_t)mended_ns;
        if (gw_comm_plan_mark(plan, kernel->op) < 0)
            return -ENOMEM;
    }
    return 0;
}

int gw_judge_comm_slow_link(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm *comm = judge->comm;
    struct gw_comm_plan plan = {0};
    struct route *routes = NULL;
    uint64_t *largest = NULL;
    size_t count = 0;
    char *where = NULL;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS);
    if (ret <= 0)
        return ret;
    ret = -ENOMEM;
    largest = find_largest(judge);
    routes = largest ? find_routes(judge, largest, &count) : NULL;
    if (!routes || gw_comm_plan_init(&plan, judge) < 0)
        goto end;
    find_best(judge, routes, count);
    const struct route *worst = find_worst(routes, count);
    if (!worst) {
        ret = gw_verdict_rule_out(verdict, 0, "no transfer lasts long enough to be limited by a link");
        goto end;
    }
    if ((ret = mend_slow(&plan, judge, routes, count, largest)) < 0)
        goto end;
    if (!plan.marked_count && count == 1 && worst->messages > 1) {
        ret = gw_verdict_unknown(verdict,
                                 "all messages are exchanged by ranks %u and %u, at %.2f GB/s each way in groups of "
                                 "%u; there is nothing to compare that with",
                                 worst->low, worst->high, worst->gbps, worst->messages);
        goto end;
    }
    if (!plan.marked_count && count == 1 && judge->model->link_gbps <= 0) {
        ret =
            gw_verdict_unknown(verdict,
                               "all collectives run over the same links, at %.2f GB/s of bus bandwidth; to judge that, "
                               "say what the link gives (report --link-gbps)",
                               worst->gbps);
        goto end;
    }
    const struct gw_collective *slow = &judge->model->collectives[worst->collective];
    const struct gw_communicator *communicator = &judge->model->communicators[slow->communicator];
    int length =
        comm->kernels[worst->kernel].is_message
            ? asprintf(&where, "messages between ranks %u and %u", worst->low, worst->high)
            : asprintf(&where, "%s on rank %u", gw_comm_kind_name((enum gw_comm_kind)slow->kind), communicator->rank);
    if (length < 0) {
        where = NULL;
        ret = -ENOMEM;
        goto end;
    }
    bool by_option = worst->messages == 1 && worst->best_gbps <= judge->model->link_gbps;
    ret = gw_comm_plan_conclude(&plan, judge, verdict,
                                "the slowest of %zu routes, %s of %u, gives %.2f GB/s of bus bandwidth; %s %.2f", count,
                                where, communicator->size, worst->gbps,
                                by_option ? "the link should give" : "the fastest gives", worst->best_gbps);
end:
    gw_comm_plan_release(&plan);
    free(largest);
    free(routes);
    free(where);
    return ret;
}

/* ---- more than compute ---- */

/* More gathers of a step than this are those of a model's parts. */
#define WHOLE_GATHERS_MOST 2u

static bool is_of_kind(const struct gw_judge *judge, const struct gw_comm_kernel *kernel, enum gw_comm_kind kind)
{
    return kernel->collective != GW_NONE && judge->model->collectives[kernel->collective].kind == kind;
}

/* Whether kernels [from, to), which are those of one step and device, gather a sharded tensor whole without giving its
 * gradient back in shards: sharding should not have needed it. */
static bool gathers_whole(const struct gw_judge *judge, size_t from, size_t to)
{
    unsigned gathers = 0, scatters = 0;
    for (size_t i = from; i < to; i++) {
        gathers += is_of_kind(judge, &judge->comm->kernels[i], GW_COMM_ALL_GATHER);
        scatters += is_of_kind(judge, &judge->comm->kernels[i], GW_COMM_REDUCE_SCATTER);
    }
    return gathers > 0 && gathers <= WHOLE_GATHERS_MOST && !scatters;
}

/* Time of a step that collectives which no verdict explains transfer for; ret_whole: of tensors gathered whole. */
static double transfer_ns_a_step(const struct gw_judge *judge, double *ret_whole)
{
    const struct gw_comm *comm = judge->comm;
    double cells = 0, transfer = 0, whole = 0;
    for (size_t i = 0; i < judge->budget->cells_count; i++)
        cells += !judge->model->steps[judge->budget->cells[i].step].warmup && !judge->budget->cells[i].unused;
    for (size_t from = 0, to; from < comm->kernels_count; from = to) {
        to = gw_comm_same_step_until(comm, from);
        const bool gathered = gathers_whole(judge, from, to);
        for (size_t i = from; i < to; i++) {
            const double ns = comm->kernels[i].claimed ? 0 : (double)gw_comm_transfer_ns(&comm->kernels[i]);
            transfer += ns;
            whole += gathered && is_of_kind(judge, &comm->kernels[i], GW_COMM_ALL_GATHER) ? ns : 0;
        }
    }
    *ret_whole = whole / fmax(cells, 1);
    return transfer / fmax(cells, 1);
}

/* Halves the bytes of what transfers; drops what is gathered whole, and where that does, nothing else. */
static int mark_bytes(struct gw_comm_plan *plan, const struct gw_judge *judge, bool drops, bool halves)
{
    const struct gw_comm *comm = judge->comm;
    int ret = 0;
    for (size_t from = 0, to; from < comm->kernels_count && ret == 0; from = to) {
        to = gw_comm_same_step_until(comm, from);
        const bool gathered = drops && gathers_whole(judge, from, to);
        for (size_t i = from; i < to && ret == 0; i++) {
            const struct gw_comm_kernel *kernel = &comm->kernels[i];
            const double transfer_ns = (double)gw_comm_transfer_ns(kernel);
            if (kernel->claimed)
                continue;
            if (gathered && is_of_kind(judge, kernel, GW_COMM_ALL_GATHER))
                gw_comm_plan_drop(plan, judge, kernel->op);
            else if (halves && transfer_ns > comm->latency_ns)
                plan->op_ns[kernel->op] = (uint64_t)(comm->latency_ns + (transfer_ns - comm->latency_ns) / 2);
            else
                continue;
            ret = gw_comm_plan_mark(plan, kernel->op);
        }
    }
    return ret;
}

int gw_judge_comm_bound(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_comm_plan plan = {0};
    double whole = 0;
    int ret = gw_comm_ready(judge, verdict, GW_COMM_NEEDS_SIZES | GW_COMM_NEEDS_RANKS);
    if (ret <= 0)
        return ret;
    if ((ret = gw_comm_plan_init(&plan, judge)) < 0)
        return ret;
    const double transfer = transfer_ns_a_step(judge, &whole), compute = judge->class_ns[GW_CLASS_COMPUTE];
    const bool bound = transfer > compute, drops = bound && whole > transfer / 2;
    if (bound && (ret = mark_bytes(&plan, judge, drops, !drops || transfer - whole > compute)) < 0)
        goto end;
    ret = gw_comm_plan_conclude(
        &plan, judge, verdict, "transfers take %.3f ms of a step and compute %.3f ms%s%s", transfer / 1e6,
        compute / 1e6, bound ? ", so that even hidden they would limit the step" : "",
        drops   ? "; most of it gathers a tensor whole, and the saving is that of leaving it in shards"
        : bound ? "; the saving is that of half the bytes"
                : "");
end:
    gw_comm_plan_release(&plan);
    return ret;
}

/* ---- communicators ---- */

static bool begins_with_one_of(const struct gw_judge *judge, const struct gw_fact *fact, const char *const parts[])
{
    const char *name = gw_function_name(judge->model->calls[fact->call].function);
    name += *name == 'p';
    for (size_t i = 0; parts[i] && strncmp(name, "nccl", 4) == 0; i++) {
        if (strncmp(name + 4, parts[i], strlen(parts[i])) == 0)
            return true;
    }
    return false;
}

static bool ends_communicator(const struct gw_judge *judge, const struct gw_fact *fact)
{
    static const char *const parts[] = {"CommDestroy", "CommAbort", "CommFinalize", NULL};
    return begins_with_one_of(judge, fact, parts);
}

bool gw_comm_awaits_end(struct gw_judge *judge, const struct gw_fact *fact)
{
    const struct gw_fact *next = fact;
    while (next && next->step == fact->step && (next->cls == GW_CALL_SYNC || next->cls == GW_CALL_OTHER))
        next = gw_fact_after(judge, next);
    return fact->cls == GW_CALL_SYNC && next && next->step == fact->step && ends_communicator(judge, next);
}

static bool makes_communicator(const struct gw_judge *judge, const struct gw_fact *fact)
{
    static const char *const parts[] = {"CommInit", "CommSplit", "CommShrink", "CommGrow", NULL};
    return begins_with_one_of(judge, fact, parts) || ends_communicator(judge, fact);
}

int gw_judge_comm_init(struct gw_judge *judge, struct gw_verdict *verdict)
{
    struct gw_finding finding;
    int ret = gw_finding_init(&finding, judge);
    if (ret < 0)
        return ret;
    const double time_ns = gw_finding_drop_all(&finding, judge, makes_communicator);
    for (size_t i = 0; i < judge->facts_count; i++) {
        if (judge->facts[i].step != GW_NONE && gw_comm_awaits_end(judge, &judge->facts[i]))
            gw_finding_edit(&finding, judge, &judge->facts[i], GW_EDIT_DROP);
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
