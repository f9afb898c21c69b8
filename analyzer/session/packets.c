#include "analyzer/session/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CTF_MAGIC 0xc1fc1fc1u

/* How LTTng-UST begins each packet: CTF's packet header and context as its metadata declares them, without gaps. */
struct packet_head {
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t stream_id;
    uint64_t stream_instance_id;
    uint64_t timestamp_begin, timestamp_end;
    uint64_t content_size_bits, packet_size_bits;
} __attribute__((packed));

/* Returns 1 when the file was cut, 0 when it was whole or is no stream of this byte order, -errno otherwise. */
static int trim(const char *path, off_t size)
{
    struct packet_head head;
    off_t whole = 0;
    int result = 0;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return -errno;
    while (whole < size) {
        ssize_t length = pread(file, &head, sizeof(head), whole);
        if (length < 0) {
            result = -errno;
            goto end;
        }
        if (length >= (ssize_t)sizeof(head.magic) && head.magic != CTF_MAGIC && whole == 0)
            goto end;
        uint64_t packet = length == (ssize_t)sizeof(head) && head.magic == CTF_MAGIC ? head.packet_size_bits / 8 : 0;
        if (packet < sizeof(head) || packet > (uint64_t)(size - whole))
            break;
        whole += (off_t)packet;
    }
    if (whole < size)
        result = ftruncate(file, whole) == 0 ? 1 : -errno;
end:
    close(file);
    return result;
}

bool gw_packets_have_events(const char *path)
{
    /* Behind the head: its number, the count of discarded events, and the CPU. */
    const uint64_t empty_bits = 8 * (sizeof(struct packet_head) + 8 + sizeof(long) + 4);
    struct packet_head head;
    bool found = false;
    ssize_t length = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return true;
    for (off_t at = 0; !found && (length = pread(file, &head, sizeof(head), at)) == (ssize_t)sizeof(head);
         at += (off_t)(head.packet_size_bits / 8))
        found =
            head.magic != CTF_MAGIC || head.packet_size_bits / 8 < sizeof(head) || head.content_size_bits > empty_bits;
    close(file);
    return found || length != 0;
}

/* nftw passes no context to its callback. */
static _Thread_local int files_cut;

static int trim_stream(const char *path, const struct stat *status, int type, struct FTW *where)
{
    const char *name = path + where->base;
    size_t length = strlen(name);
    if (type != FTW_F || strcmp(name, "metadata") == 0 || (length > 4 && strcmp(name + length - 4, ".idx") == 0))
        return 0;
    int result = trim(path, status->st_size);
    if (result < 0)
        return -result;
    files_cut += result;
    return 0;
}

int gw_packets_trim(const char *trace_path)
{
    files_cut = 0;
    int result = nftw(trace_path, trim_stream, 16, FTW_PHYS);
    return result == 0 ? files_cut : result < 0 ? -errno : -result;
}
