#include "plots/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct unit {
    double size;
    const char *name;
};

static const struct unit time_units[] = {{1.0, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}};
static const struct unit byte_units[] = {
    {1.0, "B"}, {1024.0, "KiB"}, {1048576.0, "MiB"}, {1073741824.0, "GiB"}, {1099511627776.0, "TiB"}};

/* Of bytes per nanosecond. */
static const struct unit rate_units[] = {{1e-9, "B/s"}, {1e-6, "kB/s"}, {1e-3, "MB/s"}, {1.0, "GB/s"}, {1e3, "TB/s"}};

static const struct unit *unit_for(const struct unit *units, size_t count, double value)
{
    const struct unit *unit = units;

    /* 999.5 would be printed as 1000 of the smaller unit. */
    for (size_t i = 1; i < count; i++)
        if (fabs(value) >= units[i].size * 0.9995)
            unit = &units[i];
    return unit;
}

static void print_significant(double value, const char *unit, char text[GW_UNIT_TEXT])
{
    int digits = fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2;

    if (value == 0.0)
        digits = 0;
    snprintf(text, GW_UNIT_TEXT, "%.*f %s", digits, value, unit);
}

void gw_format_duration(double ns, char text[GW_UNIT_TEXT])
{
    const struct unit *unit = unit_for(time_units, 4, ns);

    if (unit == time_units)
        snprintf(text, GW_UNIT_TEXT, "%.0f ns", ns);
    else
        print_significant(ns / unit->size, unit->name, text);
}

void gw_format_bytes(double bytes, char text[GW_UNIT_TEXT])
{
    const struct unit *unit = unit_for(byte_units, 5, bytes);

    if (unit == byte_units || fmod(bytes, unit->size) == 0.0)
        snprintf(text, GW_UNIT_TEXT, "%.0f %s", bytes / unit->size, unit->name);
    else
        print_significant(bytes / unit->size, unit->name, text);
}

void gw_format_rate(double bytes_per_ns, char text[GW_UNIT_TEXT])
{
    const struct unit *unit = unit_for(rate_units, 5, bytes_per_ns);

    print_significant(bytes_per_ns / unit->size, unit->name, text);
}

void gw_format_power(double value, enum gw_power what, char text[GW_UNIT_TEXT])
{
    const struct unit *unit = what == GW_POWER_TIME ? unit_for(time_units, 4, value) : unit_for(rate_units, 5, value);

    snprintf(text, GW_UNIT_TEXT, "%g %s", round(value / unit->size * 1e6) / 1e6, unit->name);
}

void gw_format_count(uint64_t count, char text[GW_UNIT_TEXT])
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count), out = 0;

    for (size_t i = 0; i < length && out + 2 < GW_UNIT_TEXT; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[out++] = ' ';
        text[out++] = digits[i];
    }
    text[out] = '\0';
}

double gw_axis_step(double span, unsigned int max_ticks)
{
    static const double nice[] = {1.0, 2.0, 5.0, 10.0};
    double least = span / (max_ticks ? max_ticks : 1);
    double power = pow(10.0, floor(log10(least)));

    for (size_t i = 0; i < 4; i++)
        if (nice[i] * power >= least * (1.0 - 1e-9))
            return nice[i] * power;
    return 10.0 * power;
}

void gw_format_tick(double ns, double step_ns, char text[GW_UNIT_TEXT])
{
    const struct unit *unit = unit_for(time_units, 4, step_ns * 10.0);
    double step = step_ns / unit->size;
    int digits = step >= 1.0 ? 0 : (int)ceil(-log10(step) - 1e-9);

    snprintf(text, GW_UNIT_TEXT, "%.*f %s", digits, ns / unit->size, unit->name);
}
