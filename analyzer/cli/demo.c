/* gpuwitness demo: a recording of the example's training loop on the simulated GPU, its report and its pictures. */
#include "analyzer/cli/cli.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/session/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEY_SIMGPU_HELP = 1000 };

struct demo_options {
    const char *output;
    bool simgpu_help;
};

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "Directory to make for the run, the report and the pictures. Default: gpuwitness-demo.",
     0},
    {"simgpu-help", KEY_SIMGPU_HELP, NULL, 0, "Print the settings of the simulated GPU and end.", 0},
    {0},
};

static const char help_text[] =
    "Records a small training loop on the simulated GPU, reports and plots it. Needs no GPU.\v"
    "Leaves DIR/run, DIR/report.txt, DIR/report.json and the pictures DIR/*.png.\n\n"
    "Exit status: 0, 1 when a step failed, 2 for a wrong command line.";

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct demo_options *result = state->input;
    switch (key) {
    case 'o':
        result->output = value;
        return 0;
    case KEY_SIMGPU_HELP:
        result->simgpu_help = true;
        return 0;
    case ARGP_KEY_ARG:
        return gw_usage_error(state, "'%s' is not wanted here", value);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_settings(void)
{
    printf("Settings of the simulated GPU: one `key value` a line in the file given to `record --simgpu=FILE`; `#` "
           "begins a\n"
           "comment. A number may end in K, M, G or T. Globs are as in the shell: * ? [..].\n\n");
#define SIMGPU_NUMBER(key, standard, meaning) printf("%-30s %14.12g  %s\n", #key, (double)(standard), meaning);
#define SIMGPU_RULE(key, arguments, standard, meaning)                                                                 \
    printf("%-30s %14s  %s%s%s\n", #key " " arguments, "", meaning, *(standard) != '\0' ? "; default: " : "", standard);
#include "tests/simgpu/config_keys.def"
    return gw_end_output("gpuwitness demo");
}

/* Runs this executable with `arguments`, stdout into `output` when that is not NULL. Returns its exit status, -1 if it
 * cannot run. */
static int run_self(char *const *arguments, const char *output)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    if (output != NULL)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    int failed = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void print_file(const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof(line), file) != NULL)
        fputs(line, stdout);
    fclose(file);
}

static int run_demo(const char *command, const struct gw_paths *paths, const char *output)
{
    char run[PATH_MAX], report[PATH_MAX], json[PATH_MAX];
    if (snprintf(run, sizeof(run), "%s/run", output) >= (int)sizeof(run) ||
        snprintf(report, sizeof(report), "%s/report.txt", output) >= (int)sizeof(report) ||
        snprintf(json, sizeof(json), "%s/report.json", output) >= (int)sizeof(json)) {
        gw_complain(command, "%s: the name is too long", output);
        return GW_EXIT_FAILURE;
    }
    struct {
        const char *title, *into;
        char *const *arguments;
    } steps[] = {
        {"record --simgpu", NULL,
         (char *[]){"gpuwitness", "record", "--simgpu", "-o", run, "--", (char *)paths->example, NULL}},
        {"report", report, (char *[]){"gpuwitness", "report", run, NULL}},
        {"report --json", json, (char *[]){"gpuwitness", "report", "--json", run, NULL}},
        {"plot", NULL, (char *[]){"gpuwitness", "plot", run, "-o", (char *)output, NULL}},
    };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int status = run_self(steps[i].arguments, steps[i].into);
        if (status != 0) {
            gw_complain(command, "`gpuwitness %s` failed with status %d; what it left is in %s", steps[i].title, status,
                        output);
            return GW_EXIT_FAILURE;
        }
    }
    print_file(report);
    printf("\nAll of this was measured on the simulated GPU. The run, its report and its pictures are in %s.\n",
           output);
    return gw_end_output("gpuwitness demo");
}

int gw_verb_demo(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "", help_text, NULL, NULL, NULL};
    struct demo_options parsed = {.output = "gpuwitness-demo"};
    struct gw_paths paths;
    int status = gw_parse_options(&argp, argc, argv, 0, &parsed);
    if (status != 0)
        return status;
    if (parsed.simgpu_help)
        return print_settings();
    if (gw_paths_find(&paths) != 0 || paths.example[0] == '\0' || paths.simgpu[0] == '\0') {
        gw_complain(argv[0], "the example program or the simulated GPU is missing beside gpuwitness: build it again");
        return GW_EXIT_FAILURE;
    }
    if (mkdir(parsed.output, 0777) != 0) {
        gw_complain(argv[0], "%s: the directory of the demo cannot be made: %s", parsed.output, strerror(errno));
        return GW_EXIT_FAILURE;
    }
    return run_demo(argv[0], &paths, parsed.output);
}
