// Preloaded between the program and the driver: a call that the program does not make leaves an errno of its own.
#include <dlfcn.h>
#include <errno.h>

__attribute__((visibility("default"))) int cuMemHostGetFlags(unsigned *flags, void *memory);
int cuMemHostGetFlags(unsigned *flags, void *memory)
{
    int (*next)(unsigned *, void *) = (int (*)(unsigned *, void *))dlsym(RTLD_NEXT, "cuMemHostGetFlags");
    int result = next ? next(flags, memory) : -1;

    errno = EDOM;
    return result;
}
