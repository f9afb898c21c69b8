#include "plots/theme.h"

#include <string.h>

static const struct gw_theme themes[] = {
    {.name = "light",
     .background = 0xffffffff,
     .panel = 0xf7f8faff,
     .row = 0xf2f4f7ff,
     .grid = 0xdfe3e8ff,
     .text = 0x1c2128ff,
     .muted = 0x667080ff,
     .accent = 0x2b5c9eff,
     .on_cpu = 0xf9dcb8ff,
     .off_cpu = 0xd3d7deff,
     .link = 0x66708070,
     .confirmed = 0xc63d4fff,
     .unknown = 0xb07d00ff,
     .ruled_out = 0x4f7f5cff,
     .heat = {0xeceff3ff, 0xf6d06aff, 0xe8743bff, 0xa62a4aff, 0x4a1942ff}},
    {.name = "dark",
     .background = 0x16191eff,
     .panel = 0x1d2127ff,
     .row = 0x22272eff,
     .grid = 0x363c45ff,
     .text = 0xe6e9edff,
     .muted = 0x98a2b0ff,
     .accent = 0x7fb0f0ff,
     .on_cpu = 0x5f4a2bff,
     .off_cpu = 0x414752ff,
     .link = 0x98a2b070,
     .confirmed = 0xf07a88ff,
     .unknown = 0xe8b84aff,
     .ruled_out = 0x8fc79eff,
     .heat = {0x2a3038ff, 0x5e2c6aff, 0xb43a5aff, 0xec8a3eff, 0xfbe08aff}},
};

static const uint32_t class_colours[GW_CLASS_COUNT] = {
    [GW_CLASS_COMPUTE] = 0x4a78b5ff,      [GW_CLASS_COMM_WAIT] = 0x6a3d8fff,    [GW_CLASS_COMM_TRANSFER] = 0xb691d2ff,
    [GW_CLASS_COMM_EXPOSED] = 0x9364b5ff, [GW_CLASS_COPY_H2D] = 0x1f9e8fff,     [GW_CLASS_COPY_D2H] = 0x7accbeff,
    [GW_CLASS_COPY_D2D] = 0x4d7f79ff,     [GW_CLASS_COPY_P2P] = 0xaedfd6ff,     [GW_CLASS_IDLE_DEPENDENCY] = 0xa9b0bcff,
    [GW_CLASS_IDLE_LATENCY] = 0xd3d8dfff, [GW_CLASS_IDLE_LAUNCH] = 0xf3c650ff,  [GW_CLASS_IDLE_SYNC] = 0xcf4759ff,
    [GW_CLASS_IDLE_ALLOC] = 0x8a5a44ff,   [GW_CLASS_IDLE_COMPILE] = 0xe58bbfff, [GW_CLASS_IDLE_COPY_CALL] = 0xe9775cff,
    [GW_CLASS_IDLE_GRAPH] = 0xb8b63cff,   [GW_CLASS_IDLE_API] = 0xf6e0a6ff,     [GW_CLASS_IDLE_HOST] = 0xf0923aff,
    [GW_CLASS_IDLE_BLOCKED] = 0x5a6270ff, [GW_CLASS_IDLE_UNKNOWN] = 0xc4c9d1ff,
};

static const struct {
    uint32_t colour;
    const char *words;
} calls[] =
    {
        [GW_CALL_OTHER] = {0xc9ced6ff, "other call"},
        [GW_CALL_LAUNCH] = {0x3f6aa6ff, "kernel launch"},
        [GW_CALL_COPY] = {0xe9775cff, "copy call"},
        [GW_CALL_MEMSET] = {0x6fb3a9ff, "memset call"},
        [GW_CALL_SYNC] = {0xcf4759ff, "synchronisation"},
        [GW_CALL_ALLOC] = {0x8a5a44ff, "allocation"},
        [GW_CALL_COMPILE] = {0xe58bbfff, "module load"},
        [GW_CALL_GRAPH] = {0xb8b63cff, "graph building"},
        [GW_CALL_GRAPH_LAUNCH] = {0x6a9bd8ff, "graph launch"},
        [GW_CALL_ORDER] = {0x97a1afff, "event or stream call"},
        [GW_CALL_COMM] = {0x9364b5ff, "communication call"},
},
  ops[GW_OP_KIND_COUNT] = {
      [GW_OP_KERNEL] = {0x4a78b5ff, "kernel"},      [GW_OP_MEMSET] = {0x93a8c6ff, "memset"},
      [GW_OP_H2D] = {0x1f9e8fff, "copy to device"}, [GW_OP_D2H] = {0x7accbeff, "copy to host"},
      [GW_OP_D2D] = {0x4d7f79ff, "copy on device"}, [GW_OP_P2P] = {0xaedfd6ff, "copy between devices"},
      [GW_OP_COMM] = {0x9364b5ff, "communication"}, [GW_OP_GRAPH] = {0x6a9bd8ff, "graph replay"},
      [GW_OP_HOST] = {0xd9c7a3ff, "host function"},
};

static const uint32_t kernel_colours[GW_KERNEL_COLOURS] = {
    0x4a78b5ff, 0x8ab6e8ff, 0x3f8f5fff, 0x9bcf8eff, 0x6b5ca5ff,
    0xc3a6dcff, 0x2f5f7aff, 0xb3a04aff, 0x8f6f86ff, 0x7fa3a0ff,
};

const struct gw_theme *gw_theme_find(const char *name)
{
    for (size_t i = 0; i < sizeof(themes) / sizeof(themes[0]); i++)
        if (!strcmp(themes[i].name, name))
            return &themes[i];
    return NULL;
}

uint32_t gw_colour_of_class(enum gw_class cls)
{
    return class_colours[cls];
}

uint32_t gw_colour_of_call(enum gw_call_class cls)
{
    return calls[cls].colour;
}

uint32_t gw_colour_of_op(enum gw_op_kind kind)
{
    return ops[kind].colour;
}

uint32_t gw_colour_of_kernel(unsigned int index)
{
    return kernel_colours[index % GW_KERNEL_COLOURS];
}

const char *gw_short_words_of_class(enum gw_class cls)
{
    static const char *const words[GW_CLASS_COUNT] = {
        [GW_CLASS_COMPUTE] = "compute",
        [GW_CLASS_COMM_WAIT] = "rank wait",
        [GW_CLASS_COMM_TRANSFER] = "transfer",
        [GW_CLASS_COMM_EXPOSED] = "exposed",
        [GW_CLASS_COPY_H2D] = "upload",
        [GW_CLASS_COPY_D2H] = "download",
        [GW_CLASS_COPY_D2D] = "copy",
        [GW_CLASS_COPY_P2P] = "peer copy",
        [GW_CLASS_IDLE_DEPENDENCY] = "depends",
        [GW_CLASS_IDLE_LATENCY] = "latency",
        [GW_CLASS_IDLE_LAUNCH] = "enqueue",
        [GW_CLASS_IDLE_SYNC] = "sync",
        [GW_CLASS_IDLE_ALLOC] = "alloc",
        [GW_CLASS_IDLE_COMPILE] = "compile",
        [GW_CLASS_IDLE_COPY_CALL] = "copy call",
        [GW_CLASS_IDLE_GRAPH] = "graph",
        [GW_CLASS_IDLE_API] = "CUDA call",
        [GW_CLASS_IDLE_HOST] = "host",
        [GW_CLASS_IDLE_BLOCKED] = "asleep",
        [GW_CLASS_IDLE_UNKNOWN] = "unknown",
    };
    return words[cls];
}

const char *gw_words_of_call(enum gw_call_class cls)
{
    return calls[cls].words;
}

const char *gw_words_of_op(enum gw_op_kind kind)
{
    return ops[kind].words;
}

uint32_t gw_colour_of_text_on(uint32_t colour)
{
    double r = colour >> 24, g = colour >> 16 & 0xff, b = colour >> 8 & 0xff;

    /* Rec. 601 luma; above it, dark text has the larger contrast. */
    return 0.299 * r + 0.587 * g + 0.114 * b > 140.0 ? 0x1c2128ff : 0xffffffff;
}

uint32_t gw_colour_of_heat(const struct gw_theme *theme, double part)
{
    double at = (part > 0.0 ? part < 1.0 ? part : 1.0 : 0.0) * (GW_HEAT_STOPS - 1);
    unsigned int stop = at < GW_HEAT_STOPS - 1 ? (unsigned int)at : GW_HEAT_STOPS - 2;
    uint32_t colour = 0;

    for (unsigned int shift = 0; shift < 32; shift += 8) {
        double low = theme->heat[stop] >> shift & 0xff, high = theme->heat[stop + 1] >> shift & 0xff;
        colour |= (uint32_t)(low + (high - low) * (at - stop) + 0.5) << shift;
    }
    return colour;
}

uint32_t gw_colour_faded(uint32_t colour, double factor)
{
    double alpha = (double)(colour & 0xff) * factor;

    return (colour & 0xffffff00u) | (uint32_t)(alpha + 0.5);
}
