/*
 * Comparing texts without libc: names are looked up while a sanitizer's runtime starts, which has put itself in front
 * of strcmp and its like, but does not work yet.
 */
#ifndef GW_SHIM_API_TEXT_H
#define GW_SHIM_API_TEXT_H

#include <stdbool.h>
#include <stddef.h>

__attribute__((no_sanitize("thread"))) static inline bool gw_text_same(const char *a, const char *b)
{
    for (; *a && *a == *b; a++, b++)
        ;
    return *a == *b;
}

// The rest of text after start, or NULL when it begins otherwise.
__attribute__((no_sanitize("thread"))) static inline const char *gw_text_after(const char *text, const char *start)
{
    for (; *start; text++, start++)
        if (*text != *start)
            return NULL;
    return text;
}

// The part of a path after its last slash.
__attribute__((no_sanitize("thread"))) static inline const char *gw_text_file(const char *path)
{
    const char *file = path;

    for (; *path; path++)
        if (*path == '/')
            file = path + 1;
    return file;
}

#endif
