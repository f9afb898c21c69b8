// The one subscriber, and its callbacks at entry and exit of driver and runtime calls.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/simgpu/cupti/profiler.h"

#define ID_MAX 1024u
#define NAME_COUNT 4096u

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc function;
    void *argument;
};

struct cbid {
    CUpti_CallbackId id;
    const char *name;
};

static const struct cbid driver_ids[] = {
#define X(name) {CUPTI_DRIVER_TRACE_CBID_##name, #name},
#include "driver_cbids.inc"
#undef X
};
static const struct cbid runtime_ids[] = {
#define X(name) {CUPTI_RUNTIME_TRACE_CBID_##name, #name},
#include "runtime_cbids.inc"
#undef X
};
static const struct {
    const struct cbid *ids;
    size_t count;
} domains[] = {[CUPTI_CB_DOMAIN_DRIVER_API] = {driver_ids, sizeof driver_ids / sizeof *driver_ids},
               [CUPTI_CB_DOMAIN_RUNTIME_API] = {runtime_ids, sizeof runtime_ids / sizeof *runtime_ids}};

static struct CUpti_Subscriber_st the_subscriber;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool subscribed;
static uint8_t enabled[CUPTI_CB_DOMAIN_SIZE][ID_MAX];

// What is known of entry points by the address of their name.
static struct known {
    const char *name;
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    bool ends_context;
} known[NAME_COUNT];

static bool is_name_of(const char *id_name, const char *name, CUpti_CallbackDomain domain)
{
    const size_t length = strlen(name);
    if (strncmp(id_name, name, length) != 0)
        return false;
    // Runtime functions carry the version that introduced them.
    return !id_name[length] ||
           (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id_name[length] == '_' && id_name[length + 1] == 'v');
}

static CUpti_CallbackId find_id(const char *name, CUpti_CallbackDomain domain)
{
    for (size_t i = domains[domain].count; i-- > 0;) {
        if (is_name_of(domains[domain].ids[i].name, name, domain))
            return domains[domain].ids[i].id;
    }
    return 0;
}

static struct known known_of(const char *name)
{
    const bool is_runtime = strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0;
    const CUpti_CallbackDomain domain = is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
    return (struct known){.name = name,
                          .domain = domain,
                          .id = find_id(name, domain),
                          .ends_context = strncmp(name, "cuCtxDestroy", 12) == 0 ||
                                          strncmp(name, "cuDevicePrimaryCtxReset", 23) == 0};
}

// `spare` is filled and returned where the table is full.
static const struct known *look_up(const char *name, struct known *spare)
{
    size_t at = ((uintptr_t)name >> 3) * 0x9e3779b97f4a7c15u >> 52;
    for (size_t tries = 0; tries < NAME_COUNT; tries++, at = (at + 1) % NAME_COUNT) {
        const char *seen = __atomic_load_n(&known[at].name, __ATOMIC_ACQUIRE);
        if (seen == name)
            return &known[at];
        if (seen)
            continue;
        pthread_mutex_lock(&lock);
        if (!known[at].name) {
            const struct known found = known_of(name);
            known[at].domain = found.domain;
            known[at].id = found.id;
            known[at].ends_context = found.ends_context;
            __atomic_store_n(&known[at].name, name, __ATOMIC_RELEASE);
        }
        seen = known[at].name;
        pthread_mutex_unlock(&lock);
        if (seen == name)
            return &known[at];
    }
    *spare = known_of(name);
    return spare;
}

void callbacks_stop(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(enabled, 0, sizeof enabled);
    __atomic_store_n(&subscribed, false, __ATOMIC_RELEASE);
}

void callbacks_call(const struct simgpu_call_seen *call)
{
    struct known spare;
    const struct known *function = look_up(call->name, &spare);
    if (!call->is_exit)
        activity_call(call, function->domain, function->id);
    if (__atomic_load_n(&subscribed, __ATOMIC_ACQUIRE) && function->id && function->id < ID_MAX &&
        __atomic_load_n(&enabled[function->domain][function->id], __ATOMIC_RELAXED)) {
        int result = call->result;
        const CUpti_CallbackData data = {.callbackSite = call->is_exit ? CUPTI_API_EXIT : CUPTI_API_ENTER,
                                         .functionName = call->name,
                                         .functionReturnValue = call->is_exit ? &result : NULL,
                                         .correlationData = call->carried,
                                         .correlationId = (uint32_t)call->correlation};
        the_subscriber.function(the_subscriber.argument, function->domain, function->id, &data);
    }
    if (call->is_exit) {
        activity_call(call, function->domain, function->id);
        if (function->ends_context)
            delivery_prompt();
    }
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function, void *argument)
{
    CUptiResult result = CUPTI_SUCCESS;
    if (!subscriber || !function)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!profiler_has_driver())
        return CUPTI_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&lock);
    if (subscribed) {
        result = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    } else {
        the_subscriber = (struct CUpti_Subscriber_st){function, argument};
        __atomic_store_n(&subscribed, true, __ATOMIC_RELEASE);
        *subscriber = &the_subscriber;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

#ifdef CUpti_SubscriberParams_STRUCT_SIZE // not in older headers
// Tells who is in the way, as documented: by the name it gave itself, of which there is none here.
static CUptiResult subscribe_named(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc function, void *argument,
                                   CUpti_SubscriberParams *parameters)
{
    if (parameters && parameters->structSize != CUpti_SubscriberParams_STRUCT_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    const CUptiResult result = subscribe(subscriber, function, argument);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && parameters && parameters->oldSubscriberName)
        snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "CUPTI");
    return result;
}
#endif

static CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber)
{
    if (subscriber != &the_subscriber || !subscribed)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    memset(enabled, 0, sizeof enabled);
    __atomic_store_n(&subscribed, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

static bool is_api(CUpti_CallbackDomain domain)
{
    return domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
}

static const char *name_of(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    for (size_t i = 0; is_api(domain) && i < domains[domain].count; i++) {
        if (domains[domain].ids[i].id == id)
            return domains[domain].ids[i].name;
    }
    return NULL;
}

// Callbacks of the other domains (contexts, modules, graphs, synchronisation, states, NVTX) can be asked for; none
// comes.
static bool exists(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return is_api(domain) ? name_of(domain, id) != NULL
                          : id && domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE &&
                                (domain != CUPTI_CB_DOMAIN_RESOURCE || id < CUPTI_CBID_RESOURCE_SIZE);
}

static CUptiResult enable(uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                          CUpti_CallbackId id)
{
    if (subscriber != &the_subscriber || !subscribed || id >= ID_MAX || !exists(domain, id))
        return CUPTI_ERROR_INVALID_PARAMETER;
    __atomic_store_n(&enabled[domain][id], on != 0, __ATOMIC_RELAXED);
    if (on)
        profiler_watch(true);
    return CUPTI_SUCCESS;
}

static CUptiResult enable_domain(uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
    if (subscriber != &the_subscriber || !subscribed || domain <= CUPTI_CB_DOMAIN_INVALID ||
        domain >= CUPTI_CB_DOMAIN_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    memset(enabled[domain], on != 0, sizeof enabled[domain]);
    if (on)
        profiler_watch(true);
    return CUPTI_SUCCESS;
}

static CUptiResult get_name(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    const char *found = name_of(domain, id);
    if (!name || !found)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = found;
    return CUPTI_SUCCESS;
}

ENTRY(cuptiSubscribe, (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *userdata),
      subscribe(subscriber, callback, userdata))
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
ENTRY(cuptiSubscribe_v2,
      (CUpti_SubscriberHandle * subscriber, CUpti_CallbackFunc callback, void *userdata,
       CUpti_SubscriberParams *pParams),
      subscribe_named(subscriber, callback, userdata, pParams))
#endif
ENTRY(cuptiUnsubscribe, (CUpti_SubscriberHandle subscriber), unsubscribe(subscriber))
ENTRY(cuptiEnableCallback,
      (uint32_t enable_, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain, CUpti_CallbackId cbid),
      enable(enable_, subscriber, domain, cbid))
ENTRY(cuptiEnableDomain, (uint32_t enable_, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain),
      enable_domain(enable_, subscriber, domain))
ENTRY(cuptiGetCallbackName, (CUpti_CallbackDomain domain, uint32_t cbid, const char **name),
      get_name(domain, cbid, name))
