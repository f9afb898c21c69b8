/* Numbers as JSON spells them, read without passing through double: a stamp of 10^15 µs keeps its nanoseconds. */
#ifndef GW_ANALYZER_MODEL_IMPORT_DECIMAL_H
#define GW_ANALYZER_MODEL_IMPORT_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads length bytes of decimal text ("4458676522690.655", "1.5e3", "-2") as the nearest integer multiple of
 * 10^-decimals: decimals 3 turns microseconds into nanoseconds; halves round away from zero. False when the text is
 * no number or the result does not fit; *ret_value is untouched then. */
bool gw_decimal_read(const char *text, size_t length, int decimals, int64_t *ret_value);

#endif
