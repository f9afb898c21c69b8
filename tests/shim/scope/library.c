// Built as `first` and `second`, which a program is linked to in that order, and as `third`, which it opens.
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define JOIN(a, b) a##b
#define IN(library, name) JOIN(library, name)

EXPORT const char *scope_name(void);
EXPORT const char *IN(LIBRARY, _next)(void);
EXPORT const char *IN(LIBRARY, _default)(const char *function);
EXPORT void *IN(LIBRARY, _open)(const char *file);

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

EXPORT const char *scope_name(void)
{
    return TEXT(LIBRARY);
}

static const char *call(void *function)
{
    return function ? ((const char *(*)(void))function)() : "nothing";
}

EXPORT const char *IN(LIBRARY, _next)(void)
{
    return call(dlsym(RTLD_NEXT, "scope_name"));
}

EXPORT const char *IN(LIBRARY, _default)(const char *function)
{
    return dlsym(RTLD_DEFAULT, function) ? "found" : "nothing";
}

// Found by the caller's own run path only.
EXPORT void *IN(LIBRARY, _open)(const char *file)
{
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}
