#include "analyzer/cli/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/cli/archive.h"
#include "analyzer/cli/cli.h"

#define PIECE_BYTES (256u * 1024u)
#define MEMBERS_MAX 100000u
#define SUMS_BYTES_MAX (16u * 1024u * 1024u)
#define SUMS_NAME "SHA256SUMS"

struct unpacking {
    const char *path, *folder;
    struct archive *reader;
    char *top;           /* the folder that all members lie in */
    GHashTable *found;   /* member → checksum of what was read */
    GString *sums;       /* SHA256SUMS */
    char *piece;         /* PIECE_BYTES */
    uint64_t bytes_left; /* until it is too much */
    struct gw_error *error;
};

bool gw_is_bundle(const char *path)
{
    struct stat info;
    return gw_archive_is_known(path) && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static int damaged(const struct unpacking *self, const char *what)
{
    return gw_error_set(self->error, -EBADMSG, "%s is damaged: %s; copy it again", self->path, what);
}

static int no_bundle(const struct unpacking *self, const char *member)
{
    return gw_error_set(self->error, -EBADMSG, "%s is no bundle that gpuwitness made: it holds '%s'", self->path,
                        member);
}

static int disk_error(const struct unpacking *self, int reason)
{
    return gw_error_set(self->error, -reason, "%s cannot be unpacked into %s: %s; set TMPDIR to a folder with room",
                        self->path, self->folder, strerror(reason));
}

/* The path below the top folder, or NULL for one that does not go strictly down. */
static const char *member_of(struct unpacking *self, const char *path)
{
    const char *slash = path ? strchr(path, '/') : NULL;
    if (!slash || slash == path || strlen(path) >= PATH_MAX / 2)
        return NULL;
    if (!self->top)
        self->top = g_strndup(path, (gsize)(slash - path));
    size_t top_length = strlen(self->top);
    if ((size_t)(slash - path) != top_length || strncmp(path, self->top, top_length) != 0 ||
        strspn(self->top, ".") == top_length)
        return NULL;
    for (const char *at = slash + 1; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        size_t length = strcspn(at, "/");
        if (length == 0 || (length <= 2 && strspn(at, ".") == length))
            return NULL;
    }
    return slash + 1;
}

static bool is_recording(const char *member)
{
    return strncmp(member, GW_BUNDLE_RUN "/", strlen(GW_BUNDLE_RUN "/")) == 0 ||
           strcmp(member, GW_BUNDLE_DATABASE) == 0;
}

/* Opens the member's file, making the folders it lies in. Returns a descriptor or a negative errno. */
static int create(const struct unpacking *self, const char *member)
{
    char *path = g_strdup_printf("%s/%s", self->folder, member);
    int fd = -1, reason = 0;
    for (char *slash = strchr(path + strlen(self->folder) + 1, '/'); slash && !reason; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        reason = mkdir(path, 0700) != 0 && errno != EEXIST ? errno : 0;
        *slash = '/';
    }
    if (!reason) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        reason = fd < 0 ? errno : 0;
    }
    g_free(path);
    return reason ? -reason : fd;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return errno;
        bytes += done;
        size -= (size_t)done;
    }
    return 0;
}

/* Reads the member, and keeps it when fd is not -1 or it is the list of checksums. */
static int read_member(struct unpacking *self, const char *member, int fd)
{
    bool is_sums = strcmp(member, SUMS_NAME) == 0;
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    la_ssize_t got = 0;
    int status = 0;
    while (!status && (got = archive_read_data(self->reader, self->piece, PIECE_BYTES)) > 0) {
        if ((uint64_t)got > self->bytes_left || (is_sums && self->sums->len + (size_t)got > SUMS_BYTES_MAX)) {
            status = gw_error_set(self->error, -EBADMSG, "%s is no bundle that gpuwitness made: '%s' is too large",
                                  self->path, member);
            break;
        }
        self->bytes_left -= (uint64_t)got;
        g_checksum_update(sum, (const guchar *)self->piece, (gssize)got);
        if (is_sums)
            g_string_append_len(self->sums, self->piece, (gssize)got);
        int reason = fd >= 0 ? write_all(fd, self->piece, (size_t)got) : 0;
        if (reason)
            status = disk_error(self, reason);
    }
    if (!status && got < 0)
        status =
            damaged(self, archive_error_string(self->reader) ? archive_error_string(self->reader) : "it ends early");
    if (!status && !is_sums)
        g_hash_table_insert(self->found, g_strdup(member), g_strdup(g_checksum_get_string(sum)));
    g_checksum_free(sum);
    return status;
}

static int take_member(struct unpacking *self, struct archive_entry *entry)
{
    const char *path = archive_entry_pathname(entry);
    if (archive_entry_filetype(entry) == AE_IFDIR && !archive_entry_hardlink(entry))
        return 0;
    const char *member = member_of(self, path);
    if (!member || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) ||
        g_hash_table_contains(self->found, member) || g_hash_table_size(self->found) == MEMBERS_MAX)
        return no_bundle(self, path ? path : "a member without a name");
    int fd = is_recording(member) ? create(self, member) : -1;
    if (fd < -1)
        return disk_error(self, -fd);
    int status = read_member(self, member, fd);
    if (fd >= 0 && close(fd) != 0 && !status)
        status = disk_error(self, errno);
    return status;
}

/* Every member is listed with its checksum, and everything listed is there. */
static int check_sums(struct unpacking *self)
{
    char text[PATH_MAX];
    unsigned listed = 0;
    if (self->sums->len == 0)
        return damaged(self, "its checksums are missing");
    char **lines = g_strsplit(self->sums->str, "\n", -1);
    int status = 0;
    for (char **line = lines; *line && !status; line++) {
        char *member = strstr(*line, "  ");
        if (**line == '\0')
            continue;
        if (!member) {
            status = damaged(self, "its checksums cannot be read");
            break;
        }
        *member = '\0';
        member += 2;
        const char *found = g_hash_table_lookup(self->found, member);
        if (!found || strcmp(found, *line) != 0) {
            snprintf(text, sizeof(text), "%s %s", member, found ? "has another checksum" : "is missing");
            status = damaged(self, text);
        }
        listed++;
    }
    if (!status && listed != g_hash_table_size(self->found))
        status = damaged(self, "it holds more than its list of checksums");
    g_strfreev(lines);
    return status;
}

static int read_archive(struct unpacking *self)
{
    struct archive_entry *entry;
    int status = 0, code;
    archive_read_support_filter_all(self->reader);
    archive_read_support_format_tar(self->reader);
    code = archive_read_open_filename(self->reader, self->path, PIECE_BYTES);
    while (!status && code >= ARCHIVE_WARN && (code = archive_read_next_header(self->reader, &entry)) >= ARCHIVE_WARN &&
           code != ARCHIVE_EOF)
        status = take_member(self, entry);
    if (!status && code != ARCHIVE_EOF)
        status =
            damaged(self, archive_error_string(self->reader) ? archive_error_string(self->reader) : "it is cut off");
    return status ? status : check_sums(self);
}

/* What gw_model_build takes: run/ as it was recorded, the file or files in it that were imported, or the database. */
static int find_run(const struct unpacking *self, char **ret_run)
{
    char *run = g_strdup_printf("%s/" GW_BUNDLE_RUN, self->folder), *file = NULL;
    char *database = g_strdup_printf("%s/" GW_BUNDLE_DATABASE, self->folder);
    DIR *listing = opendir(run);
    struct dirent *found;
    bool is_run = false;
    while (listing && (found = readdir(listing))) {
        if (found->d_type == DT_REG && strcmp(found->d_name, "run.json") != 0) {
            is_run |= file != NULL; /* the traces of several ranks */
            g_free(file);
            file = g_strdup_printf("%s/%s", run, found->d_name);
        }
        is_run |= strcmp(found->d_name, "run.json") == 0 || strncmp(found->d_name, "rank-", strlen("rank-")) == 0;
    }
    if (listing)
        closedir(listing);
    const char *chosen = is_run ? run : file ? file : access(database, R_OK) == 0 ? database : NULL;
    *ret_run = chosen ? strdup(chosen) : NULL;
    g_free(run);
    g_free(file);
    g_free(database);
    if (!chosen)
        return gw_error_set(self->error, -ENODATA,
                            "%s holds a report and no recording; unpack it with tar and read report.txt", self->path);
    return *ret_run ? 0 : -ENOMEM;
}

int gw_unpack(const char *path, struct gw_unpacked *ret_unpacked, struct gw_error *error)
{
    struct stat info = {0};
    struct gw_unpacked unpacked = {0};
    struct unpacking self = {.path = path, .error = error};
    int status = gw_scratch_create(&unpacked.folder);
    if (status)
        return gw_error_set(error, status, "%s: no temporary folder to unpack it: %s; set TMPDIR to one with room",
                            path, strerror(-status));
    self.folder = unpacked.folder.path;
    self.bytes_left = (1ull << 30) + 200ull * (stat(path, &info) == 0 ? (uint64_t)info.st_size : 0);
    self.reader = archive_read_new();
    self.piece = malloc(PIECE_BYTES);
    self.sums = g_string_new(NULL);
    self.found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    status = self.reader && self.piece ? read_archive(&self) : -ENOMEM;
    status = status ? status : find_run(&self, &unpacked.run);
    if (status == -ENOMEM)
        gw_error_set(error, status, "%s: no memory to unpack it", path);
    if (status)
        gw_unpacked_release(&unpacked);
    else
        *ret_unpacked = unpacked;
    archive_read_free(self.reader);
    g_hash_table_destroy(self.found);
    g_string_free(self.sums, TRUE);
    g_free(self.top);
    free(self.piece);
    return status;
}

void gw_unpacked_release(struct gw_unpacked *unpacked)
{
    gw_scratch_remove(&unpacked->folder);
    free(unpacked->run);
    *unpacked = (struct gw_unpacked){0};
}
