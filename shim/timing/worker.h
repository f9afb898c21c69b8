// The thread of a timing backend: all signals blocked, nothing of it recorded.
#ifndef GW_SHIM_TIMING_WORKER_H
#define GW_SHIM_TIMING_WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

// What a backend's thread and those that wait for it share. `lock` guards what the backend says it does.
struct gw_worker {
    pthread_mutex_t lock;
    pthread_cond_t wake;   // the thread waits for it
    pthread_cond_t passed; // the others do
    bool sleeping;         // the thread waits for `wake` with nothing to do
    pthread_t thread;
};

// Makes the thread, which runs `body`. Called once a worker; `lock` is initialised already. Returns whether it was
// made.
bool gw_worker_start(struct gw_worker *worker, void *(*body)(void *));

// First in `body`.
void gw_worker_enter(void);

// Makes the calling thread's CUDA calls legal whatever the program's threads capture: else they would break a capture
// of the global mode. Returns whether they are.
bool gw_worker_keep_out_of_captures(void);

// Called with the lock held: waits for one of the two conditions, at most that long; UINT64_MAX: for ever.
void gw_worker_wait(struct gw_worker *worker, pthread_cond_t *condition, uint64_t ns);

// Wakes the thread if it sleeps. Any thread, without the lock; costs a load when it does not.
void gw_worker_wake_sleeping(struct gw_worker *worker);

#endif
