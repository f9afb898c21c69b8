/*
 * Text for people: lengths of time in fitting units, wrapped lines, colours.
 */
#ifndef GW_ANALYZER_EXPORT_REPORT_WORDS_H
#define GW_ANALYZER_EXPORT_REPORT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Where text goes and how. */
struct gw_page {
    FILE *out;
    unsigned width;
    bool color;
};

/* Room for any duration. */
struct gw_duration {
    char text[24];
};

/* "12.3 us", "1.73 ms", "2.5 s": three significant digits. */
struct gw_duration gw_duration_words(double ms);

struct gw_size {
    char text[24];
};

/* "512 B", "12.3 kB", "1.73 MB": three significant digits, of powers of 1000. */
struct gw_size gw_size_words(double bytes);

struct gw_uneven {
    char text[60];
};

/* " (half of them less than 90.3 ms)" where the steps are so uneven that the mean one alone would tell another story,
 * else "". */
struct gw_uneven gw_uneven_words(double median_ms, double mean_ms);

/* Prints bytes of text with '?' for what would command a terminal: names come from programs, and from bundles of
 * strangers. */
void gw_put_text(FILE *out, const char *text, size_t length);

/* Prints the text broken at blanks so that no line is wider than the page; lines after the first begin with indent
 * blanks, the first goes on at column. */
void gw_page_wrap(const struct gw_page *page, const char *text, unsigned column, unsigned indent);

/* A line "  label      text", the text printf-like and wrapped under itself; label NULL: none, indented by indent. */
void gw_page_item(const struct gw_page *page, const char *label, unsigned indent, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Starts or ends (NULL) an ANSI style such as "1" (bold) or "31" (red); nothing on a page without colours. */
void gw_page_style(const struct gw_page *page, const char *style);

/* A heading with an empty line before it. */
void gw_page_heading(const struct gw_page *page, const char *text);

#endif
