/* Whole packets in LTTng's stream files. */
#ifndef GW_SESSION_PACKETS_H
#define GW_SESSION_PACKETS_H

/*
 * Cuts every stream file below `trace_path` behind its last whole packet: a full disk and a killed consumer both leave
 * a part of one, on which readers stumble. Returns the number of files cut, or -errno.
 */
int gw_packets_trim(const char *trace_path);

#endif
