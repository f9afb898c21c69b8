/*
 * A traced program: `ticker N` writes N events and ends. `ticker N wait` then says "ready" and waits for signals:
 * SIGTERM makes it write N more events, print how often each other signal arrived, and exit with status 40. `ticker N
 * tear` dies while it is writing one more event, which blocks that buffer for everybody.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/session/ticker_events.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void tick(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++)
        lttng_ust_tracepoint(gpuwitness, tick, i);
}

static void tear(void)
{
    char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    lttng_ust_tracepoint(gpuwitness, torn, closed);
}

int main(int argc, char **argv)
{
    static const int expected[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
    int arrived[NSIG] = {0};
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        sigaddset(&set, expected[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    tick(count);
    if (argc < 3)
        return 0;
    if (strcmp(argv[2], "tear") == 0)
        tear();
    puts("ready");
    fflush(stdout);
    for (;;) {
        int number;
        if (sigwait(&set, &number) != 0)
            return 1;
        if (number == SIGTERM)
            break;
        arrived[number]++;
        printf("got %s\n", sigabbrev_np(number));
        fflush(stdout);
    }
    tick(count);
    for (size_t i = 1; i < sizeof(expected) / sizeof(expected[0]); i++)
        printf("%s %d\n", sigabbrev_np(expected[i]), arrived[expected[i]]);
    return 40;
}
