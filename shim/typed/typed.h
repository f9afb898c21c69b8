/*
 * Arguments of the functions that matter: which word of a call is the stream, the destination, the size … One table
 * (forms.c); structs passed by pointer are read by minimal definitions of their public layout.
 * Everything here reads the program's arguments only after the program itself handed them to CUDA; pointers to results
 * are followed only when the call succeeded.
 */
#ifndef GW_SHIM_TYPED_TYPED_H
#define GW_SHIM_TYPED_TYPED_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/api/codes.h"
#include "shim/api/functions.h"

#define GW_WORD_NONE (-1)      // there is no such argument
#define GW_WORD_IN_STRUCT (-2) // it lies in a struct

// How the shape of a launch, or the ends of a copy, are passed.
enum gw_form_style {
    GW_STYLE_PLAIN = 0,
    GW_STYLE_DRIVER_SHAPE,   // six words, shared memory, stream
    GW_STYLE_RUNTIME_SHAPE,  // two dim3 of two words each
    GW_STYLE_DRIVER_CONFIG,  // CUlaunchConfig
    GW_STYLE_RUNTIME_CONFIG, // cudaLaunchConfig_t
    GW_STYLE_FUNCTION_ONLY,
    GW_STYLE_KIND_WORD, // cudaMemcpyKind in word d
    GW_STYLE_ASK,       // direction follows from what the pointers are
    GW_STYLE_STRUCT_2D, // CUDA_MEMCPY2D
    GW_STYLE_STRUCT_3D, // CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER
};

struct gw_form {
    const char *base;
    uint16_t since; // older versions of the driver function have other structs and are not decoded
    uint8_t kind;   // enum gw_function_kind
    uint8_t op;     // 1 + enum gw_gpu_op_kind where the call puts an operation on a stream; else 0
    uint8_t style;
    uint8_t code;     // copy: enum gw_copy_direction; memory: enum gw_memory_kind; order: enum gw_order_kind;
                      // comm: enum gw_comm_kind
    uint8_t blocking; // returns when the operation is over
    uint8_t out;      // bit n: field n (a = bit 0) is a pointer to the value, valid after success
    int8_t stream;    // word of the stream; GW_WORD_NONE: the default stream, where the call has one
    // launch: a function or config; copy: a dst, b src, c bytes, d kind; memset: a dst, b count, c rows, d element
    // bytes; memory: a pointer, b bytes, c rows; order: a event, b value; module: a handle, b image, c bytes; graph: a
    // graph, b exec; comm: a communicator, b count, c data type, d reduction; root says which word is the root or peer
    int8_t a, b, c, d, root;
};

// Fills the map from functions to forms. Once, before the first gw_form_of.
void gw_forms_init(void);

// The form of a function, or NULL when its arguments are not decoded.
const struct gw_form *gw_form_of(unsigned function);

// The raw stream handle of a call (0: the default stream).
uint64_t gw_form_stream(const struct gw_form *form, const uint64_t *words);

// The value of a field: the word, or what it points to for an `out` field when `succeeded`; 0 where there is none.
uint64_t gw_form_value(const struct gw_form *form, const uint64_t *words, unsigned field, bool succeeded);

struct gw_launch {
    uint64_t func, grid, block; // as in the event `launch`
};
void gw_decode_launch(const struct gw_form *form, const uint64_t *words, struct gw_launch *ret_launch);

struct gw_copy {
    uint64_t dst, src, bytes;
    uint8_t direction;          // enum gw_copy_direction; 0xff: follows from the kinds
    uint8_t dst_kind, src_kind; // enum gw_host_kind; GW_HOST_UNKNOWN: to be asked for
    bool contiguous;            // the host side is `bytes` bytes in a row
};
void gw_decode_copy(const struct gw_form *form, const uint64_t *words, struct gw_copy *ret_copy);

// enum gw_image_kind of an image that begins with these bytes.
unsigned gw_image_kind(const void *start, uint64_t bytes);

// Size in bytes of a module image (ELF, fat binary, or text), 0 when it cannot be told; *ret_start is where it begins.
uint64_t gw_image_bytes(const void *image, const void **ret_start);

#endif
