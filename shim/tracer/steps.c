#include "shim/tracer/steps.h"

#include <errno.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "shim/api/kernel_name.h"
#include "shim/api/steps.h"
#include "shim/tracer/events.h"

#define KERNELS 256u // marks are few: kernels of one name, each of its modules' handles
#define STRINGS 65536u
#define TEXTS 64u
#define LENGTHS 64u // of the last steps
// So many steps before the first are recorded too: without them nobody knows what is left of them on the device.
#define LEAD_STEPS 3u
#define LENGTHS_LEAST 8u // before one is called slow

struct told {                            // what the recorder is to be told
    uint64_t begin_ns, steps_ns, end_ns; // 0: not to be told
    uint64_t slow_step, slow_ns, median_ns, slow_end_ns;
    bool slow;
};

bool gw_steps_counted;
static char *mark;                     // the regular expression
static bool limited;                   // --steps
static uint64_t first_step, last_step; // with it
static double slow_factor;             // 0: not asked for
static uint64_t quiet_ns, quiet_until_ns;
static struct sockaddr_un recorder;

// Of all below; never held across a call of the program's, and only by threads that are busy.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static regex_t pattern;
static bool pattern_is_ready;
static uint64_t kernels[KERNELS]; // open addressing; 0: free, 1: was taken
static uint8_t strings[STRINGS / 8];
static struct {
    uint64_t hash;
    bool matches;
} texts[TEXTS];

static enum { MARKS_UNKNOWN, MARKS_KERNELS, MARKS_RANGES } marks;
static struct {
    const struct gw_thread *thread;
    bool open;
    enum gw_nvtx_kind kind;
    uint64_t domain, id;
} leader; // the thread whose marks count, and its outermost range

static uint64_t marks_seen, last_mark_ns;
static int recording;
static bool closing; // the next operation is the first that belongs to no step asked for
static uint64_t lengths_ns[LENGTHS], lengths_count;
static struct told told;
static int has_told; // something is in `told`

// Called with the lock held. libc's own lock in the pattern may have been held by another thread at a fork, so a child
// makes a pattern of its own.
static bool matches(const char *name)
{
    if (!pattern_is_ready)
        pattern_is_ready = regcomp(&pattern, mark, REG_EXTENDED | REG_NOSUB) == 0;
    return pattern_is_ready && regexec(&pattern, name, 0, NULL, 0) == 0;
}

static void say(const char *text)
{
    int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return;
    sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&recorder, sizeof(recorder));
    syscall(SYS_close, fd);
}

static void tell(const struct told *what)
{
    char text[320];

    const struct {
        const char *name;
        uint64_t time_ns;
    } times[] = {
        {"window_begin_ns", what->begin_ns}, {"steps_begin_ns", what->steps_ns}, {"window_end_ns", what->end_ns}};

    for (unsigned i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (times[i].time_ns) {
            snprintf(text, sizeof(text), "{\"pid\": %u, \"%s\": %llu}", gw_tracer.pid, times[i].name,
                     (unsigned long long)times[i].time_ns);
            say(text);
        }
    if (what->slow) {
        snprintf(text, sizeof(text),
                 "{\"pid\": %u, \"slow_step\": %llu, \"length_ns\": %llu, \"median_ns\": %llu, \"end_ns\": %llu}",
                 gw_tracer.pid, (unsigned long long)what->slow_step, (unsigned long long)what->slow_ns,
                 (unsigned long long)what->median_ns, (unsigned long long)what->slow_end_ns);
        say(text);
    }
}

static int compare_lengths(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

// Called with the lock held.
static void judge_length(uint64_t step, uint64_t length_ns, uint64_t now_ns)
{
    uint64_t sorted_ns[LENGTHS];
    unsigned count = lengths_count < LENGTHS ? (unsigned)lengths_count : LENGTHS;

    if (count >= LENGTHS_LEAST && now_ns >= quiet_until_ns) {
        memcpy(sorted_ns, lengths_ns, count * sizeof(sorted_ns[0]));
        qsort(sorted_ns, count, sizeof(sorted_ns[0]), compare_lengths);
        const uint64_t median_ns = sorted_ns[count / 2];
        if ((double)length_ns > slow_factor * (double)median_ns) {
            told.slow = true;
            told.slow_step = step;
            told.slow_ns = length_ns;
            told.median_ns = median_ns;
            told.slow_end_ns = now_ns;
            __atomic_store_n(&has_told, 1, __ATOMIC_RELEASE);
            quiet_until_ns = now_ns + quiet_ns;
        }
    }
    lengths_ns[lengths_count++ % LENGTHS] = length_ns;
}

// Called with the lock held. A step begins: with the outermost call, if the thread is in one that is recorded.
static void count_mark(const struct gw_thread *thread)
{
    uint64_t now_ns = thread->depth > 0 ? thread->last_begin_ns : gw_now_ns(), step = marks_seen++;

    if (slow_factor > 0 && step > 0)
        judge_length(step - 1, now_ns - last_mark_ns, now_ns);
    last_mark_ns = now_ns;
    if (limited && step + LEAD_STEPS == first_step) {
        told.begin_ns = now_ns;
        __atomic_store_n(&recording, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&has_told, 1, __ATOMIC_RELEASE);
    } else if (limited && first_step > 0 && step == first_step) {
        told.steps_ns = now_ns;
        __atomic_store_n(&has_told, 1, __ATOMIC_RELEASE);
    } else if (limited && step == last_step + 1) {
        __atomic_store_n(&closing, true, __ATOMIC_RELAXED);
    }
}

static unsigned place_of(uint64_t function)
{
    return (unsigned)(function * 0x9e3779b97f4a7c15u >> 56) % KERNELS;
}

static bool is_marked(uint64_t function)
{
    unsigned at = place_of(function);

    for (unsigned n = 0; n < KERNELS; n++, at = (at + 1) % KERNELS) {
        uint64_t there = __atomic_load_n(&kernels[at], __ATOMIC_RELAXED);

        if (there == function)
            return true;
        if (!there)
            return false;
    }
    return false;
}

void gw_steps_kernel_named(uint64_t function, const char *name)
{
    const uint64_t was_taken = 1;
    char *readable = gw_kernel_name_short(name);

    pthread_mutex_lock(&lock);
    bool marked = readable && matches(readable);
    unsigned at = place_of(function), room = KERNELS;
    for (unsigned n = 0; n < KERNELS && kernels[at] && kernels[at] != function; n++, at = (at + 1) % KERNELS)
        if (kernels[at] == was_taken && room == KERNELS)
            room = at;
    // A handle may come again for another kernel.
    if (kernels[at] == function && !marked)
        __atomic_store_n(&kernels[at], was_taken, __ATOMIC_RELAXED);
    else if (marked && room < KERNELS && kernels[at] != function)
        __atomic_store_n(&kernels[room], function, __ATOMIC_RELAXED);
    else if (marked && !kernels[at])
        __atomic_store_n(&kernels[at], function, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    free(readable);
}

void gw_steps_before(struct gw_thread *thread, const struct gw_info *info, const uint64_t *words)
{
    if (!info->is_driver || !info->form || info->form->kind != GW_KIND_LAUNCH || !is_marked(words[info->form->a]))
        return;
    thread->busy = 1; // a signal handler that marks or launches must not wait for its own thread
    pthread_mutex_lock(&lock);
    // As in the reports, where a process with a thread for each device has a sequence of steps for each.
    if (marks == MARKS_UNKNOWN || (marks == MARKS_KERNELS && leader.thread == thread)) {
        marks = MARKS_KERNELS;
        leader.thread = thread;
        count_mark(thread);
    }
    pthread_mutex_unlock(&lock);
    thread->busy = 0;
}

void gw_steps_begun(struct gw_thread *thread, const struct gw_info *info, const struct gw_call *call)
{
    if (!__atomic_load_n(&closing, __ATOMIC_RELAXED) || !info->driver_op)
        return;
    thread->busy = 1;
    pthread_mutex_lock(&lock);
    if (closing) {
        // This operation is recorded, for it ends the last step; what follows is not.
        closing = false;
        told.end_ns = call->begin_ns;
        __atomic_store_n(&recording, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&has_told, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    thread->busy = 0;
}

void gw_steps_ended(struct gw_thread *thread)
{
    struct told now;
    int cancel_state;

    if (!__atomic_load_n(&has_told, __ATOMIC_ACQUIRE))
        return;
    thread->busy = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state); // sending is a point where threads are cancelled
    pthread_mutex_lock(&lock);
    now = told;
    told = (struct told){0};
    has_told = 0;
    pthread_mutex_unlock(&lock);
    tell(&now);
    pthread_setcancelstate(cancel_state, NULL);
    thread->busy = 0;
}

void gw_steps_string(struct gw_thread *thread, uint32_t string, const char *text)
{
    int saved_errno = errno;

    if (!text || string >= STRINGS || thread->busy)
        return;
    thread->busy = 1;
    pthread_mutex_lock(&lock);
    if (matches(text))
        __atomic_fetch_or(&strings[string / 8], (uint8_t)(1u << string % 8), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    thread->busy = 0;
    errno = saved_errno;
}

// Called with the lock held. Texts come again and again, and matching them takes long.
static bool text_matches(const char *text)
{
    uint64_t hash = XXH3_64bits(text, strlen(text));
    unsigned at = (unsigned)(hash % TEXTS);

    if (texts[at].hash != hash) {
        texts[at].hash = hash;
        texts[at].matches = matches(text);
    }
    return texts[at].matches;
}

void gw_steps_range_begins(const struct gw_thread *thread, enum gw_nvtx_kind kind, uint64_t domain, uint64_t id,
                           uint32_t string, const char *text)
{
    pthread_mutex_lock(&lock);
    bool counts = marks == MARKS_UNKNOWN || (marks == MARKS_RANGES && leader.thread == thread && !leader.open);
    if (counts &&
        (text ? text_matches(text)
              : string < STRINGS && __atomic_load_n(&strings[string / 8], __ATOMIC_RELAXED) >> string % 8 & 1)) {
        marks = MARKS_RANGES;
        leader.thread = thread;
        leader.open = kind != GW_NVTX_MARK;
        leader.kind = kind;
        leader.domain = domain;
        leader.id = id;
        count_mark(thread);
    }
    pthread_mutex_unlock(&lock);
}

void gw_steps_range_ends(const struct gw_thread *thread, enum gw_nvtx_kind kind, uint64_t domain, uint64_t id)
{
    enum gw_nvtx_kind begun = kind == GW_NVTX_POP ? GW_NVTX_PUSH : GW_NVTX_START;

    pthread_mutex_lock(&lock);
    // A range that was not pushed may end on any thread.
    if (leader.open && leader.kind == begun && leader.domain == domain && leader.id == id &&
        (begun == GW_NVTX_START || leader.thread == thread))
        leader.open = false;
    pthread_mutex_unlock(&lock);
}

void gw_steps_forked(void)
{
    pthread_mutex_init(&lock, NULL);
    pattern_is_ready = false;
}

bool gw_steps_are_off(void)
{
    return limited && !__atomic_load_n(&recording, __ATOMIC_RELAXED);
}

const int *gw_steps_switch(void)
{
    return limited ? &recording : NULL;
}

static bool read_range(const char *text)
{
    char *end;

    first_step = strtoull(text, &end, 10);
    if (strncmp(end, "..", 2) != 0)
        return false;
    last_step = strtoull(end + 2, &end, 10);
    return !*end && first_step <= last_step;
}

static bool read_slow(const char *text)
{
    char *end;

    slow_factor = strtod(text, &end);
    if (*end != ',' || !(slow_factor > 1))
        return false;
    quiet_ns = strtoull(end + 1, &end, 10);
    return !*end;
}

bool gw_steps_init(void)
{
    const char *told_mark = getenv(GW_STEPS_MARK_VARIABLE), *range = getenv(GW_STEPS_RANGE_VARIABLE),
               *slow = getenv(GW_STEPS_SLOW_VARIABLE), *home = getenv("LTTNG_HOME");

    if (!told_mark || !home || strlen(home) + sizeof(GW_STEPS_SOCKET) >= sizeof(recorder.sun_path))
        return false;
    limited = range && read_range(range);
    if (slow && !read_slow(slow))
        slow_factor = 0;
    if (!limited && !(slow_factor > 0))
        return false;
    mark = strdup(told_mark);
    pattern_is_ready = mark && regcomp(&pattern, mark, REG_EXTENDED | REG_NOSUB) == 0;
    if (!pattern_is_ready)
        return false;
    recorder.sun_family = AF_UNIX;
    snprintf(recorder.sun_path, sizeof(recorder.sun_path), "%s/%s", home, GW_STEPS_SOCKET);
    gw_steps_counted = true;
    if (limited && first_step < LEAD_STEPS) {
        recording = 1;
        tell(&(struct told){.begin_ns = gw_tracer.base_ns});
    }
    return true;
}

// A run in which nothing was recorded says why.
__attribute__((destructor)) static void say_never(void)
{
    char why[128];

    if (!limited || marks_seen > first_step || first_step == 0 || !gw_fork_is_awake())
        return;
    snprintf(why, sizeof(why), "--step matched %llu time%s: the steps to record were not reached",
             (unsigned long long)marks_seen, marks_seen == 1 ? "" : "s");
    gw_coverage(GW_COVERAGE_DISABLED, "recording", why);
}
