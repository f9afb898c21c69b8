#include "tests/simgpu/blas/descriptor.h"

#include <stdlib.h>
#include <string.h>

// What stands in a descriptor of a matrix: the attributes of the public header, by number.
struct layout {
    uint32_t type, order, batch, pad;
    uint64_t rows, columns;
    int64_t leading, stride;
};
_Static_assert(sizeof(struct layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "a layout is kept in its descriptor");

static const struct field {
    int attribute;
    size_t offset, size;
} layout_fields[] = {
#define FIELD(attribute, member)                                                                                       \
    {                                                                                                                  \
        attribute, offsetof(struct layout, member), sizeof(((struct layout *)0)->member)                               \
    }
    FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, type),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, order),
    FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, rows),
    FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, columns),
    FIELD(CUBLASLT_MATRIX_LAYOUT_LD, leading),
    FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch),
    FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride),
#undef FIELD
};

static const struct field *layout_field(int attribute)
{
    for (size_t i = 0; i < sizeof layout_fields / sizeof *layout_fields; i++) {
        if (layout_fields[i].attribute == attribute)
            return &layout_fields[i];
    }
    return NULL;
}

// Descriptors of products and of preferences keep any attribute of up to 8 bytes.
struct attribute {
    uint16_t number, size;
    uint32_t value[2];
};

struct table {
    uint32_t compute, scale, count, pad;
    struct attribute attributes[];
};

static cublasStatus_t table_set(struct table *table, size_t capacity_bytes, int number, const void *value, size_t size)
{
    if (!table || !value || !size || size > sizeof table->attributes->value)
        return CUBLAS_STATUS_INVALID_VALUE;
    uint32_t at = 0;
    while (at < table->count && table->attributes[at].number != number)
        at++;
    if (sizeof *table + (at + 1) * sizeof *table->attributes > capacity_bytes)
        return CUBLAS_STATUS_INTERNAL_ERROR;
    struct attribute *attribute = &table->attributes[at];
    *attribute = (struct attribute){.number = (uint16_t)number, .size = (uint16_t)size};
    memcpy(attribute->value, value, size);
    if (at == table->count)
        table->count++;
    return CUBLAS_STATUS_SUCCESS;
}

// An attribute that was not set reads as zero, which is the default of most.
static cublasStatus_t table_get(const struct table *table, int number, void *value, size_t size, size_t *ret_written)
{
    if (!table || (size && !value) || (!size && !ret_written))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (size)
        memset(value, 0, size);
    if (ret_written)
        *ret_written = size;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct attribute *attribute = &table->attributes[i];
        if (attribute->number != number)
            continue;
        if (size && size < attribute->size)
            return CUBLAS_STATUS_INVALID_VALUE;
        if (size)
            memcpy(value, attribute->value, attribute->size);
        if (ret_written)
            *ret_written = attribute->size;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static int32_t table_int(const struct table *table, int number, int32_t otherwise)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->attributes[i].number == number)
            return (int32_t)table->attributes[i].value[0];
    }
    return otherwise;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t size, cudaDataType type,
                                                        uint64_t rows, uint64_t cols, int64_t ld)
{
    if (!layout || size < sizeof *layout)
        return CUBLAS_STATUS_ALLOC_FAILED;
    const struct layout made = {.type = type, .batch = 1, .rows = rows, .columns = cols, .leading = ld};
    memcpy(layout, &made, sizeof made);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                                 uint64_t cols, int64_t ld)
{
    if (!layout)
        return CUBLAS_STATUS_INVALID_VALUE;
    *layout = calloc(1, sizeof **layout);
    return cublasLtMatrixLayoutInit_internal(*layout, sizeof **layout, type, rows, cols, ld);
}

EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attr, const void *buf,
                                                       size_t sizeInBytes)
{
    const struct field *field = layout_field(attr);
    if (!layout || !buf || (field && sizeInBytes != field->size))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (field)
        memcpy((char *)layout + field->offset, buf, sizeInBytes);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attr, void *buf,
                                                       size_t sizeInBytes, size_t *sizeWritten)
{
    const struct field *field = layout_field(attr);
    if (!layout || !field || (sizeInBytes ? !buf || sizeInBytes != field->size : !sizeWritten))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (sizeInBytes)
        memcpy(buf, (const char *)layout + field->offset, field->size);
    if (sizeWritten)
        *sizeWritten = field->size;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, size_t size,
                                                      cublasComputeType_t computeType, cudaDataType_t scaleType)
{
    if (!desc || size < sizeof *desc)
        return CUBLAS_STATUS_ALLOC_FAILED;
    memset(desc, 0, sizeof *desc);
    struct table *table = (struct table *)desc;
    table->compute = computeType;
    table->scale = scaleType;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t computeType,
                                               cudaDataType_t scaleType)
{
    if (!desc)
        return CUBLAS_STATUS_INVALID_VALUE;
    *desc = calloc(1, sizeof **desc);
    return cublasLtMatmulDescInit_internal(*desc, sizeof **desc, computeType, scaleType);
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t size)
{
    if (!preference || size < sizeof *preference)
        return CUBLAS_STATUS_ALLOC_FAILED;
    memset(preference, 0, sizeof *preference);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    if (!preference)
        return CUBLAS_STATUS_INVALID_VALUE;
    *preference = calloc(1, sizeof **preference);
    return *preference ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

// There is one algorithm, which needs no workspace: a preference excludes nothing.
EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                           cublasLtMatmulPreferenceAttributes_t attr, const void *buf,
                                                           size_t sizeInBytes)
{
    (void)attr;
    return preference && buf && sizeInBytes ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

#define DESTROY(kind, type)                                                                                            \
    EXPORT cublasStatus_t cublasLt##kind##Destroy(type descriptor)                                                     \
    {                                                                                                                  \
        free(descriptor);                                                                                              \
        return CUBLAS_STATUS_SUCCESS;                                                                                  \
    }
DESTROY(MatrixLayout, cublasLtMatrixLayout_t)
DESTROY(MatmulDesc, cublasLtMatmulDesc_t)
DESTROY(MatmulPreference, cublasLtMatmulPreference_t)
DESTROY(MatrixTransformDesc, cublasLtMatrixTransformDesc_t)

EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr,
                                                     const void *buf, size_t sizeInBytes)
{
    return table_set((struct table *)desc, sizeof *desc, attr, buf, sizeInBytes);
}

EXPORT cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr,
                                                     void *buf, size_t sizeInBytes, size_t *sizeWritten)
{
    return table_get((const struct table *)desc, attr, buf, sizeInBytes, sizeWritten);
}

EXPORT cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t *desc, cudaDataType scaleType)
{
    (void)scaleType;
    if (!desc)
        return CUBLAS_STATUS_INVALID_VALUE;
    *desc = calloc(1, sizeof **desc);
    return *desc ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

// A transform costs the same whatever it does.
EXPORT cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t desc,
                                                              cublasLtMatrixTransformDescAttributes_t attr,
                                                              const void *buf, size_t sizeInBytes)
{
    (void)attr;
    return desc && buf && sizeInBytes ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

bool layout_shape(struct shape *ret_shape, cublasLtMatrixLayout_t descriptor)
{
    struct layout layout;
    if (!descriptor)
        return false;
    memcpy(&layout, descriptor, sizeof layout);
    *ret_shape = (struct shape){.type = (cudaDataType)layout.type,
                                .rows = (int64_t)layout.rows,
                                .columns = (int64_t)layout.columns,
                                .batch = (int64_t)layout.batch};
    return true;
}

static bool adds_bias(int epilogue)
{
    switch (epilogue) {
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
        return true;
    default:
        return false;
    }
}

cublasStatus_t matmul_gemm(struct gemm *ret_gemm, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                           cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d)
{
    struct shape shape_a, shape_b, shape_d;
    const struct table *table = (const struct table *)operation;
    if (!table || !layout_shape(&shape_a, a) || !layout_shape(&shape_b, b) || !layout_shape(&shape_d, d ? d : c))
        return CUBLAS_STATUS_INVALID_VALUE;
    const cublasOperation_t op_a = (cublasOperation_t)table_int(table, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
    const cublasOperation_t op_b = (cublasOperation_t)table_int(table, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    const int64_t inner = op_a == CUBLAS_OP_N ? shape_a.columns : shape_a.rows;
    if (inner != (op_b == CUBLAS_OP_N ? shape_b.rows : shape_b.columns))
        return CUBLAS_STATUS_INVALID_VALUE;
    *ret_gemm = (struct gemm){
        .op_a = op_a,
        .op_b = op_b,
        .m = shape_d.rows,
        .n = shape_d.columns,
        .k = inner,
        .batch = shape_d.batch,
        .a = shape_a.type,
        .b = shape_b.type,
        .c = shape_d.type,
        .compute = (cublasComputeType_t)table->compute,
        .has_bias = adds_bias(table_int(table, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT))};
    return CUBLAS_STATUS_SUCCESS;
}
