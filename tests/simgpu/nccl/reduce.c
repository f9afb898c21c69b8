#include "tests/simgpu/nccl/reduce.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BLOCK 256u

// A binary float of up to 16 bits. FINITE: no infinities, and only the all-ones pattern is not a number (e4m3).
struct small_float {
    int exponent_bits, mantissa_bits, is_finite;
};

static const struct small_float small_floats[TYPE_COUNT] = {[TYPE_FLOAT16] = {5, 10, 0},
                                                            [TYPE_BFLOAT16] = {8, 7, 0},
                                                            [TYPE_FLOAT8E4M3] = {4, 3, 1},
                                                            [TYPE_FLOAT8E5M2] = {5, 2, 0}};

static const struct {
    size_t bytes;
    const char *name;
} types[TYPE_COUNT] = {{1, "i8"},  {1, "u8"},  {4, "i32"}, {4, "u32"},  {8, "i64"},    {8, "u64"},
                       {2, "f16"}, {4, "f32"}, {8, "f64"}, {2, "bf16"}, {1, "f8e4m3"}, {1, "f8e5m2"}};

size_t type_bytes(enum data_type type)
{
    return types[type].bytes;
}

const char *type_short_name(enum data_type type)
{
    return types[type].name;
}

static float small_to_float(unsigned bits, const struct small_float *form)
{
    const int mantissa_bits = form->mantissa_bits, bias = (1 << (form->exponent_bits - 1)) - 1;
    const unsigned most_exponent = (1u << form->exponent_bits) - 1;
    const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
    const unsigned exponent = bits >> mantissa_bits & most_exponent;
    float value;
    if (exponent == most_exponent && (!form->is_finite || mantissa == (1u << mantissa_bits) - 1))
        value = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexpf((float)mantissa, 1 - bias - mantissa_bits);
    else
        value = ldexpf((float)(mantissa | 1u << mantissa_bits), (int)exponent - bias - mantissa_bits);
    return bits >> (mantissa_bits + form->exponent_bits) & 1 ? -value : value;
}

static unsigned small_from_float(float value, const struct small_float *form)
{
    const int mantissa_bits = form->mantissa_bits, bias = (1 << (form->exponent_bits - 1)) - 1;
    const unsigned sign = signbit(value) ? 1u << (mantissa_bits + form->exponent_bits) : 0;
    const unsigned infinite = ((1u << form->exponent_bits) - 1) << mantissa_bits;
    const unsigned not_a_number = form->is_finite ? infinite | ((1u << mantissa_bits) - 1) : infinite | 1;
    if (isnan(value))
        return sign | not_a_number;
    const float magnitude = fabsf(value);
    int exponent = magnitude > 0 && !isinf(magnitude) ? ilogbf(magnitude) : 0;
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    const unsigned most = form->is_finite ? not_a_number - 1 : infinite;
    if (isinf(magnitude))
        return sign | most;
    // Rounds to nearest, ties to even; a carry out of the mantissa rightly goes on into the exponent.
    const double scaled = nearbyint(ldexp(magnitude, mantissa_bits - exponent));
    const double hidden = ldexp(1, mantissa_bits);
    if (scaled < hidden)
        return sign | (unsigned)scaled;
    const double bits = ldexp(exponent + bias, mantissa_bits) + (scaled - hidden);
    return sign | (bits >= most ? most : (unsigned)bits);
}

static float load_float(const void *from, size_t i, enum data_type type)
{
    uint16_t bits = 0;
    memcpy(&bits, (const char *)from + i * types[type].bytes, types[type].bytes);
    return small_to_float(bits, &small_floats[type]);
}

static void store_float(void *to, size_t i, enum data_type type, float value)
{
    const uint16_t bits = (uint16_t)small_from_float(value, &small_floats[type]);
    memcpy((char *)to + i * types[type].bytes, &bits, types[type].bytes);
}

// Single precision itself, the commonest, without a look at the type for each element.
static float load_single(const void *from, size_t i, enum data_type type)
{
    float value;
    (void)type;
    memcpy(&value, (const char *)from + i * sizeof value, sizeof value);
    return value;
}

static void store_single(void *to, size_t i, enum data_type type, float value)
{
    (void)type;
    memcpy((char *)to + i * sizeof value, &value, sizeof value);
}

static double load_double(const void *from, size_t i, enum data_type type)
{
    double value;
    (void)type;
    memcpy(&value, (const char *)from + i * sizeof value, sizeof value);
    return value;
}

static void store_double(void *to, size_t i, enum data_type type, double value)
{
    (void)type;
    memcpy((char *)to + i * sizeof value, &value, sizeof value);
}

static uint64_t load_unsigned(const void *from, size_t i, enum data_type type)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)from + i * types[type].bytes, types[type].bytes);
    return value;
}

static void store_unsigned(void *to, size_t i, enum data_type type, uint64_t value)
{
    memcpy((char *)to + i * types[type].bytes, &value, types[type].bytes);
}

static int64_t load_signed(const void *from, size_t i, enum data_type type)
{
    const unsigned unused_bits = 64 - 8 * (unsigned)types[type].bytes;
    return (int64_t)(load_unsigned(from, i, type) << unused_bits) >> unused_bits;
}

static void store_signed(void *to, size_t i, enum data_type type, int64_t value)
{
    store_unsigned(to, i, type, (uint64_t)value);
}

// Sums and products of integers wrap, as the type's own do.
static int64_t signed_sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t signed_product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

#define PLAIN_SUM(a, b) ((a) + (b))
#define PLAIN_PRODUCT(a, b) ((a) * (b))

#define KERNELS(value_type, form, sum, product)                                                                        \
    static void reduce_##form(void *to, const void *const *from, unsigned inputs, size_t count, enum data_type type,   \
                              enum reduction how)                                                                      \
    {                                                                                                                  \
        value_type total[BLOCK];                                                                                       \
        for (size_t first = 0; first < count; first += BLOCK) {                                                        \
            const size_t here = count - first < BLOCK ? count - first : BLOCK;                                         \
            for (size_t i = 0; i < here; i++)                                                                          \
                total[i] = load_##form(from[0], first + i, type);                                                      \
            for (unsigned input = 1; input < inputs; input++) {                                                        \
                for (size_t i = 0; i < here; i++) {                                                                    \
                    const value_type other = load_##form(from[input], first + i, type);                                \
                    if (how == REDUCE_PROD)                                                                            \
                        total[i] = product(total[i], other);                                                           \
                    else if (how == REDUCE_MAX)                                                                        \
                        total[i] = other > total[i] ? other : total[i];                                                \
                    else if (how == REDUCE_MIN)                                                                        \
                        total[i] = other < total[i] ? other : total[i];                                                \
                    else                                                                                               \
                        total[i] = sum(total[i], other);                                                               \
                }                                                                                                      \
            }                                                                                                          \
            for (size_t i = 0; i < here; i++)                                                                          \
                store_##form(to, first + i, type,                                                                      \
                             how == REDUCE_AVG ? (value_type)(total[i] / (value_type)inputs) : total[i]);              \
        }                                                                                                              \
    }                                                                                                                  \
    static void scale_##form(void *to, const void *from, size_t count, enum data_type type, const void *scalar)        \
    {                                                                                                                  \
        const value_type factor = load_##form(scalar, 0, type);                                                        \
        for (size_t i = 0; i < count; i++)                                                                             \
            store_##form(to, i, type, product(load_##form(from, i, type), factor));                                    \
    }

KERNELS(double, double, PLAIN_SUM, PLAIN_PRODUCT)
KERNELS(float, float, PLAIN_SUM, PLAIN_PRODUCT)
KERNELS(float, single, PLAIN_SUM, PLAIN_PRODUCT)
KERNELS(int64_t, signed, signed_sum, signed_product)
KERNELS(uint64_t, unsigned, PLAIN_SUM, PLAIN_PRODUCT)

void reduce(void *to, const void *const *from, unsigned inputs, size_t count, enum data_type type, enum reduction how)
{
    switch (type) {
    case TYPE_FLOAT32:
        reduce_single(to, from, inputs, count, type, how);
        break;
    case TYPE_FLOAT64:
        reduce_double(to, from, inputs, count, type, how);
        break;
    case TYPE_INT8:
    case TYPE_INT32:
    case TYPE_INT64:
        reduce_signed(to, from, inputs, count, type, how);
        break;
    case TYPE_UINT8:
    case TYPE_UINT32:
    case TYPE_UINT64:
        reduce_unsigned(to, from, inputs, count, type, how);
        break;
    default:
        reduce_float(to, from, inputs, count, type, how);
        break;
    }
}

void scale(void *to, const void *from, size_t count, enum data_type type, const void *scalar)
{
    switch (type) {
    case TYPE_FLOAT32:
        scale_single(to, from, count, type, scalar);
        break;
    case TYPE_FLOAT64:
        scale_double(to, from, count, type, scalar);
        break;
    case TYPE_INT8:
    case TYPE_INT32:
    case TYPE_INT64:
        scale_signed(to, from, count, type, scalar);
        break;
    case TYPE_UINT8:
    case TYPE_UINT32:
    case TYPE_UINT64:
        scale_unsigned(to, from, count, type, scalar);
        break;
    default:
        scale_float(to, from, count, type, scalar);
        break;
    }
}
