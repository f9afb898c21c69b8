/* See tracepoint.h. */
static inline void lttng_ust_init_thread(void)
{
}
