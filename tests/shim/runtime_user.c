// Built into several objects, each linked against a CUDA runtime of another version.
int cudaRuntimeGetVersion(int *version);
int cudaMalloc(void **memory, unsigned long bytes);
int cudaFree(void *memory);

__attribute__((visibility("default"))) int runtime_user_version(void);
__attribute__((visibility("default"))) int runtime_user_allocate(void);

int runtime_user_version(void)
{
    int version = -1, error = cudaRuntimeGetVersion(&version);

    return error ? -error : version;
}

int runtime_user_allocate(void)
{
    void *memory = 0;
    int error = cudaMalloc(&memory, 4096);

    return error ? error : cudaFree(memory);
}
