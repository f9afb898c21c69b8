/* Whole packets in LTTng's stream files. */
#ifndef GW_SESSION_PACKETS_H
#define GW_SESSION_PACKETS_H

#include <stdbool.h>

/*
 * Cuts every stream file below `trace_path` behind its last whole packet: a full disk and a killed consumer both leave
 * a part of one, on which readers stumble. Returns the number of files cut, or -errno.
 */
int gw_packets_trim(const char *trace_path);

/* Whether there is an event in the stream file `path`; true when that cannot be told. */
bool gw_packets_have_events(const char *path);

#endif
