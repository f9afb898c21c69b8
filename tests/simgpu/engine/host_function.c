// Host functions run one after another on a thread of their own, in the order of their computed starts.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/simgpu/engine/clock.h"
#include "tests/simgpu/engine/engine.h"
#include "tests/simgpu/engine/internal.h"
#include "tests/simgpu/engine/thread.h"

struct host_call {
    struct op *op;
    void (*function)(void *);
    void *argument;
    struct host_call *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // inside the engine's lock
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;
static struct host_call *queue; // sorted by start
static bool worker_runs;

static void *worker_main(void *unused)
{
    (void)unused;
    sim_thread.in_host_function = true;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!queue)
            pthread_cond_wait(&queued, &lock);
        struct host_call *call = queue;
        queue = call->next;
        pthread_mutex_unlock(&lock);
        effect_wait(call->op->effect_seq);
        clock_wait_until(call->op->start_ns);
        const uint64_t start_ns = clock_now_ns();
        call->function(call->argument);
        const uint64_t end_ns = clock_now_ns();
        engine_lock();
        engine_finish(call->op, start_ns, end_ns);
        engine_unlock();
        free(call);
        pthread_mutex_lock(&lock);
    }
    return NULL;
}

static void enqueue(struct op *op)
{
    struct host_call *call = op->on_ready_argument;
    pthread_mutex_lock(&lock);
    if (!worker_runs) {
        sigset_t all, before;
        pthread_t thread;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        worker_runs = pthread_create(&thread, NULL, worker_main, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!worker_runs)
            abort();
        pthread_detach(thread);
    }
    struct host_call **place = &queue;
    while (*place && (*place)->op->start_ns <= op->start_ns)
        place = &(*place)->next;
    call->next = *place;
    *place = call;
    pthread_cond_signal(&queued);
    pthread_mutex_unlock(&lock);
}

void op_commit_host(struct op *op, void (*function)(void *), void *argument)
{
    struct host_call *call = malloc(sizeof *call);
    if (!call)
        abort();
    *call = (struct host_call){.op = op, .function = function, .argument = argument};
    op->on_ready = enqueue;
    op->on_ready_argument = call;
    op_commit(op);
}

void host_functions_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&queued, NULL);
    queue = NULL;
    worker_runs = false;
}
