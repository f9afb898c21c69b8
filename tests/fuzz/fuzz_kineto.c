/*
 * Any bytes as a PyTorch profiler trace: the import refuses them or makes a model on which steps and budget can be
 * computed. The first byte says where the text is cut in two, so that tokens across pieces are met.
 */
#include <stddef.h>
#include <stdint.h>

#include "analyzer/model/import/kineto.h"
#include "tests/fuzz/use_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gw_kineto *kineto = NULL;
    struct gw_model *model = NULL;
    struct gw_error error;
    if (size == 0 || gw_kineto_create("fuzz.json", &error, &kineto)) {
        return 0;
    }
    size_t cut = data[0] < size ? data[0] : size - 1;
    data++;
    size--;
    if (gw_kineto_feed(kineto, data, cut) == 0 && gw_kineto_feed(kineto, data + cut, size - cut) == 0 &&
        gw_kineto_finish(kineto, &model) == 0) {
        gw_fuzz_use_model(model);
    }
    gw_model_destroy(model);
    gw_kineto_destroy(kineto);
    return 0;
}
