/* gpuwitness plot: pictures of a run. */
#include "analyzer/cli/verbs.h"

#include "analyzer/cli/cli.h"
#include "analyzer/cli/load.h"
#include "analyzer/cli/run_options.h"
#include "analyzer/model/build.h"
#include "analyzer/verdicts/verdicts.h"
#include "plots/plots.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_ONLY = 1000, KEY_THEME, KEY_WIDTH, KEY_SCALE, KEY_FORMAT, KEY_STEPS, KEY_RANGE, KEY_AGAINST, KEY_PER };

struct arguments {
    const char *run, *against, *output;
    const struct gw_plot *only;
    const char *unit; /* of the comparison */
    double per[2];    /* units in a step of RUN, of OTHER; 0 without --per */
    struct gw_model_options model;
    struct gw_plot_options options;
};

static const struct argp_option options[] = {
    {"output", 'o', "DIR", 0, "Directory for the pictures, made if it does not exist. Default: the current one.", 0},
    {"only", KEY_ONLY, "NAME", 0, "Only this plot; the names are listed below.", 0},
    {"against", KEY_AGAINST, "OTHER", 0,
     "Draw the plots that compare too: from a step of RUN to a step of the run OTHER, as `gpuwitness diff RUN OTHER`.",
     0},
    {"per", KEY_PER, "[UNIT=]N[,M]", 0,
     "With --against: a step of RUN makes N units and one of OTHER makes M (default: N too); compare the time of one.",
     0},
    {"steps", KEY_STEPS, "A..B", 0,
     "Timeline and memory of these steps instead of the median one and the whole run; step numbers as in the report.",
     0},
    {"range", KEY_RANGE, "T1..T2", 0, "Likewise of this range, in milliseconds from the begin of the trace.", 0},
    {"format", KEY_FORMAT, "png|svg|pdf", 0, "Kind of file. Default: png.", 0},
    {"theme", KEY_THEME, "light|dark", 0, "Colours. Default: light.", 0},
    {"width", KEY_WIDTH, "PIXELS", 0, "Width of the pictures, 1000 to 8000. Default: 1600.", 0},
    {"scale", KEY_SCALE, "FACTOR", 0, "Enlarges everything, text too, up to 4 times. Default: 1.", 0},
    {0},
};

/* Reads one number that fills the text from begin up to end. */
static bool read_number(const char *begin, const char *end, double *ret_number)
{
    char text[32], *stop;
    size_t length = (size_t)(end - begin);

    if (length == 0 || length >= sizeof(text))
        return false;
    memcpy(text, begin, length);
    text[length] = '\0';
    *ret_number = strtod(text, &stop);
    return *stop == '\0' && isfinite(*ret_number) && *ret_number >= 0.0;
}

static error_t take_range(const struct argp_state *state, const char *name, const char *value, double most,
                          double *ret_from, double *ret_to)
{
    const char *dots = strstr(value, "..");

    /* Not by strtod up to the dots: it would take "3." of "3..5". */
    if (!dots || !read_number(value, dots, ret_from) || !read_number(dots + 2, value + strlen(value), ret_to) ||
        *ret_to <= *ret_from || *ret_to > most)
        return gw_usage_error(state, "--%s wants FROM..TO with numbers that rise, not '%s'", name, value);
    return 0;
}

static error_t take_number(const struct argp_state *state, const char *name, const char *value, double least,
                           double most, double *ret_number)
{
    char *end;
    double number = strtod(value, &end);

    if (end == value || *end != '\0' || !(number >= least && number <= most))
        return gw_usage_error(state, "--%s wants a number from %g to %g, not '%s'", name, least, most, value);
    *ret_number = number;
    return 0;
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct gw_plot_options *plot = &arguments->options;
    double from = 0, to = 0;
    error_t error;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &arguments->model;
        return 0;
    case 'o':
        if (*value == '\0')
            return gw_usage_error(state, "the name of the directory is empty");
        arguments->output = value;
        return 0;
    case KEY_ONLY:
        arguments->only = gw_plot_find(value);
        return arguments->only ? 0 : gw_usage_error(state, "there is no plot '%s'", value);
    case KEY_AGAINST:
        arguments->against = value;
        return 0;
    case KEY_PER:
        return gw_take_per(state, value, &arguments->unit, arguments->per);
    case KEY_THEME:
        plot->theme = gw_theme_find(value);
        return plot->theme ? 0 : gw_usage_error(state, "--theme has no '%s'", value);
    case KEY_FORMAT:
        for (plot->format = GW_PLOT_PNG; plot->format <= GW_PLOT_PDF; plot->format++)
            if (!strcmp(value, gw_plot_extension(plot->format)))
                return 0;
        return gw_usage_error(state, "--format has no '%s'", value);
    case KEY_WIDTH:
        return take_number(state, "width", value, GW_PLOT_WIDTH_MIN, GW_PLOT_WIDTH_MAX, &plot->width);
    case KEY_SCALE:
        return take_number(state, "scale", value, 0.25, GW_PLOT_SCALE_MAX, &plot->scale);
    case KEY_STEPS:
        plot->have_steps = true;
        return gw_take_steps(state, value, &plot->first_step, &plot->last_step);
    case KEY_RANGE:
        error = take_range(state, "range", value, 1e12, &from, &to);
        if (error)
            return error;
        plot->have_range = true;
        plot->range_begin_ns = (uint64_t)(from * 1e6);
        plot->range_end_ns = (uint64_t)(to * 1e6);
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->run)
            return gw_usage_error(state, "one run at a time, not '%s' too", value);
        arguments->run = value;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->run)
            return gw_usage_error(state, "the run to plot is missing");
        if (arguments->only && arguments->only->compares && !arguments->against)
            return gw_usage_error(state, "the plot '%s' compares two runs: name the other with --against",
                                  arguments->only->name);
        if (arguments->per[0] > 0.0 && !arguments->against)
            return gw_usage_error(state, "--per goes with --against");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The plots in the help come from their table. */
static char *add_plots(int key, const char *text, void *input)
{
    char *help;
    size_t size;
    FILE *out;
    (void)input;

    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)text;
    out = open_memstream(&help, &size);
    if (!out)
        return (char *)text;
    fprintf(out, "Plots:\n");
    for (size_t i = 0; i < gw_plots_count; i++)
        fprintf(out, "  %-9s %s\n", gw_plots[i].name, gw_plots[i].help);
    fprintf(out,
            "\nExit status: 0; 1 when the run cannot be read or a picture not written; 2 for a wrong command line.\n\n"
            "Examples:\n  gpuwitness plot run -o plots\n  gpuwitness plot run --only timeline --steps 10..12\n"
            "  gpuwitness plot run --only timeline --range 120..125.5 --format svg\n"
            "  gpuwitness plot before --against after --only diff");
    return fclose(out) == 0 ? help : (char *)text;
}

/* Draws one plot and prints its file's name. */
static int write_plot(const char *command, const struct gw_plot *plot, const struct gw_plot_source *source,
                      const struct arguments *arguments)
{
    char *path = NULL;
    int error;

    if (asprintf(&path, "%s/%s.%s", arguments->output, plot->name, gw_plot_extension(arguments->options.format)) < 0)
        return -ENOMEM;
    error = gw_plot_write(plot, source, &arguments->options, path);
    if (error == -E2BIG)
        gw_complain(command, "%s would be too large to draw; choose a smaller --width, --scale or --range", path);
    else if (error)
        gw_complain(command, "cannot write %s: %s", path, strerror(-error));
    else
        puts(path);
    free(path);
    return error;
}

static int make_directory(const char *command, const char *path)
{
    struct stat found;
    int error = mkdir(path, 0777) == 0 ? 0 : errno;

    if (error == EEXIST && stat(path, &found) == 0)
        error = S_ISDIR(found.st_mode) ? 0 : ENOTDIR;
    if (error)
        gw_complain(command, "cannot make the directory %s: %s", path, strerror(error));
    return -error;
}

/* A run with its budget and verdicts. */
struct analysis {
    struct gw_model *model;
    struct gw_budget *budget;
    struct gw_verdicts *verdicts;
};

static void clear_analysis(struct analysis *analysis)
{
    gw_verdicts_destroy(analysis->verdicts);
    gw_budget_destroy(analysis->budget);
    gw_model_destroy(analysis->model);
    memset(analysis, 0, sizeof(*analysis));
}

/* Reads a run, and sums it up for a comparison of units, per in a step (0: of steps), unless ret_side is NULL;
 * complains when it cannot. Clear *analysis in any case. */
static int analyse(const char *command, const char *run, const struct arguments *arguments, double per,
                   struct analysis *analysis, struct gw_diff_side **ret_side)
{
    int error;

    analysis->model = gw_load_model(command, run, &arguments->model);
    if (!analysis->model)
        return -EIO;
    error = gw_budget_create(analysis->model, &analysis->budget);
    if (!error)
        error = gw_verdicts_create(analysis->model, analysis->budget, &analysis->verdicts);
    if (!error && ret_side)
        error =
            gw_diff_side_create(analysis->model, analysis->budget, analysis->verdicts, per > 0.0 ? per : 1.0, ret_side);
    if (error == -ENODATA)
        gw_complain(command,
                    "%s: no steps with GPU times were found, so there is nothing to compare; name a kernel that begins "
                    "a step with --step, or leave out --against",
                    run);
    else if (error)
        gw_complain(command, "there is not enough memory for the run %s", run);
    return error;
}

static bool has_step(const struct gw_model *model, uint32_t number)
{
    for (size_t i = 0; i < model->steps_count; i++)
        if (model->steps[i].number == number)
            return true;
    return false;
}

/* Complains when what is to be drawn lies outside the run. */
static int check_part(const char *command, const struct gw_model *model, const struct arguments *arguments)
{
    const struct gw_plot_options *plot = &arguments->options;
    uint64_t length_ns = model->run.end_ns - model->run.begin_ns;

    if (plot->have_steps && !(has_step(model, plot->first_step) && has_step(model, plot->last_step))) {
        gw_complain(command, "%s has no steps %" PRIu32 "..%" PRIu32 "; see gpuwitness report", arguments->run,
                    plot->first_step, plot->last_step);
        return -ERANGE;
    }
    if (plot->have_range && plot->range_begin_ns >= length_ns) {
        gw_complain(command, "%s ends at %.3f ms, before the range asked for", arguments->run, (double)length_ns / 1e6);
        return -ERANGE;
    }
    return 0;
}

/* Draws every plot that was asked for and that there is data for. */
static int write_plots(const char *command, const struct gw_plot_source *source, const struct arguments *arguments)
{
    for (size_t i = 0; i < gw_plots_count; i++) {
        int error;
        if ((arguments->only && arguments->only != &gw_plots[i]) || !gw_plot_applies(&gw_plots[i], source))
            continue;
        error = write_plot(command, &gw_plots[i], source, arguments);
        if (error)
            return error;
    }
    return gw_end_output(command) == GW_EXIT_OK ? 0 : -EIO;
}

int gw_verb_plot(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = take_option,
        .args_doc = "RUN",
        .doc = "Draws pictures of what `gpuwitness record` left in the directory RUN and prints their names.",
        .children = gw_step_options,
        .help_filter = add_plots};
    struct arguments arguments = {.output = ".", .unit = "step", .options = gw_plot_default_options()};
    struct analysis analysis = {NULL, NULL, NULL};
    struct gw_diff_side *side = NULL, *against = NULL;
    struct gw_plot_source source = {NULL};
    int status = gw_parse_options(&argp, argc, argv, 0, &arguments);

    if (status)
        return status;
    status = GW_EXIT_FAILURE;
    if (arguments.against &&
        analyse(argv[0], arguments.against, &arguments, arguments.per[1], &analysis, &against) != 0)
        goto end;
    /* Of the other run its sums are enough: one model at a time is in memory. */
    clear_analysis(&analysis);
    if (analyse(argv[0], arguments.run, &arguments, arguments.per[0], &analysis, arguments.against ? &side : NULL) != 0)
        goto end;
    if (check_part(argv[0], analysis.model, &arguments) != 0 || make_directory(argv[0], arguments.output) != 0)
        goto end;
    source.model = analysis.model;
    source.budget = analysis.budget;
    source.verdicts = analysis.verdicts;
    source.side = side;
    source.against = against;
    source.unit = arguments.unit;
    if (write_plots(argv[0], &source, &arguments) == 0)
        status = GW_EXIT_OK;
end:
    gw_diff_side_destroy(side);
    gw_diff_side_destroy(against);
    clear_analysis(&analysis);
    return status;
}
