/*
 * Kernels that communicate, by name. A framework that reduces by kernels of its own, over peer access or multicast,
 * makes no call that tells what they carry out.
 */
#include <string.h>

#include "analyzer/model/builder.h"

/* Parts of names, mangled or not; public sources and traces say them. */
static const struct {
    const char *part, *library;
} kernels[] = {
    {"ncclDevKernel", "NCCL"},
    {"ncclKernel", "NCCL"},
    {"all_reduce_start_fusion", "XLA"},
    {"cross_device_reduce_1stage", "vLLM or SGLang"},
    {"cross_device_reduce_2stage", "vLLM or SGLang"},
    {"oneShotAllReduceKernel", "TensorRT-LLM"},
    {"twoShotAllReduceKernel", "TensorRT-LLM"},
    {"allreduce_fusion_kernel_oneshot", "TensorRT-LLM or FlashInfer"},
    {"allreduce_fusion_kernel_twoshot", "TensorRT-LLM or FlashInfer"},
    {"one_shot_all_reduce_kernel", "PyTorch's symmetric memory"},
    {"two_shot_all_reduce_kernel", "PyTorch's symmetric memory"},
    {"multimem_all_reduce_kernel", "PyTorch's symmetric memory"},
    {"multimem_all_gather_kernel", "PyTorch's symmetric memory"},
};

const char *gw_comm_kernel_library(const char *name)
{
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (strstr(name, kernels[i].part)) {
            return kernels[i].library;
        }
    }
    return NULL;
}
