/* Runs a fuzz target over files without a fuzzer, so that what once failed is tried in every build. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    int ret = -1;
    if (!file || fseek(file, 0, SEEK_END)) {
        goto end;
    }
    long size = ftell(file);
    rewind(file);
    data = size > 0 ? malloc((size_t)size) : NULL;
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
        goto end;
    }
    LLVMFuzzerTestOneInput(data, (size_t)size);
    ret = 0;
end:
    if (ret) {
        fprintf(stderr, "%s: cannot be read\n", path);
    }
    free(data);
    if (file) {
        fclose(file);
    }
    return ret;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) {
        failed |= replay(argv[i]) != 0;
    }
    printf("%d inputs replayed\n", argc - 1);
    return failed;
}
