/* gpuwitness VERB …: finds the verb and hands over. */
#include "analyzer/cli/cli.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/export/output.h"
#include "analyzer/session/runtime.h"

#include <archive.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <malloc.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct verb {
    const char *name, *help;
    int (*run)(int argc, char **argv);
    bool starts_programs; /* which must not see variables of ours */
};

static const struct verb verbs[] = {
    {"record", "run a program and record what it does with its GPUs", gw_verb_record, true},
    {"report", "where each step's time goes, and which suspects are guilty", gw_verb_report, false},
    {"reduce", "the ranks of a run as one small file, to be made where they lie", gw_verb_reduce, false},
    {"merge", "the report of many such files", gw_verb_merge, false},
    {"plot", "PNG timelines and charts", gw_verb_plot, false},
    {"export", "the calls, operations, steps and gaps as files for other tools", gw_verb_export, false},
    {"diff", "why the steps of one run take longer than those of another", gw_verb_diff, false},
    {"bundle", "what to attach to a bug report, without what is private", gw_verb_bundle, false},
    {"doctor", "can this machine record, and what would be missed", gw_verb_doctor, false},
    {"demo", "all of the above on the simulated GPU, no hardware needed", gw_verb_demo, true},
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static void print_help(void)
{
    printf("Usage: gpuwitness VERB [OPTION...]\n"
           "Why is a training step on NVIDIA GPUs this slow, and why do more GPUs not help? gpuwitness records an\n"
           "unmodified program and answers with evidence.\n\n"
           "Begin with\n"
           "  gpuwitness doctor                          # can this machine record?\n"
           "  gpuwitness record -o run -- python train.py\n"
           "  gpuwitness report run                      # where the time of each step went\n"
           "or, without a GPU, with\n"
           "  gpuwitness demo -o demo\n\n"
           "Verbs\n");
    for (size_t i = 0; i < VERB_COUNT; i++)
        printf("  %-8s %s\n", verbs[i].name, verbs[i].help);
    printf("\n`gpuwitness VERB --help` explains each; `gpuwitness --version` tells the versions of the libraries.\n"
           "Exit status: 0, 1 after a failure, 2 for a wrong command line; `record` returns the program's own.\n");
}

static void print_version(void)
{
    printf("gpuwitness %s\n"
           "lttng-ust %s, lttng-ctl %s, babeltrace2 %s, jansson %s, sqlite %s, libarchive %s, glibc %s\n",
           GW_VERSION, GW_LTTNG_UST_VERSION, GW_LTTNG_CTL_VERSION, GW_BABELTRACE_VERSION, jansson_version_str(),
           sqlite3_libversion(), archive_version_string() + strlen("libarchive "), gnu_get_libc_version());
}

/* A stream that the caller has closed must not become one of our own files; for the program it stays closed. What is
 * written to a closed standard output fails, as it does in other programs. */
static void occupy_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0) /* the lowest free one, so that it gets this number */
            (void)!open("/dev/null", (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    }
}

static void end_by_signal(int number)
{
    gw_output_remove_unfinished();
    raise(number); /* its default action, once this handler returns */
}

/* A file that is half written when the user has had enough stays under a name of ours, which nobody would look for. */
static void clean_up_on_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *names[VERB_COUNT];
    char command[64];
    struct gw_runtime runtime;
    /* Most of the memory of a report are arrays that serve one stage each: each has a mapping of its own, so that it is
     * given back when it is freed, whatever the sizes freed before. */
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    gw_runtime_find(&runtime);
    occupy_closed_streams();
    if (argc < 2) {
        gw_complain("gpuwitness",
                    "what shall be done? For example `gpuwitness record -- PROGRAM`; see gpuwitness --help");
        return GW_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help();
        return gw_end_output("gpuwitness");
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        print_version();
        return gw_end_output("gpuwitness");
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        names[i] = verbs[i].name;
        if (strcmp(argv[1], verbs[i].name) != 0)
            continue;
        snprintf(command, sizeof(command), "gpuwitness %s", verbs[i].name);
        argv[1] = command;
        if (!verbs[i].starts_programs) {
            gw_runtime_use(&runtime);
            clean_up_on_signals();
        }
        return verbs[i].run(argc - 1, argv + 1);
    }
    const char *nearest = gw_nearest(argv[1], names, VERB_COUNT);
    if (nearest != NULL)
        gw_complain("gpuwitness", "unknown verb '%s' (did you mean '%s'?); see gpuwitness --help", argv[1], nearest);
    else
        gw_complain("gpuwitness", "unknown verb '%s'; see gpuwitness --help", argv[1]);
    return GW_EXIT_USAGE;
}
