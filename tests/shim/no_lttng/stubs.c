// See lttng/tracepoint.h. No descriptor is LTTng's.
#include "lttng/tracepoint.h"

int lttng_ust_safe_close_fd(int fd, int (*close_fd)(int fd));
void lttng_ust_lock_fd_tracker(void);
void lttng_ust_unlock_fd_tracker(void);

const struct no_lttng_tracepoint lttng_ust_tracepoint_gpuwitness___call = {.state = 1};

void no_lttng_event(const char *name, ...)
{
    (void)name;
}

int lttng_ust_safe_close_fd(int fd, int (*close_fd)(int fd))
{
    return close_fd(fd);
}

void lttng_ust_lock_fd_tracker(void)
{
}

void lttng_ust_unlock_fd_tracker(void)
{
}
