/* gpuwitness reduce: the recordings of a run as summaries in one file. */
#include "analyzer/cli/cli.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/cli/verbs.h"
#include "analyzer/export/output.h"
#include "analyzer/model/recordings.h"
#include "analyzer/read/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_RANK_SIZE = 1000 };

struct reduce_options {
    const char *run, *output;
    uint64_t rank_bytes;
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0,
     "The file to write; one of that name is replaced. Begin its name with 'rank-' to put many "
     "of them into one directory, which is a run then.",
     0},
    {"rank-size", KEY_RANK_SIZE, "SIZE", 0,
     "Keep no more than SIZE bytes of records of a rank (K, M, G allowed), in whole steps; the file is smaller. "
     "Default: 8G, shared by all ranks of the job.",
     0},
    {0},
};

static const char help_text[] =
    "Reduces the ranks that lie in RUN to one small file, which can be carried to where they are put together. report, "
    "plot, export, diff and merge read it as they read RUN, with the same result.\v"
    "A file may hold several ranks, and files may be joined with cat.\n\n"
    "Exit status: 0, 1 when RUN cannot be read or FILE not be written, 2 for a wrong command line.\n\n"
    "Example, on each host and then on one:\n"
    "  gpuwitness reduce -o /shared/rank-$(hostname).gws /tmp/run\n"
    "  gpuwitness report /shared";

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct reduce_options *result = state->input;
    switch (key) {
    case 'o':
        result->output = value;
        return 0;
    case KEY_RANK_SIZE:
        return gw_take_rank_size(state, value, &result->rank_bytes);
    case ARGP_KEY_ARG:
        if (result->run)
            return gw_usage_error(state, "only one run can be reduced at a time");
        result->run = value;
        return 0;
    case ARGP_KEY_END:
        if (!result->run)
            return gw_usage_error(state, "the run to reduce is missing");
        if (!result->output)
            return gw_usage_error(state, "-o FILE is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Writes the recordings one after the other. Returns 0 or a negative errno; *ret_bytes: what was written. */
static int write_recordings(const struct gw_recordings *recordings, const char *path, uint64_t *ret_bytes)
{
    uint64_t bytes = 0;
    struct gw_output output;
    int status = gw_output_open(&output, path);
    if (status != 0)
        return status;
    for (size_t i = 0; i < recordings->inputs_count && status == 0; i++) {
        void *data = NULL;
        size_t length = 0;
        status = gw_summary_encode(recordings->inputs[i].run, recordings->inputs[i].records, &data, &length);
        if (status == 0)
            gw_output_write(&output, data, length);
        free(data);
        bytes += length;
    }
    status = gw_output_close(&output, status);
    if (status == 0)
        *ret_bytes = bytes;
    return status;
}

int gw_verb_reduce(int argc, char **argv)
{
    static const struct argp argp = {options, take_option, "RUN", help_text, NULL, NULL, NULL};
    struct reduce_options chosen = {0};
    struct gw_cli_progress progress;
    struct gw_recordings recordings = {0};
    struct gw_error error = {""};
    int exit_status = GW_EXIT_FAILURE;
    uint64_t bytes = 0;
    char size[32];
    if (gw_parse_options(&argp, argc, argv, 0, &chosen) != 0)
        return GW_EXIT_USAGE;
    const struct gw_read_progress update = gw_cli_progress_begin(&progress, argv[0]);
    int status = gw_recordings_read(&recordings, chosen.run, &update, &error);
    if (status == 0)
        status = gw_recordings_arrange(&recordings, chosen.rank_bytes, &error);
    gw_cli_progress_end(&progress);
    if (status != 0) {
        gw_complain(argv[0], "%s", error.text);
        goto end;
    }
    for (char **problem = recordings.problems; problem && *problem; problem++)
        gw_complain(argv[0], "%s", *problem);
    status = write_recordings(&recordings, chosen.output, &bytes);
    if (status != 0) {
        gw_complain(argv[0], "%s cannot be written: %s", chosen.output, strerror(-status));
        goto end;
    }
    fprintf(stderr, "%s: %s: %zu recording%s, %s\n", argv[0], chosen.output, recordings.inputs_count,
            recordings.inputs_count == 1 ? "" : "s", gw_format_size(bytes, size));
    exit_status = GW_EXIT_OK;
end:
    gw_recordings_release(&recordings);
    return exit_status;
}
