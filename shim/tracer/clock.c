#include "shim/tracer/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIMIT_NS 100000u
#define RATE_NS 10000000u
#define RATE_LONGEST_NS 4000000000u // a rate from longer ago is made anew
#define PAIR_LONGEST_NS 100u

static bool counted; // the kernel's clock runs on the counter

void gw_clock_init(void)
{
    static const char *const counters[] = {"tsc", "arch_sys_counter"};
    char name[32] = "";
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          O_RDONLY | O_CLOEXEC, 0);
    ssize_t length = fd >= 0 ? read(fd, name, sizeof(name) - 1) : 0;

    if (fd >= 0)
        syscall(SYS_close, fd);
    name[length > 0 ? length : 0] = '\0';
    for (unsigned i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        counted =
            counted || (strncmp(name, counters[i], strlen(counters[i])) == 0 && name[strlen(counters[i])] == '\n');
}

// Takes the rate from this pair and an older one, and this one for the next, unless the thread lost its CPU in one.
static void find_rate(struct gw_clock *clock, uint64_t apart_ns, uint64_t took_ticks)
{
    uint64_t elapsed_ticks = clock->ticks - clock->rate_ticks;
    uint64_t most_ticks = elapsed_ticks / (apart_ns / PAIR_LONGEST_NS);
    bool is_good = took_ticks <= most_ticks, was_good = clock->rate_took_ticks <= most_ticks;

    if (is_good && was_good)
        clock->rate = (apart_ns << 32) / elapsed_ticks;
    if (is_good || !was_good)
        clock->rate_ns = 0;
}

uint64_t gw_clock_pair(struct gw_clock *clock, uint64_t ticks)
{
    uint64_t now_ns = gw_now_ns(), apart_ns = now_ns - clock->rate_ns;

    if (!counted || (!clock->rate && clock->rate_ns && apart_ns < RATE_NS))
        return now_ns;

    uint64_t took_ticks = gw_ticks() - ticks;

    clock->ns = now_ns;
    clock->ticks = ticks + took_ticks / 2;
    if (clock->rate_ns && apart_ns > RATE_LONGEST_NS)
        clock->rate_ns = 0;
    else if (clock->rate_ns && apart_ns >= RATE_NS)
        find_rate(clock, apart_ns, took_ticks);
    if (!clock->rate_ns) {
        clock->rate_ns = now_ns;
        clock->rate_ticks = clock->ticks;
        clock->rate_took_ticks = took_ticks;
    }
    clock->limit_ticks = 0;
    if (clock->rate && took_ticks <= ((uint64_t)PAIR_LONGEST_NS << 32) / clock->rate)
        clock->limit_ticks = ((uint64_t)LIMIT_NS << 32) / clock->rate;
    return now_ns;
}
