/*
 * LTTng's index of a stream file (lttng/lttng-index.h, version 1.1): one entry a packet, all in big-endian order.
 */
#ifndef GW_ANALYZER_READ_STREAM_INDEX_H
#define GW_ANALYZER_READ_STREAM_INDEX_H

#include "analyzer/read/trace_files.h"

#define GW_INDEX_ENDING ".idx"

/* Whether the index at path lists the packets of its file and others behind them: those were lost with a part of the
 * file. A file that is missing has no packets; without an index nothing is known. */
bool gw_index_lists_more(const char *path, const struct gw_stream_file *file);

#endif
