#include "analyzer/read/trace_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyzer/read/stream_index.h"

#define DEPTH_MAX 16
#define CTF_MAGIC 0xC1FC1FC1u
#define CTF_METADATA_MAGIC 0x75D11D57u

struct packet_header {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t class_id;
    uint64_t instance_id;
    uint64_t begin_ns, end_ns;
    uint64_t content_bits, packet_bits;
    uint64_t number;
    uint64_t discarded;
    uint32_t cpu;
} __attribute__((packed));
_Static_assert(sizeof(struct packet_header) == GW_PACKET_HEADER_BYTES, "as LTTng-UST writes it");

struct metadata_header {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t checksum;
    uint32_t content_bits, packet_bits;
    uint8_t encodings[3], version[2];
} __attribute__((packed));

static char *join(const char *directory, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

static bool is_of_stream(const struct packet_header *header, const struct gw_stream_file *file)
{
    return header->class_id == file->class_id && header->instance_id == file->instance_id &&
           memcmp(header->uuid, file->uuid, sizeof(file->uuid)) == 0;
}

static int walk_packets(int fd, struct gw_stream_file *file)
{
    size_t capacity = 0;
    struct packet_header header;
    while (file->whole_bytes + sizeof(header) <= file->size_bytes) {
        if (pread(fd, &header, sizeof(header), (off_t)file->whole_bytes) != (ssize_t)sizeof(header)) {
            break;
        }
        uint64_t bytes = header.packet_bits / 8;
        if (header.magic != CTF_MAGIC || bytes > UINT32_MAX || header.content_bits / 8 < sizeof(header) ||
            header.content_bits > header.packet_bits || bytes > file->size_bytes - file->whole_bytes ||
            (file->packet_count && !is_of_stream(&header, file))) {
            break;
        }
        if (file->packet_count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            struct gw_stream_packet *grown = realloc(file->packets, capacity * sizeof(*grown));
            if (!grown) {
                return -ENOMEM;
            }
            file->packets = grown;
        }
        if (file->packet_count && file->packets[file->packet_count - 1].end_ns == UINT64_MAX) {
            file->packets[file->packet_count - 1].end_ns = header.begin_ns;
        }
        file->packets[file->packet_count++] =
            (struct gw_stream_packet){.begin_ns = header.begin_ns,
                                      .end_ns = header.end_ns || !header.begin_ns ? header.end_ns : UINT64_MAX,
                                      .number = header.number,
                                      .discarded = header.discarded,
                                      .size_bytes = (uint32_t)bytes,
                                      .content_bytes = (uint32_t)(header.content_bits / 8)};
        file->whole_bytes += bytes;
        memcpy(file->uuid, header.uuid, sizeof(file->uuid));
        file->class_id = header.class_id;
        file->instance_id = header.instance_id;
    }
    file->cut = file->whole_bytes != file->size_bytes;
    return 0;
}

static int check_index(const char *directory, struct gw_stream_file *file)
{
    char *path = NULL;
    if (asprintf(&path, "%s/index/%s" GW_INDEX_ENDING, directory, file->name) < 0) {
        return -ENOMEM;
    }
    file->cut |= gw_index_lists_more(path, file);
    free(path);
    return 0;
}

static int add_stream_file(struct gw_trace_directory *directory, const char *name, uint64_t size_bytes,
                           struct gw_error *error)
{
    int status = -ENOMEM;
    int fd = -1;
    struct gw_stream_file file = {.size_bytes = size_bytes};
    char *path = join(directory->path, name);
    file.name = strdup(name);
    struct gw_stream_file *grown = realloc(directory->files, (directory->file_count + 1) * sizeof(*directory->files));
    if (grown) {
        directory->files = grown;
    }
    if (!path || !file.name || !grown) {
        gw_error_set(error, status, "%s: no memory to read the trace", directory->path);
        goto end;
    }
    fd = size_bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1; /* else it is no file, if it is there */
    if (fd < 0 && size_bytes) {
        status = gw_error_set(error, -errno, "%s: the stream file cannot be read: %s", path, strerror(errno));
        goto end;
    }
    status = walk_packets(fd, &file);
    status = status ? status : check_index(directory->path, &file);
    if (status) {
        gw_error_set(error, status, "%s: no memory to read the trace", path);
        goto end;
    }
    directory->files[directory->file_count++] = file;
    file = (struct gw_stream_file){0};
end:
    if (fd >= 0) {
        close(fd);
    }
    free(path);
    free(file.name);
    free(file.packets);
    return status;
}

int gw_packet_write_empty(const char *path, const uint8_t uuid[16], uint64_t class_id)
{
    struct packet_header header = {.magic = CTF_MAGIC,
                                   .class_id = (uint32_t)class_id,
                                   .content_bits = GW_PACKET_HEADER_BYTES * 8,
                                   .packet_bits = GW_PACKET_HEADER_BYTES * 8};
    memcpy(header.uuid, uuid, sizeof(header.uuid));
    FILE *file = fopen(path, "wbe");
    if (!file) {
        return -errno;
    }
    int status = fwrite(&header, sizeof(header), 1, file) == 1 ? 0 : -errno;
    return fclose(file) != 0 && !status ? -errno : status;
}

/* source.ctf.fs (2.0.4) does not return from packets of metadata that are cut. Metadata in plain text has none. */
static int check_metadata(const char *directory, struct gw_error *error)
{
    int status = 0;
    struct stat info;
    uint64_t at = 0;
    char *path = join(directory, "metadata");
    int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1; /* a FIFO has no writer */
    if (fd >= 0 && fstat(fd, &info) == 0 && !S_ISREG(info.st_mode)) {
        status = gw_error_set(error, -EINVAL, "%s/metadata is no regular file; copy the run again", directory);
        goto end;
    }
    if (fd < 0 || fstat(fd, &info) != 0) {
        status = path ? -errno : -ENOMEM;
        gw_error_set(error, status, "%s/metadata cannot be read: %s", directory, strerror(-status));
        goto end;
    }
    while (at < (uint64_t)info.st_size) {
        struct metadata_header header = {0};
        ssize_t got = pread(fd, &header, sizeof(header), (off_t)at);
        if (at == 0 && got >= (ssize_t)sizeof(header.magic) && header.magic != CTF_METADATA_MAGIC) {
            break;
        }
        if (got != (ssize_t)sizeof(header) || header.magic != CTF_METADATA_MAGIC ||
            header.content_bits / 8 < sizeof(header) || header.content_bits > header.packet_bits ||
            header.packet_bits / 8 > (uint64_t)info.st_size - at) {
            status = gw_error_set(error, -EBADMSG,
                                  "%s: the trace cannot be opened, its metadata is damaged; record again", directory);
            goto end;
        }
        at += header.packet_bits / 8;
    }
end:
    if (fd >= 0) {
        close(fd);
    }
    free(path);
    return status;
}

static int add_directory(struct gw_trace_directories *directories, const char *path, struct gw_error *error)
{
    struct gw_trace_directory *grown =
        realloc(directories->items, (directories->count + 1) * sizeof(*directories->items));
    char *copy = strdup(path);
    if (grown) {
        directories->items = grown;
    }
    if (!grown || !copy) {
        free(copy);
        return gw_error_set(error, -ENOMEM, "%s: no memory to read the trace", path);
    }
    directories->items[directories->count++] = (struct gw_trace_directory){.path = copy};
    return 0;
}

static bool has_file(const struct gw_trace_directory *directory, const char *name)
{
    for (size_t i = 0; i < directory->file_count; i++) {
        if (strcmp(directory->files[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int is_index(const struct dirent *entry)
{
    const char *ending = strrchr(entry->d_name, '.');
    return ending && ending != entry->d_name && strcmp(ending, GW_INDEX_ENDING) == 0;
}

/* Files that are empty or gone, of which the index knows packets. */
static int add_missing_files(struct gw_trace_directory *directory, struct gw_error *error)
{
    int status = 0;
    struct dirent **entries = NULL;
    char *indexes = join(directory->path, "index");
    int count = indexes ? scandir(indexes, &entries, is_index, alphasort) : -1;
    free(indexes);
    for (int i = 0; i < count && !status; i++) {
        char *name = entries[i]->d_name;
        *strrchr(name, '.') = '\0';
        struct gw_stream_file missing = {.name = name};
        if (has_file(directory, name)) {
            continue;
        }
        status = check_index(directory->path, &missing);
        if (!status && missing.cut) {
            status = add_stream_file(directory, name, 0, error);
        }
    }
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    return status == -ENOMEM ? gw_error_set(error, status, "%s: no memory to read the trace", directory->path) : status;
}

/* Of the files in a folder. */
static uint64_t bytes_below(const char *path)
{
    uint64_t bytes = 0;
    DIR *folder = opendir(path);
    struct stat info;
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode)) {
            bytes += (uint64_t)info.st_size;
        }
    }
    if (folder) {
        closedir(folder);
    }
    return bytes;
}

static int visit(const char *path, int depth, struct gw_trace_directories *directories, struct gw_error *error)
{
    int status = 0;
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        return gw_error_set(error, -errno, "%s: the folder cannot be read: %s", path, strerror(errno));
    }
    bool is_trace = false;
    for (int i = 0; i < count; i++) {
        is_trace |= strcmp(entries[i]->d_name, "metadata") == 0;
    }
    size_t trace = directories->count;
    if (is_trace) {
        status = check_metadata(path, error);
        status = status ? status : add_directory(directories, path, error);
    }
    for (int i = 0; i < count && !status; i++) {
        const char *name = entries[i]->d_name;
        const bool is_index_folder = is_trace && strcmp(name, "index") == 0;
        if (name[0] == '.') {
            continue;
        }
        char *child = join(path, name);
        struct stat info;
        if (!child || lstat(child, &info) != 0) {
            status = gw_error_set(error, child ? -errno : -ENOMEM, "%s/%s cannot be read: %s", path, name,
                                  strerror(child ? errno : ENOMEM));
        } else if (is_index_folder) {
            directories->file_bytes += bytes_below(child);
        } else if (S_ISDIR(info.st_mode) && depth < DEPTH_MAX) {
            status = visit(child, depth + 1, directories, error);
        } else if (S_ISREG(info.st_mode)) {
            directories->file_bytes += (uint64_t)info.st_size;
        }
        if (!status && child && S_ISREG(info.st_mode) && is_trace && info.st_size > 0 &&
            strcmp(name, "metadata") != 0) {
            status = add_stream_file(&directories->items[trace], name, (uint64_t)info.st_size, error);
        }
        free(child);
    }
    if (is_trace && !status) {
        status = add_missing_files(&directories->items[trace], error);
    }
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
    return status;
}

int gw_trace_directories_find(const char *path, struct gw_trace_directories *directories, struct gw_error *error)
{
    *directories = (struct gw_trace_directories){0};
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        return 0; /* nothing was traced */
    }
    return visit(path, 0, directories, error);
}

void gw_trace_directories_clear(struct gw_trace_directories *directories)
{
    for (size_t i = 0; i < directories->count; i++) {
        struct gw_trace_directory *directory = &directories->items[i];
        for (size_t f = 0; f < directory->file_count; f++) {
            free(directory->files[f].name);
            free(directory->files[f].packets);
        }
        free(directory->files);
        free(directory->path);
    }
    free(directories->items);
    *directories = (struct gw_trace_directories){0};
}
