#include "analyzer/read/error.h"

#include <stdarg.h>
#include <stdio.h>

int gw_error_set(struct gw_error *error, int status, const char *format, ...)
{
    if (!error) {
        return status;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    for (char *c = error->text; *c; c++) {
        if (*c == '\n' || *c == '\r') {
            *c = ' ';
        }
    }
    return status;
}
