/*
 * NVTX version 3, as far as a tool meets it: a program's copy of NVTX loads the library named by NVTX_INJECTION64_PATH,
 * calls its InitializeInjectionNvtx2 with a function that gives tables of places for function pointers, and from then
 * on calls what the tool put there. Every library that was built with NVTX's headers does so for itself.
 *
 * Numbers and layouts are those of nvtx3/nvtxDetail/nvtxTypes.h and nvtx3/nvToolsExt.h, which the build does not need;
 * tests/shim/nvtx_layouts.c compares them.
 */
#ifndef GW_SHIM_TRACER_NVTX_H
#define GW_SHIM_TRACER_NVTX_H

#include <stddef.h>
#include <stdint.h>

enum { GW_NVTX_TABLE_CALLBACKS = 1 };

enum gw_nvtx_module { GW_NVTX_CORE = 1, GW_NVTX_CUDA = 2, GW_NVTX_CUDART = 4, GW_NVTX_CORE2 = 5 };

enum {
    GW_NVTX_CORE_MARK_EX = 1,
    GW_NVTX_CORE_MARK_A = 2,
    GW_NVTX_CORE_MARK_W = 3,
    GW_NVTX_CORE_RANGE_START_EX = 4,
    GW_NVTX_CORE_RANGE_START_A = 5,
    GW_NVTX_CORE_RANGE_START_W = 6,
    GW_NVTX_CORE_RANGE_END = 7,
    GW_NVTX_CORE_RANGE_PUSH_EX = 8,
    GW_NVTX_CORE_RANGE_PUSH_A = 9,
    GW_NVTX_CORE_RANGE_PUSH_W = 10,
    GW_NVTX_CORE_RANGE_POP = 11,
    GW_NVTX_CORE_NAME_CATEGORY_A = 12,
    GW_NVTX_CORE_NAME_CATEGORY_W = 13,
    GW_NVTX_CORE_NAME_OS_THREAD_A = 14,
    GW_NVTX_CORE_NAME_OS_THREAD_W = 15
};

enum {
    GW_NVTX_CORE2_DOMAIN_MARK_EX = 1,
    GW_NVTX_CORE2_DOMAIN_RANGE_START_EX = 2,
    GW_NVTX_CORE2_DOMAIN_RANGE_END = 3,
    GW_NVTX_CORE2_DOMAIN_RANGE_PUSH_EX = 4,
    GW_NVTX_CORE2_DOMAIN_RANGE_POP = 5,
    GW_NVTX_CORE2_DOMAIN_NAME_CATEGORY_A = 8,
    GW_NVTX_CORE2_DOMAIN_NAME_CATEGORY_W = 9,
    GW_NVTX_CORE2_DOMAIN_REGISTER_STRING_A = 10,
    GW_NVTX_CORE2_DOMAIN_REGISTER_STRING_W = 11,
    GW_NVTX_CORE2_DOMAIN_CREATE_A = 12,
    GW_NVTX_CORE2_DOMAIN_CREATE_W = 13
};

/* The driver's names, A and W in turn, are 1 … 8; the runtime's 1 … 6 without the contexts. */
enum {
    GW_NVTX_CUDA_NAME_DEVICE_A = 1,
    GW_NVTX_CUDA_NAME_DEVICE_W = 2,
    GW_NVTX_CUDA_NAME_CONTEXT_A = 3,
    GW_NVTX_CUDA_NAME_CONTEXT_W = 4,
    GW_NVTX_CUDA_NAME_STREAM_A = 5,
    GW_NVTX_CUDA_NAME_STREAM_W = 6,
    GW_NVTX_CUDA_NAME_EVENT_A = 7,
    GW_NVTX_CUDA_NAME_EVENT_W = 8,
    GW_NVTX_CUDART_NAME_DEVICE_A = 1,
    GW_NVTX_CUDART_NAME_DEVICE_W = 2,
    GW_NVTX_CUDART_NAME_STREAM_A = 3,
    GW_NVTX_CUDART_NAME_STREAM_W = 4,
    GW_NVTX_CUDART_NAME_EVENT_A = 5,
    GW_NVTX_CUDART_NAME_EVENT_W = 6
};

enum { GW_NVTX_MESSAGE_ASCII = 1, GW_NVTX_MESSAGE_WIDE = 2, GW_NVTX_MESSAGE_REGISTERED = 3 };
enum { GW_NVTX_COLOR_ARGB = 1 };

/* What nvtxRangePush and nvtxRangePop return to a program that no tool watches. */
#define GW_NVTX_NO_PUSH_POP_TRACKING (-2)

struct gw_nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

typedef void gw_nvtx_function(void);

struct gw_nvtx_callbacks {
    size_t struct_size;
    int (*function_table)(int module, gw_nvtx_function ****ret_table, unsigned *ret_size);
};

typedef const void *gw_nvtx_export_table_fn(uint32_t table);

/* Puts the tool's functions into one copy of NVTX. Returns whether there were any places for them. */
int gw_nvtx_attach(gw_nvtx_export_table_fn *export_table);

#endif
