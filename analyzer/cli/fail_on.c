#include "analyzer/cli/fail_on.h"
#include "analyzer/cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *without_spaces(char *text)
{
    text += strspn(text, " ");
    for (size_t length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
        text[length - 1] = '\0';
    return text;
}

/* Returns whether `text` is a limit. */
static bool read_limit(const char *text, struct gw_fail_condition *ret_condition)
{
    static const struct {
        const char *name;
        double factor;
        bool percent;
    } units[] = {{"", 1, false}, {"ms", 1, false}, {"us", 1e-3, false}, {"s", 1e3, false}, {"%", 1, true}};
    char *unit;
    double number = strtod(text, &unit);
    if (!strchr("0123456789.", *text) || unit == text || strpbrk(text, "xX") || !isfinite(number))
        return false; /* signs, infinity, hexadecimal */
    unit += strspn(unit, " ");
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].name) == 0) {
            ret_condition->limit = number * units[i].factor;
            ret_condition->percent = units[i].percent;
            return true;
        }
    }
    return false;
}

error_t gw_take_fail_on(const struct argp_state *state, char *value, struct gw_fail_on *list)
{
    char *limit = strchr(value, '>');
    if (!limit || limit == value)
        return gw_usage_error(state, "--fail-on needs a name, '>' and a limit, such as 'any>0.5ms', not '%s'", value);
    if (list->count == GW_FAIL_ON_MOST)
        return gw_usage_error(state, "--fail-on can be given %d times, no more", GW_FAIL_ON_MOST);
    *limit++ = '\0';
    struct gw_fail_condition *condition = &list->list[list->count];
    if (!read_limit(without_spaces(limit), condition))
        return gw_usage_error(state,
                              "--fail-on needs a time such as 0.5, 0.5ms or 300us, or a share such as 5%%, "
                              "after '>', not '%s'",
                              limit);
    condition->what = without_spaces(value);
    list->count++;
    return 0;
}
