/*
 * How processes that were started together talk. libgpuwitness-mpi.so implements it with MPI and is loaded only when
 * it is asked for, so that gpuwitness itself needs no MPI.
 */
#ifndef GW_CLI_TRANSPORT_H
#define GW_CLI_TRANSPORT_H

#include <stddef.h>

#define GW_TRANSPORT_SYMBOL "gw_transport"

/* Functions return 0 or -EIO; messages between two processes arrive in order. */
struct gw_transport {
    int (*begin)(int *ret_rank, int *ret_size);
    int (*send)(int to, const void *data, size_t bytes);
    int (*receive)(int from, void **ret_data, size_t *ret_bytes); /* the caller frees; -ENOMEM too */
    void (*end)(void);
};

#endif
