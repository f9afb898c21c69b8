#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/model.h"

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

static char *fold(const char *text)
{
    char *folded = malloc(strlen(text) + 1);
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
            i = skip_brackets(name, i);
            memcpy(folded + used, "<>", 2);
            used += 2;
        } else {
            folded[used++] = name[i++];
        }
    }
    folded[used] = '\0';
    return folded;
}

char *gw_kernel_name_short(const char *mangled)
{
    int status = 0;
    char *demangled = strncmp(mangled, "_Z", 2) == 0 ? __cxa_demangle(mangled, NULL, NULL, &status) : NULL;
    if (!demangled && status == -1) {
        return NULL;
    }
    char *folded = fold(demangled ? demangled : mangled);
    free(demangled);
    return folded;
}
