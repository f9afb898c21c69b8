#include "tests/simgpu/driver/image.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/driver/ranges.h"

#define FATBIN_WRAPPER_MAGIC 0x466243b1u // fatbinary_section.h of the toolkit
#define FATBIN_MAGIC 0xba55ed50u
#define GLOBAL_BYTES 65536u // of a global whose size the image does not tell

static void add_kernel_name(struct image *image, const char *name)
{
    const char **grown = realloc(image->kernel_names, (image->kernel_count + 1) * sizeof *grown);
    if (!grown)
        abort();
    grown[image->kernel_count++] = intern(name);
    image->kernel_names = grown;
}

static CUresult read_ptx(struct image *image, const char *text)
{
    for (const char *at = text; (at = strstr(at, ".entry")); at++) {
        const char *name = at + strlen(".entry");
        while (isspace((unsigned char)*name))
            name++;
        const size_t length = strcspn(name, " \t\r\n(");
        char *copy = strndup(name, length);
        if (!copy)
            abort();
        if (length && name != at + strlen(".entry"))
            add_kernel_name(image, copy);
        free(copy);
    }
    image->lists_kernels = true;
    return CUDA_SUCCESS;
}

// A cubin is an ELF file; kernels are its global functions.
static CUresult read_elf(struct image *image, const char *data)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)data;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
        return CUDA_ERROR_INVALID_IMAGE;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(data + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum)
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(data + sections[i].sh_offset);
        const char *names = data + sections[sections[i].sh_link].sh_offset;
        for (size_t s = 0; s < sections[i].sh_size / sizeof *symbols; s++) {
            if (ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC && ELF64_ST_BIND(symbols[s].st_info) == STB_GLOBAL)
                add_kernel_name(image, names + symbols[s].st_name);
        }
    }
    image->lists_kernels = true;
    return CUDA_SUCCESS;
}

CUresult image_read(struct image *image, const void *data)
{
    uint32_t magic;
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    // Byte by byte: an empty text is one byte long.
    const char *bytes = data;
    if (!bytes[0] || !bytes[1] || !bytes[2] || !bytes[3])
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&magic, data, sizeof magic);
    if (magic == FATBIN_WRAPPER_MAGIC || magic == FATBIN_MAGIC)
        return CUDA_SUCCESS;
    if (memcmp(data, ELFMAG, SELFMAG) == 0)
        return read_elf(image, data);
    while (isspace((unsigned char)*bytes))
        bytes++;
    if (strncmp(bytes, "//", 2) == 0 || strncmp(bytes, ".version", 8) == 0 || strncmp(bytes, "/*", 2) == 0)
        return read_ptx(image, bytes);
    return CUDA_ERROR_INVALID_IMAGE;
}

void image_clear(struct image *image)
{
    while (image->functions) {
        struct CUfunc_st *function = image->functions;
        image->functions = function->next;
        object_free(function, sizeof *function);
    }
    while (image->globals) {
        struct global *global = image->globals;
        image->globals = global->next;
        device_memory_give_id(global->address, global->range_id);
        free(global);
    }
    free(image->kernel_names);
    *image = (struct image){0};
}

CUresult image_function(struct image *image, const char *name, struct CUfunc_st **ret_function)
{
    if (!name || !ret_function)
        return CUDA_ERROR_INVALID_VALUE;
    for (struct CUfunc_st *function = image->functions; function; function = function->next) {
        if (strcmp(function->name, name) == 0) {
            *ret_function = function;
            return CUDA_SUCCESS;
        }
    }
    bool found = !image->lists_kernels && *name;
    for (size_t i = 0; i < image->kernel_count && !found; i++)
        found = strcmp(image->kernel_names[i], name) == 0;
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    const struct config *config = config_get();
    struct CUfunc_st *function = object_new(MAGIC_FUNCTION, sizeof *function);
    function->name = intern(name);
    function->image = image;
    function->is_spin = strstr(name, "spin_ns") != NULL;
    function->fixed_ns = config_match(config->kernels, config->kernel_count, name, -1);
    function->carveout = -1;
    function->next = image->functions;
    image->functions = function;
    *ret_function = function;
    return CUDA_SUCCESS;
}

CUresult image_global(struct image *image, const char *name, CUdeviceptr *ret_address, size_t *ret_size)
{
    if (!name || !*name || (!ret_address && !ret_size))
        return CUDA_ERROR_INVALID_VALUE;
    struct global *global = image->globals;
    while (global && strcmp(global->name, name) != 0)
        global = global->next;
    if (!global) {
        struct range *range;
        const CUresult result = device_memory_take(image->context->device, GLOBAL_BYTES, &range);
        if (result)
            return result;
        const struct effect zero = {.type = EFFECT_FILL,
                                    .to = (char *)range->base,
                                    .width_bytes = GLOBAL_BYTES,
                                    .height = 1,
                                    .depth = 1,
                                    .value_bytes = 1};
        effect_start(&zero);
        global = malloc(sizeof *global);
        if (!global)
            abort();
        *global = (struct global){intern(name), range->base, range->size, range->id, image->globals};
        image->globals = global;
    }
    if (ret_address)
        *ret_address = global->address;
    if (ret_size)
        *ret_size = global->size;
    return CUDA_SUCCESS;
}
