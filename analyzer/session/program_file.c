#include "analyzer/session/program_file.h"

#include "analyzer/session/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SAME_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#if defined(__x86_64__)
#define SAME_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define SAME_MACHINE EM_AARCH64
#endif

/* A file in memory; everything read from it is checked against its size. */
struct image {
    const uint8_t *bytes;
    size_t size;
};

static const void *part(const struct image *image, uint64_t offset, uint64_t size)
{
    bool inside = offset <= image->size && size <= image->size - offset;
    return inside && offset % _Alignof(Elf64_Ehdr) == 0 ? image->bytes + offset : NULL;
}

/* A string that ends within the file, else "". */
static const char *text(const struct image *image, uint64_t offset)
{
    if (offset >= image->size || memchr(image->bytes + offset, '\0', image->size - offset) == NULL)
        return "";
    return (const char *)image->bytes + offset;
}

static const Elf64_Phdr *segment(const struct image *image, const Elf64_Ehdr *head, unsigned i)
{
    return part(image, head->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
}

/* Where an address lies in the file; UINT64_MAX when it does not. */
static uint64_t offset_of(const struct image *image, const Elf64_Ehdr *head, uint64_t address)
{
    for (unsigned i = 0; i < head->e_phnum; i++) {
        const Elf64_Phdr *load = segment(image, head, i);
        if (load != NULL && load->p_type == PT_LOAD && address >= load->p_vaddr &&
            address - load->p_vaddr < load->p_filesz)
            return load->p_offset + (address - load->p_vaddr);
    }
    return UINT64_MAX;
}

static void note_needed(const char *library, struct gw_program_file *file)
{
    file->needs_cudart |= strncmp(library, "libcudart.so", 12) == 0;
    file->needs_driver |= strncmp(library, "libcuda.so", 10) == 0;
    file->needs_nccl |= strncmp(library, "libnccl.so", 10) == 0;
}

static void read_dynamic(const struct image *image, const Elf64_Ehdr *head, const Elf64_Phdr *dynamic,
                         struct gw_program_file *file)
{
    uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn), strings = UINT64_MAX;
    const Elf64_Dyn *entries = part(image, dynamic->p_offset, count * sizeof(Elf64_Dyn));
    for (uint64_t i = 0; entries != NULL && i < count; i++) {
        if (entries[i].d_tag == DT_STRTAB)
            strings = offset_of(image, head, entries[i].d_un.d_ptr);
    }
    for (uint64_t i = 0; entries != NULL && strings != UINT64_MAX && i < count; i++) {
        if (entries[i].d_tag == DT_NEEDED && entries[i].d_un.d_val < image->size)
            note_needed(text(image, strings + entries[i].d_un.d_val), file);
    }
}

static const Elf64_Shdr *section(const struct image *image, const Elf64_Ehdr *head, unsigned i)
{
    return part(image, head->e_shoff + (uint64_t)i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
}

static bool defines_runtime(const struct image *image, const Elf64_Shdr *symbols, const Elf64_Shdr *names)
{
    uint64_t count = symbols->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *entries = part(image, symbols->sh_offset, count * sizeof(Elf64_Sym));
    for (uint64_t i = 0; entries != NULL && i < count; i++) {
        if (entries[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(entries[i].st_info) == STT_FUNC &&
            strcmp(text(image, names->sh_offset + entries[i].st_name), "cudaLaunchKernel") == 0)
            return true;
    }
    return false;
}

/* The runtime is inside when its functions are, or, in a stripped file, when there are kernels and no libcudart. */
static void read_sections(const struct image *image, const Elf64_Ehdr *head, struct gw_program_file *file)
{
    const Elf64_Shdr *titles = section(image, head, head->e_shstrndx);
    bool has_kernels = false, has_symbols = false, defines = false;
    for (unsigned i = 0; titles != NULL && i < head->e_shnum; i++) {
        const Elf64_Shdr *it = section(image, head, i);
        if (it == NULL)
            break;
        has_kernels |= strcmp(text(image, titles->sh_offset + it->sh_name), ".nv_fatbin") == 0;
        const Elf64_Shdr *names = it->sh_type == SHT_SYMTAB ? section(image, head, it->sh_link) : NULL;
        if (names != NULL) {
            has_symbols = true;
            defines |= defines_runtime(image, it, names);
        }
    }
    file->has_cudart_inside = defines || (!has_symbols && has_kernels && !file->needs_cudart);
}

static void inspect_elf(const struct image *image, struct gw_program_file *file)
{
    const Elf64_Ehdr *head = part(image, 0, sizeof(*head));
    bool has_linker = false;
    file->kind = GW_FILE_ELF;
    file->other_machine = head == NULL || head->e_ident[EI_CLASS] != SAME_CLASS || head->e_machine != SAME_MACHINE;
    if (file->other_machine)
        return;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        const Elf64_Phdr *it = segment(image, head, i);
        if (it == NULL)
            break;
        has_linker |= it->p_type == PT_INTERP;
        if (it->p_type == PT_DYNAMIC)
            read_dynamic(image, head, it, file);
    }
    file->is_static = !has_linker;
    read_sections(image, head, file);
}

/* "#!/usr/bin/env python3" runs python3. */
static void inspect_script(const struct image *image, struct gw_program_file *file)
{
    char line[256];
    size_t length = image->size < sizeof(line) - 1 ? image->size : sizeof(line) - 1;
    memcpy(line, image->bytes, length);
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    file->kind = GW_FILE_SCRIPT;
    char *rest = line + 2;
    const char *word = strtok_r(rest, " \t", &rest);
    const char *slash = word != NULL ? strrchr(word, '/') : NULL;
    if (slash != NULL && strcmp(slash, "/env") == 0) {
        do
            word = strtok_r(rest, " \t", &rest);
        while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
    }
    snprintf(file->interpreter, sizeof(file->interpreter), "%s", word != NULL ? word : "");
}

/* What makes the dynamic linker ignore LD_PRELOAD. */
static bool gains_privileges(const char *path, const struct stat *status)
{
    if ((status->st_mode & S_ISUID) != 0 && status->st_uid != geteuid())
        return true;
    if ((status->st_mode & S_ISGID) != 0 && status->st_gid != getegid())
        return true;
    return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

int gw_program_file_inspect(const char *name, struct gw_program_file *ret_file)
{
    struct gw_program_file file = {.kind = GW_FILE_OTHER};
    struct image image = {NULL, 0};
    struct stat status;
    int result = gw_program_find(name, file.path);
    if (result != 0)
        return result;
    int fd = open(file.path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        result = -errno;
        goto end;
    }
    image.size = (size_t)status.st_size;
    if (image.size > 0) {
        void *mapped = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapped == MAP_FAILED) {
            result = -errno;
            goto end;
        }
        image.bytes = mapped;
    }
    file.gains_privileges = gains_privileges(file.path, &status);
    if (image.size > 4 && memcmp(image.bytes, ELFMAG, SELFMAG) == 0)
        inspect_elf(&image, &file);
    else if (image.size > 2 && memcmp(image.bytes, "#!", 2) == 0)
        inspect_script(&image, &file);
    *ret_file = file;
end:
    if (image.bytes != NULL)
        munmap((void *)image.bytes, image.size);
    if (fd >= 0)
        close(fd);
    return result;
}
