/*
 * Any bytes as a PyTorch profiler trace: the import refuses them or makes a model on which steps and budget can be
 * computed. The first byte says where the text is cut in two, so that tokens across pieces are met; from the next brace
 * on it is parsed as a part as well, which must change nothing.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/import/kineto.h"
#include "tests/fuzz/use_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int parse(const uint8_t *text, size_t size, size_t cut, struct gw_error *error, struct gw_model **ret_model)
{
    struct gw_kineto *kineto = NULL;
    int status = gw_kineto_create("fuzz.json", error, &kineto);
    status = status ? status : gw_kineto_feed(kineto, text, cut);
    status = status ? status : gw_kineto_feed(kineto, text + cut, size - cut);
    status = status ? status : gw_kineto_end(kineto);
    status = status ? status : gw_kineto_build(kineto, "fuzz.json", ret_model);
    gw_kineto_destroy(kineto);
    return status;
}

/* The same in two parts, the later one from the brace at `cut` on. */
static int parse_parts(const uint8_t *text, size_t size, size_t cut, struct gw_error *error,
                       struct gw_model **ret_model)
{
    struct gw_kineto *earlier = NULL, *later = NULL;
    struct gw_error later_error;
    bool in_object = text[0] == '{', meets = false;
    int status = gw_kineto_create("fuzz.json", error, &earlier);
    status = status ? status : gw_kineto_feed(earlier, text, cut);
    status = status ? status : gw_kineto_feed_brace(earlier, in_object, &meets);
    if (!status && meets) {
        status = gw_kineto_create_part("fuzz.json", cut, in_object, &later_error, &later);
        status = status ? status : gw_kineto_feed(later, text + cut, size - cut);
        status = status ? status : gw_kineto_join(earlier, later);
        status = status ? status : gw_kineto_end(later);
        status = status ? status : gw_kineto_build(later, "fuzz.json", ret_model);
        *error = status ? later_error : *error;
    } else if (!status) {
        status = gw_kineto_feed(earlier, text + cut + 1, size - cut - 1);
        status = status ? status : gw_kineto_end(earlier);
        status = status ? status : gw_kineto_build(earlier, "fuzz.json", ret_model);
    }
    gw_kineto_destroy(earlier);
    gw_kineto_destroy(later);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_model *model = NULL, *joined = NULL;
    struct gw_error error, joined_error;
    if (size == 0) {
        return 0;
    }
    size_t cut = data[0] < size ? data[0] : size - 1;
    data++;
    size--;
    int status = parse(data, size, cut, &error, &model);
    const uint8_t *brace = cut ? memchr(data + cut, '{', size - cut) : NULL;
    if (brace) {
        /* cut in the same place, for where an error is said to be depends on how a token is cut */
        size_t at = (size_t)(brace - data);
        struct gw_model *whole = NULL;
        int whole_status = parse(data, size, at, &error, &whole);
        int joined_status = parse_parts(data, size, at, &joined_error, &joined);
        if (joined_status != whole_status || whole_status != status ||
            (status && strcmp(joined_error.text, error.text) != 0) ||
            (!status &&
             (joined->calls_count != whole->calls_count || joined->ops_count != whole->ops_count ||
              joined->names_count != whole->names_count || joined->coverages_count != whole->coverages_count))) {
            abort();
        }
        gw_model_destroy(whole);
    }
    if (!status) {
        gw_fuzz_use_model(model);
    }
    gw_model_destroy(model);
    gw_model_destroy(joined);
    return 0;
}
