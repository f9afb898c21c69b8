#include "analyzer/model/recordings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/model/builder.h"
#include "analyzer/read/clock_shift.h"
#include "analyzer/read/summary.h"
#include "analyzer/session/recover.h"

uint64_t gw_rank_bytes(size_t ranks)
{
    const uint64_t share = GW_RANKS_BYTES / (ranks ? ranks : 1);
    return share > GW_RANK_BYTES_LEAST ? share : GW_RANK_BYTES_LEAST;
}

/* Takes both, also on failure. */
static int add(struct gw_recordings *recordings, struct gw_run_file *run, struct gw_records *records)
{
    const size_t count = recordings->inputs_count;
    if (GW_GROW(recordings->inputs, count) ||
        (count && gw_run_file_share_functions(run, (struct gw_run_file *)recordings->inputs[count - 1].run))) {
        gw_run_file_destroy(run);
        gw_records_destroy(records);
        return -ENOMEM;
    }
    recordings->inputs[recordings->inputs_count++] = (struct gw_model_input){.run = run, .records = records};
    return 0;
}

int gw_recordings_add_problem(struct gw_recordings *recordings, const char *line)
{
    return gw_add_problem(&recordings->problems, line);
}

/* A run that its recorder could not finish is first made readable; that may complete its run.json. */
static int read_run_file(const char *path, struct gw_run_file **ret_run, struct gw_error *error)
{
    struct gw_run_file *run = NULL;
    int status = gw_run_file_read(path, &run, error);
    if (status || run->complete) {
        goto end;
    }
    status = gw_run_recover(path);
    if (status == -EBUSY) {
        gw_error_set(error, status, "%s: the recording is still going on; wait for it to end", path);
    } else if (status == -ENODATA) {
        gw_error_set(error, status, "%s: the recording was broken off and nothing of its trace is left", path);
    } else if (status) {
        gw_error_set(error, status, "%s: what its killed recorder left cannot be recovered: %s", path,
                     strerror(-status));
    } else {
        gw_run_file_destroy(run);
        run = NULL;
        status = gw_run_file_read(path, &run, error);
    }
end:
    if (status) {
        gw_run_file_destroy(run);
    } else {
        *ret_run = run;
    }
    return status;
}

/* Nothing is left of the trace, and nothing tells that of it but how long it was. */
static bool is_emptied(const struct gw_run_file *run, const struct gw_records *records)
{
    size_t losses = 0;
    for (size_t s = 0; s < records->stream_count; s++) {
        losses += records->streams[s].loss_count;
    }
    return !records->packet_count && !losses && records->file_bytes < run->trace_bytes;
}

static int read_directory(struct gw_recordings *recordings, const char *path, const struct gw_read_progress *progress,
                          struct gw_error *error)
{
    struct gw_run_file *run = NULL;
    struct gw_records *records = NULL;
    int status = read_run_file(path, &run, error);
    if (!status) {
        status = gw_records_read(run->trace_path, progress, &records, error);
    }
    if (!status && (run->test_shift.offset_ns || run->test_shift.ppm != 0)) {
        status = gw_records_shift(records, &run->test_shift);
        if (status) {
            gw_error_set(error, status, "%s: no memory to read the run", path);
        }
    }
    if (!status && records->trace_count == 0 && run->trace_bytes) {
        status = gw_error_set(error, -ENODATA,
                              "%s: the trace of the run is missing; copy the whole directory or record "
                              "again",
                              run->trace_path);
    } else if (!status && is_emptied(run, records)) {
        status = gw_error_set(
            error, -ENODATA,
            "%s: the trace of the run is empty, of %llu bytes when it was recorded %llu are left; copy "
            "the whole directory or record again",
            run->trace_path, (unsigned long long)run->trace_bytes, (unsigned long long)records->file_bytes);
    }
    if (status) {
        gw_run_file_destroy(run);
        gw_records_destroy(records);
        return status;
    }
    status = add(recordings, run, records);
    return status ? gw_error_set(error, status, "%s: no memory to read the run", path) : 0;
}

int gw_recordings_decode(struct gw_recordings *recordings, const char *name, const void *data, size_t bytes,
                         struct gw_error *error)
{
    int status = 0;
    for (size_t at = 0, used = 0; at < bytes && !status; at += used) {
        struct gw_run_file *run = NULL;
        struct gw_records *records = NULL;
        status = gw_summary_decode(name, (const char *)data + at, bytes - at, &used, &run, &records, error);
        if (!status && add(recordings, run, records)) {
            status = gw_error_set(error, -ENOMEM, "%s: no memory to read the summary", name);
        }
    }
    return status;
}

static int read_summary(struct gw_recordings *recordings, const char *path, struct gw_error *error)
{
    int status = 0;
    struct stat info = {0};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    void *data = file >= 0 && fstat(file, &info) == 0 && info.st_size > 0
                     ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0)
                     : MAP_FAILED;
    if (data == MAP_FAILED) {
        status = gw_error_set(error, -EIO, "%s: the summary cannot be read: %s", path, strerror(errno));
    } else {
        status = gw_recordings_decode(recordings, path, data, (size_t)info.st_size, error);
        munmap(data, (size_t)info.st_size);
    }
    if (file >= 0) {
        close(file);
    }
    return status;
}

static int read_part(struct gw_recordings *recordings, const char *path, const struct gw_read_progress *progress,
                     struct gw_error *error)
{
    return gw_is_summary(path) ? read_summary(recordings, path, error)
                               : read_directory(recordings, path, progress, error);
}

int gw_recordings_read_part(struct gw_recordings *recordings, const char *path, const struct gw_read_progress *progress,
                            struct gw_error *error)
{
    struct gw_error reason = {""};
    const char *slash = strrchr(path, '/'), *text = reason.text;
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    const int status = read_part(recordings, path, progress, &reason);
    if (status == -EBUSY || status == -ENOMEM) {
        return gw_error_set(error, status, "%s", reason.text);
    }
    if (!status) {
        return 0;
    }
    /* Where the reader finds the run does not belong into the report. */
    text += strncmp(text, path, folder) == 0 ? folder : 0;
    return gw_recordings_add_problem(recordings, text) ? gw_error_set(error, -ENOMEM, "%s: no memory to read it", path)
                                                       : 0;
}

int gw_recordings_read(struct gw_recordings *recordings, const char *path, const struct gw_read_progress *progress,
                       struct gw_error *error)
{
    char **paths = NULL;
    size_t count = 0;
    const size_t before = recordings->inputs_count;
    if (gw_is_summary(path)) {
        return read_summary(recordings, path, error);
    }
    int status = gw_run_paths(path, &paths, error);
    if (status) {
        return status;
    }
    while (paths[count]) {
        count++;
    }
    recordings->listed += count;
    for (size_t i = 0; i < count && !status; i++) {
        const bool is_last_hope = i + 1 == count && recordings->inputs_count == before;
        status = is_last_hope ? read_part(recordings, paths[i], progress, error)
                              : gw_recordings_read_part(recordings, paths[i], progress, error);
    }
    gw_run_paths_free(paths);
    return status;
}

static int by_rank_and_name(const void *left, const void *right)
{
    const struct gw_model_input *a = left, *b = right;
    if (a->run->rank != b->run->rank) {
        return a->run->rank < b->run->rank ? -1 : 1;
    }
    const char *a_slash = strrchr(a->run->path, '/'), *b_slash = strrchr(b->run->path, '/');
    const int order = strcmp(a_slash ? a_slash + 1 : a->run->path, b_slash ? b_slash + 1 : b->run->path);
    return order ? order
                 : (a->run->begin_monotonic_ns > b->run->begin_monotonic_ns) -
                       (a->run->begin_monotonic_ns < b->run->begin_monotonic_ns);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_recording(const struct gw_run_file *a, const struct gw_run_file *b)
{
    return a->begin_monotonic_ns && a->begin_monotonic_ns == b->begin_monotonic_ns &&
           a->end_monotonic_ns == b->end_monotonic_ns && a->rank == b->rank && same_text(a->host, b->host) &&
           same_text(a->boot_id, b->boot_id);
}

/* A recording that was given twice, as two summaries of it, would count twice. The inputs are in order of rank. */
static int drop_repeated(struct gw_recordings *recordings)
{
    struct gw_model_input *inputs = recordings->inputs;
    size_t kept = 0;
    int status = 0;
    for (size_t i = 0; i < recordings->inputs_count; i++) {
        const struct gw_run_file *run = inputs[i].run;
        size_t other = kept;
        while (other && inputs[other - 1].run->rank == run->rank && !same_recording(inputs[other - 1].run, run)) {
            other--;
        }
        if (!other || inputs[other - 1].run->rank != run->rank) {
            inputs[kept++] = inputs[i];
            continue;
        }
        char *line = NULL;
        const char *slash = strrchr(run->path, '/');
        if (asprintf(&line, "%s was given more than once and is taken once", slash ? slash + 1 : run->path) < 0) {
            line = NULL;
        }
        status = status || !line || gw_recordings_add_problem(recordings, line) ? -ENOMEM : 0;
        free(line);
        gw_run_file_destroy((struct gw_run_file *)run);
        gw_records_destroy((struct gw_records *)inputs[i].records);
    }
    recordings->inputs_count = kept;
    return status;
}

int gw_recordings_arrange(struct gw_recordings *recordings, uint64_t rank_bytes, struct gw_error *error)
{
    if (recordings->inputs_count) {
        qsort(recordings->inputs, recordings->inputs_count, sizeof(*recordings->inputs), by_rank_and_name);
    }
    int status = drop_repeated(recordings);
    if (status) {
        return gw_error_set(error, status, "no memory to read the run");
    }
    const size_t count = recordings->inputs_count;
    size_t problem_count = 0, ranks = recordings->listed > count ? recordings->listed : count;
    while (recordings->problems && recordings->problems[problem_count]) {
        problem_count++;
    }
    if (problem_count) {
        qsort(recordings->problems, problem_count, sizeof(*recordings->problems), by_text);
    }
    for (size_t i = 0; i < count; i++) {
        ranks = recordings->inputs[i].run->ranks > ranks ? recordings->inputs[i].run->ranks : ranks;
    }
    for (size_t i = 0; i < count && !status && (ranks > 1 || rank_bytes); i++) {
        struct gw_model_input *input = &recordings->inputs[i];
        struct gw_run_file *run = (struct gw_run_file *)input->run;
        struct gw_records *records = (struct gw_records *)input->records;
        status = gw_recording_cut(&run, &records, rank_bytes ? rank_bytes : gw_rank_bytes(ranks), error);
        *input = (struct gw_model_input){.run = run, .records = records};
        if (!status && ranks > GW_RANKS_APART && gw_recording_coalesce(records)) {
            status = gw_error_set(error, -ENOMEM, "%s: no memory to read the run", run->path);
        }
    }
    return status;
}

void gw_recordings_release(struct gw_recordings *recordings)
{
    for (size_t i = 0; i < recordings->inputs_count; i++) {
        gw_run_file_destroy((struct gw_run_file *)recordings->inputs[i].run);
        gw_records_destroy((struct gw_records *)recordings->inputs[i].records);
    }
    free(recordings->inputs);
    gw_run_paths_free(recordings->problems);
    *recordings = (struct gw_recordings){0};
}
