#include "analyzer/cli/bundle_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyzer/cli/cli.h"
#include "analyzer/read/read.h"
#include "analyzer/read/scratch.h"
#include "analyzer/read/summary.h"

struct part {
    struct gw_run_file *file;
    struct gw_records *records;
    json_t *run; /* run.json as it is */
};

struct gw_bundle_recording {
    struct part *parts;
    size_t count;
};

void gw_bundle_recording_close(struct gw_bundle_recording *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++) {
        gw_run_file_destroy(self->parts[i].file);
        gw_records_destroy(self->parts[i].records);
        json_decref(self->parts[i].run);
    }
    free(self->parts);
    free(self);
}

static int open_part(const char *path, struct part *part, struct gw_error *error)
{
    char *file = NULL;
    int status = gw_run_file_read(path, &part->file, error);
    status = status ? status : gw_records_read(part->file->trace_path, NULL, &part->records, error);
    if (!status && asprintf(&file, "%s/run.json", path) < 0)
        file = NULL;
    part->run = file ? json_load_file(file, 0, NULL) : NULL;
    free(file);
    return status || part->run ? status : gw_error_set(error, -ENOMEM, "%s: no memory to read it", path);
}

static int refuse_summary(const char *path, struct gw_error *error)
{
    return gw_is_summary(path) ? gw_error_set(error, -ENOTSUP, "%s is a summary, of which no trace can be made", path)
                               : 0;
}

int gw_bundle_recording_open(const char *path, struct gw_bundle_recording **ret_recording, struct gw_error *error)
{
    char **paths = NULL;
    struct gw_bundle_recording *self = calloc(1, sizeof(*self));
    int status = self ? refuse_summary(path, error) : -ENOMEM;
    status = status ? status : gw_run_paths(path, &paths, error);
    size_t count = 0;
    while (!status && paths[count])
        count++;
    if (!status && !(self->parts = calloc(count + 1, sizeof(*self->parts))))
        status = -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        self->count++;
        status = refuse_summary(paths[i], error);
        status = status ? status : open_part(paths[i], &self->parts[i], error);
    }
    gw_run_paths_free(paths);
    if (status == -ENOMEM)
        gw_error_set(error, status, "%s: no memory to read it", path);
    if (status)
        gw_bundle_recording_close(self);
    else
        *ret_recording = self;
    return status;
}

static int size_of(const struct gw_bundle_recording *self, const struct gw_trace_cut *cut, uint64_t *ret_bytes)
{
    uint64_t total = 0, bytes = 0;
    for (size_t i = 0; i < self->count; i++) {
        int status = gw_trace_size(self->parts[i].records, cut, &bytes);
        if (status)
            return status;
        total += bytes;
    }
    *ret_bytes = total;
    return 0;
}

/* The time of the steps first…last of all processes, and of a step more on either side: what was enqueued before the
 * first has to be seen to end, and the last to be followed by another. */
static struct gw_trace_cut cut_of_steps(const struct gw_model *model, uint32_t first, uint32_t last)
{
    struct gw_trace_cut cut = {UINT64_MAX, 0};
    for (size_t i = 0; i < model->steps_count; i++) {
        const struct gw_step *step = &model->steps[i];
        if (step->number + 1 < first || (step->number > last && step->number - 1 > last))
            continue;
        cut.begin_ns = step->begin_ns < cut.begin_ns ? step->begin_ns : cut.begin_ns;
        cut.end_ns = step->end_ns > cut.end_ns ? step->end_ns : cut.end_ns;
    }
    return cut;
}

/* Numbers of the steps between first and last that there are, without warm-up where all are asked for. */
static bool find_steps(const struct gw_model *model, uint32_t *first, uint32_t *last)
{
    uint32_t least = UINT32_MAX, most = 0;
    bool found = false;
    for (size_t i = 0; i < model->steps_count; i++) {
        const struct gw_step *step = &model->steps[i];
        if (step->number < *first || step->number > *last || (*last == UINT32_MAX && step->warmup))
            continue;
        found = true;
        least = step->number < least ? step->number : least;
        most = step->number > most ? step->number : most;
    }
    if (found) {
        *first = least;
        *last = most;
    }
    return found;
}

/* As many steps round the middle as fit. */
static int choose_steps(const struct gw_bundle_recording *self, const struct gw_model *model, uint64_t max_bytes,
                        struct gw_bundle_choice *choice)
{
    const uint32_t first = choice->first_step, all = choice->last_step - first + 1;
    uint64_t bytes = 0;
    uint32_t kept = all;
    choice->cut = cut_of_steps(model, first, choice->last_step);
    int status = size_of(self, &choice->cut, &bytes);
    while (!status && bytes > max_bytes && kept > 1) {
        uint32_t wanted = (uint32_t)((double)kept * (double)max_bytes / (double)bytes);
        kept = wanted < kept ? wanted : kept - 1;
        kept = kept ? kept : 1;
        choice->first_step = first + (all - kept) / 2;
        choice->last_step = choice->first_step + kept - 1;
        choice->cut = cut_of_steps(model, choice->first_step, choice->last_step);
        status = size_of(self, &choice->cut, &bytes);
    }
    choice->too_large = bytes > max_bytes;
    return status;
}

/* Without steps: as much time round the middle as fits. */
static int choose_time(const struct gw_bundle_recording *self, const struct gw_model *model, uint64_t max_bytes,
                       struct gw_bundle_choice *choice)
{
    const uint64_t begin_ns = model->run.begin_ns, all_ns = model->run.end_ns - begin_ns;
    uint64_t bytes = UINT64_MAX, kept_ns = all_ns;
    int status = 0;
    while (!status && bytes > max_bytes && kept_ns > all_ns / 4096) {
        kept_ns /= 2;
        choice->cut.begin_ns = begin_ns + (all_ns - kept_ns) / 2;
        choice->cut.end_ns = choice->cut.begin_ns + kept_ns;
        status = size_of(self, &choice->cut, &bytes);
    }
    choice->too_large = bytes > max_bytes;
    return status;
}

int gw_bundle_choose(const struct gw_bundle_recording *self, const struct gw_model *model, uint32_t first,
                     uint32_t last, uint64_t max_bytes, struct gw_bundle_choice *ret_choice)
{
    struct gw_bundle_choice choice = {.cut = {0, UINT64_MAX}, .first_step = first, .last_step = last};
    const bool asked = last != UINT32_MAX;
    uint64_t bytes = 0;
    choice.has_steps = find_steps(model, &choice.first_step, &choice.last_step);
    if (asked && !choice.has_steps)
        return -ERANGE;
    int status = size_of(self, &choice.cut, &bytes);
    choice.whole = !asked && bytes <= max_bytes;
    if (!status && !choice.whole)
        status = choice.has_steps ? choose_steps(self, model, max_bytes, &choice)
                                  : choose_time(self, model, max_bytes, &choice);
    if (!status)
        *ret_choice = choice;
    return status;
}

static int add_json(struct gw_archive *archive, const char *name, const json_t *json)
{
    char *text = json_dumps(json, JSON_INDENT(2));
    int status = text ? gw_archive_add_bytes(archive, name, text, strlen(text)) : -ENOMEM;
    free(text);
    return status;
}

static int add_functions(struct gw_archive *archive, const char *name, const struct gw_run_file *file)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = file->functions ? open_memstream(&text, &size) : NULL;
    if (!out)
        return file->functions ? -ENOMEM : 0;
    for (size_t i = 0; i < file->function_count; i++) {
        if (file->functions[i])
            fprintf(out, "%zu %s\n", i, file->functions[i]);
    }
    int status = fclose(out) != 0 ? -ENOMEM : gw_archive_add_bytes(archive, name, text, size);
    free(text);
    return status;
}

/* The files of one recorder below `name`; the trace is made in a folder of its own. */
static int add_part(struct gw_archive *archive, const char *name, const struct part *part,
                    const struct gw_trace_cut *cut, struct gw_redactor *redactor, struct gw_error *error)
{
    struct gw_scratch folder = {0};
    char *run_name = NULL, *functions_name = NULL, *trace_name = NULL;
    json_t *run = NULL;
    uint64_t discarded_events = 0;
    int status = gw_scratch_create(&folder);
    if (!status &&
        (asprintf(&run_name, "%s/run.json", name) < 0 || asprintf(&functions_name, "%s/functions.txt", name) < 0 ||
         asprintf(&trace_name, "%s/trace", name) < 0))
        status = -ENOMEM;
    status = status ? status : gw_trace_write(part->records, cut, redactor, folder.path, &discarded_events);
    if (status)
        gw_scratch_failed(status, error);
    status = status ? status : gw_trace_run_json(part->run, cut, redactor, discarded_events, &run);
    status = status ? status : add_json(archive, run_name, run);
    status = status ? status : add_functions(archive, functions_name, part->file);
    status = status ? status : gw_archive_add_tree(archive, trace_name, folder.path);
    gw_scratch_remove(&folder);
    json_decref(run);
    free(run_name);
    free(functions_name);
    free(trace_name);
    return status;
}

int gw_bundle_add_recording(struct gw_archive *archive, const struct gw_bundle_recording *self,
                            const struct gw_trace_cut *cut, struct gw_redactor *redactor, struct gw_error *error)
{
    int status = 0;
    for (size_t i = 0; i < self->count && !status; i++) {
        char name[64] = GW_BUNDLE_RUN;
        if (self->count > 1)
            snprintf(name, sizeof(name), GW_BUNDLE_RUN "/rank-%05zu", i);
        status = add_part(archive, name, &self->parts[i], cut, redactor, error);
    }
    return status;
}
