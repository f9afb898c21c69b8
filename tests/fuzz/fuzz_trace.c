/* The files of a trace with bytes changed: as much of it is read as is whole, and makes a model. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/export/trace.h"
#include "analyzer/model/build.h"
#include "analyzer/session/run_dir.h"
#include "tests/fuzz/small_run.h"
#include "tests/fuzz/use_model.h"

#define FILES_MAX 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The trace of the small run, in a folder of its own for as long as the process lives. */
struct trace {
    char folder[64];
    struct file {
        char *path;
        uint8_t *bytes;
        size_t size;
    } files[FILES_MAX];
    size_t file_count;
};

static struct trace trace;

static void remove_trace(void)
{
    gw_remove_tree(trace.folder);
}

static void read_file(struct file *file)
{
    FILE *in = fopen(file->path, "rb");
    if (!in || fseek(in, 0, SEEK_END) || !(file->bytes = malloc((size_t)ftell(in) + 1))) {
        abort();
    }
    file->size = (size_t)ftell(in);
    rewind(in);
    if (fread(file->bytes, 1, file->size, in) != file->size) {
        abort();
    }
    fclose(in);
}

static void write_file(const struct file *file, const uint8_t *bytes, size_t size)
{
    FILE *out = fopen(file->path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out)) {
        abort();
    }
}

static void make_trace(void)
{
    const struct gw_trace_cut whole = {0, UINT64_MAX};
    struct gw_redactor redactor = {0};
    struct gw_records *records = gw_small_run_records(0);
    uint64_t discarded = 0;
    strcpy(trace.folder, "/tmp/gw-fuzz-trace-XXXXXX");
    if (!mkdtemp(trace.folder) || gw_trace_write(records, &whole, &redactor, trace.folder, &discarded)) {
        abort();
    }
    atexit(remove_trace);
    gw_redactor_release(&redactor);
    gw_records_destroy(records);
    DIR *entries = opendir(trace.folder);
    for (const struct dirent *entry; entries && (entry = readdir(entries)) && trace.file_count < FILES_MAX;) {
        struct file *file = &trace.files[trace.file_count];
        if (entry->d_type == DT_REG) {
            if (asprintf(&file->path, "%s/%s", trace.folder, entry->d_name) < 0) {
                abort();
            }
            read_file(file);
            trace.file_count++;
        }
    }
    closedir(entries);
}

static void use(const struct gw_records *records)
{
    struct gw_run_file *run = NULL;
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    if (gw_run_file_parse("run", gw_small_run_json(0), &run, &error)) {
        abort();
    }
    const struct gw_model_input input = {.run = run, .records = records};
    if (gw_model_build_from_records("run", &input, 1, NULL, &model, &error) == 0) {
        gw_fuzz_use_model(model);
    }
    gw_model_destroy(model);
    gw_run_file_destroy(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_fuzz_input input = {data, size};
    struct gw_records *records = NULL;
    struct gw_error error = {""};
    size_t changed_size = 0;
    if (!trace.file_count) {
        make_trace();
    }
    const struct file *file = &trace.files[gw_fuzz_take(&input, 1) % trace.file_count];
    uint8_t *changed = gw_fuzz_patched(file->bytes, file->size, &input, &changed_size);
    write_file(file, changed, changed_size);
    if (gw_records_read(trace.folder, NULL, &records, &error) == 0) {
        use(records);
    } else if (!error.text[0]) {
        abort(); /* refused without a word */
    }
    gw_records_destroy(records);
    write_file(file, file->bytes, file->size);
    free(changed);
    return 0;
}
