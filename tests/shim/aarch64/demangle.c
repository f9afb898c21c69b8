// In the place of the C++ runtime's, of which none is at hand for another processor: no name can be read.
#include <stddef.h>

char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status)
{
    (void)mangled, (void)buffer, (void)length;
    *status = -2;
    return NULL;
}
