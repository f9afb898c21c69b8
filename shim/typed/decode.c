// Decodes launches, copies and module images. The structs follow the public headers' layout on 64-bit machines.
#include "shim/typed/typed.h"

#include <stddef.h>
#include <string.h>

struct driver_config { // CUlaunchConfig
    uint32_t grid[3], block[3], shared_bytes;
    uint64_t stream;
};

struct runtime_config { // cudaLaunchConfig_t
    uint32_t grid[3], block[3];
    uint64_t shared_bytes, stream;
};

struct copy_2d { // CUDA_MEMCPY2D
    uint64_t src_x, src_y;
    uint32_t src_type;
    uint64_t src_host, src_device, src_array, src_pitch, dst_x, dst_y;
    uint32_t dst_type;
    uint64_t dst_host, dst_device, dst_array, dst_pitch, width_bytes, height;
};

struct copy_3d_end {
    uint64_t x, y, z, level;
    uint32_t type;
    uint64_t host, device, array, reserved, pitch, height;
};

struct copy_3d { // CUDA_MEMCPY3D; the peer form has the context where this one has `reserved`
    struct copy_3d_end src, dst;
    uint64_t width_bytes, height, depth;
};

enum memory_type { TYPE_HOST = 1, TYPE_DEVICE = 2, TYPE_ARRAY = 3, TYPE_UNIFIED = 4 };

static uint64_t pack_grid(uint64_t x, uint64_t y, uint64_t z)
{
    return (x & 0xffffffff) | (y & 0xffff) << 32 | (z & 0xffff) << 48;
}

static uint64_t pack_block(uint64_t x, uint64_t y, uint64_t z, uint64_t shared_bytes)
{
    return (x & 0xfff) | (y & 0xfff) << 12 | (z & 0xff) << 24 | (shared_bytes & 0xffffffff) << 32;
}

uint64_t gw_form_stream(const struct gw_form *form, const uint64_t *words)
{
    if (form->stream >= 0)
        return words[form->stream];
    if (form->stream == GW_WORD_IN_STRUCT && form->style == GW_STYLE_DRIVER_CONFIG && words[0])
        return ((const struct driver_config *)words[0])->stream;
    if (form->stream == GW_WORD_IN_STRUCT && form->style == GW_STYLE_RUNTIME_CONFIG && words[0])
        return ((const struct runtime_config *)words[0])->stream;
    return 0;
}

void gw_decode_launch(const struct gw_form *form, const uint64_t *words, struct gw_launch *ret_launch)
{
    const struct driver_config *driver;
    const struct runtime_config *runtime;

    *ret_launch = (struct gw_launch){.func = words[form->a]};
    switch (form->style) {
    case GW_STYLE_DRIVER_SHAPE:
        ret_launch->grid = pack_grid(words[1], words[2], words[3]);
        ret_launch->block = pack_block(words[4], words[5], words[6], words[7]);
        break;
    case GW_STYLE_RUNTIME_SHAPE:
        ret_launch->grid = pack_grid(words[1], words[1] >> 32, words[2]);
        ret_launch->block = pack_block(words[3], words[3] >> 32, words[4], words[6]);
        break;
    case GW_STYLE_DRIVER_CONFIG:
        driver = (const struct driver_config *)words[0];
        if (driver) {
            ret_launch->grid = pack_grid(driver->grid[0], driver->grid[1], driver->grid[2]);
            ret_launch->block = pack_block(driver->block[0], driver->block[1], driver->block[2], driver->shared_bytes);
        }
        break;
    case GW_STYLE_RUNTIME_CONFIG:
        runtime = (const struct runtime_config *)words[0];
        if (runtime) {
            ret_launch->grid = pack_grid(runtime->grid[0], runtime->grid[1], runtime->grid[2]);
            ret_launch->block =
                pack_block(runtime->block[0], runtime->block[1], runtime->block[2], runtime->shared_bytes);
        }
        break;
    default:
        break;
    }
}

// One end of a struct copy.
static uint64_t end_of(uint32_t type, uint64_t host, uint64_t device, uint64_t array, uint8_t *ret_kind)
{
    *ret_kind = type == TYPE_HOST || type == TYPE_UNIFIED ? GW_HOST_UNKNOWN : GW_HOST_NOT;
    return type == TYPE_HOST ? host : type == TYPE_ARRAY ? array : device;
}

static uint8_t direction_of_types(uint32_t src, uint32_t dst)
{
    if (src == TYPE_UNIFIED || dst == TYPE_UNIFIED)
        return 0xff;
    if (src == TYPE_HOST)
        return dst == TYPE_HOST ? GW_COPY_H2H : GW_COPY_H2D;
    return dst == TYPE_HOST ? GW_COPY_D2H : GW_COPY_D2D;
}

static void decode_2d(const struct copy_2d *from, struct gw_copy *copy)
{
    copy->src = end_of(from->src_type, from->src_host, from->src_device, from->src_array, &copy->src_kind);
    copy->dst = end_of(from->dst_type, from->dst_host, from->dst_device, from->dst_array, &copy->dst_kind);
    copy->bytes = from->width_bytes * from->height;
    copy->direction = direction_of_types(from->src_type, from->dst_type);
}

static void decode_3d(const struct copy_3d *from, struct gw_copy *copy)
{
    copy->src = end_of(from->src.type, from->src.host, from->src.device, from->src.array, &copy->src_kind);
    copy->dst = end_of(from->dst.type, from->dst.host, from->dst.device, from->dst.array, &copy->dst_kind);
    copy->bytes = from->width_bytes * from->height * from->depth;
    copy->direction = direction_of_types(from->src.type, from->dst.type);
}

void gw_decode_copy(const struct gw_form *form, const uint64_t *words, struct gw_copy *ret_copy)
{
    static const uint8_t of_runtime_kind[] = {GW_COPY_H2H, GW_COPY_H2D, GW_COPY_D2H, GW_COPY_D2D};
    struct gw_copy copy = {
        .dst_kind = GW_HOST_UNKNOWN, .src_kind = GW_HOST_UNKNOWN, .direction = 0xff, .contiguous = true};

    if (form->style == GW_STYLE_STRUCT_2D || form->style == GW_STYLE_STRUCT_3D) {
        copy.contiguous = false;
        if (words[0] && form->style == GW_STYLE_STRUCT_2D)
            decode_2d((const struct copy_2d *)words[0], &copy);
        else if (words[0])
            decode_3d((const struct copy_3d *)words[0], &copy);
        if (form->code == GW_COPY_P2P && copy.direction == GW_COPY_D2D)
            copy.direction = GW_COPY_P2P;
    } else {
        copy.dst = words[form->a];
        copy.src = words[form->b];
        copy.bytes = words[form->c];
        if (form->style == GW_STYLE_PLAIN)
            copy.direction = form->code;
        else if (form->style == GW_STYLE_KIND_WORD && (uint32_t)words[form->d] < sizeof(of_runtime_kind))
            copy.direction = of_runtime_kind[(uint32_t)words[form->d]];
        // The device or context follows its pointer; a copy between a device and itself crosses no link.
        if (copy.direction == GW_COPY_P2P && words[form->a + 1] == words[form->b + 1])
            copy.direction = GW_COPY_D2D;
    }
    if (copy.direction == GW_COPY_H2D || copy.direction == GW_COPY_D2D || copy.direction == GW_COPY_P2P)
        copy.dst_kind = GW_HOST_NOT;
    if (copy.direction == GW_COPY_D2H || copy.direction == GW_COPY_D2D || copy.direction == GW_COPY_P2P)
        copy.src_kind = GW_HOST_NOT;
    *ret_copy = copy;
}

static const uint32_t fat_magic = 0xba55ed50;

// PTX is text, which begins with a comment or a directive.
static bool begins_text(const unsigned char *bytes)
{
    return bytes[0] == '/' || bytes[0] == '.' || bytes[0] == '\n';
}

unsigned gw_image_kind(const void *start, uint64_t bytes)
{
    uint32_t magic = 0;

    if (bytes < sizeof(magic))
        return GW_IMAGE_UNKNOWN;
    memcpy(&magic, start, sizeof(magic));
    if (magic == fat_magic)
        return GW_IMAGE_FAT_BINARY;
    if (memcmp(start, "\177ELF", 4) == 0)
        return GW_IMAGE_CUBIN;
    return begins_text(start) ? GW_IMAGE_PTX : GW_IMAGE_UNKNOWN;
}

uint64_t gw_image_bytes(const void *image, const void **ret_start)
{
    const uint32_t wrapper_magic = 0x466243b1;
    const unsigned char *bytes = image;
    uint32_t magic;
    uint64_t size;

    memcpy(&magic, bytes, sizeof(magic));
    if (magic == wrapper_magic) { // a struct of nvcc's: magic, version, pointer to the fat binary
        memcpy(&bytes, bytes + 8, sizeof(bytes));
        if (!bytes)
            return 0;
        memcpy(&magic, bytes, sizeof(magic));
    }
    *ret_start = bytes;
    if (magic == fat_magic) {
        uint16_t header;

        memcpy(&header, bytes + 6, sizeof(header));
        memcpy(&size, bytes + 8, sizeof(size));
        return header + size;
    }
    if (memcmp(bytes, "\177ELF\2", 5) == 0) {
        uint64_t sections;
        uint16_t entry, count;

        memcpy(&sections, bytes + 40, sizeof(sections));
        memcpy(&entry, bytes + 58, sizeof(entry));
        memcpy(&count, bytes + 60, sizeof(count));
        return sections + (uint64_t)entry * count;
    }
    if (begins_text(bytes)) // anything else is left alone
        return strlen((const char *)bytes);
    return 0;
}
