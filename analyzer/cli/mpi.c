#include "analyzer/cli/mpi.h"

#include "analyzer/cli/cli.h"
#include "analyzer/cli/transport.h"
#include "analyzer/model/recordings.h"
#include "analyzer/read/summary.h"
#include "analyzer/session/paths.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gw_mpi {
    const char *command;
    const struct gw_transport *transport;
    int rank, size;
};

/* Bytes that grow. */
struct bytes {
    char *data;
    size_t length, capacity;
};

static int append(struct bytes *bytes, const void *data, size_t length)
{
    if (length == 0)
        return 0;
    if (bytes->length + length > bytes->capacity) {
        size_t capacity = 2 * (bytes->length + length);
        char *grown = realloc(bytes->data, capacity);
        if (grown == NULL)
            return -ENOMEM;
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    return 0;
}

/* ---- the tree: the parent of a process has its number without the lowest bit ---- */

static int lowest_bit(const struct gw_mpi *mpi)
{
    int bit = 1;
    while (bit < mpi->size && !(mpi->rank & bit))
        bit <<= 1;
    return bit;
}

/* Appends what the processes below have, and passes all of it on. */
static int gather(const struct gw_mpi *mpi, struct bytes *bytes)
{
    for (int bit = 1; bit < lowest_bit(mpi); bit <<= 1) {
        void *data = NULL;
        size_t length = 0;
        if (mpi->rank + bit >= mpi->size)
            continue;
        int status = mpi->transport->receive(mpi->rank + bit, &data, &length);
        if (status == 0)
            status = append(bytes, data, length);
        free(data);
        if (status != 0)
            return status;
    }
    return mpi->rank == 0 ? 0
                          : mpi->transport->send(mpi->rank - lowest_bit(mpi), bytes->data != NULL ? bytes->data : "",
                                                 bytes->length);
}

/* What the first process has goes to all. */
static int broadcast(const struct gw_mpi *mpi, struct bytes *bytes)
{
    if (mpi->rank != 0) {
        void *data = NULL;
        size_t length = 0;
        int status = mpi->transport->receive(mpi->rank - lowest_bit(mpi), &data, &length);
        if (status != 0)
            return status;
        free(bytes->data);
        *bytes = (struct bytes){data, length, length};
    }
    for (int bit = lowest_bit(mpi) >> 1; bit > 0; bit >>= 1) {
        if (mpi->rank + bit < mpi->size) {
            int status = mpi->transport->send(mpi->rank + bit, bytes->data, bytes->length);
            if (status != 0)
                return status;
        }
    }
    return 0;
}

/* ---- who reads what ---- */

/* A recording that a process finds; the name is that of its directory, empty for RUN itself. */
struct place {
    int rank;
    char *name;
};

struct places {
    struct place *list;
    size_t count;
};

static void release_places(struct places *places)
{
    for (size_t i = 0; i < places->count; i++)
        free(places->list[i].name);
    free(places->list);
    *places = (struct places){NULL, 0};
}

/* Places travel as the number and the name of each, both ended by NUL. */
static int write_place(struct bytes *bytes, int rank, const char *name)
{
    char number[16];
    int length = snprintf(number, sizeof(number), "%d", rank);
    int status = append(bytes, number, (size_t)length + 1);
    return status != 0 ? status : append(bytes, name, strlen(name) + 1);
}

static int read_places(const struct bytes *bytes, struct places *ret_places)
{
    struct places places = {NULL, 0};
    for (size_t at = 0; at < bytes->length;) {
        struct place place = {.rank = atoi(bytes->data + at)};
        at += strlen(bytes->data + at) + 1;
        struct place *grown = realloc(places.list, (places.count + 1) * sizeof(*grown));
        if (grown != NULL)
            places.list = grown;
        place.name = grown != NULL ? strdup(bytes->data + at) : NULL;
        if (place.name == NULL) {
            release_places(&places);
            return -ENOMEM;
        }
        places.list[places.count++] = place;
        at += strlen(bytes->data + at) + 1;
    }
    *ret_places = places;
    return 0;
}

static int list_own(const struct gw_mpi *mpi, const char *run, struct bytes *bytes)
{
    char **paths = NULL;
    int status = 0;
    if (gw_is_summary(run))
        return write_place(bytes, mpi->rank, "");
    /* A host may have none of the recordings. */
    if (gw_run_paths(run, &paths, NULL) != 0)
        return 0;
    for (char **path = paths; *path != NULL && status == 0; path++) {
        const char *name = *path + strlen(run);
        status = write_place(bytes, mpi->rank, strcmp(*path, run) == 0 ? "" : name + strspn(name, "/"));
    }
    gw_run_paths_free(paths);
    return status;
}

static int by_name(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Replaces what everybody finds by one reader for each recording, in turn among those that find it. */
static int assign(const struct places *found, struct bytes *bytes)
{
    int status = 0;
    size_t number = 0;
    bytes->length = 0;
    if (found->count > 0)
        qsort(found->list, found->count, sizeof(*found->list), by_name);
    for (size_t first = 0, next; first < found->count && status == 0; first = next, number++) {
        for (next = first; next < found->count && strcmp(found->list[next].name, found->list[first].name) == 0;)
            next++;
        status = write_place(bytes, found->list[first + number % (next - first)].rank, found->list[first].name);
    }
    return status;
}

static int share_out(const struct gw_mpi *mpi, const char *run, struct places *ret_places)
{
    struct bytes bytes = {NULL, 0, 0};
    struct places found = {NULL, 0};
    int status = list_own(mpi, run, &bytes);
    if (status == 0)
        status = gather(mpi, &bytes);
    if (status == 0 && mpi->rank == 0) {
        status = read_places(&bytes, &found);
        if (status == 0)
            status = assign(&found, &bytes);
        release_places(&found);
    }
    if (status == 0)
        status = broadcast(mpi, &bytes);
    if (status == 0)
        status = read_places(&bytes, ret_places);
    free(bytes.data);
    return status;
}

/* ---- what is read ---- */

/* Parts of what goes up the tree, each with its length before it. */
enum part { SUMMARY = 'S', PROBLEM = 'P', FAILURE = 'F' };

static int write_part(struct bytes *bytes, enum part part, const void *data, size_t length)
{
    const char kind = (char)part;
    int status = append(bytes, &kind, 1);
    if (status == 0)
        status = append(bytes, &length, sizeof(length));
    return status != 0 ? status : append(bytes, data, length);
}

static int sum_up(struct gw_recordings *recordings, uint64_t rank_bytes, struct bytes *bytes, struct gw_error *error)
{
    int status = gw_recordings_arrange(recordings, rank_bytes, error);
    for (size_t i = 0; i < recordings->inputs_count && status == 0; i++) {
        void *data = NULL;
        size_t length = 0;
        status = gw_summary_encode(recordings->inputs[i].run, recordings->inputs[i].records, &data, &length);
        if (status == 0)
            status = write_part(bytes, SUMMARY, data, length);
        free(data);
        if (status != 0)
            gw_error_set(error, status, "no memory for a summary");
    }
    for (char **problem = recordings->problems; problem != NULL && *problem != NULL && status == 0; problem++)
        status = write_part(bytes, PROBLEM, *problem, strlen(*problem));
    return status;
}

/* Reads what falls to this process, one recording at a time. */
static int read_own(const struct gw_mpi *mpi, const char *run, const struct places *places,
                    const struct gw_model_options *options, struct bytes *bytes)
{
    int status = 0;
    for (size_t i = 0; i < places->count && status == 0; i++) {
        struct gw_recordings recordings = {.listed = places->count};
        struct gw_error error = {""};
        char *path = NULL;
        const char *name = places->list[i].name;
        if (places->list[i].rank != mpi->rank)
            continue;
        if (asprintf(&path, *name != '\0' ? "%s/%s" : "%s", run, name) < 0)
            return -ENOMEM;
        status = gw_recordings_read_part(&recordings, path, NULL, &error);
        if (status == 0)
            status = sum_up(&recordings, options->rank_bytes, bytes, &error);
        if (status != 0)
            status = write_part(bytes, FAILURE, error.text, strlen(error.text));
        gw_recordings_release(&recordings);
        free(path);
    }
    return status;
}

/* In the first process: takes apart what all have read. */
static int take_parts(const struct bytes *bytes, struct gw_recordings *recordings, struct gw_error *error)
{
    int status = 0;
    for (size_t at = 0, length; at < bytes->length && status == 0; at += length) {
        const char kind = bytes->data[at];
        memcpy(&length, bytes->data + at + 1, sizeof(length));
        at += 1 + sizeof(length);
        char *text = kind == SUMMARY ? NULL : strndup(bytes->data + at, length);
        if (kind == SUMMARY)
            status = gw_recordings_decode(recordings, "a summary", bytes->data + at, length, error);
        else if (kind == PROBLEM && text != NULL)
            status = gw_recordings_add_problem(recordings, text);
        else
            status = gw_error_set(error, -EIO, "%s", text != NULL ? text : "no memory");
        free(text);
    }
    return status;
}

int gw_mpi_load(struct gw_mpi *mpi, const char *run, const struct gw_model_options *options,
                struct gw_model **ret_model)
{
    struct bytes bytes = {NULL, 0, 0};
    struct places places = {NULL, 0};
    struct gw_recordings recordings = {0};
    struct gw_error error = {""};
    int status = share_out(mpi, run, &places);
    recordings.listed = places.count;
    if (status == 0)
        status = read_own(mpi, run, &places, options, &bytes);
    if (status == 0)
        status = gather(mpi, &bytes);
    if (status != 0) {
        gw_complain(mpi->command, "the processes cannot talk to each other: %s", strerror(-status));
        goto end;
    }
    if (mpi->rank != 0) {
        *ret_model = NULL;
        goto end;
    }
    if (places.count == 0)
        status = gw_error_set(&error, -ENOENT, "%s: no process finds a recording here", run);
    if (status == 0)
        status = take_parts(&bytes, &recordings, &error);
    free(bytes.data);
    bytes = (struct bytes){NULL, 0, 0};
    if (status == 0 && recordings.inputs_count == 0)
        status = gw_error_set(&error, -EIO, "%s: %s", run, recordings.problems != NULL ? recordings.problems[0] : "?");
    if (status == 0)
        status = gw_model_build_from_recordings(run, &recordings, options, ret_model, &error);
    if (status != 0)
        gw_complain(mpi->command, "%s", error.text);
end:
    gw_recordings_release(&recordings);
    release_places(&places);
    free(bytes.data);
    return status;
}

int gw_mpi_begin(const char *command, struct gw_mpi **ret_mpi)
{
    struct gw_paths paths;
    struct gw_mpi *mpi = calloc(1, sizeof(*mpi));
    int status = mpi != NULL ? gw_paths_find(&paths) : -ENOMEM;
    if (status == 0 && paths.mpi[0] == '\0') {
        gw_complain(command, "this gpuwitness was built without MPI: use 'reduce' and 'merge', or build it where MPI "
                             "is installed");
        status = -ENOENT;
        goto end;
    }
    /* Open MPI's own plugins look for its symbols in the global scope. It stays loaded: MPI cannot be unloaded. */
    void *library = status == 0 ? dlopen(paths.mpi, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (library == NULL) {
        gw_complain(command, "MPI cannot be loaded: %s", status == 0 ? dlerror() : strerror(-status));
        status = status != 0 ? status : -ENOENT;
        goto end;
    }
    mpi->command = command;
    mpi->transport = dlsym(library, GW_TRANSPORT_SYMBOL);
    status = mpi->transport != NULL ? mpi->transport->begin(&mpi->rank, &mpi->size) : -ENOENT;
    if (status != 0)
        gw_complain(command, "MPI cannot be started");
end:
    if (status != 0)
        free(mpi);
    else
        *ret_mpi = mpi;
    return status;
}

int gw_mpi_end(struct gw_mpi *mpi, int exit_status)
{
    struct bytes bytes = {NULL, 0, 0};
    if (append(&bytes, &exit_status, sizeof(exit_status)) == 0 && broadcast(mpi, &bytes) == 0 &&
        bytes.length == sizeof(exit_status))
        memcpy(&exit_status, bytes.data, sizeof(exit_status));
    free(bytes.data);
    mpi->transport->end();
    free(mpi);
    return exit_status;
}
