// hostile CASE: does what programs do that is hard on a tool inside them, with CUDA calls in between, and prints what
// came of it. The output and the status must be the same with the tool and without.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_ENOUGH_FOR_SEVERAL_BUFFERS 200000

static int (*allocate)(void **, size_t);
static int (*release)(void *);
static int (*synchronize)(void);
static int (*peek)(void);
static int (*reset)(void);

static bool open_runtime(void)
{
    void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);

    if (!runtime)
        return false;
    allocate = (int (*)(void **, size_t))dlsym(runtime, "cudaMalloc");
    release = (int (*)(void *))dlsym(runtime, "cudaFree");
    synchronize = (int (*)(void))dlsym(runtime, "cudaDeviceSynchronize");
    peek = (int (*)(void))dlsym(runtime, "cudaPeekAtLastError");
    reset = (int (*)(void))dlsym(runtime, "cudaDeviceReset");
    return allocate && release && synchronize && peek && reset;
}

static int use(void)
{
    void *memory = NULL;
    int error = allocate(&memory, 4096);

    return error ? error : release(memory);
}

static void *use_in_thread(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)use();
}

// Daemons close what they inherited; the numbers are then given to files of their own, which nobody else may write to.
static int close_descriptors(void)
{
    int files[64], calls = 0, dirty = 0;

    printf("before: %d\n", use());
    fflush(stdout);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    for (int i = 0; i < 64; i++)
        files[i] = memfd_create("own", 0);
    for (int i = 0; i < CALLS_ENOUGH_FOR_SEVERAL_BUFFERS; i++)
        calls += peek() == 0;
    printf("calls: %d, then %d\n", calls, use());
    for (int i = 0; i < 64; i++) {
        struct stat status;

        if (files[i] < 0 || fstat(files[i], &status) != 0)
            printf("file %d is gone: %s\n", i, strerror(errno));
        else
            dirty += status.st_size != 0;
    }
    printf("files written to by somebody else: %d\n", dirty);
    return 0;
}

static int tiny_stacks(void)
{
    pthread_attr_t attributes;
    int errors = 0;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        void *result = NULL;

        if (pthread_create(&thread, &attributes, use_in_thread, NULL) == 0)
            pthread_join(thread, &result);
        errors += result != NULL;
    }
    printf("errors on tiny stacks: %d\n", errors);
    return 0;
}

static atomic_int ticks;

static void count_tick(int signal)
{
    (void)signal;
    ticks++;
}

static int profiling_timer(void)
{
    const struct itimerval fast = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    int errors = 0;

    signal(SIGPROF, count_tick);
    setitimer(ITIMER_PROF, &fast, NULL);
    for (int i = 0; i < 1000000 && ticks < 100; i++)
        errors += use() != 0;
    setitimer(ITIMER_PROF, &never, NULL);
    printf("errors: %d, ticks: %s\n", errors, ticks >= 100 ? "enough" : "too few");
    return 0;
}

static sigjmp_buf after_fault;

static void jump_out(int signal)
{
    siglongjmp(after_fault, signal);
}

static int own_fault_handler(void)
{
    static char stack[64 * 1024];
    volatile int *const volatile nowhere = (volatile int *)8;
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = jump_out, .sa_flags = SA_ONSTACK};
    volatile int faults = 0, errors = 0;

    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (volatile int i = 0; i < 50; i++) {
        errors += use() != 0;
        if (sigsetjmp(after_fault, 1) == 0)
            *nowhere = 1;
        else
            faults++;
        errors += use() != 0;
    }
    printf("faults handled: %d, errors: %d\n", faults, errors);
    return 0;
}

static void use_at_exit(void)
{
    printf("at exit: %d\n", use());
}

static void use_at_thread_exit(void *unused)
{
    (void)unused;
    printf("at thread exit: %d\n", use());
}

static pthread_key_t key;

static void *set_key(void *unused)
{
    pthread_setspecific(key, &key);
    return unused;
}

static int exits(void)
{
    pthread_t thread;

    atexit(use_at_exit);
    pthread_key_create(&key, use_at_thread_exit);
    pthread_create(&thread, NULL, set_key, NULL);
    pthread_join(thread, NULL);
    printf("main: %d\n", use());
    return 9;
}

static void *call_for_ever(void *data)
{
    atomic_int *calls = data;

    for (;;) {
        pthread_testcancel();
        if (use() != 0 || synchronize() != 0)
            return NULL;
        (*calls)++;
    }
}

static void *exit_after_use(void *unused)
{
    (void)unused;
    pthread_exit((void *)(intptr_t)use());
}

static int cancelled_threads(void)
{
    int cancelled = 0;

    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        atomic_int calls = 0;
        void *result;

        pthread_create(&thread, NULL, call_for_ever, &calls);
        while (calls < 3)
            sched_yield();
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
        pthread_create(&thread, NULL, exit_after_use, NULL);
        pthread_join(thread, &result);
        cancelled += result == NULL;
    }
    printf("ended: %d, afterwards %d, reset %d, again %d\n", cancelled, use(), reset(), use());
    return 0;
}

// The reset waits for the tool's own thread: it is no point at which a thread may be cancelled.
static void *reset_cancelled(void *unused)
{
    int errors = 0;

    pthread_cancel(pthread_self());
    errors += use();
    errors += reset();
    errors += use();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    (void)unused;
    return (void *)(intptr_t)errors;
}

static int cancelled_reset(void)
{
    int errors = 0;

    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;

        pthread_create(&thread, NULL, reset_cancelled, NULL);
        pthread_join(thread, &result);
        errors += result != NULL && result != PTHREAD_CANCELED; // a driver may wait where a thread can be cancelled
        errors += reset() != 0;
    }
    printf("failed resets: %d\n", errors);
    return 0;
}

static int exec_afterwards(void)
{
    char *arguments[] = {"sh", "-c", "echo executed; exit 11", NULL};

    printf("before: %d\n", use());
    fflush(stdout);
    execvp("sh", arguments);
    return 1;
}

// Puts a file of the program's own under every number there is, those of the tool's among them.
static int displace_descriptors(void)
{
    int file = memfd_create("own", 0), failed = 0, calls = 0, dirty = 0;
    struct stat own, status;

    printf("before: %d\n", use());
    fflush(stdout);
    for (int fd = 3; fd < 100; fd++)
        failed += fd != file && (fd % 2 ? dup2(file, fd) : dup3(file, fd, O_CLOEXEC)) != fd;
    for (int i = 0; i < CALLS_ENOUGH_FOR_SEVERAL_BUFFERS; i++)
        calls += peek() == 0;
    fstat(file, &own);
    for (int fd = 3; fd < 100; fd++)
        dirty += fstat(fd, &status) != 0 || status.st_ino != own.st_ino || status.st_size != 0;
    printf("failed: %d, calls: %d, then %d, files touched by somebody else: %d\n", failed, calls, use(), dirty);
    failed = 0;
    for (int fd = 3; fd < 100; fd++)
        failed += close(fd) != 0;
    printf("not closed: %d, at last %d\n", failed, use());
    return 0;
}

// The same in a forked child, which is recorded from its first call on: not before its descriptors are in place.
static int displace_in_child(void)
{
    int status = -1, file = memfd_create("own", 0), failed = 0;
    struct stat own, other;
    pid_t child;

    printf("before: %d\n", use());
    fflush(stdout);
    child = fork();
    if (child == 0) {
        for (int fd = 3; fd < 40; fd++)
            failed += fd != file && dup2(file, fd) != fd;
        use();
        fstat(file, &own);
        for (int fd = 3; fd < 40; fd++)
            failed += fstat(fd, &other) != 0 || other.st_ino != own.st_ino || other.st_size != 0;
        for (int fd = 3; fd < 40; fd++)
            failed += close(fd) != 0;
        _exit(failed);
    }
    waitpid(child, &status, 0);
    printf("failed in the child: %d, afterwards %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1, use());
    return 0;
}

static int daemonise(void)
{
    int channel[2];
    char text[64] = "";
    pid_t child;

    if (pipe(channel) != 0)
        return 1;
    child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            for (int fd = 0; fd < 256; fd++)
                if (fd != channel[1])
                    close(fd);
            dprintf(channel[1], "daemon: %d", use());
        }
        _exit(0);
    }
    close(channel[1]);
    waitpid(child, NULL, 0);
    for (size_t at = 0; at < sizeof(text) - 1;) {
        ssize_t got = read(channel[0], text + at, sizeof(text) - 1 - at);

        if (got <= 0)
            break;
        at += (size_t)got;
    }
    printf("%s\n", text);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {{"close-descriptors", close_descriptors},
             {"tiny-stacks", tiny_stacks},
             {"profiling-timer", profiling_timer},
             {"own-fault-handler", own_fault_handler},
             {"exits", exits},
             {"cancelled-threads", cancelled_threads},
             {"cancelled-reset", cancelled_reset},
             {"exec-afterwards", exec_afterwards},
             {"daemonise", daemonise},
             {"displace-descriptors", displace_descriptors},
             {"displace-in-child", displace_in_child}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            if (!open_runtime()) {
                fprintf(stderr, "%s\n", dlerror());
                return 1;
            }
            return cases[i].run();
        }
    return 2;
}
