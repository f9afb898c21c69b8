/*
 * A program that calls the driver as fast as it can: `flood PROCESSES THREADS CALLS`. Each process makes one call, says
 * "ready" and waits for a line on its standard input (all processes have the same, so each gets one); then each of its
 * THREADS makes CALLS calls. With PROCESSES 0 there is one process, and it says "done" and waits for another line.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 64

typedef int get_version_fn(int *version);

struct flood {
    get_version_fn *get_version;
    unsigned long calls;
};

static void say(const char *line, size_t length)
{
    if (write(STDOUT_FILENO, line, length) != (ssize_t)length)
        _exit(1);
}

static void wait_for_line(void)
{
    char byte = 0;
    while (byte != '\n' && read(STDIN_FILENO, &byte, 1) == 1)
        ;
}

static void *flood(void *argument)
{
    const struct flood *self = argument;
    int version;
    for (unsigned long i = 0; i < self->calls; i++)
        self->get_version(&version);
    return NULL;
}

static int run(unsigned threads, unsigned long calls)
{
    pthread_t started[THREADS_MAX];
    int version;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    struct flood self = {driver != NULL ? (get_version_fn *)dlsym(driver, "cuDriverGetVersion") : NULL, calls};
    if (self.get_version == NULL || threads > THREADS_MAX)
        return 1;
    self.get_version(&version);
    say("ready\n", 6);
    wait_for_line();
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&started[i], NULL, flood, &self) != 0)
            return 1;
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned processes = (unsigned)atoi(argv[1]), threads = (unsigned)atoi(argv[2]);
    unsigned long calls = strtoul(argv[3], NULL, 10);
    int failed = 0, status;
    if (processes == 0) {
        failed = run(threads, calls);
        say("done\n", 5);
        wait_for_line();
        return failed;
    }
    for (unsigned i = 0; i < processes; i++) {
        pid_t pid = fork();
        if (pid == 0)
            return run(threads, calls);
        failed |= pid < 0;
    }
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}
