#include "analyzer/cli/archive.h"

#include "analyzer/export/output.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE_BYTES (256u * 1024u)

struct gw_archive {
    struct archive *writer;
    struct archive_entry *entry;
    struct gw_output output;
    char *folder;
    GString *sums;
    time_t now;
};

static const struct {
    const char *ending;
    int (*filter)(struct archive *writer); /* NULL: not compressed */
} kinds[] = {{".tar.zst", archive_write_add_filter_zstd},
             {".tar.gz", archive_write_add_filter_gzip},
             {".tar.xz", archive_write_add_filter_xz},
             {".tar", NULL}};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static size_t kind_of(const char *path)
{
    size_t length = strlen(path), kind = 0;
    while (kind < KIND_COUNT && (strlen(kinds[kind].ending) >= length ||
                                 strcmp(path + length - strlen(kinds[kind].ending), kinds[kind].ending) != 0))
        kind++;
    return kind;
}

bool gw_archive_is_known(const char *path)
{
    return kind_of(path) < KIND_COUNT;
}

static int check(struct gw_archive *self, int code)
{
    int reason = archive_errno(self->writer);
    return code >= ARCHIVE_WARN ? 0 : reason > 0 ? -reason : -EIO;
}

int gw_archive_create(const char *path, struct gw_archive **ret_archive)
{
    struct gw_archive *self = calloc(1, sizeof(*self));
    size_t kind = kind_of(path);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!self)
        return -ENOMEM;
    *ret_archive = self;
    self->writer = archive_write_new();
    self->entry = archive_entry_new();
    self->folder = strndup(name, strlen(name) - (kind < KIND_COUNT ? strlen(kinds[kind].ending) : 0));
    self->sums = g_string_new(NULL);
    self->now = time(NULL);
    if (!self->writer || !self->entry || !self->folder)
        return -ENOMEM;
    if (kind == KIND_COUNT)
        return -EINVAL;
    int status = check(self, archive_write_set_format_pax_restricted(self->writer));
    if (!status && kinds[kind].filter)
        status = check(self, kinds[kind].filter(self->writer));
    status = status ? status : gw_output_open(&self->output, path);
    archive_write_set_bytes_in_last_block(self->writer, 1); /* no padding behind the compressed data */
    return status ? status : check(self, archive_write_open_FILE(self->writer, self->output.file));
}

/* Nothing of the file's owner, and no time but that of the bundle, goes with a member. */
static int begin_member(struct gw_archive *self, const char *name, uint64_t size)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", self->folder, name) < 0)
        return -ENOMEM;
    archive_entry_clear(self->entry);
    archive_entry_set_pathname(self->entry, path);
    archive_entry_set_size(self->entry, (int64_t)size);
    archive_entry_set_filetype(self->entry, AE_IFREG);
    archive_entry_set_perm(self->entry, 0644);
    archive_entry_set_mtime(self->entry, self->now, 0);
    free(path);
    return check(self, archive_write_header(self->writer, self->entry));
}

static int write_piece(struct gw_archive *self, GChecksum *sum, const void *bytes, size_t size)
{
    la_ssize_t written = size ? archive_write_data(self->writer, bytes, size) : 0;
    g_checksum_update(sum, bytes, (gssize)size);
    return written < 0 ? check(self, (int)written) : (size_t)written < size ? -EIO : 0;
}

static void note_sum(struct gw_archive *self, GChecksum *sum, const char *name)
{
    g_string_append_printf(self->sums, "%s  %s\n", g_checksum_get_string(sum), name);
}

int gw_archive_add_bytes(struct gw_archive *self, const char *name, const void *bytes, size_t size)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    int status = begin_member(self, name, size);
    status = status ? status : write_piece(self, sum, bytes, size);
    note_sum(self, sum, name);
    g_checksum_free(sum);
    return status;
}

int gw_archive_add_file(struct gw_archive *self, const char *name, const char *source)
{
    struct stat info = {0};
    int fd = open(source, O_RDONLY | O_CLOEXEC), status = 0;
    char *piece = malloc(PIECE_BYTES);
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    if (fd < 0 || fstat(fd, &info) != 0)
        status = -errno;
    else if (!piece)
        status = -ENOMEM;
    else
        status = begin_member(self, name, (uint64_t)info.st_size);
    for (off_t at = 0; !status && at < info.st_size;) {
        size_t wanted = info.st_size - at < (off_t)PIECE_BYTES ? (size_t)(info.st_size - at) : PIECE_BYTES;
        ssize_t got = read(fd, piece, wanted);
        if (got < 0 && errno == EINTR)
            continue;
        status = got < 0 ? -errno : got == 0 ? -EIO : write_piece(self, sum, piece, (size_t)got);
        at += got;
    }
    note_sum(self, sum, name);
    g_checksum_free(sum);
    free(piece);
    if (fd >= 0)
        close(fd);
    return status;
}

int gw_archive_add_tree(struct gw_archive *self, const char *name, const char *source)
{
    char *roots[] = {(char *)source, NULL};
    size_t skipped = strlen(source);
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *found;
    int status = tree ? 0 : -errno;
    while (!status && (found = fts_read(tree))) {
        char *member = NULL;
        if (found->fts_info == FTS_DNR || found->fts_info == FTS_ERR || found->fts_info == FTS_NS)
            status = -found->fts_errno;
        if (status || found->fts_info != FTS_F)
            continue;
        const char *below = found->fts_path + (found->fts_pathlen > skipped ? skipped : 0);
        below += strspn(below, "/");
        if (found->fts_level == 0)
            below = found->fts_name;
        if (asprintf(&member, "%s/%s", name, below) < 0)
            status = -ENOMEM;
        status = status ? status : gw_archive_add_file(self, member, found->fts_path);
        free(member);
    }
    if (tree)
        fts_close(tree);
    return status;
}

int gw_archive_finish(struct gw_archive *self, int status)
{
    if (!self)
        return status;
    if (!status) {
        char *sums = strdup(self->sums->str);
        status = sums ? gw_archive_add_bytes(self, "SHA256SUMS", sums, strlen(sums)) : -ENOMEM;
        free(sums);
    }
    if (self->writer && !status)
        status = check(self, archive_write_close(self->writer));
    if (self->writer)
        archive_write_free(self->writer);
    if (self->output.file)
        status = gw_output_close(&self->output, status);
    archive_entry_free(self->entry);
    g_string_free(self->sums, TRUE);
    free(self->folder);
    free(self);
    return status;
}
