#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/diff.h"
#include "analyzer/export/report_words.h"

/* The class that changes most in the direction of the whole, or GW_CLASS_COUNT. */
static int largest_class(const struct gw_diff_side *a, const struct gw_diff_side *b, double direction)
{
    int largest = GW_CLASS_COUNT;
    double most = 0;
    for (int c = 0; c < GW_CLASS_COUNT; c++) {
        struct gw_diff_change change = gw_diff_change(&a->classes[c], &b->classes[c]);
        if (!change.is_noise && change.ms * direction > most) {
            most = change.ms * direction;
            largest = c;
        }
    }
    return largest;
}

const char *gw_diff_change_name(enum gw_verdict_state a, enum gw_verdict_state b)
{
    if (a != GW_CONFIRMED && b != GW_CONFIRMED)
        return "absent";
    if (a == GW_UNKNOWN || b == GW_UNKNOWN)
        return "unknown";
    return a != GW_CONFIRMED ? "appears" : b != GW_CONFIRMED ? "vanishes" : "stays";
}

/* The verdict of largest saving that is confirmed on the side that loses and ruled out on the other; NULL: none. */
static const char *guilty(const struct gw_diff_side *loser, const struct gw_diff_side *other, double *ret_saving_ms)
{
    const char *const *ids;
    const char *found = NULL;
    size_t count = gw_verdict_ids(&ids);
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        if (loser->states[i] == GW_CONFIRMED && other->states[i] == GW_RULED_OUT && loser->savings_ms[i] > most) {
            most = loser->savings_ms[i];
            found = ids[i];
        }
    }
    *ret_saving_ms = most;
    return found;
}

char *gw_diff_answer(const struct gw_diff_side *a, const struct gw_diff_side *b, const char *unit)
{
    struct gw_diff_change change = gw_diff_change(&a->step, &b->step);
    struct gw_duration b_ms = gw_duration_words(b->step.ms), a_ms = gw_duration_words(a->step.ms);
    struct gw_duration by = gw_duration_words(fabs(change.ms)), noise = gw_duration_words(2 * change.error_ms);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (isinf(change.error_ms)) {
        fprintf(out, "B takes %s a %s, A %s; with a single step there is no telling this from noise.", b_ms.text, unit,
                a_ms.text);
    } else if (change.is_noise) {
        fprintf(out, "B and A take the same time a %s within the noise: B %s, A %s, noise ±%s.", unit, b_ms.text,
                a_ms.text, noise.text);
    } else {
        fprintf(out, "B takes %s a %s, A %s: B is %s (%.1f %%) %s, beyond the noise of ±%s.", b_ms.text, unit,
                a_ms.text, by.text, fabs(change.ms) / a->step.ms * 100, change.ms > 0 ? "slower" : "faster",
                noise.text);
        int c = largest_class(a, b, change.ms > 0 ? 1 : -1);
        double saving_ms = 0;
        const char *id = change.ms > 0 ? guilty(b, a, &saving_ms) : guilty(a, b, &saving_ms);
        if (c < GW_CLASS_COUNT) {
            double part = gw_diff_change(&a->classes[c], &b->classes[c]).ms;
            fprintf(out, " The largest part is %s: %c%s (%s)", gw_class_name((enum gw_class)c), part > 0 ? '+' : '-',
                    gw_duration_words(fabs(part)).text, gw_class_words((enum gw_class)c));
            if (id)
                fprintf(out, "; %s is confirmed in %c only and costs it %s a %s", id, change.ms > 0 ? 'B' : 'A',
                        gw_duration_words(saving_ms).text, unit);
            fprintf(out, ".");
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
