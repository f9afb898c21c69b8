// Every function of a stand-in library that it does not simulate: answers STAND_IN_STATUS, its library's "not
// supported". Weak, so that a simulated one of the same name wins. STAND_IN_NAMES lists all functions of the library.
#define STUB(name)                                                                                                     \
    int name(void);                                                                                                    \
    __attribute__((weak, visibility("default"))) int name(void)                                                        \
    {                                                                                                                  \
        return STAND_IN_STATUS; /* the library's header would declare the functions with their arguments */            \
    }
#include STAND_IN_NAMES
