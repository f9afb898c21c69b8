/*
 * Any bytes as an Nsight Systems export: the import refuses them or makes a model on which steps and budget can be
 * computed. SQLite reads files, so each input becomes one.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/model/import/nsys.h"
#include "tests/fuzz/use_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    struct gw_model *model = NULL;
    struct gw_error error;
    snprintf(path, sizeof(path), "%s/fuzz_nsys.%ld", folder ? folder : P_tmpdir, (long)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, data, size) != (ssize_t)size || close(file) != 0) {
        abort();
    }
    if (gw_nsys_read(path, &model, &error) == 0) {
        gw_fuzz_use_model(model);
    }
    gw_model_destroy(model);
    unlink(path);
    return 0;
}
