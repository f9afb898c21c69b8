/* What can be told of a program from its file, before it runs. */
#ifndef GW_SESSION_PROGRAM_FILE_H
#define GW_SESSION_PROGRAM_FILE_H

#include <limits.h>
#include <stdbool.h>

enum gw_file_kind { GW_FILE_OTHER, GW_FILE_SCRIPT, GW_FILE_ELF };

struct gw_program_file {
    char path[PATH_MAX];
    enum gw_file_kind kind;
    char interpreter[256]; /* of a script: the program of its first line */
    bool gains_privileges; /* setuid, setgid or with file capabilities, and not for this user already */
    /* Of an ELF file. */
    bool other_machine;     /* not of this machine's kind and word size: nothing below is known */
    bool is_static;         /* no dynamic linker */
    bool needs_cudart;      /* linked with libcudart.so, … */
    bool needs_driver;      /* … libcuda.so … */
    bool needs_nccl;        /* … and libnccl.so */
    bool has_cudart_inside; /* the runtime is linked in */
};

/*
 * Looks `name` up as execvp does and inspects the file. Returns 0; GW_STATUS_NOT_FOUND or GW_STATUS_NOT_EXECUTABLE; or
 * -errno when the file cannot be read.
 */
int gw_program_file_inspect(const char *name, struct gw_program_file *ret_file);

#endif
