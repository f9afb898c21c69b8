/* Independent pieces of work on one thread for each CPU this process may use. */
#ifndef GW_ANALYZER_READ_PARALLEL_H
#define GW_ANALYZER_READ_PARALLEL_H

#include <stddef.h>

/* How many threads gw_parallel_for uses at most. */
size_t gw_parallel_threads(void);

/* Calls work(user, i) once for each i < count, begun in this order, from several threads at once; returns after all
 * have returned. Where no thread can be started the caller's does all of it. After a failure no further piece is begun;
 * the first failure's status is returned, else 0. */
int gw_parallel_for(size_t count, int (*work)(void *user, size_t index), void *user);

#endif
