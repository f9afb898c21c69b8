#include "analyzer/export/report_words.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define UNEVEN 1.5 /* mean over median */

struct gw_duration gw_duration_words(double ms)
{
    static const struct {
        double in_ms;
        const char *name;
    } units[] = {{1000, "s"}, {1, "ms"}, {1e-3, "us"}, {1e-6, "ns"}};
    struct gw_duration duration;
    size_t unit = 0;
    while (unit < 3 && fabs(ms) < 0.9995 * units[unit].in_ms)
        unit++;
    if (ms == 0)
        unit = 1;
    double value = ms / units[unit].in_ms, size = fabs(value);
    int digits = unit == 3 || size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
    snprintf(duration.text, sizeof duration.text, "%.*f %s", digits, value, units[unit].name);
    return duration;
}

struct gw_size gw_size_words(double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    struct gw_size size;
    size_t unit = 0;
    for (; unit < 4 && bytes >= 999.5; unit++)
        bytes /= 1000;
    const bool whole = unit == 0 && bytes == floor(bytes);
    snprintf(size.text, sizeof size.text, "%.*f %s",
             whole || bytes >= 99.95 ? 0
             : bytes >= 9.995        ? 1
                                     : 2,
             bytes, units[unit]);
    return size;
}

struct gw_uneven gw_uneven_words(double median_ms, double mean_ms)
{
    struct gw_uneven uneven = {""};
    if (mean_ms > UNEVEN * median_ms)
        snprintf(uneven.text, sizeof uneven.text, " (half of them less than %s)", gw_duration_words(median_ms).text);
    return uneven;
}

/* Columns of UTF-8 text: bytes that do not continue a character. */
static unsigned columns(const char *text, size_t length)
{
    unsigned count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Length of the next piece that may not be broken: a word, and the unit after a number. */
static size_t piece_length(const char *text)
{
    static const char *const units[] = {"%", "ns", "us", "ms", "s"};
    size_t length = strcspn(text, " ");
    if (length && text[length] == ' ' && text[length - 1] >= '0' && text[length - 1] <= '9') {
        const char *next = text + length + 1;
        size_t after = strcspn(next, " ,.;:)");
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (after == strlen(units[i]) && strncmp(next, units[i], after) == 0)
                return length + 1 + strcspn(next, " ");
        }
    }
    return length;
}

/* Whether the byte is a control character of ASCII, or begins one of Unicode's second set (U+0080 to U+009F). */
static bool commands(unsigned char byte, unsigned char next)
{
    return (byte < 0x20 && byte != '\n') || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

void gw_put_text(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i], next = i + 1 < length ? (unsigned char)text[i + 1] : 0;
        bool replaced = commands(byte, next);
        fputc(replaced ? '?' : byte, out);
        i += replaced && byte == 0xc2;
    }
}

void gw_page_wrap(const struct gw_page *page, const char *text, unsigned column, unsigned indent)
{
    bool fresh = true;
    while (*text) {
        size_t length = piece_length(text);
        unsigned width = columns(text, length);
        if (!fresh && column + 1 + width > page->width) {
            fprintf(page->out, "\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        if (!fresh) {
            fputc(' ', page->out);
            column++;
        }
        gw_put_text(page->out, text, length);
        column += width;
        fresh = false;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', page->out);
}

void gw_page_style(const struct gw_page *page, const char *style)
{
    if (page->color)
        fprintf(page->out, "\033[%sm", style ? style : "0");
}

void gw_page_heading(const struct gw_page *page, const char *text)
{
    fputc('\n', page->out);
    gw_page_style(page, "1");
    fputs(text, page->out);
    gw_page_style(page, NULL);
    fputc('\n', page->out);
}

void gw_page_item(const struct gw_page *page, const char *label, unsigned indent, const char *format, ...)
{
    char line[1000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(page->out, "  %-*s", indent > 2 ? (int)indent - 2 : 0, label ? label : "");
    gw_page_wrap(page, line, indent, indent);
}
