#include "analyzer/model/import/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "analyzer/model/import/kineto.h"
#include "analyzer/model/import/nsys.h"
#include "analyzer/read/summary.h"

#define PIECE_BYTES (256u * 1024u)

static const char sqlite_magic[16] = "SQLite format 3"; /* with its NUL */

bool gw_is_import(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && !gw_is_summary(path);
}

static size_t mark_length(const char *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
}

/* What can be a trace begins with an object or a list. */
static bool looks_like_json(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", bytes[at]) && bytes[at]) {
        at++;
    }
    return at < size && (bytes[at] == '{' || bytes[at] == '[');
}

static int say_read_error(const char *path, gzFile file, struct gw_error *error)
{
    int code = Z_OK;
    const char *words = gzerror(file, &code), *after_path = strrchr(words, ':');
    if (code == Z_ERRNO) {
        return gw_error_set(error, -EIO, "%s: cannot be read: %s", path, strerror(errno));
    }
    return gw_error_set(error, -EBADMSG, "%s: the compressed file is damaged or cut off (%s); copy it again", path,
                        code == Z_BUF_ERROR ? "unexpected end"
                        : after_path        ? after_path + 2
                                            : words);
}

static int read_json(const char *path, gzFile file, char *piece, struct gw_model **ret_model, struct gw_error *error)
{
    struct gw_kineto *kineto = NULL;
    int status = gw_kineto_create(path, error, &kineto);
    bool is_first = true;
    while (!status) {
        int got = gzread(file, piece, PIECE_BYTES);
        size_t skipped = is_first && got > 0 ? mark_length(piece, (size_t)got) : 0;
        int code = Z_OK;
        gzerror(file, &code);
        if (got < 0 || code == Z_BUF_ERROR) { /* the latter: the compressed data end early */
            status = say_read_error(path, file, error);
        } else if (got == 0) {
            status = gw_kineto_finish(kineto, ret_model);
            break;
        } else if (is_first && !looks_like_json(piece + skipped, (size_t)got - skipped)) {
            status =
                gw_error_set(error, -ENODATA,
                             "%s: neither a recorded run, a PyTorch profiler trace (.json, .json.gz) nor an Nsight "
                             "Systems export (.sqlite)",
                             path);
        } else {
            status = gw_kineto_feed(kineto, piece + skipped, (size_t)got - skipped);
        }
        is_first = false;
    }
    gw_kineto_destroy(kineto);
    return status;
}

/* What was recorded on a simulated GPU says so in its name, and has to be called that again. */
static int note_simulated(struct gw_model *model, const char *path, struct gw_error *error)
{
    for (size_t i = 0; i < model->devices_count; i++) {
        if (model->devices[i].name && strcasestr(model->devices[i].name, "simulated")) {
            free(model->run.device_kind);
            model->run.device_kind = strdup("simulated");
            return model->run.device_kind ? 0 : gw_error_set(error, -ENOMEM, "%s: no memory to read it", path);
        }
    }
    return 0;
}

int gw_model_import(const char *path, struct gw_model **ret_model, struct gw_error *error)
{
    char *piece = malloc(PIECE_BYTES);
    gzFile file = piece ? gzopen(path, "rb") : NULL;
    struct gw_model *model = NULL;
    int status;
    if (!file) {
        status = piece ? -errno : -ENOMEM;
        status = gw_error_set(error, status ? status : -ENOMEM, "%s: cannot be opened: %s", path, strerror(-status));
        goto end;
    }
    gzbuffer(file, PIECE_BYTES / 4); /* pieces of twice that are read into where they are wanted, without a copy */
    int got = gzread(file, piece, sizeof(sqlite_magic));
    if (got == (int)sizeof(sqlite_magic) && memcmp(piece, sqlite_magic, sizeof(sqlite_magic)) == 0) {
        status = gw_nsys_read(path, &model, error);
    } else if (got < 0 || gzrewind(file)) {
        status = say_read_error(path, file, error);
    } else {
        status = read_json(path, file, piece, &model, error);
    }
    status = status ? status : note_simulated(model, path, error);
    if (status) {
        gw_model_destroy(model);
    } else {
        *ret_model = model;
    }
end:
    if (file) {
        gzclose(file);
    }
    free(piece);
    return status;
}
