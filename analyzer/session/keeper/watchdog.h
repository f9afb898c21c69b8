/* A bound on calls into liblttng-ctl, which wait for the session daemon without one. */
#ifndef GW_KEEPER_WATCHDOG_H
#define GW_KEEPER_WATCHDOG_H

#include <stdbool.h>

struct gw_watchdog;

/*
 * From now until gw_watchdog_stop, ends the daemons once `seconds` have passed: the blocked call then fails. Returns
 * NULL when no thread could be made. The caller owns the result.
 */
struct gw_watchdog *gw_watchdog_start(int seconds);

/* Moves the deadline to `seconds` from now. */
void gw_watchdog_extend(struct gw_watchdog *watchdog, int seconds);

/* Takes the watchdog; returns true when it had to bite. NULL is allowed. */
bool gw_watchdog_stop(struct gw_watchdog *watchdog);

#endif
