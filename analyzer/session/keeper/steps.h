/* Where the traced processes tell of their steps: the socket of shim/api/steps.h. */
#ifndef GW_KEEPER_STEPS_H
#define GW_KEEPER_STEPS_H

/* Makes the socket in `home`. Returns its descriptor, which the caller closes, or -errno. */
int gw_steps_listen(const char *home);

#endif
