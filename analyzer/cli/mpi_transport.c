/* The transport over MPI. */
#include "analyzer/cli/transport.h"

#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

/* MPI counts in int. */
#define PIECE ((size_t)1 << 30)

static int begin(int *ret_rank, int *ret_size)
{
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return -EIO;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_rank(MPI_COMM_WORLD, ret_rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, ret_size) != MPI_SUCCESS)
        return -EIO;
    return 0;
}

static int send(int to, const void *data, size_t bytes)
{
    uint64_t length = bytes;
    if (MPI_Send(&length, 1, MPI_UINT64_T, to, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
        return -EIO;
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t piece = bytes - at < PIECE ? bytes - at : PIECE;
        if (MPI_Send((const char *)data + at, (int)piece, MPI_BYTE, to, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
            return -EIO;
    }
    return 0;
}

static int receive(int from, void **ret_data, size_t *ret_bytes)
{
    uint64_t length = 0;
    if (MPI_Recv(&length, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return -EIO;
    char *data = malloc(length + 1);
    if (data == NULL)
        return -ENOMEM;
    for (size_t at = 0; at < length; at += PIECE) {
        const size_t piece = length - at < PIECE ? length - at : PIECE;
        if (MPI_Recv(data + at, (int)piece, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            free(data);
            return -EIO;
        }
    }
    *ret_data = data;
    *ret_bytes = length;
    return 0;
}

static void end(void)
{
    MPI_Finalize();
}

extern const struct gw_transport gw_transport;
__attribute__((visibility("default"))) const struct gw_transport gw_transport = {begin, send, receive, end};
