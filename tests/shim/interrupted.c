/*
 * interrupted: a signal handler calls CUDA whenever somebody reads the clock during the program's own call. The
 * simulated runtime's cudaRuntimeGetVersion reads none and takes no lock; recorded, the tool reads it.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int cudaRuntimeGetVersion(int *version);

static volatile sig_atomic_t armed, failures;

// In front of libc's, for the tool as well.
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (armed) {
        armed = 0;
        raise(SIGUSR1);
    }
    return result;
}

static void in_handler(int signal)
{
    int version = 0;

    (void)signal;
    failures += cudaRuntimeGetVersion(&version) != 0 || version == 0;
}

int main(void)
{
    int version;

    signal(SIGUSR1, in_handler);
    for (int i = 0; i < 1000; i++) {
        armed = i > 0;
        failures += cudaRuntimeGetVersion(&version) != 0;
        armed = 0;
    }
    printf("failures: %d\n", (int)failures);
    return failures != 0;
}
