// Every other function of the library: answers "not supported". Weak, so that a simulated one of the same name wins.
// BLAS_NAMES is the list of the library's functions; those that give no status are all simulated or answer zero.
#define STUB(name)                                                                                                     \
    int name(void);                                                                                                    \
    __attribute__((weak, visibility("default"))) int name(void)                                                        \
    {                                                                                                                  \
        return 15; /* CUBLAS_STATUS_NOT_SUPPORTED; the header would declare the functions with their arguments */      \
    }
#include BLAS_NAMES
