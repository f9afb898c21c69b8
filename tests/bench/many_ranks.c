/*
 * Makes summaries of many ranks from that of one, as if each had run the same program: RANK, WORLD_SIZE, its number in
 * the job and in its communicators differ.
 *   gw-bench-many-ranks SUMMARY RANKS DIRECTORY
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/read/summary.h"

static void die(const char *what)
{
    fprintf(stderr, "gw-bench-many-ranks: %s\n", what);
    exit(1);
}

static void *read_file(const char *path, size_t *ret_bytes)
{
    FILE *file = fopen(path, "re");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        die("the summary cannot be read");
    *ret_bytes = (size_t)ftell(file);
    void *data = malloc(*ret_bytes + 1);
    rewind(file);
    if (!data || fread(data, 1, *ret_bytes, file) != *ret_bytes)
        die("the summary cannot be read");
    fclose(file);
    return data;
}

static uint64_t text(struct gw_record_stream *stream, const char *words)
{
    uint64_t offset = 0;
    if (gw_record_stream_add_text(stream, words, strlen(words), &offset))
        die("no memory");
    return offset;
}

/* What a rank's records say of it. */
struct identity {
    struct gw_record_stream *stream;
    unsigned rank, ranks;
    char environment[96], host[32], uuid[48];
};

static void rename_record(void *user, struct gw_record *record)
{
    const struct identity *identity = user;
    uint64_t *words = record->words;
    if (record->type == GW_RECORD_communicator) {
        words[GW_ARG_communicator_where] = identity->rank | (uint64_t)identity->ranks << 32;
    } else if (record->type == GW_RECORD_process) {
        words[GW_ARG_process_environment] = text(identity->stream, identity->environment);
        words[GW_ARG_process_host] = text(identity->stream, identity->host);
    } else if (record->type == GW_RECORD_device) {
        words[GW_ARG_device_uuid] = text(identity->stream, identity->uuid);
    }
}

/* Eight ranks a host, each with a device of its own. The records name their process, device and communicators by what
 * the rank is. */
static void renumber(struct gw_records *records, unsigned rank, unsigned ranks)
{
    struct identity identity = {.rank = rank, .ranks = ranks};
    snprintf(identity.host, sizeof(identity.host), "host%u", rank / 8);
    snprintf(identity.uuid, sizeof(identity.uuid), "GPU-%08x-0000-0000-0000-000000000000", rank);
    snprintf(identity.environment, sizeof(identity.environment), "RANK=%u\nLOCAL_RANK=0\nWORLD_SIZE=%u\n", rank, ranks);
    for (size_t s = 0; s < records->stream_count; s++) {
        identity.stream = &records->streams[s];
        if (gw_record_stream_rewrite(identity.stream, rename_record, &identity))
            die("no memory");
    }
}

static struct gw_run_file *renumbered_run(const struct gw_run_file *from, unsigned rank, unsigned ranks)
{
    char path[64];
    struct gw_run_file *run = NULL;
    json_t *root = json_loads(from->text, 0, NULL);
    json_object_set_new(root, "job",
                        json_pack("{s:s, s:i, s:i}", "id", "bench", "rank", (int)rank, "size", (int)ranks));
    char *text = json_dumps(root, JSON_COMPACT);
    snprintf(path, sizeof(path), "rank-%05u", rank);
    if (!text || gw_run_file_parse(path, text, &run, NULL))
        die("run.json cannot be rewritten");
    free(text);
    json_decref(root);
    return run;
}

int main(int argc, char **argv)
{
    size_t bytes = 0, used = 0;
    if (argc != 4)
        die("usage: gw-bench-many-ranks SUMMARY RANKS DIRECTORY");
    void *data = read_file(argv[1], &bytes);
    const unsigned ranks = (unsigned)strtoul(argv[2], NULL, 10);
    struct gw_run_file *run = NULL;
    struct gw_records *records = NULL;
    struct gw_error error = {""};
    if (gw_summary_decode(argv[1], data, bytes, &used, &run, &records, &error))
        die(error.text);
    for (unsigned rank = 0; rank < ranks; rank++) {
        char path[4096];
        void *packed = NULL;
        size_t length = 0;
        struct gw_run_file *own = renumbered_run(run, rank, ranks);
        own->functions = run->functions;
        own->function_count = run->function_count;
        renumber(records, rank, ranks);
        snprintf(path, sizeof(path), "%s/rank-%05u.gws", argv[3], rank);
        FILE *out = fopen(path, "we");
        if (!out || gw_summary_encode(own, records, &packed, &length) || fwrite(packed, 1, length, out) != length ||
            fclose(out) != 0)
            die("a summary cannot be written");
        free(packed);
        own->functions = NULL;
        own->function_count = 0;
        gw_run_file_destroy(own);
    }
    gw_records_destroy(records);
    gw_run_file_destroy(run);
    free(data);
    return 0;
}
