#include "analyzer/model/import/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/model/builder.h"
#include "analyzer/model/clocks.h"
#include "analyzer/model/import/json_file.h"
#include "analyzer/read/summary.h"

struct folder {
    const char *path;
    char **names; /* of the files, in order */
    size_t names_count;
    struct gw_clock *clocks; /* by file; those of hosts are not told apart */
    uint32_t *of_input;      /* each file has its own */
    uint32_t unmatched;      /* collectives that some ranks have more than others, so that none is matched */
    struct gw_error *error;
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_trace_name(const char *name)
{
    return name[0] != '.' && (ends_with(name, ".json") || ends_with(name, ".json.gz"));
}

/* NULL without memory. The caller frees it. */
static char *path_of(const char *folder, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* What is in a folder beside traces of a profiler makes it something else. */
static bool is_of_a_run(const char *folder, const char *name)
{
    struct stat status;
    char *path = path_of(folder, name);
    bool is_run =
        !path || strcmp(name, "run.json") == 0 || stat(path, &status) || S_ISDIR(status.st_mode) || gw_is_summary(path);
    free(path);
    return is_run;
}

bool gw_is_trace_folder(const char *path)
{
    DIR *folder = opendir(path);
    bool has_traces = false, is_run = false;
    for (const struct dirent *entry; folder && !is_run && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            is_run = is_of_a_run(path, entry->d_name);
            has_traces = has_traces || is_trace_name(entry->d_name);
        }
    }
    if (folder) {
        closedir(folder);
    }
    return has_traces && !is_run;
}

static int say_no_memory(const struct folder *self)
{
    return gw_error_set(self->error, -ENOMEM, "%s: no memory to read its traces", self->path);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static int list_files(struct folder *self)
{
    DIR *folder = opendir(self->path);
    int status =
        folder ? 0 : gw_error_set(self->error, -errno, "%s: cannot be opened: %s", self->path, strerror(errno));
    for (const struct dirent *entry; !status && (entry = readdir(folder));) {
        char *name = is_trace_name(entry->d_name) ? strdup(entry->d_name) : NULL;
        if (is_trace_name(entry->d_name) && (!name || GW_GROW(self->names, self->names_count))) {
            free(name);
            status = say_no_memory(self);
        } else if (name) {
            self->names[self->names_count++] = name;
        }
    }
    if (folder) {
        closedir(folder);
    }
    if (!status) {
        qsort(self->names, self->names_count, sizeof(*self->names), by_name);
    }
    return status;
}

/* A clock of which nothing is known but what its times count from. */
static int start_clock(struct folder *self, size_t number, const struct gw_kineto *kineto, int64_t first_base_ns)
{
    struct gw_clock *clock = &self->clocks[number];
    int64_t base_ns = gw_kineto_base_time_ns(kineto);
    *clock = (struct gw_clock){.host = strdup(self->names[number]),
                               .boot_id = strdup(""),
                               .recordings = 1,
                               .offset_ns = base_ns - first_base_ns,
                               .how = number ? GW_CLOCK_WALL : GW_CLOCK_REFERENCE};
    return clock->host && clock->boot_id ? 0 : say_no_memory(self);
}

/* Which file has the rank already, names_count when none has. ranks: of the files before. */
static size_t find_rank(const int32_t *ranks, size_t count, int32_t rank)
{
    size_t at = 0;
    while (at < count && ranks[at] != rank) {
        at++;
    }
    return at;
}

static int check_rank(const struct folder *self, int32_t *ranks, size_t number, const struct gw_kineto *kineto)
{
    ranks[number] = gw_kineto_rank(kineto);
    size_t same = find_rank(ranks, number, ranks[number]);
    if (self->names_count > 1 && ranks[number] < 0) {
        return gw_error_set(self->error, -EINVAL,
                            "%s: %s does not say which rank it is of (distributedInfo): report on it alone", self->path,
                            self->names[number]);
    }
    if (same < number) {
        return gw_error_set(self->error, -EINVAL, "%s: %s and %s are both of rank %d: keep one trace of each rank",
                            self->path, self->names[same], self->names[number], ranks[number]);
    }
    return 0;
}

/* Reads all files. with_clocks: the clocks are known, and all times are put on the first; else they are started. */
static int read_files(struct folder *self, bool with_clocks, struct gw_model **ret_model)
{
    struct gw_kineto *whole = NULL;
    int32_t *ranks = calloc(self->names_count, sizeof(*ranks));
    int status = ranks ? 0 : say_no_memory(self);
    for (size_t i = 0; i < self->names_count && !status; i++) {
        struct gw_kineto *kineto = NULL;
        char *path = path_of(self->path, self->names[i]);
        status = path ? gw_json_parse(path, 0, &kineto, self->error) : say_no_memory(self);
        status = status ? status : check_rank(self, ranks, i, kineto);
        if (!status && !with_clocks) {
            status = start_clock(self, i, kineto, gw_kineto_base_time_ns(whole ? whole : kineto));
        }
        if (!status && whole) {
            const struct gw_clock *clock = &self->clocks[i];
            struct gw_clock_shift shift = {
                .offset_ns = clock->offset_ns, .ppm = clock->drift_ppm, .about_ns = clock->about_ns};
            status = gw_kineto_add_rank(whole, kineto, (uint32_t)i, with_clocks ? &shift : NULL);
        } else if (!status) {
            whole = kineto;
            kineto = NULL;
        }
        gw_kineto_destroy(kineto);
        free(path);
    }
    status = status ? status : gw_kineto_build(whole, self->path, ret_model);
    gw_kineto_destroy(whole);
    free(ranks);
    return status;
}

/* Collectives are matched by their number on each rank, so all ranks of a communicator must have the same of them: the
 * most that one has and another lacks. */
static int count_unmatched(const struct gw_model *model, uint32_t *ret_most)
{
    uint32_t *counts = calloc(model->communicators_count + 1, sizeof(*counts));
    uint32_t most = 0;
    if (!counts) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < model->collectives_count; i++) {
        counts[model->collectives[i].communicator] += !gw_comm_is_message(&model->collectives[i]);
    }
    for (size_t a = 0; a < model->communicators_count; a++) {
        for (size_t b = 0; b < model->communicators_count; b++) {
            if (model->communicators[a].id == model->communicators[b].id && counts[a] > counts[b] + most) {
                most = counts[a] - counts[b];
            }
        }
    }
    free(counts);
    *ret_most = most;
    return 0;
}

/* The clocks of several ranks are fitted on a first model, in which all times are as the files have them. */
static int fit_clocks(struct folder *self, const struct gw_model *model)
{
    int status = count_unmatched(model, &self->unmatched);
    for (size_t i = 0; i < self->names_count; i++) {
        self->clocks[i].about_ns = model->run.begin_ns;
        self->of_input[i] = (uint32_t)i;
    }
    if (!status && !self->unmatched) {
        status = gw_clocks_fit(model, self->of_input, self->clocks, self->names_count);
    }
    return status ? say_no_memory(self) : 0;
}

static int say_unmatched(const struct folder *self, struct gw_model *model)
{
    char line[200];
    snprintf(line, sizeof(line),
             "a rank's trace has %u collectives of a communicator fewer than another's: which belong together, and so "
             "who waited for whom, cannot be told",
             self->unmatched);
    return self->unmatched ? gw_add_problem(&model->run.problems, line) : 0;
}

static int read_ranks(struct folder *self, struct gw_model **ret_model)
{
    struct gw_model *model = NULL;
    self->clocks = calloc(self->names_count + 1, sizeof(*self->clocks));
    self->of_input = calloc(self->names_count + 1, sizeof(*self->of_input));
    int status = self->clocks && self->of_input ? 0 : say_no_memory(self);
    status = status ? status : read_files(self, false, &model);
    if (!status && self->names_count > 1) {
        status = fit_clocks(self, model);
        gw_model_destroy(model);
        model = NULL;
        status = status ? status : read_files(self, true, &model);
        if (!status && (gw_note_missing_ranks(model) || say_unmatched(self, model) ||
                        gw_clocks_check(model, self->of_input, self->clocks, self->names_count))) {
            status = say_no_memory(self);
        }
    }
    if (status) {
        gw_model_destroy(model);
        return status;
    }
    if (self->names_count > 1) {
        model->clocks = self->clocks;
        model->clocks_count = self->names_count;
        self->clocks = NULL;
    }
    *ret_model = model;
    return 0;
}

int gw_folder_read(const char *path, struct gw_model **ret_model, struct gw_error *error)
{
    struct folder self = {.path = path, .error = error};
    int status = list_files(&self);
    status = status ? status : read_ranks(&self, ret_model);
    if (self.clocks) {
        gw_clocks_free(self.clocks, self.names_count);
    }
    for (size_t i = 0; i < self.names_count; i++) {
        free(self.names[i]);
    }
    free(self.names);
    free(self.of_input);
    return status;
}
