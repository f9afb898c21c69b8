#include "shim/api/kernel_name.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of the C++ ABI (libstdc++): returns a malloc'd string, or NULL with *status set. */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static bool is_operator(const char *text, size_t at)
{
    return at >= 8 && memcmp(text + at - 8, "operator", 8) == 0;
}

/* Where the bracket opened at `at` closes, or the end of the text. */
static size_t skip_brackets(const char *text, size_t at)
{
    size_t depth = 0;
    for (; text[at]; at++) {
        char c = text[at];
        if (c == '<' || c == '(' || c == '[' || c == '{') {
            depth++;
        } else if (c == '>' && at > 0 && text[at - 1] == '-') {
            continue;
        } else if (c == '>' || c == ')' || c == ']' || c == '}') {
            if (--depth == 0) {
                return at + 1;
            }
        }
    }
    return at;
}

/* Drops the return type: everything up to the last blank outside brackets before the parameter list. */
static const char *drop_return_type(const char *text)
{
    const char *start = text;
    for (size_t i = 0; text[i];) {
        if (text[i] == '(' && strncmp(text + i, "(anonymous namespace)", 21) == 0) {
            i += 21;
        } else if (text[i] == '(') {
            break;
        } else if ((text[i] == '<' || text[i] == '[' || text[i] == '{') && !is_operator(text, i)) {
            i = skip_brackets(text, i);
        } else {
            if (text[i] == ' ' && !is_operator(text, i)) {
                start = text + i + 1;
            }
            i++;
        }
    }
    return *start ? start : text;
}

/* Appends an argument of a template: without namespaces, casts and arguments of its own. */
static void append_argument(const char *text, size_t begin, size_t end, char *out, size_t *used)
{
    size_t word = *used; /* where the name that may yet turn out to be a namespace begins */
    for (size_t i = begin; i < end;) {
        if (text[i] == '(' || text[i] == '<') {
            bool is_template = text[i] == '<';
            i = skip_brackets(text, i);
            if (is_template) {
                out[(*used)++] = '<';
                out[(*used)++] = '>';
            }
        } else if (text[i] == ':' && text[i + 1] == ':') {
            *used = word;
            i += 2;
        } else {
            out[(*used)++] = text[i];
            if (text[i] == ' ')
                word = *used;
            i++;
        }
    }
}

/* Appends the arguments of the template whose bracket opens at `open` and whose text ends at `close`. */
static void append_arguments(const char *text, size_t open, size_t close, char *out, size_t *used)
{
    out[(*used)++] = '<';
    for (size_t begin = open + 1, i = begin; i < close;) {
        bool last = i + 1 == close;
        if (text[i] == ',' || last) {
            append_argument(text, begin, i, out, used);
            if (!last)
                out[(*used)++] = ',';
            begin = ++i;
        } else {
            i = text[i] == '<' || text[i] == '(' || text[i] == '[' || text[i] == '{' ? skip_brackets(text, i) : i + 1;
        }
    }
    *used -= out[*used - 1] == ' '; /* of "> >" */
    out[(*used)++] = '>';
}

static char *fold(const char *text, bool arguments)
{
    char *folded = malloc(strlen(text) + 3); /* a bracket that never closes gets its end */
    if (!folded) {
        return NULL;
    }
    size_t used = 0;
    const char *name = drop_return_type(text);
    for (size_t i = 0; name[i];) {
        if (name[i] == '(' && strncmp(name + i, "(anonymous namespace)::", 23) == 0) {
            i += 23;
        } else if (name[i] == '(' && !is_operator(name, i)) {
            break;
        } else if (name[i] == '<' && !is_operator(name, i)) {
            size_t close = skip_brackets(name, i);
            if (arguments && name[close - 1] == '>') {
                append_arguments(name, i, close, folded, &used);
            } else {
                memcpy(folded + used, "<>", 2);
                used += 2;
            }
            i = close;
        } else {
            folded[used++] = name[i++];
        }
    }
    folded[used] = '\0';
    return folded;
}

static char *name_of(const char *mangled, bool arguments)
{
    int status = 0;
    char *demangled = strncmp(mangled, "_Z", 2) == 0 ? __cxa_demangle(mangled, NULL, NULL, &status) : NULL;
    if (!demangled && status == -1) {
        return NULL;
    }
    char *folded = fold(demangled ? demangled : mangled, arguments);
    free(demangled);
    return folded;
}

char *gw_kernel_name_short(const char *mangled)
{
    return name_of(mangled, false);
}

char *gw_kernel_name_variant(const char *mangled)
{
    return name_of(mangled, true);
}
