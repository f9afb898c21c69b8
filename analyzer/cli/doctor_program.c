#include "analyzer/cli/doctor.h"
#include "analyzer/session/program.h"
#include "analyzer/session/program_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SCRIPTS_MAX 4 /* a script may be the interpreter of another */

/* Follows scripts to the program that runs them. */
static int inspect(const char *program, struct gw_program_file *ret_file)
{
    char name[sizeof(ret_file->interpreter)];
    int result = gw_program_file_inspect(program, ret_file);
    for (int i = 0; i < SCRIPTS_MAX && result == 0 && ret_file->kind == GW_FILE_SCRIPT; i++) {
        gw_doctor_say(GW_FINE, "program", "%s is a script, run by %s", ret_file->path, ret_file->interpreter);
        memcpy(name, ret_file->interpreter, sizeof(name));
        result = gw_program_file_inspect(name, ret_file);
    }
    return result;
}

static void say_runtime(const struct gw_program_file *file)
{
    if (file->has_cudart_inside)
        gw_doctor_say(GW_NOTE, "CUDA runtime",
                      "linked in statically: its calls are seen as the driver calls that they make, without their own "
                      "names (nvcc -cudart shared shows them)");
    else if (file->needs_cudart)
        gw_doctor_say(GW_FINE, "CUDA runtime", "linked as a shared library: every call is seen");
    else if (file->needs_driver)
        gw_doctor_say(GW_FINE, "CUDA runtime", "not linked; the driver is: every call is seen");
    else
        gw_doctor_say(GW_FINE, "CUDA runtime",
                      "not linked: frameworks load it while they run, which is seen, but cannot be looked at before");
    if (file->needs_nccl)
        gw_doctor_say(GW_FINE, "NCCL", "linked as a shared library: every call is seen");
    gw_doctor_say(
        GW_FINE, "loaded later",
        "libraries opened with RTLD_DEEPBIND or in a namespace of their own go round the recording; only a run "
        "shows whether there are some");
}

bool gw_doctor_check_program(const char *program)
{
    struct gw_program_file file;
    int result = inspect(program, &file);
    if (result == GW_STATUS_NOT_FOUND)
        return gw_doctor_say(GW_PROBLEM, "program", "%s: not found", program);
    if (result == GW_STATUS_NOT_EXECUTABLE)
        return gw_doctor_say(GW_PROBLEM, "program", "%s: not executable", program);
    if (result != 0)
        return gw_doctor_say(GW_PROBLEM, "program", "%s cannot be read: %s", program, strerror(-result));
    if (file.gains_privileges)
        return gw_doctor_say(
            GW_PROBLEM, "program",
            "%s runs with other privileges than yours (setuid, setgid or capabilities): nothing can be "
            "preloaded into it and nothing would be seen",
            file.path);
    if (file.kind != GW_FILE_ELF)
        return gw_doctor_say(GW_NOTE, "program", "%s is no ELF file: what it starts is recorded if that is one",
                             file.path);
    if (file.other_machine)
        return gw_doctor_say(GW_PROBLEM, "program", "%s is built for another kind of processor: nothing would be seen",
                             file.path);
    if (file.is_static)
        return gw_doctor_say(GW_PROBLEM, "program",
                             "%s is linked statically: nothing can be preloaded into it and nothing would be seen",
                             file.path);
    gw_doctor_say(GW_FINE, "program", "%s is linked dynamically", file.path);
    say_runtime(&file);
    return false;
}
