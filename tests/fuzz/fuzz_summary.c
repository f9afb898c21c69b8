/* A recording's summary with bytes changed before it was compressed: it is refused, or makes a model. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyzer/model/recordings.h"
#include "analyzer/read/summary.h"
#include "tests/fuzz/small_run.h"
#include "tests/fuzz/use_model.h"

#define GZIP_WINDOW (MAX_WBITS + 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is in the summary of the small run; made once. */
static const uint8_t *plain_summary(unsigned kind, size_t *ret_size)
{
    static uint8_t *plain[GW_SMALL_RUNS];
    static size_t sizes[GW_SMALL_RUNS];
    if (!plain[kind]) {
        struct gw_run_file *run = NULL;
        struct gw_error error = {""};
        void *packed = NULL;
        size_t packed_bytes = 0;
        struct gw_records *records = gw_small_run_records(kind);
        z_stream stream = {0};
        plain[kind] = malloc(1 << 20);
        if (!plain[kind] || gw_run_file_parse("run", gw_small_run_json(kind), &run, &error) ||
            gw_summary_encode(run, records, &packed, &packed_bytes) || inflateInit2(&stream, GZIP_WINDOW) != Z_OK) {
            abort();
        }
        stream.next_in = packed;
        stream.avail_in = (unsigned)packed_bytes;
        stream.next_out = plain[kind];
        stream.avail_out = 1 << 20;
        if (inflate(&stream, Z_FINISH) != Z_STREAM_END) {
            abort();
        }
        sizes[kind] = stream.total_out;
        inflateEnd(&stream);
        gw_records_destroy(records);
        gw_run_file_destroy(run);
        free(packed);
    }
    *ret_size = sizes[kind];
    return plain[kind];
}

static uint8_t *deflated(const uint8_t *bytes, size_t size, size_t *ret_size)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        abort();
    }
    const size_t room = deflateBound(&stream, size);
    uint8_t *packed = malloc(room);
    if (!packed) {
        abort();
    }
    stream.next_in = (uint8_t *)bytes;
    stream.avail_in = (unsigned)size;
    stream.next_out = packed;
    stream.avail_out = (unsigned)room;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) {
        abort();
    }
    *ret_size = stream.total_out;
    deflateEnd(&stream);
    return packed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_fuzz_input input = {data, size};
    struct gw_recordings recordings = {0};
    struct gw_model *model = NULL;
    struct gw_error error = {""};
    size_t whole_size = 0, changed_size = 0, packed_size = 0;
    const uint8_t *whole = plain_summary((unsigned)gw_fuzz_take(&input, 1) % GW_SMALL_RUNS, &whole_size);
    uint8_t *changed = gw_fuzz_patched(whole, whole_size, &input, &changed_size);
    uint8_t *packed = deflated(changed, changed_size, &packed_size);
    if (gw_recordings_decode(&recordings, "summary", packed, packed_size, &error) == 0 &&
        gw_model_build_from_recordings("run", &recordings, NULL, &model, &error) == 0) {
        gw_fuzz_use_model(model);
        gw_model_destroy(model);
    } else if (!error.text[0]) {
        abort(); /* refused without a word */
    }
    gw_recordings_release(&recordings);
    free(packed);
    free(changed);
    return 0;
}
