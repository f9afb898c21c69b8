/*
 * What the repairs of several confirmed suspects save together: savings of one idle interval do not add up. Kept
 * repairs are replayed two by two and all at once.
 *
 * Memory: a byte a node of the replay for each kept repair, 9 more an operation and 24 more a node where it changes how
 * long these take.
 */
#ifndef GW_ANALYZER_VERDICTS_REPAIRS_H
#define GW_ANALYZER_VERDICTS_REPAIRS_H

#include "analyzer/verdicts/replay.h"
#include "analyzer/verdicts/verdicts.h"

struct gw_kept_repair {
    const char *id;             /* of its suspect; static */
    double saving_ns;           /* by itself */
    double owed_ns;             /* a step: what it does instead takes so long */
    double covered;             /* share of the analysed steps that it can change */
    bool capped;                /* its saving has a limit other than the replay's */
    uint8_t *calls;             /* by node of the replay: GW_EDIT_* */
    uint8_t *ops;               /* by operation of the replay, NULL: none changed */
    uint64_t *op_ns;            /* likewise */
    struct gw_host_time *nodes; /* by node, NULL: as measured */
};

struct gw_repairs {
    GW_ARRAY(struct gw_kept_repair, list);
    size_t room;
};

/* Keeps a copy of the repair with what is said of it in *kept, of which the arrays are not looked at. Not for several
 * threads at once. Returns 0 or -ENOMEM. */
int gw_repairs_keep(struct gw_repairs *repairs, const struct gw_replay *replay, const struct gw_repair *repair,
                    const struct gw_kept_repair *kept);
void gw_repairs_release(struct gw_repairs *repairs);

/* Whether the kept repair of the suspect changes calls, and only such of the device's lane; false: it was not kept. */
bool gw_repairs_is_of_lane(const struct gw_repairs *repairs, const struct gw_replay *replay, const char *id,
                           uint32_t device);

/* Replays the kept repairs of the confirmed verdicts in the list together and stores in each verdict what it shares
 * with others (from least_ns a step on), and in *ret_together_ms what all save a step; negative when there are not two.
 * mean_ns: of the unchanged replay. Returns 0 or -ENOMEM. */
int gw_repairs_compare(const struct gw_repairs *repairs, const struct gw_replay *replay, double mean_ns,
                       double least_ns, struct gw_verdict *list, size_t count, double *ret_together_ms);

#endif
