#include "tests/simgpu/dnn/graph.h"

#include <stdio.h>

#define SEEN_MAX 256 // tensors of one graph; further ones are counted anew at each operation

// What the cost of an operation is, beside its tensors: `first` and `second` are its factors, `result` what they give,
// of a convolution's forward pass always x, w and y.
static const struct operation {
    cudnnBackendDescriptorType_t type;
    enum { MEMORY, CONVOLUTION, PRODUCT, ATTENTION } arithmetic;
    enum conv_direction direction;
    cudnnBackendAttributeName_t first, second, result;
} operations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CONVOLUTION, CONV_FORWARD,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CONVOLUTION, CONV_DATA_GRADIENT,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CONVOLUTION, CONV_FILTER_GRADIENT,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, PRODUCT, 0, CUDNN_ATTR_OPERATION_MATMUL_ADESC,
     CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_ATTR_OPERATION_MATMUL_CDESC},
    {CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, ATTENTION, CONV_FORWARD, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC,
     CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC},
    {CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR, ATTENTION, CONV_DATA_GRADIENT, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC,
     CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC},
    {.type = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR},
    {.type = CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR},
    // Younger than some headers: masks of diagonal bands, softmax, transposition, slices.
    {.type = (cudnnBackendDescriptorType_t)44},
    {.type = (cudnnBackendDescriptorType_t)45},
    {.type = (cudnnBackendDescriptorType_t)46},
    {.type = (cudnnBackendDescriptorType_t)47},
};

static const struct operation *find(cudnnBackendDescriptorType_t type)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (operations[i].type == type)
            return &operations[i];
    }
    return NULL;
}

struct tensor {
    cudnnDataType_t type;
    int dimensions;
    const int64_t *sizes;
    int64_t id;
    bool is_virtual;
    double bytes;
};

// Returns false when the descriptor is no tensor, or one without a size.
static bool read_tensor(struct tensor *ret_tensor, const struct descriptor *descriptor)
{
    if (!descriptor || descriptor->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
        return false;
    const struct attribute *type = descriptor_find(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE),
                           *sizes = descriptor_find(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS),
                           *id = descriptor_find(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID),
                           *is_virtual = descriptor_find(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    if (!type || !sizes || !id || type->count != 1 || id->count != 1 || sizes->type != CUDNN_TYPE_INT64)
        return false;
    struct tensor tensor = {.type = *(const cudnnDataType_t *)type->elements,
                            .dimensions = (int)sizes->count,
                            .sizes = sizes->elements,
                            .id = *(const int64_t *)id->elements,
                            .is_virtual = is_virtual && is_virtual->count == 1 && *(const bool *)is_virtual->elements};
    tensor.bytes = type_bytes(tensor.type);
    for (int i = 0; i < tensor.dimensions; i++)
        tensor.bytes *= (double)tensor.sizes[i];
    *ret_tensor = tensor;
    return true;
}

struct seen {
    int64_t ids[SEEN_MAX];
    size_t count;
};

static bool is_new(struct seen *seen, int64_t id)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->ids[i] == id)
            return false;
    }
    if (seen->count < SEEN_MAX)
        seen->ids[seen->count++] = id;
    return true;
}

// Bytes of the operation's tensors that lie in memory and were not met before.
static double tensors_bytes(const struct descriptor *operation, struct seen *seen)
{
    double bytes = 0;
    for (size_t i = 0; i < operation->attribute_count; i++) {
        const struct attribute *attribute = &operation->attributes[i];
        for (int64_t j = 0; attribute->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && j < attribute->count; j++) {
            struct tensor tensor;
            if (read_tensor(&tensor, ((struct descriptor **)attribute->elements)[j]) && !tensor.is_virtual &&
                is_new(seen, tensor.id))
                bytes += tensor.bytes;
        }
    }
    return bytes;
}

// A product of matrices is a convolution over one place: batch and rows are places, the inner dimension channels.
static cudnnStatus_t product_kernel(struct kernel *ret_kernel, char name[CONV_NAME_SIZE], const struct tensor *first,
                                    const struct tensor *result)
{
    const int last = first->dimensions - 1;
    int64_t places = 1;
    for (int i = 0; i < last; i++)
        places *= result->sizes[i];
    const int64_t x[] = {places, first->sizes[last], 1}, w[] = {result->sizes[last], first->sizes[last], 1},
                  y[] = {places, result->sizes[last], 1};
    const cudnnStatus_t status = conv_kernel(ret_kernel, name, &(struct conv){CONV_FORWARD, first->type, 3, x, w, y});
    if (status == CUDNN_STATUS_SUCCESS)
        snprintf(name, CONV_NAME_SIZE, "cudnn_generated_fort_native_matmul");
    return status;
}

// Attention: a query's row is multiplied with each key, and the sum of values weighted. Backward five products for two.
static cudnnStatus_t attention_kernel(struct kernel *ret_kernel, char name[CONV_NAME_SIZE], bool is_forward,
                                      const struct tensor *query, const struct tensor *key, const struct tensor *result)
{
    const double rows_a_block = 128;
    if (query->dimensions != 4)
        return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
    const double rows = (double)query->sizes[0] * (double)query->sizes[1] * (double)query->sizes[2];
    const double keys = (double)key->sizes[2], width = (double)query->sizes[3], value_width = (double)result->sizes[3];
    snprintf(name, CONV_NAME_SIZE, "cudnn_generated_fort_native_sdpa_sm90_flash_%s_wgmma",
             is_forward ? "fprop" : "bprop");
    *ret_kernel =
        (struct kernel){.flops = 2 * rows * keys * (is_forward ? width + value_width : 3 * width + 2 * value_width),
                        .flops_factor = 1,
                        .blocks = rows / rows_a_block,
                        .threads = 384};
    return CUDNN_STATUS_SUCCESS;
}

// Adds what the operation computes to the kernel: a graph takes its name and grid from its largest operation.
static cudnnStatus_t add_arithmetic(struct kernel *kernel, char name[CONV_NAME_SIZE],
                                    const struct descriptor *descriptor, const struct operation *operation)
{
    struct tensor first, second, result;
    struct kernel part;
    char part_name[CONV_NAME_SIZE];
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    if (!read_tensor(&first, descriptor_child(descriptor, operation->first, 0)) ||
        !read_tensor(&second, descriptor_child(descriptor, operation->second, 0)) ||
        !read_tensor(&result, descriptor_child(descriptor, operation->result, 0)) ||
        first.dimensions != second.dimensions || first.dimensions != result.dimensions || first.dimensions < 2)
        return CUDNN_STATUS_BAD_PARAM;
    switch (operation->arithmetic) {
    case CONVOLUTION: // what goes in decides the kernel: of a gradient that is y's type, else x's
        status = conv_kernel(&part, part_name,
                             &(struct conv){.direction = operation->direction,
                                            .type = operation->direction == CONV_FORWARD ? first.type : result.type,
                                            .dimensions = first.dimensions,
                                            .x = first.sizes,
                                            .w = second.sizes,
                                            .y = result.sizes});
        break;
    case PRODUCT:
        status = product_kernel(&part, part_name, &first, &result);
        break;
    case ATTENTION:
        status = attention_kernel(&part, part_name, operation->direction == CONV_FORWARD, &first, &second, &result);
        break;
    case MEMORY:
        break;
    }
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (part.flops > kernel->flops) {
        kernel->flops_factor = part.flops_factor;
        kernel->blocks = part.blocks;
        kernel->threads = part.threads;
        snprintf(name, CONV_NAME_SIZE, "%s", part_name);
    }
    kernel->flops += part.flops;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t graph_kernel(struct kernel *ret_kernel, char name[CONV_NAME_SIZE], const struct descriptor *graph)
{
    struct seen seen = {.count = 0};
    struct kernel kernel = {.name = name, .flops_factor = 1, .threads = 512};
    const struct attribute *all = descriptor_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    if (!all || all->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || all->count < 1)
        return CUDNN_STATUS_BAD_PARAM;
    snprintf(name, CONV_NAME_SIZE, "cudnn_generated_fort_native");
    for (int64_t i = 0; i < all->count; i++) {
        const struct descriptor *descriptor = ((struct descriptor **)all->elements)[i];
        const struct operation *operation = find(descriptor->type);
        if (!operation)
            return CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
        kernel.bytes += tensors_bytes(descriptor, &seen);
        const cudnnStatus_t status = operation->arithmetic == MEMORY
                                         ? CUDNN_STATUS_SUCCESS
                                         : add_arithmetic(&kernel, name, descriptor, operation);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    if (kernel.flops == 0)
        kernel.blocks = kernel.bytes / BYTES_A_BLOCK;
    *ret_kernel = kernel;
    return CUDNN_STATUS_SUCCESS;
}
