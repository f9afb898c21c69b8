#include "shim/timing/cupti_buffers.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // held for a few instructions
static struct gw_cupti_buffer *unused, *completed, **completed_tail = &completed;
static unsigned made, out;

void gw_cupti_buffer_request(uint8_t **buffer, size_t *size, size_t *records_max)
{
    struct gw_cupti_buffer *one;
    bool may_make = false;

    pthread_mutex_lock(&lock);
    one = unused;
    if (one) {
        unused = one->next;
    } else if (made < GW_CUPTI_BUFFERS_MAX) {
        may_make = true;
        made++;
    }
    pthread_mutex_unlock(&lock);
    if (may_make) { // not from the program's allocator: this can be one of its threads
        one = mmap(NULL, sizeof(*one) + GW_CUPTI_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);
        if (one == MAP_FAILED)
            one = NULL;
    }
    if (one)
        __atomic_fetch_add(&out, 1, __ATOMIC_RELAXED);
    *buffer = one ? one->bytes : NULL;
    *size = one ? GW_CUPTI_BUFFER_BYTES : 0;
    *records_max = 0;
}

void gw_cupti_buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct gw_cupti_buffer *one = (struct gw_cupti_buffer *)(buffer - offsetof(struct gw_cupti_buffer, bytes));

    (void)context, (void)stream, (void)size;
    if (!buffer)
        return;
    __atomic_fetch_sub(&out, 1, __ATOMIC_RELAXED);
    one->next = NULL;
    one->valid = valid;
    pthread_mutex_lock(&lock);
    *completed_tail = one;
    completed_tail = &one->next;
    pthread_mutex_unlock(&lock);
}

unsigned gw_cupti_buffers_out(void)
{
    return __atomic_load_n(&out, __ATOMIC_RELAXED);
}

struct gw_cupti_buffer *gw_cupti_buffers_take(void)
{
    pthread_mutex_lock(&lock);
    struct gw_cupti_buffer *taken = completed;
    completed = NULL;
    completed_tail = &completed;
    pthread_mutex_unlock(&lock);
    return taken;
}

void gw_cupti_buffer_free(struct gw_cupti_buffer *buffer)
{
    pthread_mutex_lock(&lock);
    buffer->next = unused;
    unused = buffer;
    pthread_mutex_unlock(&lock);
}
