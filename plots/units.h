/*
 * Amounts as people write them, and round numbers for axes.
 */
#ifndef GW_PLOTS_UNITS_H
#define GW_PLOTS_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define GW_UNIT_TEXT 32

/* Three significant digits: "840 ns", "152 µs", "2.31 ms", "14.0 s". */
void gw_format_duration(double ns, char text[GW_UNIT_TEXT]);

/* "512 B", "2.00 MiB". */
void gw_format_bytes(double bytes, char text[GW_UNIT_TEXT]);

/* "3.1 GB/s" from bytes per nanosecond. */
void gw_format_rate(double bytes_per_ns, char text[GW_UNIT_TEXT]);

/* A power of ten of time (ns) or rate (bytes per ns) without decimals: "10 µs", "100 MB/s". */
enum gw_power { GW_POWER_TIME, GW_POWER_RATE };
void gw_format_power(double value, enum gw_power what, char text[GW_UNIT_TEXT]);

/* Whole numbers with thin groups: "1 234 567". */
void gw_format_count(uint64_t count, char text[GW_UNIT_TEXT]);

/* The step (1, 2 or 5 times a power of ten) that divides span into at most max_ticks parts; span must be above 0. */
double gw_axis_step(double span, unsigned int max_ticks);

/* A time on an axis whose ticks are step_ns apart, in the unit that suits the step: all ticks share unit and digits. */
void gw_format_tick(double ns, double step_ns, char text[GW_UNIT_TEXT]);

#endif
