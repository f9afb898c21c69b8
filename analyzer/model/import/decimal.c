#include "analyzer/model/import/decimal.h"

/* Beyond these a value of at most 19 digits is 0 or does not fit. */
#define EXPONENT_MAX 40
/* Digits that a word holds, and as many again: what is beyond only scales. */
#define WORD_DIGITS 18
#define DIGITS_MAX (2 * WORD_DIGITS)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_exponent(const char *text, size_t length, int *exponent)
{
    size_t at = 0;
    bool negative = false;
    int value = 0;
    if (at < length && (text[at] == '+' || text[at] == '-')) {
        negative = text[at++] == '-';
    }
    if (at == length) {
        return false;
    }
    for (; at < length; at++) {
        if (!is_digit(text[at])) {
            return false;
        }
        value = value < 1000 ? value * 10 + (text[at] - '0') : value;
    }
    *exponent += negative ? -value : value;
    return true;
}

/* Most numbers: a word of digits, no sign, no exponent, no more decimals than asked for. False for any other, and for
 * what is none. */
static bool read_plain(const char *text, size_t length, int decimals, int64_t *ret_value)
{
    uint64_t value = 0;
    size_t at = 0;
    if (length == 0 || length > (size_t)WORD_DIGITS || (unsigned)decimals > WORD_DIGITS - length) {
        return false;
    }
    for (; at < length && is_digit(text[at]); at++) {
        value = value * 10 + (unsigned)(text[at] - '0');
    }
    if (at && at + 1 < length && text[at] == '.') {
        for (at++; at < length && is_digit(text[at]) && decimals; at++, decimals--) {
            value = value * 10 + (unsigned)(text[at] - '0');
        }
    }
    if (at != length) {
        return false;
    }
    for (; decimals; decimals--) {
        value *= 10;
    }
    *ret_value = (int64_t)value;
    return true;
}

bool gw_decimal_read(const char *text, size_t length, int decimals, int64_t *ret_value)
{
    if (read_plain(text, length, decimals, ret_value)) {
        return true;
    }
    size_t at = 0;
    bool negative = false, has_digits = false, in_fraction = false;
    uint64_t first = 0, word = 0; /* the first word's digits, once it is full; the digits of the word being read */
    const unsigned __int128 limit = (unsigned __int128)1 << 120;
    int exponent = decimals, digits = 0; /* without leading zeros */
    if (at < length && (text[at] == '-' || text[at] == '+')) {
        negative = text[at++] == '-';
    }
    for (; at < length && (is_digit(text[at]) || (text[at] == '.' && !in_fraction)); at++) {
        if (text[at] == '.') {
            in_fraction = true;
            continue;
        }
        has_digits = true;
        if (digits == DIGITS_MAX) {
            exponent += in_fraction ? 0 : 1;
            continue;
        }
        word = word * 10 + (unsigned)(text[at] - '0');
        exponent -= in_fraction ? 1 : 0;
        digits += digits || word;
        if (digits == WORD_DIGITS) {
            first = word;
            word = 0;
        }
    }
    unsigned __int128 value = first;
    for (int i = WORD_DIGITS; i < digits; i++) {
        value *= 10;
    }
    value += word;
    if (!has_digits) {
        return false;
    }
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        if (!read_exponent(text + at + 1, length - at - 1, &exponent)) {
            return false;
        }
        at = length;
    }
    if (at != length) {
        return false;
    }
    for (; exponent > 0 && value; exponent--) {
        if (exponent > EXPONENT_MAX || value >= limit / 10) {
            return false;
        }
        value *= 10;
    }
    for (; exponent < -1 && value; exponent++) {
        value /= 10;
    }
    if (exponent == -1) {
        value = (value + 5) / 10;
    }
    if (value > INT64_MAX) {
        return false;
    }
    *ret_value = negative ? -(int64_t)value : (int64_t)value;
    return true;
}
