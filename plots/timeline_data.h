/*
 * What a timeline shows, still in nanoseconds: the window, its rows and their spans, and which call started which
 * operation.
 */
#ifndef GW_PLOTS_TIMELINE_DATA_H
#define GW_PLOTS_TIMELINE_DATA_H

#include "plots/lod.h"
#include "plots/plots.h"

#define GW_TIMELINE_LANES 3u /* depths of calls that are shown */
#define GW_TIMELINE_THREADS_MAX 10u
#define GW_TIMELINE_STREAMS_MAX 18u
#define GW_TIMELINE_DEVICES_MAX 8u
#define GW_TIMELINE_LINKS_MAX 160u
#define GW_TIMELINE_SPANS_MAX 50000000u

/* Key of a span: what it is, and so its colour and its entry in the legend. */
enum gw_paint { GW_PAINT_CALL, GW_PAINT_OUTSIDE, GW_PAINT_OP, GW_PAINT_COMM, GW_PAINT_KERNEL, GW_PAINT_GAP };
#define GW_PAINT_KEY(paint, value) ((uint32_t)(paint) << 24 | (uint32_t)(value))
#define GW_PAINT_OF(key) ((enum gw_paint)((key) >> 24))
#define GW_PAINT_VALUE(key) ((key)&0xffffffu)

/* values of GW_PAINT_OUTSIDE */
enum gw_outside { GW_OUTSIDE_ON_CPU, GW_OUTSIDE_OFF_CPU };

/* values of GW_PAINT_COMM: before and after the last rank has arrived, where that is known */
enum gw_comm_part { GW_COMM_WAITS, GW_COMM_TRANSFERS };

struct gw_lane {
    struct gw_span *spans;
    size_t spans_count, spans_capacity;
};

enum gw_row_kind { GW_ROW_THREAD, GW_ROW_STREAM, GW_ROW_GAPS };

struct gw_timeline_row {
    enum gw_row_kind kind;
    uint32_t process;
    uint32_t device; /* streams and gaps; GW_NONE for threads */
    uint32_t index;  /* of the thread, stream or device */
    uint32_t lanes_count;
    struct gw_lane lanes[GW_TIMELINE_LANES]; /* span refs: calls, operations or gaps */
    struct gw_lane outside;                  /* threads: time outside CUDA; refs: thread gaps */
};

/* A call enqueued an operation. */
struct gw_link {
    uint32_t from_row, to_row; /* indices of rows */
    uint64_t from_ns, to_ns;
};

struct gw_timeline_data {
    uint64_t begin_ns, end_ns;
    uint32_t process;              /* whose steps are marked, GW_NONE without steps */
    uint32_t step_first, step_end; /* indices of model steps in the window: [first, end) */
    struct gw_timeline_row *rows;
    uint32_t rows_count, rows_dropped;
    uint32_t devices_dropped; /* with all their rows, and the threads of processes that have no other */
    struct gw_link *links;    /* none when there are more than GW_TIMELINE_LINKS_MAX */
    uint32_t links_count;
    uint64_t *arrived_ns;       /* as gw_arrivals_create */
    uint32_t *collective_of_op; /* the first one it carries out, GW_NONE: none; NULL without any */
    uint8_t *kernel_slot;       /* by name: index of its colour */
    struct gw_kernel_total {
        uint32_t name;
        uint64_t total_ns;
    } * kernels; /* kernels in the window, longest total first */
    uint32_t kernels_count;
};

/* The window that the options ask for: a range, steps, or the median step with neighbours steps on either side; the
 * whole trace where there are no steps or neighbours is GW_TIMELINE_WHOLE. Returns false when it holds no time. */
#define GW_TIMELINE_WHOLE UINT32_MAX
bool gw_timeline_window(const struct gw_plot_source *source, const struct gw_plot_options *options, uint32_t neighbours,
                        struct gw_timeline_data *data);

/* Fills the rows of the window that gw_timeline_window set. Returns 0, -ENOMEM or -E2BIG; *data is to be released with
 * gw_timeline_data_clear in any case. */
int gw_timeline_fill(const struct gw_plot_source *source, struct gw_timeline_data *data);
void gw_timeline_data_clear(struct gw_timeline_data *data);

#endif
