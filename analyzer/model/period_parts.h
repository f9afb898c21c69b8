/*
 * Marks that were judged, and what the units of one of them hold of the units of another. Internal to analyzer/model.
 */
#ifndef GW_ANALYZER_MODEL_PERIOD_PARTS_H
#define GW_ANALYZER_MODEL_PERIOD_PARTS_H

#include "analyzer/model/sequence.h"

#define GW_UNITS_ALIKE 0.7 /* similarity of neighbouring units of one loop */
#define GW_PARTS_MAX 64u   /* more equal parts than this are steps of an epoch, not parts of a step */

struct gw_judged {
    struct gw_mark mark;
    size_t *positions;
    size_t count;
    double score;   /* share of the window in units like their neighbours, times how alike they are */
    double period;  /* events of such a unit: the median, weighted by events */
    double late;    /* how far within a unit its first update comes: the mean of those that have one, 1 at the end */
    double kernels; /* in a unit: the mean */
    double updated; /* share of the units that contain an update of parameters */
    bool host;      /* most units contain an upload, a read or a wait */
    bool uploads;   /* most units contain an upload */
    bool replays;   /* most units replay a graph: many kernels behind one event */
};

/* What sets the parts of an outer unit apart, in operations per unit. */
struct gw_remainder {
    double extra;  /* of tokens that one part alone has: an optimizer after accumulation */
    double uneven; /* missing, of tokens that several parts have and others lack: an evaluation between steps */
    double owners; /* parts with tokens that they alone have */
    double split;  /* of tokens that several parts have and several others lack: the parts are no steps */
};

/* Index of the first mark at or after an event. */
size_t gw_first_mark_at(const struct gw_judged *judged, size_t event);

/* How many marks there are in events [first, last). */
size_t gw_parts_within(const struct gw_judged *inner, size_t first, size_t last);

/* How many inner units a typical outer one has: the median of those that are not unusually short or long; 0 when all
 * are. *ret_agreeing: whether most have as many. */
size_t gw_typical_parts(const struct gw_judged *outer, const struct gw_judged *inner, bool *ret_agreeing);

/* What sets apart the parts of outer units that have `parts` of them, or of all with more than one when parts is 0:
 * operations with one of the traits; of tokens, or of lanes. Returns 0 or -ENOMEM. */
int gw_find_remainder(const struct gw_sequence *sequence, const struct gw_judged *outer, const struct gw_judged *inner,
                      size_t parts, uint8_t traits, bool lanes, struct gw_remainder *ret_remainder);

/* Whether the inner units are pieces of a step: they run few of the kernels that the outer unit runs (a layer, or a
 * loop the host waits in), or each serves another device. Returns 0 or -ENOMEM. */
int gw_is_piece(const struct gw_sequence *sequence, const struct gw_judged *outer, const struct gw_judged *inner,
                bool *ret_piece);

#endif
