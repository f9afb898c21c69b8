/*
 * measure COMMAND…: runs it, its output thrown away, and prints its wall time and CPU time in milliseconds and its peak
 * memory in KiB. Ends with 1 when it fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000u;
}

static uint64_t microseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_usec;
}

int main(int argc, char **argv)
{
    int status = 0;
    struct rusage usage;
    uint64_t begin = now_us();
    if (argc < 2)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        if (null >= 0)
            dup2(null, STDOUT_FILENO);
        execvp(argv[1], argv + 1);
        fprintf(stderr, "measure: %s cannot be run: %s\n", argv[1], strerror(errno));
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return 1;
    printf("%.1f %.1f %ld\n", (double)(now_us() - begin) / 1e3,
           (double)(microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) / 1e3, usage.ru_maxrss);
    return 0;
}
