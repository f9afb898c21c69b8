/*
 * Putting the times of a recording on another clock.
 */
#ifndef GW_ANALYZER_READ_CLOCK_SHIFT_H
#define GW_ANALYZER_READ_CLOCK_SHIFT_H

#include "analyzer/read/read.h"

/* t with the shift: t + offset_ns + ppm / 10^6 × (t − about_ns). 0 and UINT64_MAX, which stand for no time, stay. */
uint64_t gw_clock_shifted(const struct gw_clock_shift *shift, uint64_t t_ns);

/* Shifts every time of the records, or of the run file: its begin and end, its windows and compilers, and what leads to
 * CLOCK_REALTIME. The first returns 0, -ENOMEM or -EFBIG.
 */
int gw_records_shift(struct gw_records *records, const struct gw_clock_shift *shift);
void gw_run_file_shift(struct gw_run_file *run, const struct gw_clock_shift *shift);

#endif
