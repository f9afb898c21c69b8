#include "analyzer/model/import/json_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "analyzer/model/import/kineto.h"
#include "analyzer/read/parallel.h"

#define PIECE_BYTES (256u * 1024u)
#define PART_BYTES_LEAST (4ull * 1024 * 1024)
#define SEARCH_BYTES (1024u * 1024u) /* how far from where a part should begin its first event is looked for */

struct source {
    const char *path;
    gzFile compressed; /* NULL: plain text in file */
    int file;
    size_t mark_bytes; /* of a byte order mark; positions are counted after it */
    bool in_object;    /* the text begins with an object, which the list of events should be in */
};

/* A part of the text. What was read of it is in kineto; a failure in status and error. */
struct part {
    const struct source *source;
    struct gw_kineto *kineto;
    struct gw_error error;
    uint64_t begin, end; /* end: UINT64_MAX for the last one */
    bool meets;          /* read to its end, the next part's begin was guessed right */
    int status;
};

static size_t mark_length(const char *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The first character that is no space, 0 without any. */
static char first_character(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && is_space(bytes[at])) {
        at++;
    }
    return at < size ? bytes[at] : '\0';
}

static int say_read_error(const struct source *source, struct gw_error *error)
{
    int code = Z_ERRNO;
    const char *words = source->compressed ? gzerror(source->compressed, &code) : "", *after_path = strrchr(words, ':');
    if (code == Z_ERRNO) {
        return gw_error_set(error, -EIO, "%s: cannot be read: %s", source->path, strerror(errno));
    }
    return gw_error_set(error, -EBADMSG, "%s: the compressed file is damaged or cut off (%s); copy it again",
                        source->path,
                        code == Z_BUF_ERROR ? "unexpected end"
                        : after_path        ? after_path + 2
                                            : words);
}

/* Up to size bytes at `at`, which in a compressed file is where the last call ended. *ret_got: 0 at the end. */
static int read_piece(const struct source *source, uint64_t at, char *piece, size_t size, size_t *ret_got,
                      struct gw_error *error)
{
    int code = Z_OK;
    ssize_t got;
    if (source->compressed) {
        got = gzread(source->compressed, piece, (unsigned)size);
        gzerror(source->compressed, &code);
    } else {
        do {
            got = pread(source->file, piece, size, (off_t)at);
        } while (got < 0 && errno == EINTR);
    }
    if (got < 0 || code == Z_BUF_ERROR) { /* the latter: the compressed data end early */
        return say_read_error(source, error);
    }
    *ret_got = (size_t)got;
    return 0;
}

/* What can be a trace begins with an object or a list. */
static int check_begin(const struct source *source, const char *piece, size_t size, struct gw_error *error)
{
    char first = first_character(piece, size);
    return first == '{' || first == '['
               ? 0
               : gw_error_set(error, -ENODATA,
                              "%s: neither a recorded run, a PyTorch profiler trace (.json, .json.gz) nor an Nsight "
                              "Systems export (.sqlite)",
                              source->path);
}

/* Feeds the text from `at` to the part's end and, unless that is the text's, the brace that should stand there. */
static void feed(struct part *part, uint64_t at)
{
    const struct source *source = part->source;
    char *piece = malloc(PIECE_BYTES);
    part->status = piece ? 0 : gw_error_set(&part->error, -ENOMEM, "%s: no memory to read the trace", source->path);
    while (!part->status && at < part->end) {
        size_t left = part->end - at < PIECE_BYTES ? (size_t)(part->end - at) : PIECE_BYTES, got = 0, mark = 0;
        part->status = read_piece(source, at, piece, left, &got, &part->error);
        if (part->status || got == 0) {
            break;
        }
        if (at == 0) {
            mark = mark_length(piece, got);
            part->status = check_begin(source, piece + mark, got - mark, &part->error);
        }
        part->status = part->status ? part->status : gw_kineto_feed(part->kineto, piece + mark, got - mark);
        at += got;
    }
    if (!part->status && at == part->end) {
        part->status = gw_kineto_feed_brace(part->kineto, source->in_object, &part->meets);
    }
    free(piece);
}

static int read_part(void *user, size_t index)
{
    struct part *part = (struct part *)user + index;
    const struct source *source = part->source;
    part->status = index == 0 ? gw_kineto_create(source->path, &part->error, &part->kineto)
                              : gw_kineto_create_part(source->path, part->begin - source->mark_bytes, source->in_object,
                                                      &part->error, &part->kineto);
    if (!part->status) {
        feed(part, part->begin);
    }
    return 0; /* the others go on: which failure counts is seen when they are joined */
}

/* Puts the parts together in their order. Returns the one that then stands for all of them, or the first that failed.
 */
static struct part *join(struct part *parts, size_t count)
{
    struct part *whole = &parts[0];
    for (size_t i = 1; i < count && !whole->status; i++) {
        struct part *next = &parts[i];
        if (!whole->meets) { /* no event begins there: its text is read again as what it is */
            whole->end = next->end;
            feed(whole, next->begin + 1);
            continue;
        }
        next->status = next->status ? next->status : gw_kineto_join(whole->kineto, next->kineto);
        gw_kineto_destroy(whole->kineto);
        whole->kineto = NULL;
        whole = next;
    }
    return whole;
}

/* Where an event may begin: in valid JSON a comma, a brace and a quoted key, spaces between them aside, stand outside
 * of texts, for a quotation mark that ends one is not followed by a letter. 0: nowhere near. */
static uint64_t find_event(const struct source *source, char *piece, uint64_t from)
{
    uint64_t brace = 0;
    char before = '\0';
    for (uint64_t at = from; at < from + SEARCH_BYTES;) {
        size_t got;
        if (read_piece(source, at, piece, PIECE_BYTES, &got, NULL) || got == 0) {
            return 0;
        }
        for (size_t i = 0; i < got; i++, at++) {
            char c = piece[i];
            if (before == '"' && isalpha((unsigned char)c)) {
                return brace;
            }
            if (is_space(c) && before != '"') {
                continue;
            }
            if (before == ',' && c == '{') {
                brace = at;
                before = '{';
            } else {
                before = before == '{' && c == '"' ? '"' : c == ',' ? ',' : '\0';
            }
        }
    }
    return 0;
}

/* Cuts the text into at most `count` parts; returns how many. */
static size_t cut(struct source *source, uint64_t size, struct part *parts, size_t count, char *piece)
{
    size_t got = 0, cut = 1;
    parts[0] = (struct part){.source = source, .end = UINT64_MAX};
    if (count < 2 || read_piece(source, 0, piece, PIECE_BYTES, &got, NULL)) {
        return 1;
    }
    source->mark_bytes = mark_length(piece, got);
    source->in_object = first_character(piece + source->mark_bytes, got - source->mark_bytes) == '{';
    for (size_t i = 1; i < count; i++) {
        uint64_t begin = find_event(source, piece, size / count * i);
        if (begin > parts[cut - 1].begin) {
            parts[cut - 1].end = begin;
            parts[cut++] = (struct part){.source = source, .begin = begin, .end = UINT64_MAX};
        }
    }
    return cut;
}

/* Opens the file for reading as what it is. */
static int open_source(const char *path, struct source *source, uint64_t *ret_size, struct gw_error *error)
{
    struct stat status = {0};
    *source = (struct source){.path = path, .file = open(path, O_RDONLY | O_CLOEXEC)};
    int copy = source->file < 0 || fstat(source->file, &status) ? -1 : fcntl(source->file, F_DUPFD_CLOEXEC, 0);
    source->compressed = copy < 0 ? NULL : gzdopen(copy, "rb");
    if (!source->compressed) {
        int code = errno ? errno : ENOMEM;
        if (copy >= 0) {
            close(copy);
        }
        return gw_error_set(error, -code, "%s: cannot be opened: %s", path, strerror(code));
    }
    gzbuffer(source->compressed, PIECE_BYTES / 4); /* pieces of twice that are read to where they are wanted */
    *ret_size = (uint64_t)status.st_size;
    if (gzdirect(source->compressed)) {
        gzclose(source->compressed);
        source->compressed = NULL;
    }
    return 0;
}

/* As many parts as can be read at once, none of them small. */
static size_t usual_parts(uint64_t size)
{
    size_t most = gw_parallel_threads();
    return size / PART_BYTES_LEAST < most ? (size_t)(size / PART_BYTES_LEAST) : most;
}

int gw_json_parse(const char *path, size_t parts_wanted, struct gw_kineto **ret_kineto, struct gw_error *error)
{
    struct source source;
    uint64_t size = 0;
    struct part *parts = NULL;
    char *piece = NULL;
    size_t count = 0;
    int status = open_source(path, &source, &size, error);
    if (status) {
        goto end;
    }
    count = source.compressed ? 1 : parts_wanted ? parts_wanted : usual_parts(size);
    count = count ? count : 1;
    parts = calloc(count, sizeof(*parts));
    piece = malloc(PIECE_BYTES);
    if (!parts || !piece) {
        status = gw_error_set(error, -ENOMEM, "%s: no memory to read the trace", path);
        goto end;
    }
    count = cut(&source, size, parts, count, piece);
    gw_parallel_for(count, read_part, parts);
    struct part *whole = join(parts, count);
    status = whole->status ? whole->status : gw_kineto_end(whole->kineto);
    if (status) {
        gw_error_set(error, status, "%s", whole->error.text);
    } else {
        gw_kineto_tell(whole->kineto, error);
        *ret_kineto = whole->kineto;
        whole->kineto = NULL;
    }
end:
    for (size_t i = 0; parts && i < count; i++) {
        gw_kineto_destroy(parts[i].kineto);
    }
    free(parts);
    free(piece);
    if (source.compressed) {
        gzclose(source.compressed);
    }
    if (source.file >= 0) {
        close(source.file);
    }
    return status;
}

int gw_json_read(const char *path, size_t parts, struct gw_model **ret_model, struct gw_error *error)
{
    struct gw_kineto *kineto = NULL;
    int status = gw_json_parse(path, parts, &kineto, error);
    status = status ? status : gw_kineto_build(kineto, path, ret_model);
    gw_kineto_destroy(kineto);
    return status;
}
