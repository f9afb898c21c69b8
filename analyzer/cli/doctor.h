/* gpuwitness doctor: can this machine record, and what would be missed. One line a check. */
#ifndef GW_CLI_DOCTOR_H
#define GW_CLI_DOCTOR_H

#include <stdbool.h>

enum gw_finding { GW_FINE, GW_NOTE, GW_PROBLEM };

/* Prints one line and returns true when it is a problem. */
bool gw_doctor_say(enum gw_finding finding, const char *subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Says what would be missed of the program; does not run it. Returns true when there is a problem. */
bool gw_doctor_check_program(const char *program);

#endif
