// Communicators of NCCL: which ranks of which processes belong together.
#include <pthread.h>
#include <stddef.h>

#include "shim/tracer/driver.h"
#include "shim/tracer/events.h"
#include "shim/tracer/tracer.h"

#pragma GCC poison malloc calloc realloc free printf fprintf snprintf puts abort exit

#define COMMUNICATORS 1024u
#define PENDING 64u
#define IN_PROGRESS 7 // ncclInProgress: made all the same, later

struct communicator {
    uint64_t handle, id;
    uint32_t children; // made of it so far: the same number in each of its ranks
};

// One whose handle the end of a group will give.
struct pending {
    uint32_t tid;
    const uint64_t *handle;
    uint64_t id, parent;
    uint32_t rank, size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct communicator communicators[COMMUNICATORS]; // a ring: the oldest are forgotten
static unsigned communicator_count;
static struct pending pending[PENDING];
static unsigned pending_count;

// FNV-1a by words, with the high bits folded in.
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of_id(const uint64_t *words)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (unsigned i = 0; i < 16; i++)
        hash = mix(hash, words[i]);
    return hash;
}

static struct communicator *find(uint64_t handle)
{
    unsigned kept = communicator_count < COMMUNICATORS ? communicator_count : COMMUNICATORS;

    for (unsigned back = 1; back <= kept; back++) {
        struct communicator *known = &communicators[(communicator_count - back) % COMMUNICATORS];

        if (known->handle == handle)
            return known;
    }
    return NULL;
}

// What the library says of a communicator; `otherwise` where it cannot yet.
static uint32_t ask(unsigned function, uint64_t handle, uint32_t otherwise)
{
    int (*real)(uint64_t, int *) = (int (*)(uint64_t, int *))gw_tracer.host->real(function);
    int value = 0;

    return real && real(handle, &value) == 0 ? (uint32_t)value : otherwise;
}

static uint32_t current_device(void)
{
    const struct gw_driver *driver = gw_driver();
    int device = 0;

    return driver && driver->cuCtxGetDevice(&device) == 0 ? (uint32_t)device : 0;
}

static void announce_version(void)
{
    static bool is_said;
    int (*real)(int *) = (int (*)(int *))gw_tracer.host->real(GW_FUNCTION_ncclGetVersion);
    int version = 0;

    if (is_said || !real || real(&version) != 0)
        return;
    is_said = true;
    gw_nccl_version(version);
}

static void announce(const struct pending *made)
{
    uint64_t handle = *made->handle;

    if (!handle)
        return; // a split left this rank out
    announce_version();
    communicators[communicator_count++ % COMMUNICATORS] = (struct communicator){handle, made->id, 0};
    uint32_t rank = ask(GW_FUNCTION_ncclCommUserRank, handle, made->rank);
    uint32_t size = ask(GW_FUNCTION_ncclCommCount, handle, made->size);
    uint32_t device = ask(GW_FUNCTION_ncclCommCuDevice, handle, current_device());

    lttng_ust_tracepoint(gpuwitness, communicator, gw_tracer.pid, handle, made->id, made->parent,
                         (uint64_t)rank | (uint64_t)size << 32, device);
}

// Now, or at the end of the thread's group.
static void add(const struct gw_thread *thread, const struct pending *made)
{
    if (!made->handle)
        return;
    if (thread->comm_groups == 0)
        announce(made);
    else if (pending_count < PENDING)
        pending[pending_count++] = *made;
}

static void finish_group(const struct gw_thread *thread)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < pending_count; i++) {
        if (pending[i].tid == thread->tid)
            announce(&pending[i]);
        else
            pending[kept++] = pending[i];
    }
    pending_count = kept;
}

static void add_child(const struct gw_thread *thread, enum gw_action action, const uint64_t *words)
{
    struct communicator *parent = find(words[0]);
    uint64_t color = action == GW_ACTION_COMM_SPLIT ? (uint32_t)words[1] : 0;

    if (!parent)
        return;
    uint64_t id = mix(mix(parent->id, ++parent->children), color);
    add(thread, &(struct pending){thread->tid, (const uint64_t *)words[3], id, parent->id, 0, 0});
}

static void add_all(const struct gw_thread *thread, const uint64_t *words)
{
    const uint64_t *handles = (const uint64_t *)words[0];
    uint64_t id = mix(mix(hash_of_id((const uint64_t[16]){gw_tracer.pid}), gw_now_ns()), words[0]);

    for (uint32_t i = 0; handles && i < (uint32_t)words[1]; i++)
        announce(&(struct pending){thread->tid, &handles[i], id, 0, i, (uint32_t)words[1]});
}

void gw_communicators_made(struct gw_thread *thread, enum gw_action action, const uint64_t *words, int32_t result)
{
    if (gw_tracer.child)
        return;
    if (action == GW_ACTION_GROUP_START) {
        thread->comm_groups += result == 0;
        return;
    }
    pthread_mutex_lock(&lock);
    if (action == GW_ACTION_GROUP_END) {
        if (thread->comm_groups && --thread->comm_groups == 0)
            finish_group(thread);
    } else if (result != 0 && result != IN_PROGRESS) {
        // nothing was made
    } else if (action == GW_ACTION_COMM_INIT_RANK) {
        add(thread, &(struct pending){thread->tid, (const uint64_t *)words[0], hash_of_id(&words[2]), 0,
                                      (uint32_t)words[18], (uint32_t)words[1]});
    } else if (action == GW_ACTION_COMM_INIT_SCALABLE) {
        add(thread, &(struct pending){thread->tid, (const uint64_t *)words[0], hash_of_id((const uint64_t *)words[4]),
                                      0, (uint32_t)words[2], (uint32_t)words[1]});
    } else if (action == GW_ACTION_COMM_INIT_ALL) {
        add_all(thread, words);
    } else {
        add_child(thread, action, words);
    }
    pthread_mutex_unlock(&lock);
}
