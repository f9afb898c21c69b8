/* See tracepoint.h. */
#include <signal.h>

static inline void lttng_ust_before_fork(sigset_t *signals)
{
    sigemptyset(signals);
}

static inline void lttng_ust_after_fork_parent(sigset_t *signals)
{
    (void)signals;
}

static inline void lttng_ust_after_fork_child(sigset_t *signals)
{
    (void)signals;
}
