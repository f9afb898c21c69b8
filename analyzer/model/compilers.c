/*
 * Compilers that the program executed: which traced process, and which of its threads, each belongs to.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/builder.h"

/* The process of a recording, GW_NONE where it made no CUDA call. */
static uint32_t process_of(const struct gw_model *model, uint32_t recording, uint32_t pid)
{
    for (uint32_t p = 0; p < model->processes_count; p++) {
        if (model->processes[p].recording == recording && model->processes[p].pid == pid) {
            return p;
        }
    }
    return GW_NONE;
}

static uint32_t thread_of(const struct gw_model *model, uint32_t process, uint32_t tid)
{
    for (uint32_t t = 0; t < model->threads_count; t++) {
        if (model->threads[t].process == process && model->threads[t].tid == tid) {
            return t;
        }
    }
    return GW_NONE;
}

static int by_begin(const void *left, const void *right)
{
    const struct gw_compiler *a = left, *b = right;
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static void add(struct gw_model *model, uint32_t recording, const struct gw_run_compiler *from)
{
    struct gw_compiler *compiler = &model->compilers[model->compilers_count++];
    *compiler = (struct gw_compiler){.begin_ns = from->begin_ns,
                                     .end_ns = from->end_ns == UINT64_MAX ? model->run.end_ns : from->end_ns,
                                     .input_bytes = from->input_bytes,
                                     .input_hash = from->input_hash,
                                     .process = GW_NONE,
                                     .thread = GW_NONE,
                                     .pid = from->pid};
    memcpy(compiler->name, from->name, sizeof(compiler->name));
    if (compiler->end_ns < compiler->begin_ns) {
        compiler->end_ns = compiler->begin_ns;
    }
    for (uint32_t i = 0; i < from->ancestor_count && compiler->process == GW_NONE; i++) {
        compiler->process = process_of(model, recording, from->ancestors[i][0]);
        if (compiler->process != GW_NONE) {
            compiler->thread = thread_of(model, compiler->process, from->ancestors[i][1]);
        }
    }
}

int gw_build_compilers(struct gw_builder *builder)
{
    struct gw_model *model = builder->model;
    uint64_t left_out = 0;
    size_t count = 0;
    for (size_t i = 0; i < builder->input_count; i++) {
        const struct gw_run_file *run = builder->inputs[i].run;
        count += run->compiler_count;
        left_out += run->compilers_left_out;
        if (!run->watched_compilers) {
            model->run.unseen |= GW_UNSEEN_COMPILERS;
        }
    }
    model->compilers = calloc(count + 1, sizeof(*model->compilers));
    if (!model->compilers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < builder->input_count; i++) {
        const struct gw_run_file *run = builder->inputs[i].run;
        for (size_t c = 0; c < run->compiler_count; c++) {
            add(model, (uint32_t)i, &run->compilers[c]);
        }
    }
    qsort(model->compilers, model->compilers_count, sizeof(*model->compilers), by_begin);
    if (left_out) {
        char line[120];
        snprintf(line, sizeof(line), "%llu more compilers were executed than are listed", (unsigned long long)left_out);
        return gw_add_problem(&model->run.problems, line);
    }
    return 0;
}
