/*
 * The clocks of a run: CLOCK_MONOTONIC of each host. All times of a run are put on the clock of its first recording.
 *
 * A collective ends on all of its ranks at once, since none can be done before the last has arrived. The ends of
 * matched collectives therefore tell what one clock shows when another shows a time: a line is fitted through the
 * differences, by medians (Theil and Sen), so that single wrong ones do not matter. Hosts without such collectives are
 * aligned by CLOCK_REALTIME, which knows no microseconds; then nothing is said of who waited for whom.
 */
#ifndef GW_ANALYZER_MODEL_CLOCKS_H
#define GW_ANALYZER_MODEL_CLOCKS_H

#include "analyzer/model/recordings.h"

/* The clocks of the recordings: one for each boot, host name and test offset, in order of first appearance.
 * *ret_of_input: by input, which is its. The caller frees both, the clocks with gw_clocks_free. Returns 0 or -ENOMEM.
 */
int gw_clocks_list(const struct gw_model_input *inputs, size_t input_count, struct gw_clock **ret_clocks,
                   size_t *ret_count, uint32_t **ret_of_input);
void gw_clocks_free(struct gw_clock *clocks, size_t count);

/* Fits clocks[1 …) to clocks[0] by the model, which was built from the recordings as they are. Fills how, offset_ns,
 * drift_ppm, about_ns and matched. Returns 0 or -ENOMEM. */
int gw_clocks_fit(const struct gw_model *model, const uint32_t *of_input, struct gw_clock *clocks, size_t count);

/* Puts the recordings' times on clocks[0]. */
int gw_clocks_apply(struct gw_recordings *recordings, const uint32_t *of_input, const struct gw_clock *clocks);

/* Measures in the aligned model how far the ends of matched collectives are apart (residual_ns of each clock), and
 * takes arrivals and transfers of collectives out that span a clock aligned by CLOCK_REALTIME only. Returns 0 or
 * -ENOMEM. */
int gw_clocks_check(struct gw_model *model, const uint32_t *of_input, struct gw_clock *clocks, size_t count);

#endif
