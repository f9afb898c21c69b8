#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/read/clock_shift.h"
#include "analyzer/read/summary.h"
#include "shim/api/codes.h"

#define RUN_SCHEMA "gpuwitness.run/1"
#define RUNS_MAX 65536u

static char *join(const char *directory, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static bool has_run_file(const char *directory)
{
    char *path = join(directory, "run.json");
    struct stat info;
    bool found = path && stat(path, &info) == 0;
    free(path);
    return found;
}

static int is_rank_directory(const struct dirent *entry)
{
    return strncmp(entry->d_name, "rank-", 5) == 0;
}

static int add_path(char ***paths, size_t *count, char *taken)
{
    char **grown = taken && *count < RUNS_MAX ? realloc(*paths, (*count + 2) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(taken);
        return -ENOMEM;
    }
    *paths = grown;
    grown[(*count)++] = taken;
    grown[*count] = NULL;
    return 0;
}

int gw_run_paths(const char *path, char ***ret_paths, struct gw_error *error)
{
    int status = 0;
    char **paths = NULL;
    size_t path_count = 0;
    struct dirent **entries = NULL;
    int entry_count = 0;
    struct stat info;
    if (stat(path, &info) != 0) {
        return gw_error_set(error, -errno, "%s: the run cannot be opened: %s", path, strerror(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
        return gw_error_set(error, -ENOTDIR, "%s: this is not a run directory; give what 'gpuwitness record -o' wrote",
                            path);
    }
    if (has_run_file(path)) {
        status = add_path(&paths, &path_count, strdup(path));
        goto end;
    }
    entry_count = scandir(path, &entries, is_rank_directory, alphasort);
    if (entry_count < 0) {
        status = gw_error_set(error, -errno, "%s: the folder cannot be read: %s", path, strerror(errno));
        goto end;
    }
    for (int i = 0; i < entry_count && !status; i++) {
        char *rank = join(path, entries[i]->d_name);
        if (!rank || has_run_file(rank) || gw_is_summary(rank)) {
            status = add_path(&paths, &path_count, rank);
        } else {
            free(rank);
        }
    }
    if (!status && path_count == 0) {
        status = gw_error_set(
            error, -ENOENT, "%s: there is no run.json here; give a directory that 'gpuwitness record -o' wrote", path);
    }
end:
    if (status == -ENOMEM) {
        gw_error_set(error, status, "%s: no memory to list its runs", path);
    }
    for (int i = 0; i < entry_count; i++) {
        free(entries[i]);
    }
    free(entries);
    if (status) {
        gw_run_paths_free(paths);
    } else {
        *ret_paths = paths;
    }
    return status;
}

void gw_run_paths_free(char **paths)
{
    for (char **path = paths; path && *path; path++) {
        free(*path);
    }
    free(paths);
}

static char *copy_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? strdup(text) : NULL;
}

static char *dump(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
}

static uint64_t number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static char **copy_texts(const json_t *texts)
{
    size_t count = json_array_size(texts);
    char **words = calloc(count + 1, sizeof(*words));
    size_t kept = 0;
    for (size_t i = 0; words && i < count; i++) {
        const char *word = json_string_value(json_array_get(texts, i));
        words[kept] = word ? strdup(word) : NULL;
        kept += words[kept] != NULL;
    }
    return words;
}

/* Says of a job that cannot be, and takes the run for one of no job. */
static int check_job(struct gw_run_file *run, uint64_t rank, uint64_t ranks)
{
    char *line = NULL;
    size_t count = 0;
    if (ranks <= GW_RANKS_MAX && (rank < ranks || ranks == 0)) {
        run->rank = ranks ? (uint32_t)rank : 0;
        run->ranks = (uint32_t)ranks;
        return 0;
    }
    while (run->problems[count]) {
        count++;
    }
    if (asprintf(&line, "run.json is damaged: it says rank %llu of %llu; which ranks are missing cannot be told",
                 (unsigned long long)rank, (unsigned long long)ranks) < 0) {
        return -ENOMEM;
    }
    return add_path(&run->problems, &count, line);
}

static int copy_windows(struct gw_run_file *run, const json_t *windows)
{
    size_t index;
    json_t *window;
    run->windowed = json_is_array(windows);
    run->windows = calloc(json_array_size(windows) + 1, sizeof(*run->windows));
    if (!run->windows) {
        return -ENOMEM;
    }
    json_array_foreach(windows, index, window)
    {
        json_int_t begin_ns = json_integer_value(json_array_get(window, 0));
        json_int_t end_ns = json_integer_value(json_array_get(window, 1));
        run->windows[run->window_count++] =
            (struct gw_run_window){.begin_ns = (uint64_t)begin_ns,
                                   .end_ns = end_ns > 0 ? (uint64_t)end_ns : UINT64_MAX,
                                   .steps_ns = (uint64_t)json_integer_value(json_array_get(window, 2))};
    }
    return 0;
}

static void copy_compiler(struct gw_run_compiler *to, const json_t *from)
{
    const char *name = json_string_value(json_object_get(from, "name"));
    const json_t *input = json_object_get(from, "input");
    const char *hash = json_string_value(json_object_get(input, "hash"));
    size_t index;
    json_t *ancestor;
    snprintf(to->name, sizeof(to->name), "%s", name ? name : "");
    for (char *c = to->name; *c; c++) {
        *c = isalnum((unsigned char)*c) || strchr("+-._", *c) ? *c : '?'; /* the file may be a stranger's */
    }
    to->pid = (uint32_t)number(from, "pid");
    to->begin_ns = number(from, "begin_ns");
    to->end_ns = number(from, "end_ns");
    to->end_ns = to->end_ns ? to->end_ns : UINT64_MAX;
    to->end_ns = to->end_ns < to->begin_ns ? to->begin_ns : to->end_ns;
    to->input_bytes = number(input, "bytes");
    to->input_hash = hash ? strtoull(hash, NULL, 16) : 0;
    json_array_foreach(json_object_get(from, "ancestors"), index, ancestor)
    {
        if (index == GW_ANCESTORS_MAX) {
            break;
        }
        for (size_t i = 0; i < 2; i++) {
            to->ancestors[index][i] = (uint32_t)json_integer_value(json_array_get(ancestor, i));
        }
        to->ancestor_count++;
    }
}

static int copy_compilers(struct gw_run_file *run, const json_t *compilers)
{
    const json_t *list = json_object_get(compilers, "list");
    size_t index;
    json_t *compiler;
    run->watched_compilers = json_is_array(list);
    run->compilers_left_out = number(compilers, "left_out");
    run->compilers = calloc(json_array_size(list) + 1, sizeof(*run->compilers));
    if (!run->compilers) {
        return -ENOMEM;
    }
    json_array_foreach(list, index, compiler)
    {
        copy_compiler(&run->compilers[run->compiler_count++], compiler);
    }
    return 0;
}

static int fill(struct gw_run_file *run, const json_t *root)
{
    const json_t *start = json_object_get(root, "start");
    const json_t *end = json_object_get(root, "end");
    run->command = copy_texts(json_object_get(root, "command"));
    run->problems = copy_texts(json_object_get(root, "problems"));
    run->not_seen = copy_texts(json_object_get(root, "not_seen"));
    run->host = copy_text(root, "host");
    run->boot_id = copy_text(root, "boot_id");
    run->device = copy_text(root, "device");
    run->gpu_timing = copy_text(root, "gpu_timing");
    run->step_mark = copy_text(root, "step_mark");
    run->versions_json = dump(root, "versions");
    run->environment_json = dump(root, "environment");
    run->complete = json_is_true(json_object_get(root, "complete"));
    run->exit_status = (int)json_integer_value(json_object_get(json_object_get(root, "exit"), "status"));
    run->exit_signal = (int)json_integer_value(json_object_get(json_object_get(root, "exit"), "signal"));
    const json_t *job = json_object_get(root, "job");
    run->job = copy_text(job, "id");
    const json_t *excerpt = json_object_get(root, "excerpt");
    run->excerpt_steps = number(excerpt, "steps");
    run->excerpt_of = number(excerpt, "of");
    run->excerpt_bytes = number(excerpt, "rank_bytes");
    const char *how = json_string_value(json_object_get(json_object_get(root, "exit"), "how"));
    run->still_running = how && strcmp(how, "running") == 0;
    run->begin_monotonic_ns = number(start, "monotonic_ns");
    run->end_monotonic_ns = number(end, "monotonic_ns");
    run->realtime_offset_ns = (int64_t)(number(start, "realtime_ns") - number(start, "monotonic_ns"));
    run->timed_ns = number(json_object_get(root, "timing_window"), "on_ns");
    run->timing_period_ns = number(json_object_get(root, "timing_window"), "period_ns");
    run->ring_ns = number(json_object_get(root, "flight_recorder"), "asked_ns");
    const json_t *slow_step = json_object_get(root, "slow_step");
    run->slow_step_ns = number(slow_step, "length_ns");
    run->slow_step_median_ns = number(slow_step, "median_ns");
    run->slow_step_end_ns = number(slow_step, "end_ns");
    run->discarded_events = number(root, "events_discarded");
    run->trace_bytes = number(root, "trace_bytes");
    const char *trace = json_string_value(json_object_get(root, "trace"));
    run->trace_path = join(run->path, trace ? trace : "trace");
    int status = run->command && run->problems && run->not_seen && run->trace_path
                     ? copy_windows(run, json_object_get(root, "windows"))
                     : -ENOMEM;
    status = status ? status : check_job(run, number(job, "rank"), number(job, "size"));
    status = status ? status : copy_compilers(run, json_object_get(root, "compilers"));
    const json_t *test = json_object_get(root, "clock_offset");
    if (!status && test) {
        run->test_shift = (struct gw_clock_shift){.offset_ns = (int64_t)json_integer_value(json_object_get(test, "ns")),
                                                  .ppm = json_number_value(json_object_get(test, "ppm")),
                                                  .about_ns = run->begin_monotonic_ns};
        gw_run_file_shift(run, &run->test_shift);
    }
    return status;
}

/* Opens a regular file for reading, NULL with errno set: opening a FIFO would wait for whoever writes into it. */
static FILE *open_regular(const char *path)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    FILE *file = regular ? fdopen(fd, "r") : NULL;
    if (!file) {
        const int reason = regular ? errno : S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
        close(fd);
        errno = reason;
    }
    return file;
}

/* Lines "id name"; ids are rows of the table the shim was built from. */
static int read_functions(struct gw_run_file *run, struct gw_error *error)
{
    int status = 0;
    char line[1024]; /* names are shorter */
    char *path = join(run->path, "functions.txt");
    FILE *file = path ? open_regular(path) : NULL;
    if (!file) {
        status = path && errno == ENOENT
                     ? 0
                     : gw_error_set(error, path ? -errno : -ENOMEM, "%s/functions.txt cannot be read: %s", run->path,
                                    strerror(errno));
        goto end;
    }
    run->functions = calloc(UINT16_MAX + 1u, sizeof(*run->functions));
    if (!run->functions) {
        status = gw_error_set(error, -ENOMEM, "%s: no memory for the function names", path);
        goto end;
    }
    for (unsigned at_line = 1; fgets(line, sizeof(line), file); at_line++) {
        char *name = NULL;
        unsigned long id = strtoul(line, &name, 10);
        if (name == line || *name != ' ' || id > UINT16_MAX || run->functions[id]) {
            status = gw_error_set(error, -EBADMSG, "%s: line %u is not \"id name\"; copy the run again", path, at_line);
            goto end;
        }
        size_t length = strcspn(name, "\n");
        if (!name[length]) {
            status = gw_error_set(error, -EBADMSG, "%s: line %u is cut off; copy the run again", path, at_line);
            goto end;
        }
        name[length] = '\0';
        run->functions[id] = strdup(name + 1);
        if (!run->functions[id]) {
            status = gw_error_set(error, -ENOMEM, "%s: no memory for the function names", path);
            goto end;
        }
        run->function_count = id + 1 > run->function_count ? id + 1 : run->function_count;
    }
end:
    if (file) {
        fclose(file);
    }
    free(path);
    return status;
}

int gw_run_file_parse(const char *path, const char *text, struct gw_run_file **ret_run, struct gw_error *error)
{
    int status = 0;
    json_error_t problem;
    json_t *root = NULL;
    struct gw_run_file *run = calloc(1, sizeof(*run));
    if (!run || !(run->path = strdup(path)) || !(run->text = strdup(text))) {
        status = gw_error_set(error, -ENOMEM, "%s: no memory to read run.json", path);
        goto end;
    }
    root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (!root) {
        status = gw_error_set(error, -EBADMSG, "%s/run.json, line %d: not JSON: %s", path, problem.line, problem.text);
        goto end;
    }
    const char *schema = json_string_value(json_object_get(root, "schema"));
    if (!schema) {
        status =
            gw_error_set(error, -EBADMSG, "%s/run.json has no field \"schema\": this is not a run of gpuwitness", path);
        goto end;
    }
    if (strcmp(schema, RUN_SCHEMA) != 0) {
        status = gw_error_set(
            error, -EPROTO,
            "%s/run.json is of schema \"%s\", this gpuwitness reads \"%s\"; use the version that recorded it", path,
            schema, RUN_SCHEMA);
        goto end;
    }
    /* Recordings from before there was this field are told by the fields of their events. */
    const json_t *format = json_object_get(root, "event_format");
    if (format && json_integer_value(format) != GW_EVENT_FORMAT) {
        const char *recorder = json_string_value(json_object_get(json_object_get(root, "versions"), "gpuwitness"));
        status =
            gw_error_set(error, -EPROTO,
                         "%s was recorded by gpuwitness %s with events of format %lld, this gpuwitness reads format "
                         "%d; use the version that recorded it",
                         path, recorder ? recorder : "of an unknown version", (long long)json_integer_value(format),
                         GW_EVENT_FORMAT);
        goto end;
    }
    status = fill(run, root);
    if (status) {
        gw_error_set(error, status, "%s: no memory to read run.json", path);
    }
end:
    json_decref(root);
    if (status) {
        gw_run_file_destroy(run);
    } else {
        *ret_run = run;
    }
    return status;
}

/* The whole file as text; the caller frees. NULL with errno set. */
static char *read_text(const char *path)
{
    char *text = NULL;
    size_t capacity = 0;
    FILE *file = open_regular(path);
    if (!file) {
        return NULL;
    }
    errno = 0;
    /* JSON holds no NUL, so that is all of it. */
    if (getdelim(&text, &capacity, '\0', file) < 0) {
        int reason = errno;
        free(text);
        text = reason ? NULL : strdup("");
        errno = reason ? reason : ENOMEM;
    }
    fclose(file);
    return text;
}

int gw_run_file_read(const char *path, struct gw_run_file **ret_run, struct gw_error *error)
{
    int status = 0;
    char *text = NULL;
    struct gw_run_file *run = NULL;
    char *file_path = join(path, "run.json");
    if (!file_path) {
        status = gw_error_set(error, -ENOMEM, "%s: no memory to read run.json", path);
        goto end;
    }
    text = read_text(file_path);
    if (!text) {
        status = gw_error_set(error, errno == ENOMEM ? -ENOMEM : -EACCES, "%s cannot be opened: %s", file_path,
                              strerror(errno));
        goto end;
    }
    status = gw_run_file_parse(path, text, &run, error);
    if (!status) {
        status = read_functions(run, error);
    }
end:
    free(text);
    free(file_path);
    if (status) {
        gw_run_file_destroy(run);
    } else {
        *ret_run = run;
    }
    return status;
}

static void free_functions(struct gw_run_file *run)
{
    if (run->function_users && --*run->function_users) {
        return;
    }
    for (size_t i = 0; run->functions && i < run->function_count; i++) {
        free(run->functions[i]);
    }
    free(run->functions);
    free(run->function_users);
}

int gw_run_file_share_functions(struct gw_run_file *run, struct gw_run_file *other)
{
    bool same = run->functions && other->functions && run->functions != other->functions &&
                run->function_count == other->function_count;
    for (size_t i = 0; i < run->function_count && same; i++) {
        const char *a = run->functions[i], *b = other->functions[i];
        same = a && b ? strcmp(a, b) == 0 : a == b;
    }
    if (!same) {
        return 0;
    }
    if (!other->function_users) {
        other->function_users = malloc(sizeof(*other->function_users));
        if (!other->function_users) {
            return -ENOMEM;
        }
        *other->function_users = 1;
    }
    free_functions(run);
    run->functions = other->functions;
    run->function_users = other->function_users;
    ++*run->function_users;
    return 0;
}

void gw_run_file_destroy(struct gw_run_file *run)
{
    if (!run) {
        return;
    }
    gw_run_paths_free(run->command);
    gw_run_paths_free(run->problems);
    gw_run_paths_free(run->not_seen);
    free_functions(run);
    free(run->windows);
    free(run->compilers);
    free(run->path);
    free(run->text);
    free(run->host);
    free(run->boot_id);
    free(run->device);
    free(run->gpu_timing);
    free(run->step_mark);
    free(run->job);
    free(run->trace_path);
    free(run->versions_json);
    free(run->environment_json);
    free(run);
}
