#include "analyzer/read/clock_shift.h"

/* Words that hold times, beside the slots that every record has; -1: none. */
static int time_word(uint32_t type)
{
    switch ((enum gw_record_type)type) {
    case GW_RECORD_thread_gap:
        return GW_ARG_thread_gap_end;
    case GW_RECORD_gpu_op:
        return GW_ARG_gpu_op_end;
    case GW_RECORD_gpu_node:
        return GW_ARG_gpu_node_end;
    case GW_RECORD_gpu_clock:
        return GW_ARG_gpu_clock_host;
    default:
        return -1;
    }
}

uint64_t gw_clock_shifted(const struct gw_clock_shift *shift, uint64_t t_ns)
{
    if (t_ns == 0 || t_ns == UINT64_MAX) {
        return t_ns;
    }
    const double drift_ns = ((double)t_ns - (double)shift->about_ns) * shift->ppm / 1e6;
    return (uint64_t)((int64_t)t_ns + shift->offset_ns + (int64_t)drift_ns);
}

static void shift_record(void *user, struct gw_record *record)
{
    const struct gw_clock_shift *shift = user;
    const int word = time_word(record->type);
    record->time_ns = gw_clock_shifted(shift, record->time_ns);
    record->begin_ns = gw_clock_shifted(shift, record->begin_ns);
    if (word >= 0) {
        record->words[word] = gw_clock_shifted(shift, record->words[word]);
    }
}

int gw_records_shift(struct gw_records *records, const struct gw_clock_shift *shift)
{
    for (size_t s = 0; s < records->stream_count; s++) {
        struct gw_record_stream *stream = &records->streams[s];
        const int status = gw_record_stream_rewrite(stream, shift_record, (void *)shift);
        if (status) {
            return status;
        }
        for (size_t i = 0; i < stream->loss_count; i++) {
            stream->losses[i].begin_ns = gw_clock_shifted(shift, stream->losses[i].begin_ns);
            stream->losses[i].end_ns = gw_clock_shifted(shift, stream->losses[i].end_ns);
        }
    }
    records->realtime_offset_ns -= records->realtime_offset_ns ? shift->offset_ns : 0;
    return 0;
}

void gw_run_file_shift(struct gw_run_file *run, const struct gw_clock_shift *shift)
{
    run->begin_monotonic_ns = gw_clock_shifted(shift, run->begin_monotonic_ns);
    run->end_monotonic_ns = gw_clock_shifted(shift, run->end_monotonic_ns);
    for (size_t i = 0; i < run->window_count; i++) {
        run->windows[i].begin_ns = gw_clock_shifted(shift, run->windows[i].begin_ns);
        run->windows[i].steps_ns = gw_clock_shifted(shift, run->windows[i].steps_ns);
        run->windows[i].end_ns = gw_clock_shifted(shift, run->windows[i].end_ns);
    }
    for (size_t i = 0; i < run->compiler_count; i++) {
        run->compilers[i].begin_ns = gw_clock_shifted(shift, run->compilers[i].begin_ns);
        run->compilers[i].end_ns = gw_clock_shifted(shift, run->compilers[i].end_ns);
    }
    run->realtime_offset_ns -= run->realtime_offset_ns ? shift->offset_ns : 0;
}
