#include "analyzer/cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a parser returns when the fault has been printed; argp itself only returns EINVAL, ENOMEM and EBADKEY. */
#define PRINTED ECANCELED
#define LONGEST_WORD 32

void gw_complain(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", command);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

int gw_end_output(const char *command)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return GW_EXIT_OK;
    gw_complain(command, "the standard output cannot be written: %s", strerror(errno));
    return GW_EXIT_FAILURE;
}

error_t gw_usage_error(const struct argp_state *state, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", state->argv[0]);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; see %s --help\n", state->argv[0]);
    va_end(arguments);
    return PRINTED;
}

static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST_WORD + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t best = diagonal + (a[i] != b[j]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j + 1] + 1 < best)
                best = row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
    return row[width];
}

const char *gw_nearest(const char *word, const char *const *words, size_t count)
{
    const char *nearest = NULL;
    size_t smallest = strlen(word) / 2 + 1;
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) > LONGEST_WORD)
            continue;
        size_t away = distance(word, words[i]);
        if (away < smallest) {
            smallest = away;
            nearest = words[i];
        }
    }
    return nearest;
}

/* What argp knows of a word that it stopped at, in a parser and its children. */
struct acquaintance {
    const char *names[64];
    size_t count;
    const struct argp_option *known;
};

static void look_up(const struct argp *argp, const char *word, const char *name, struct acquaintance *result)
{
    for (const struct argp_option *option = argp->options; option != NULL && (option->name != NULL || option->key != 0);
         option++) {
        if (option->name == NULL)
            continue;
        if (result->count < sizeof(result->names) / sizeof(result->names[0]))
            result->names[result->count++] = option->name;
        if (word[1] == '-' ? strcmp(option->name, name) == 0 : option->key == word[1])
            result->known = option;
    }
    for (const struct argp_child *child = argp->children; child != NULL && child->argp != NULL; child++)
        look_up(child->argp, word, name, result);
}

/* argp's own messages need two lines, so it is told to be silent; it says only behind which word it stopped. */
static void explain(const struct argp *argp, const char *command, const char *word)
{
    struct acquaintance found = {.count = 0};
    char name[64];

    snprintf(name, sizeof(name), "%s", word + strspn(word, "-"));
    char *value = word[0] == '-' && word[1] == '-' ? strchr(name, '=') : NULL;
    if (value != NULL)
        *value = '\0';
    look_up(argp, word, name, &found);
    const struct argp_option *known = found.known;
    const char *nearest = gw_nearest(name, found.names, found.count);
    if (known != NULL && known->arg != NULL)
        gw_complain(command, "option '%s' needs a value; see %s --help", word, command);
    else if (known != NULL)
        gw_complain(command, "option '%s' takes no value; see %s --help", word, command);
    else if (word[1] == '-' && nearest != NULL)
        gw_complain(command, "unknown option '%s' (did you mean '--%s'?); see %s --help", word, nearest, command);
    else
        gw_complain(command, "unknown option '%s'; see %s --help", word, command);
}

enum { KEY_HELP = 2000 };

/* Wraps a verb's parser: argp prints its own help and errors only together, and its errors have two lines. */
struct wrapper {
    void *input;
    int stopped_behind; /* index of the word after the one with the fault */
};

static error_t parse_wrapper(int key, char *value, struct argp_state *state)
{
    struct wrapper *wrapper = state->input;
    (void)value;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = wrapper->input;
        return 0;
    case KEY_HELP:
        /* A note that options with one letter want the same values as those with a name: nobody asks. */
        setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
        argp_help(state->root_argp, stdout, ARGP_HELP_LONG | ARGP_HELP_USAGE | ARGP_HELP_DOC, state->name);
        exit(gw_end_output(state->name));
    case ARGP_KEY_ERROR:
        wrapper->stopped_behind = state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int gw_parse_options(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
    static const struct argp_option help_option[] = {{"help", KEY_HELP, NULL, 0, "Print this and end.", -1}, {0}};
    struct argp verb = *argp;
    struct argp_child children[] = {{&verb, 0, NULL, 0}, {0}};
    struct argp whole = {help_option, parse_wrapper, argp->args_doc, argp->doc, children, NULL, NULL};
    struct wrapper wrapper = {.input = input};
    verb.args_doc = NULL;
    verb.doc = NULL;
    error_t result = argp_parse(&whole, argc, argv, flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &wrapper);
    if (result == 0)
        return 0;
    if (result != PRINTED) {
        int last = wrapper.stopped_behind;
        const char *word = last > 0 && last <= argc ? argv[last - 1] : "";
        if (word[0] != '-' && last < argc)
            word = argv[last];
        if (word[0] == '-')
            explain(argp, argv[0], word);
        else
            gw_complain(argv[0], "the command line makes no sense at '%s'; see %s --help", word, argv[0]);
    }
    return GW_EXIT_USAGE;
}

int gw_parse_size(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return -EINVAL;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0)
        return -EINVAL;
    unsigned shift = 0;
    if (*end != '\0') {
        const char *unit = strchr(units, *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
        if (unit == NULL || *unit == '\0' || end[1] != '\0')
            return -EINVAL;
        shift = 10 * (unsigned)(unit - units + 1);
    }
    if (number > UINT64_MAX >> shift)
        return -EINVAL;
    *ret_bytes = (uint64_t)number << shift;
    return 0;
}

int gw_parse_time(const char *text, int64_t *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
    char *end;
    if (*text < '0' || *text > '9')
        return -EINVAL;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].name) == 0 && number * units[i].ns < (double)(INT64_MAX / 4)) {
            *ret_ns = (int64_t)(number * units[i].ns);
            return 0;
        }
    }
    return -EINVAL;
}

const char *gw_format_size(uint64_t bytes, char ret_text[32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    snprintf(ret_text, 32, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return ret_text;
}
