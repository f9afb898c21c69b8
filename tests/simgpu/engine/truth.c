#include "tests/simgpu/engine/truth.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/simgpu/engine/config.h"

#define BLOCK_BYTES 65536u
#define NAME_BYTES 2048u
#define ROW_BYTES (2 * NAME_BYTES + 512u)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { UNOPENED, OPEN, CLOSED, ABSENT } state;
static int file = -1;
static char *block;          // the mapped block, or NULL
static uint64_t block_start; // its place in the file
static uint64_t length;      // bytes of finished rows

static bool map_block(uint64_t start)
{
    static char empty_lines[BLOCK_BYTES];
    if (block)
        munmap(block, BLOCK_BYTES);
    block = NULL;
    // Written before it is mapped, so that a full disk is an error here and not a SIGBUS later.
    memset(empty_lines, '\n', sizeof empty_lines);
    if (pwrite(file, empty_lines, BLOCK_BYTES, (off_t)start) != (ssize_t)BLOCK_BYTES)
        return false;
    void *mapped = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)start);
    if (mapped == MAP_FAILED)
        return false;
    block = mapped;
    block_start = start;
    return true;
}

// Returns whether the file can still be written.
static bool append(const char *row, size_t size)
{
    if (state == CLOSED) {
        if (pwrite(file, row, size, (off_t)length) == (ssize_t)size)
            length += size;
        return true;
    }
    while (size > 0) {
        if (!block || length == block_start + BLOCK_BYTES) {
            if (!map_block(length - length % BLOCK_BYTES))
                return false;
        }
        const uint64_t room = block_start + BLOCK_BYTES - length;
        const size_t now = size < room ? size : (size_t)room;
        memcpy(block + (length - block_start), row, now);
        length += now;
        row += now;
        size -= now;
    }
    return true;
}

// Returns the state to go on in; other threads see none of it before it is final.
static int open_file(void)
{
    static const char header[] = "call,tid,depth,name,begin_ns,end_ns,result\n"
                                 "op,device,stream,kind,name,bytes,submit_ns,start_ns,end_ns,graph_node,cause\n";
    char path[4096];
    if (!config_get()->truth ||
        snprintf(path, sizeof path, "%s.%d.csv", config_get()->truth, (int)getpid()) >= (int)sizeof path)
        return ABSENT;
    file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) {
        fprintf(stderr, "simgpu: cannot write the truth log %s: %s\n", path, strerror(errno));
        return ABSENT;
    }
    block = NULL;
    length = 0;
    return append(header, sizeof header - 1) ? OPEN : ABSENT;
}

bool truth_enabled(void)
{
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == UNOPENED) {
        pthread_mutex_lock(&lock);
        if (state == UNOPENED)
            __atomic_store_n(&state, open_file(), __ATOMIC_RELEASE);
        pthread_mutex_unlock(&lock);
    }
    return __atomic_load_n(&state, __ATOMIC_ACQUIRE) != ABSENT;
}

static char *put_number(char *out, uint64_t value)
{
    char digits[20];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count)
        *out++ = digits[--count];
    *out++ = ',';
    return out;
}

static char *put_text(char *out, const char *text)
{
    const bool quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (quoted)
        *out++ = '"';
    for (unsigned i = 0; text[i] && i < NAME_BYTES; i++) {
        if (text[i] == '"')
            *out++ = '"';
        *out++ = text[i];
    }
    if (quoted)
        *out++ = '"';
    *out++ = ',';
    return out;
}

static void finish_row(char *row, char *end)
{
    end[-1] = '\n';
    pthread_mutex_lock(&lock);
    if (state != ABSENT && !append(row, (size_t)(end - row)))
        __atomic_store_n(&state, ABSENT, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void truth_write_call(int tid, unsigned depth, const char *name, uint64_t begin_ns, uint64_t end_ns, int result)
{
    if (!truth_enabled())
        return;
    char row[ROW_BYTES], *out = row;
    out = put_text(out, "call");
    out = put_number(out, (uint64_t)tid);
    out = put_number(out, depth);
    out = put_text(out, name);
    out = put_number(out, begin_ns);
    out = put_number(out, end_ns);
    out = put_number(out, (uint64_t)result);
    finish_row(row, out);
}

void truth_write_op(const struct truth_op *op)
{
    if (!truth_enabled())
        return;
    char row[ROW_BYTES], *out = row;
    out = put_text(out, "op");
    out = put_number(out, op->device);
    out = put_number(out, op->stream);
    out = put_text(out, op->kind);
    out = put_text(out, op->name);
    out = put_number(out, op->bytes);
    out = put_number(out, op->submit_ns);
    out = put_number(out, op->start_ns);
    out = put_number(out, op->end_ns);
    out = put_number(out, op->graph_node);
    out = put_text(out, op->cause);
    finish_row(row, out);
}

void truth_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    if (block)
        munmap(block, BLOCK_BYTES);
    if (file >= 0)
        close(file);
    file = -1;
    block = NULL;
    state = UNOPENED;
}

// At exit the file gets its exact length; calls made after this are still appended.
__attribute__((destructor)) static void truth_close(void)
{
    pthread_mutex_lock(&lock);
    if (state == OPEN && ftruncate(file, (off_t)length) == 0)
        state = CLOSED;
    pthread_mutex_unlock(&lock);
}
