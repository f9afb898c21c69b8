#include "analyzer/diff/roles.h"

#include <string.h>

const char *gw_role_name(enum gw_role role)
{
    static const char *const names[GW_ROLE_COUNT] = {[GW_ROLE_MATMUL] = "matmul",
                                                     [GW_ROLE_ATTENTION] = "attention",
                                                     [GW_ROLE_CONVOLUTION] = "convolution",
                                                     [GW_ROLE_NORMALISATION] = "normalisation",
                                                     [GW_ROLE_SOFTMAX] = "softmax",
                                                     [GW_ROLE_OPTIMIZER] = "optimizer",
                                                     [GW_ROLE_REDUCTION] = "reduction",
                                                     [GW_ROLE_INDEXING] = "indexing",
                                                     [GW_ROLE_RANDOM] = "random",
                                                     [GW_ROLE_SORTING] = "sorting",
                                                     [GW_ROLE_REARRANGING] = "rearranging",
                                                     [GW_ROLE_ELEMENTWISE] = "elementwise",
                                                     [GW_ROLE_COMMUNICATION] = "communication",
                                                     [GW_ROLE_MEMSET] = "memset",
                                                     [GW_ROLE_GRAPH] = "graph replay",
                                                     [GW_ROLE_OTHER] = "other"};
    return names[role];
}

/* Parts of names as cuBLAS, cuDNN, CUTLASS, PyTorch, Triton, Inductor and XLA use them, lower case. The first that
 * matches decides, so what is specific stands before what is common ("softmax_reduce" is a softmax). */
static const struct {
    const char *part;
    enum gw_role role;
} parts[] = {
    {"flash", GW_ROLE_ATTENTION},
    {"fmha", GW_ROLE_ATTENTION},
    {"attention", GW_ROLE_ATTENTION},
    {"attn", GW_ROLE_ATTENTION},
    {"adam", GW_ROLE_OPTIMIZER},
    {"multi_tensor_apply", GW_ROLE_OPTIMIZER},
    {"optimizer", GW_ROLE_OPTIMIZER},
    {"sgd", GW_ROLE_OPTIMIZER},
    {"lamb_", GW_ROLE_OPTIMIZER},
    {"layernorm", GW_ROLE_NORMALISATION},
    {"layer_norm", GW_ROLE_NORMALISATION},
    {"batchnorm", GW_ROLE_NORMALISATION},
    {"batch_norm", GW_ROLE_NORMALISATION},
    {"bn_fw", GW_ROLE_NORMALISATION},
    {"bn_bw", GW_ROLE_NORMALISATION},
    {"rmsnorm", GW_ROLE_NORMALISATION},
    {"rms_norm", GW_ROLE_NORMALISATION},
    {"group_norm", GW_ROLE_NORMALISATION},
    {"groupnorm", GW_ROLE_NORMALISATION},
    {"softmax", GW_ROLE_SOFTMAX},
    {"cross_entropy", GW_ROLE_SOFTMAX},
    {"nll_loss", GW_ROLE_SOFTMAX},
    {"conv", GW_ROLE_CONVOLUTION},
    {"winograd", GW_ROLE_CONVOLUTION},
    {"wgrad", GW_ROLE_CONVOLUTION},
    {"dgrad", GW_ROLE_CONVOLUTION},
    {"fprop", GW_ROLE_CONVOLUTION},
    {"gemm", GW_ROLE_MATMUL},
    {"gemv", GW_ROLE_MATMUL},
    {"matmul", GW_ROLE_MATMUL},
    {"nvjet", GW_ROLE_MATMUL},
    {"cutlass", GW_ROLE_MATMUL},
    {"xmma", GW_ROLE_MATMUL},
    {"splitkreduce", GW_ROLE_MATMUL},
    {"_dot", GW_ROLE_MATMUL},
    {"sort", GW_ROLE_SORTING},
    {"topk", GW_ROLE_SORTING},
    {"gather", GW_ROLE_INDEXING},
    {"scatter", GW_ROLE_INDEXING},
    {"index", GW_ROLE_INDEXING},
    {"embedding", GW_ROLE_INDEXING},
    {"dynamic_slice", GW_ROLE_INDEXING},
    {"dynamic_update_slice", GW_ROLE_INDEXING},
    {"dropout", GW_ROLE_RANDOM},
    {"philox", GW_ROLE_RANDOM},
    {"curand", GW_ROLE_RANDOM},
    {"rng", GW_ROLE_RANDOM},
    {"random", GW_ROLE_RANDOM},
    {"reduce", GW_ROLE_REDUCTION},
    {"reduction", GW_ROLE_REDUCTION},
    {"_sum", GW_ROLE_REDUCTION},
    {"scan", GW_ROLE_REDUCTION},
    {"transpose", GW_ROLE_REARRANGING},
    {"permute", GW_ROLE_REARRANGING},
    {"copy", GW_ROLE_REARRANGING},
    {"concat", GW_ROLE_REARRANGING},
    {"catarray", GW_ROLE_REARRANGING},
    {"pad_", GW_ROLE_REARRANGING},
    {"elementwise", GW_ROLE_ELEMENTWISE},
    {"pointwise", GW_ROLE_ELEMENTWISE},
    {"vectorized", GW_ROLE_ELEMENTWISE},
    {"triton_poi", GW_ROLE_ELEMENTWISE},
    {"triton_per", GW_ROLE_REDUCTION},
    {"triton_red", GW_ROLE_REDUCTION},
    {"fusion", GW_ROLE_ELEMENTWISE},
    {"wrapped_", GW_ROLE_ELEMENTWISE},
    {"relu", GW_ROLE_ELEMENTWISE},
    {"fill", GW_ROLE_MEMSET},
};

static enum gw_role find(const char *name)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcasestr(name, parts[i].part))
            return parts[i].role;
    }
    return GW_ROLE_OTHER;
}

enum gw_role gw_role_of_kernel(const char *name, const char *brief)
{
    enum gw_role role = find(brief);
    return role == GW_ROLE_OTHER ? find(name) : role;
}
