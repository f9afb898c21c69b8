// The simulated cuFFT: plans, and transforms as one kernel each, of 5 N log2 N operations for N complex numbers and
// half of that for real ones.
#include <cufftXt.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/simgpu/stand_in_kernel.h"

// The newest that frameworks of today ask for, whichever headers this is built with.
#define FFT_MAJOR 12
#define FFT_MINOR 3
#define FFT_PATCH 0

#define PLANS_MAX 4096 // that exist at once; cuFFT's own limit is of this order
#define RANK_MAX 3

struct plan {
    bool is_used, is_made;
    size_t work_size; // as much as the output, about what real plans ask for; XLA takes none for a failure
    double flops, flops_factor, bytes;
    cudaStream_t stream;
};

static struct plan plans[PLANS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct plan *find(cufftHandle handle)
{
    return handle >= 0 && handle < PLANS_MAX && plans[handle].is_used ? &plans[handle] : NULL;
}

static const struct kind {
    cufftType type;
    cudaDataType input, output;
    double input_bytes, output_bytes;
    bool is_complex, is_double;
} kinds[] = {
    {CUFFT_C2C, CUDA_C_32F, CUDA_C_32F, 8, 8, true, false},  {CUFFT_R2C, CUDA_R_32F, CUDA_C_32F, 4, 4, false, false},
    {CUFFT_C2R, CUDA_C_32F, CUDA_R_32F, 4, 4, false, false}, {CUFFT_Z2Z, CUDA_C_64F, CUDA_C_64F, 16, 16, true, true},
    {CUFFT_D2Z, CUDA_R_64F, CUDA_C_64F, 8, 8, false, true},  {CUFFT_Z2D, CUDA_C_64F, CUDA_R_64F, 8, 8, false, true},
};

static const struct kind *kind_of(cufftType type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].type == type)
            return &kinds[i];
    }
    return NULL;
}

static cufftResult make(cufftHandle handle, int rank, const long long *sizes, const struct kind *kind, long long batch,
                        size_t *ret_work_size)
{
    const double slow = 1.0 / 15; // float and double do not use tensor cores
    struct plan *plan = find(handle);
    double all = 1;
    if (!plan)
        return CUFFT_INVALID_PLAN;
    if (!kind)
        return CUFFT_NOT_SUPPORTED;
    if (rank < 1 || rank > RANK_MAX || !sizes || batch < 1)
        return CUFFT_INVALID_VALUE;
    for (int i = 0; i < rank; i++) {
        if (sizes[i] < 1)
            return CUFFT_INVALID_SIZE;
        all *= (double)sizes[i];
    }
    plan->flops = (kind->is_complex ? 5 : 2.5) * all * log2(all < 2 ? 2 : all) * (double)batch;
    plan->flops_factor = slow * (kind->is_double ? 0.5 : 1);
    plan->bytes = (kind->input_bytes + kind->output_bytes) * all * (double)batch;
    plan->work_size = (size_t)(kind->output_bytes * all) * (size_t)batch;
    plan->is_made = true;
    if (ret_work_size)
        *ret_work_size = plan->work_size;
    return CUFFT_SUCCESS;
}

static cufftResult transform(cufftHandle handle)
{
    const double bytes_a_block = 16384;
    const struct plan *plan = find(handle);
    if (!plan || !plan->is_made)
        return CUFFT_INVALID_PLAN;
    const struct kernel kernel = {.name = "vector_fft",
                                  .flops = plan->flops,
                                  .flops_factor = plan->flops_factor,
                                  .bytes = plan->bytes,
                                  .blocks = plan->bytes / bytes_a_block,
                                  .threads = 128};
    return stand_in_launch(&kernel, plan->stream) == CUDA_SUCCESS ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

EXPORT cufftResult cufftCreate(cufftHandle *handle)
{
    cufftResult result = CUFFT_ALLOC_FAILED;
    if (!handle)
        return CUFFT_INVALID_VALUE;
    if (stand_in_load() != CUDA_SUCCESS)
        return CUFFT_SETUP_FAILED;
    pthread_mutex_lock(&lock);
    for (cufftHandle i = 0; i < PLANS_MAX && result != CUFFT_SUCCESS; i++) {
        if (!plans[i].is_used) {
            plans[i] = (struct plan){.is_used = true};
            *handle = i;
            result = CUFFT_SUCCESS;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT cufftResult cufftDestroy(cufftHandle plan)
{
    pthread_mutex_lock(&lock);
    struct plan *found = find(plan);
    if (found)
        found->is_used = false;
    pthread_mutex_unlock(&lock);
    return found ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

EXPORT cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
    struct plan *found = find(plan);
    if (!found)
        return CUFFT_INVALID_PLAN;
    found->stream = stream;
    return CUFFT_SUCCESS;
}

// The work area is not used.
EXPORT cufftResult cufftSetAutoAllocation(cufftHandle plan, int autoAllocate)
{
    (void)autoAllocate;
    return find(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

EXPORT cufftResult cufftSetWorkArea(cufftHandle plan, void *workArea)
{
    (void)workArea;
    return find(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

EXPORT cufftResult cufftGetSize(cufftHandle handle, size_t *workSize)
{
    if (!workSize)
        return CUFFT_INVALID_VALUE;
    const struct plan *plan = find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    *workSize = plan->work_size;
    return CUFFT_SUCCESS;
}

EXPORT cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist,
                                     int *onembed, int ostride, int odist, cufftType type, int batch, size_t *workSize)
{
    (void)inembed, (void)istride, (void)idist, (void)onembed, (void)ostride, (void)odist;
    long long sizes[RANK_MAX];
    for (int i = 0; n && i < rank && i < RANK_MAX; i++)
        sizes[i] = n[i];
    return make(plan, rank, n ? sizes : NULL, kind_of(type), batch, workSize);
}

EXPORT cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long int *n, long long int *inembed,
                                       long long int istride, long long int idist, long long int *onembed,
                                       long long int ostride, long long int odist, cufftType type, long long int batch,
                                       size_t *workSize)
{
    (void)inembed, (void)istride, (void)idist, (void)onembed, (void)ostride, (void)odist;
    return make(plan, rank, n, kind_of(type), batch, workSize);
}

EXPORT cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long int *n, long long int *inembed,
                                       long long int istride, long long int idist, cudaDataType inputtype,
                                       long long int *onembed, long long int ostride, long long int odist,
                                       cudaDataType outputtype, long long int batch, size_t *workSize,
                                       cudaDataType executiontype)
{
    (void)inembed, (void)istride, (void)idist, (void)onembed, (void)ostride, (void)odist, (void)executiontype;
    const struct kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !kind; i++) {
        if (kinds[i].input == inputtype && kinds[i].output == outputtype)
            kind = &kinds[i];
    }
    return make(plan, rank, n, kind, batch, workSize);
}

EXPORT cufftResult cufftXtExec(cufftHandle plan, void *input, void *output, int direction)
{
    (void)input, (void)output, (void)direction;
    return transform(plan);
}

#define EXECUTE(kind, input, output, ...)                                                                              \
    EXPORT cufftResult cufftExec##kind(cufftHandle plan, input *idata, output *odata, ##__VA_ARGS__)                   \
    {                                                                                                                  \
        (void)idata, (void)odata;                                                                                      \
        return transform(plan);                                                                                        \
    }

EXECUTE(C2C, cufftComplex, cufftComplex, int direction __attribute__((unused)))
EXECUTE(Z2Z, cufftDoubleComplex, cufftDoubleComplex, int direction __attribute__((unused)))
EXECUTE(R2C, cufftReal, cufftComplex)
EXECUTE(C2R, cufftComplex, cufftReal)
EXECUTE(D2Z, cufftDoubleReal, cufftDoubleComplex)
EXECUTE(Z2D, cufftDoubleComplex, cufftDoubleReal)

EXPORT cufftResult cufftGetProperty(libraryPropertyType type, int *value)
{
    static const int parts[] = {[MAJOR_VERSION] = FFT_MAJOR, [MINOR_VERSION] = FFT_MINOR, [PATCH_LEVEL] = FFT_PATCH};
    if (!value || (unsigned)type >= sizeof parts / sizeof *parts)
        return CUFFT_INVALID_VALUE;
    *value = parts[type];
    return CUFFT_SUCCESS;
}

EXPORT cufftResult cufftGetVersion(int *version)
{
    if (!version)
        return CUFFT_INVALID_VALUE;
    *version = FFT_MAJOR * 1000 + FFT_MINOR * 100 + FFT_PATCH;
    return CUFFT_SUCCESS;
}
