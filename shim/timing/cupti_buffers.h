// The buffers that CUPTI fills, recycled. Request and completion may come on any thread.
#ifndef GW_SHIM_TIMING_CUPTI_BUFFERS_H
#define GW_SHIM_TIMING_CUPTI_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#define GW_CUPTI_BUFFER_BYTES (512u * 1024u)
#define GW_CUPTI_BUFFERS_MAX 128u // beyond, CUPTI gets none and drops records, which it counts

struct gw_cupti_buffer {
    struct gw_cupti_buffer *next;
    size_t valid;
    uint8_t bytes[];
};

// CUPTI's two callbacks.
void gw_cupti_buffer_request(uint8_t **buffer, size_t *size, size_t *records_max);
void gw_cupti_buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

// All completed buffers so far, oldest first, linked by `next`; each is given back with gw_cupti_buffer_free.
struct gw_cupti_buffer *gw_cupti_buffers_take(void);
void gw_cupti_buffer_free(struct gw_cupti_buffer *buffer);

// How many CUPTI asked for and has not completed.
unsigned gw_cupti_buffers_out(void);

#endif
