/*
 * Copies: of what kind, how many, how fast, how much of them nothing hides, which bytes go over again. What the report
 * and the pictures say of copies, and the judges', comes from here.
 */
#ifndef GW_ANALYZER_MODEL_COPIES_H
#define GW_ANALYZER_MODEL_COPIES_H

#include "analyzer/model/model.h"

/* By direction and by the host's memory; managed memory counts as page-locked. The host's memory is not known of copies
 * within graphs, and of foreign traces that do not tell. */
enum gw_copy_group {
    GW_COPIES_H2D_PAGEABLE = 0,
    GW_COPIES_H2D_PINNED,
    GW_COPIES_H2D_UNKNOWN,
    GW_COPIES_D2H_PAGEABLE,
    GW_COPIES_D2H_PINNED,
    GW_COPIES_D2H_UNKNOWN,
    GW_COPIES_D2D,
    GW_COPIES_P2P,
    GW_COPIES_MEMSET, /* no copy, but counted beside them */
    GW_COPY_GROUP_COUNT
};

/* The group of an operation; GW_COPY_GROUP_COUNT for one that is neither a copy nor a memset. */
enum gw_copy_group gw_copy_group(const struct gw_model *model, const struct gw_op *op);

/* "h2d-pageable", "memset", … as in JSON. */
const char *gw_copy_group_name(enum gw_copy_group group);

/* A few words: "to the GPU, pageable". */
const char *gw_copy_group_words(enum gw_copy_group group);

/* ---- rates ---- */

/* Rate taken for page-locked copies where the run has none: what any x16 slot since PCIe 3.0 gives. */
#define GW_PINNED_ASSUMED_GBPS 12.0

/* Copies of fewer bytes say nothing of a rate. */
#define GW_COPY_RATED_BYTES 65536u

enum gw_rate_source {
    GW_RATE_NONE = 0, /* nothing is expected */
    GW_RATE_USUAL,    /* the upper median of the run's page-locked copies in that direction */
    GW_RATE_BEST,     /* what the fastest tenth of the run's copies of that group reach */
    GW_RATE_ASSUMED   /* GW_PINNED_ASSUMED_GBPS */
};

struct gw_copy_rate {
    double gbps; /* bytes per nanosecond, 0 with GW_RATE_NONE */
    enum gw_rate_source source;
};

/* "usual page-locked", "best of the run", "assumed", "none". */
const char *gw_rate_source_name(enum gw_rate_source source);

/* Stores what rate each group should reach, as copies of at least GW_COPY_RATED_BYTES show; of a run with very many
 * operations some are looked at. Returns 0 or -ENOMEM. */
int gw_copy_rates(const struct gw_model *model, struct gw_copy_rate ret_rates[GW_COPY_GROUP_COUNT]);

/* ---- content ---- */

enum gw_repeat_kind {
    GW_REPEAT_SAME, /* the same bytes the same way: an upload while that GPU still has them, or a download from it;
                       fewer than 4 KiB only from or to the same place */
    GW_REPEAT_BACK  /* an upload brings back what a download had just taken away, 4 KiB or more; the download may have
                       no hash where it went to where the same bytes had been uploaded before and come from again */
};

/* Two copies of a process that carry the same bytes, by their hash and size, with no other copy of these bytes between;
 * with GW_REPEAT_SAME, none of the same device. */
struct gw_repeat {
    uint32_t first, second; /* operations */
    enum gw_repeat_kind kind;
};

/* Lists them by process and content, then time. Bytes without a hash are never called the same. *ret_repeats: the
 * caller frees. Returns 0 or -ENOMEM. Takes 56 bytes a hashed copy, and 32 a download
 * without a hash, while it runs. */
int gw_copy_repeats(const struct gw_model *model, struct gw_repeat **ret_repeats, size_t *ret_count);

/* ---- sums ---- */

/* Copies of one group: of the analysed steps, or of the whole run where it has none. */
struct gw_copy_sum {
    uint64_t count, bytes;
    uint64_t timed, timed_bytes, ns;   /* those with times: how many, their bytes, the sum of their durations */
    uint64_t exposed_ns;               /* of ns, while no kernel ran on the device; 0 for memsets */
    uint64_t same, same_bytes;         /* GW_REPEAT_SAME */
    uint64_t back, back_bytes;         /* GW_REPEAT_BACK: the uploads; what was downloaded for it is as much */
    uint64_t unhashed, unhashed_bytes; /* whose content is not known: they may repeat as well */
};

struct gw_device_copies {
    uint32_t device; /* index */
    uint32_t steps;  /* analysed steps of its process; 0: the sums are of the whole run */
    struct gw_copy_sum sums[GW_COPY_GROUP_COUNT];
};

struct gw_copies {
    GW_ARRAY(struct gw_device_copies, devices); /* those with operations, in order */
    GW_ARRAY(struct gw_repeat, repeats);        /* of the whole run, as gw_copy_repeats lists them */
    bool by_step;                               /* sums are of the analysed steps */
    struct gw_copy_rate rates[GW_COPY_GROUP_COUNT];
};

/* Sums up the model's copies. A step's copies are those enqueued in it. Returns 0 or -ENOMEM; release takes it in any
 * case. */
int gw_copies_init(struct gw_copies *ret_copies, const struct gw_model *model);
void gw_copies_release(struct gw_copies *copies);

/* Bytes a nanosecond of a group's copies with times, 0 without any. */
double gw_copy_sum_gbps(const struct gw_copy_sum *sum);

#endif
