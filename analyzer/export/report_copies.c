#include "analyzer/export/report_copies.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- means ---- */

static void add(struct gw_copy_sum *sum, const struct gw_copy_sum *other)
{
    sum->count += other->count;
    sum->bytes += other->bytes;
    sum->timed += other->timed;
    sum->timed_bytes += other->timed_bytes;
    sum->ns += other->ns;
    sum->exposed_ns += other->exposed_ns;
    sum->same += other->same;
    sum->same_bytes += other->same_bytes;
    sum->back += other->back;
    sum->back_bytes += other->back_bytes;
    sum->unhashed += other->unhashed;
    sum->unhashed_bytes += other->unhashed_bytes;
}

/* What a sum over the steps of a device is a step, on the mean device. */
static double share(const struct gw_copies *copies, size_t device, uint64_t of_all_steps)
{
    const uint32_t steps = copies->devices[device].steps;
    return copies->by_step ? (double)of_all_steps / steps / (double)copies->devices_count : (double)of_all_steps;
}

static double exposed_ms(const struct gw_copies *copies, size_t device, enum gw_copy_group group)
{
    const struct gw_device_copies *at = &copies->devices[device];
    return (double)at->sums[group].exposed_ns / 1e6 / (copies->by_step ? at->steps : 1);
}

void gw_copy_means(const struct gw_copies *copies, enum gw_copy_group group, struct gw_copy_means *ret_means)
{
    struct gw_copy_means means = {.worst = GW_NONE};
    for (size_t d = 0; d < copies->devices_count; d++) {
        const struct gw_copy_sum *sum = &copies->devices[d].sums[group];
        add(&means.sum, sum);
        means.copies += share(copies, d, sum->count);
        means.bytes += share(copies, d, sum->bytes);
        means.ms += share(copies, d, sum->ns) / 1e6;
        means.exposed_ms += share(copies, d, sum->exposed_ns) / 1e6;
        means.same_bytes += share(copies, d, sum->same_bytes);
        means.back_bytes += share(copies, d, sum->back_bytes);
        if (sum->exposed_ns &&
            (means.worst == GW_NONE || exposed_ms(copies, d, group) > exposed_ms(copies, means.worst, group)))
            means.worst = (uint32_t)d;
    }
    means.gbps = gw_copy_sum_gbps(&means.sum);
    *ret_means = means;
}

/* ---- rows that text and Markdown share ---- */

struct cell {
    char text[24];
};

struct row {
    const char *kind;
    struct gw_size bytes;
    struct cell copies, time, exposed, rate, expected;
};

static struct cell time_cell(double ms, bool known)
{
    struct cell cell = {"-"};
    if (known)
        snprintf(cell.text, sizeof cell.text, "%s", gw_duration_words(ms).text);
    return cell;
}

static struct cell rate_cell(double gbps)
{
    struct cell cell = {"-"};
    if (gbps > 0)
        snprintf(cell.text, sizeof cell.text, "%.*f", gbps >= 99.95 ? 0 : gbps >= 0.995 ? 1 : 3, gbps);
    return cell;
}

static struct row row_of(const struct gw_copies *copies, enum gw_copy_group group, const struct gw_copy_means *means)
{
    const bool timed = means->sum.timed > 0;
    struct row row = {.kind = gw_copy_group_words(group),
                      .bytes = gw_size_words(means->bytes),
                      .time = time_cell(means->ms, timed),
                      .exposed = time_cell(means->exposed_ms, timed && group != GW_COPIES_MEMSET),
                      .rate = rate_cell(means->gbps),
                      .expected = rate_cell(copies->rates[group].gbps)};
    snprintf(row.copies.text, sizeof row.copies.text, "%.*f", copies->by_step ? means->copies < 0.095 ? 3 : 1 : 0,
             means->copies);
    return row;
}

/* Notes under the table, on what the figures are: next_note() makes one after the other, until it returns false. */
struct notes {
    const struct gw_model *model;
    const struct gw_copies *copies;
    char text[400];
    int at;
};

/* Where the rates of the groups that are there come from. */
static void say_rates(struct notes *notes)
{
    bool usual = false, best = false, assumed = false;
    for (int g = 0; g < GW_COPY_GROUP_COUNT; g++) {
        struct gw_copy_means means;
        gw_copy_means(notes->copies, (enum gw_copy_group)g, &means);
        usual |= means.sum.timed && notes->copies->rates[g].source == GW_RATE_USUAL;
        best |= means.sum.timed && notes->copies->rates[g].source == GW_RATE_BEST;
        assumed |= means.sum.timed && notes->copies->rates[g].source == GW_RATE_ASSUMED;
    }
    if (usual || best || assumed)
        snprintf(notes->text, sizeof notes->text, "GB/s: reached, and expected: %s%s%s%s%s (copies of 64 KiB or more).",
                 usual ? "what page-locked copies of this run usually reach" : "",
                 usual && (best || assumed) ? "; " : "",
                 assumed ? "12 for page-locked ones, as any x16 slot gives, where this run has none" : "",
                 assumed && best ? "; " : "", best ? "on GPUs and between them what the fastest tenth reaches" : "");
}

static void say_repeats(struct notes *notes)
{
    double same = 0, back = 0;
    uint64_t unhashed = 0, all = 0;
    const char *unit = notes->copies->by_step ? " a step" : "";
    for (int g = 0; g < GW_COPIES_D2D; g++) {
        struct gw_copy_means means;
        gw_copy_means(notes->copies, (enum gw_copy_group)g, &means);
        same += means.same_bytes;
        back += means.back_bytes;
        unhashed += means.sum.unhashed;
        all += means.sum.count;
    }
    if (!all)
        return;
    if (unhashed == all)
        snprintf(notes->text, sizeof notes->text, "Which bytes they carry was not recorded.");
    else if (same <= 0 && back <= 0)
        snprintf(notes->text, sizeof notes->text, "No bytes were seen to go over twice%s", unhashed ? ";" : ".");
    else
        snprintf(notes->text, sizeof notes->text,
                 "Same bytes again: %s%s; brought back unchanged after a copy to the host: %s%s%s",
                 gw_size_words(same).text, unit, gw_size_words(back).text, unit, unhashed ? ";" : ".");
    if (unhashed && unhashed < all) {
        size_t at = strlen(notes->text);
        snprintf(notes->text + at, sizeof notes->text - at, " of %.0f %% of the copies the content is not known.",
                 100.0 * (double)unhashed / (double)all);
    }
}

/* Of several devices, the one whose copies are most exposed. */
static void say_worst(struct notes *notes)
{
    const struct gw_copies *copies = notes->copies;
    double most = 0, sum = 0;
    size_t worst = 0;
    for (size_t d = 0; d < copies->devices_count; d++) {
        double of_device = 0;
        for (int g = 0; g < GW_COPIES_MEMSET; g++)
            of_device += exposed_ms(copies, d, (enum gw_copy_group)g);
        sum += of_device;
        if (of_device > most) {
            most = of_device;
            worst = d;
        }
    }
    if (copies->devices_count < 2 || most <= 0)
        return;
    const struct gw_device *device = &notes->model->devices[copies->devices[worst].device];
    const struct gw_process *process = &notes->model->processes[device->process];
    char rank[24] = "";
    if (process->rank >= 0)
        snprintf(rank, sizeof rank, " (rank %" PRId32 ")", process->rank);
    snprintf(notes->text, sizeof notes->text,
             "Most exposed on device %" PRIu32 " of process %" PRIu32 "%s: %s%s; on the mean of %zu devices %s.",
             device->number, process->pid, rank, gw_duration_words(most).text, copies->by_step ? " a step" : "",
             copies->devices_count, gw_duration_words(sum / (double)copies->devices_count).text);
}

static bool next_note(struct notes *notes)
{
    static void (*const sayers[])(struct notes *) = {say_rates, say_repeats, say_worst};
    notes->text[0] = '\0';
    while (notes->at < (int)(sizeof sayers / sizeof *sayers) && !notes->text[0])
        sayers[notes->at++](notes);
    return notes->text[0] != '\0';
}

static uint64_t count_all(const struct gw_copies *copies)
{
    uint64_t count = 0;
    for (size_t d = 0; d < copies->devices_count; d++) {
        for (int g = 0; g < GW_COPY_GROUP_COUNT; g++)
            count += copies->devices[d].sums[g].count;
    }
    return count;
}

static const char *heading_of(const struct gw_copies *copies)
{
    return !copies->by_step            ? "Copies (whole run)"
           : copies->devices_count > 1 ? "Copies, a step (mean over the analysed steps and the GPUs used)"
                                       : "Copies, a step (mean over the analysed steps)";
}

/* A form that the rows and notes are printed in. */
struct form {
    void (*row)(FILE *out, const struct row *row);
    void (*note)(const struct gw_page *page, const char *text);
    const char *separator; /* between rows and notes */
};

static void text_row(FILE *out, const struct row *row)
{
    fprintf(out, "  %-26s %7s %9s %9s %9s %6s %5s\n", row->kind, row->copies.text, row->bytes.text, row->time.text,
            row->exposed.text, row->rate.text, row->expected.text);
}

static void text_note(const struct gw_page *page, const char *text)
{
    gw_page_item(page, NULL, 2, "%s", text);
}

static void markdown_row(FILE *out, const struct row *row)
{
    fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", row->kind, row->copies.text, row->bytes.text, row->time.text,
            row->exposed.text, row->rate.text, row->expected.text);
}

static void markdown_note(const struct gw_page *page, const char *text)
{
    fprintf(page->out, "- %s\n", text);
}

static void put_body(const struct gw_model *model, const struct gw_copies *copies, const struct form *form,
                     const struct gw_page *page)
{
    for (int g = 0; g < GW_COPY_GROUP_COUNT; g++) {
        struct gw_copy_means means;
        gw_copy_means(copies, (enum gw_copy_group)g, &means);
        if (!means.sum.count)
            continue;
        const struct row row = row_of(copies, (enum gw_copy_group)g, &means);
        form->row(page->out, &row);
    }
    fputs(form->separator, page->out);
    for (struct notes notes = {.model = model, .copies = copies}; next_note(&notes);)
        form->note(page, notes.text);
}

void gw_report_copies_text(const struct gw_report *report, const struct gw_page *page)
{
    static const struct form form = {text_row, text_note, ""};
    const struct gw_copies *copies = &report->verdicts->copies;
    if (!count_all(copies))
        return;
    gw_page_heading(page, heading_of(copies));
    fputs("  kind                        copies     bytes      time   exposed   GB/s    of\n", page->out);
    put_body(report->model, copies, &form, page);
}

void gw_report_copies_markdown(const struct gw_report *report, FILE *out)
{
    static const struct form form = {markdown_row, markdown_note, "\n"};
    const struct gw_copies *copies = &report->verdicts->copies;
    if (!count_all(copies))
        return;
    fprintf(out,
            "\n### %s\n\n| kind | copies | bytes | time | exposed | GB/s | expected |\n"
            "|---|---:|---:|---:|---:|---:|---:|\n",
            heading_of(copies));
    put_body(report->model, copies, &form, &(struct gw_page){.out = out});
}

/* ---- JSON ---- */

static json_t *number_or_null(double value, bool known)
{
    return known ? json_real(value) : json_null();
}

/* What a sum says by itself. */
static json_t *sum_json(enum gw_copy_group group, const struct gw_copy_sum *sum)
{
    const bool timed = sum->timed > 0;
    return json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "kind",
                     gw_copy_group_name(group), "count", (json_int_t)sum->count, "bytes", (json_int_t)sum->bytes,
                     "timed", (json_int_t)sum->timed, "ms", number_or_null((double)sum->ns / 1e6, timed), "exposed_ms",
                     number_or_null((double)sum->exposed_ns / 1e6, timed && group != GW_COPIES_MEMSET), "gbps",
                     number_or_null(gw_copy_sum_gbps(sum), timed), "same", (json_int_t)sum->same, "same_bytes",
                     (json_int_t)sum->same_bytes, "back", (json_int_t)sum->back, "back_bytes",
                     (json_int_t)sum->back_bytes, "unhashed", (json_int_t)sum->unhashed, "unhashed_bytes",
                     (json_int_t)sum->unhashed_bytes);
}

static json_t *group_json(const struct gw_copies *copies, enum gw_copy_group group, const struct gw_copy_means *means)
{
    const struct gw_copy_rate *rate = &copies->rates[group];
    const bool step = copies->by_step, timed = step && means->sum.timed > 0;
    json_t *item = sum_json(group, &means->sum);
    json_t *more = json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "expected_gbps",
        number_or_null(rate->gbps, rate->source != GW_RATE_NONE), "expected_from", gw_rate_source_name(rate->source),
        "copies_a_step", number_or_null(means->copies, step), "bytes_a_step", number_or_null(means->bytes, step),
        "ms_a_step", number_or_null(means->ms, timed), "exposed_ms_a_step",
        number_or_null(means->exposed_ms, timed && group != GW_COPIES_MEMSET), "same_bytes_a_step",
        number_or_null(means->same_bytes, step), "back_bytes_a_step", number_or_null(means->back_bytes, step),
        "worst_device", means->worst == GW_NONE ? json_null() : json_integer(copies->devices[means->worst].device));
    bool failed = !item || !more || json_object_update(item, more) < 0;
    json_decref(more);
    if (!failed)
        return item;
    json_decref(item);
    return NULL;
}

static json_t *device_json(const struct gw_model *model, const struct gw_copies *copies, size_t place)
{
    const struct gw_device_copies *device = &copies->devices[place];
    json_t *kinds = json_array();
    for (int g = 0; g < GW_COPY_GROUP_COUNT; g++) {
        if (device->sums[g].count &&
            json_array_append_new(kinds, sum_json((enum gw_copy_group)g, &device->sums[g])) < 0) {
            json_decref(kinds);
            return NULL;
        }
    }
    return json_pack("{s:I, s:I, s:I, s:o}", "process", (json_int_t)model->devices[device->device].process, "device",
                     (json_int_t)device->device, "steps", (json_int_t)device->steps, "kinds", kinds);
}

json_t *gw_copies_json(const struct gw_report *report)
{
    const struct gw_copies *copies = &report->verdicts->copies;
    json_t *kinds = json_array(), *devices = json_array(), *root = NULL;
    bool failed = !kinds || !devices;
    for (int g = 0; g < GW_COPY_GROUP_COUNT && !failed; g++) {
        struct gw_copy_means means;
        gw_copy_means(copies, (enum gw_copy_group)g, &means);
        if (means.sum.count)
            failed = json_array_append_new(kinds, group_json(copies, (enum gw_copy_group)g, &means)) < 0;
    }
    for (size_t d = 0; d < copies->devices_count && !failed; d++)
        failed = json_array_append_new(devices, device_json(report->model, copies, d)) < 0;
    if (!failed)
        root = json_pack("{s:b, s:O, s:O}", "by_step", copies->by_step, "kinds", kinds, "per_device", devices);
    json_decref(kinds);
    json_decref(devices);
    return root;
}
