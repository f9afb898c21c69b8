/* The chunks of a recording that is rotated: RUN/trace/archives/BEGIN-END-NUMBER, as LTTng lays them out. */
#ifndef GW_KEEPER_ARCHIVES_H
#define GW_KEEPER_ARCHIVES_H

/*
 * Removes the oldest chunks below `trace_path` until `keep` are left. Of a removed chunk, files in which the program
 * announced something (processes, streams, kernels) stay: later chunks need them. Adds what was removed to the counts.
 * Returns 0 or -errno.
 */
int gw_archives_trim(const char *trace_path, unsigned keep, unsigned *chunks, unsigned long long *bytes);

#endif
