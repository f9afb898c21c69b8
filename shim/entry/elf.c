// Reads the dynamic symbols of loaded objects, as the loader itself finds them.
#include "shim/entry/shim.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include "shim/api/text.h"

struct each {
    bool (*visit)(const struct gw_elf *elf, void *data);
    void *data;
};

static void read_dynamic(struct gw_elf *elf, const ElfW(Dyn) * dynamic)
{
    elf->dynamic = dynamic;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t address = dynamic->d_un.d_ptr;

        // The loader has relocated these in place, except in objects it does not write to (the vDSO).
        if (address < elf->low)
            address += elf->base;
        if (address < elf->low || address >= elf->high)
            continue;
        if (dynamic->d_tag == DT_SYMTAB)
            elf->symbols = (const void *)address;
        else if (dynamic->d_tag == DT_STRTAB)
            elf->strings = (const void *)address;
        else if (dynamic->d_tag == DT_VERSYM)
            elf->versions = (const void *)address;
        else if (dynamic->d_tag == DT_GNU_HASH)
            elf->gnu_hash = (const void *)address;
        else if (dynamic->d_tag == DT_HASH)
            elf->sysv_hash = (const void *)address;
    }
    if (!elf->symbols)
        elf->strings = NULL;
}

static int read_object(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct each *each = data;
    const ElfW(Dyn) *dynamic = NULL;
    struct gw_elf elf = {.path = info->dlpi_name ? info->dlpi_name : "", .base = info->dlpi_addr, .low = UINTPTR_MAX};

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_DYNAMIC)
            dynamic = (const void *)low;
        if (part->p_type == PT_LOAD) {
            elf.low = low < elf.low ? low : elf.low;
            elf.high = low + part->p_memsz > elf.high ? low + part->p_memsz : elf.high;
        }
    }
    read_dynamic(&elf, dynamic);
    return each->visit(&elf, each->data);
}

/*
 * Functions of libc's own, whoever stands in front of them: the shim does of dlsym, sanitizers of dl_iterate_phdr. They
 * are found in the loader's list of objects, which begins at the program's dynamic section. First in a constructor,
 * when nobody changes that list.
 */
static const struct link_map *loaded_objects(void)
{
    const ElfW(Phdr) *parts = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    uintptr_t base = 0;
    const ElfW(Dyn) *dynamic = NULL;

    for (unsigned long i = 0; parts && i < getauxval(AT_PHNUM); i++) {
        if (parts[i].p_type == PT_PHDR)
            base = (uintptr_t)parts - parts[i].p_vaddr;
        if (parts[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(base + parts[i].p_vaddr);
    }
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr)
            return ((const struct r_debug *)dynamic->d_un.d_ptr)->r_map;
    return NULL;
}

static void *from_libc(void **cache, const char *name)
{
    void *address = __atomic_load_n(cache, __ATOMIC_RELAXED);

    if (address)
        return address;
    for (const struct link_map *map = loaded_objects(); map && !address; map = map->l_next) {
        struct gw_elf elf = {.path = map->l_name, .base = map->l_addr, .low = map->l_addr, .high = UINTPTR_MAX};

        // dlsym lived in libdl before glibc 2.34.
        if (!gw_elf_is(elf.path, "libc.so") && !gw_elf_is(elf.path, "libdl.so"))
            continue;
        read_dynamic(&elf, map->l_ld);
        address = gw_elf_symbol(&elf, name);
    }
    __atomic_store_n(cache, address, __ATOMIC_RELAXED);
    return address;
}

typedef int iterate_fn(int (*visit)(struct dl_phdr_info *info, size_t size, void *data), void *data);

static iterate_fn *real_iterate(void)
{
    static void *cache;
    void *found = from_libc(&cache, "dl_iterate_phdr");

    return found ? (iterate_fn *)found : dl_iterate_phdr;
}

bool gw_elf_each(bool (*visit)(const struct gw_elf *elf, void *data), void *data)
{
    struct each each = {.visit = visit, .data = data};

    return real_iterate()(read_object, &each) != 0;
}

static void *fitting(const struct gw_elf *elf, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)elf->symbols + index;
    const ElfW(Half) *versions = elf->versions;

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
        return NULL;
    if (!gw_text_same(elf->strings + symbol->st_name, name))
        return NULL;
    if (versions && versions[index] & 0x8000) // a version kept for old programs only
        return NULL;
    return (void *)(elf->base + symbol->st_value);
}

static void *find_gnu(const struct gw_elf *elf, const char *name)
{
    const uint32_t bucket_count = elf->gnu_hash[0], first = elf->gnu_hash[1], bloom_size = elf->gnu_hash[2];
    const uint32_t *buckets = elf->gnu_hash + 4 + (size_t)bloom_size * (sizeof(uintptr_t) / sizeof(uint32_t));
    const uint32_t *chains = buckets + bucket_count;
    uint32_t hash = 5381;

    for (const char *c = name; *c; c++)
        hash = hash * 33 + (uint8_t)*c;
    if (bucket_count == 0 || buckets[hash % bucket_count] < first)
        return NULL;
    for (uint32_t index = buckets[hash % bucket_count];; index++) {
        uint32_t chain = chains[index - first];

        if ((chain | 1) == (hash | 1)) {
            void *address = fitting(elf, index, name);

            if (address)
                return address;
        }
        if (chain & 1)
            return NULL;
    }
}

void *gw_elf_symbol(const struct gw_elf *elf, const char *name)
{
    if (!elf->strings)
        return NULL;
    if (elf->gnu_hash)
        return find_gnu(elf, name);
    for (uint32_t i = 1; elf->sysv_hash && i < elf->sysv_hash[1]; i++) {
        void *address = fitting(elf, i, name);

        if (address)
            return address;
    }
    return NULL;
}

bool gw_elf_is(const char *path, const char *stem)
{
    const char *rest = gw_text_after(gw_text_file(path), stem);

    return rest && (*rest == '\0' || *rest == '.');
}

const char *gw_elf_next_needed(const struct gw_elf *elf, const void **entry)
{
    const ElfW(Dyn) *dynamic = *entry ? (const ElfW(Dyn) *)*entry + 1 : elf->dynamic;

    for (; elf->strings && dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_NEEDED) {
            *entry = dynamic;
            return elf->strings + dynamic->d_un.d_val;
        }
    return NULL;
}

bool gw_elf_answers_to(const struct gw_elf *elf, const char *needed)
{
    if (gw_text_same(gw_text_file(elf->path), needed))
        return true;
    for (const ElfW(Dyn) *dynamic = elf->dynamic; elf->strings && dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == DT_SONAME)
            return gw_text_same(elf->strings + dynamic->d_un.d_val, needed);
    return false;
}

static int read_unloads(struct dl_phdr_info *info, size_t size, void *data)
{
    *(unsigned long long *)data =
        size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs) ? info->dlpi_subs : 0;
    return 1;
}

unsigned long long gw_elf_unloads(void)
{
    unsigned long long unloads = 0;

    real_iterate()(read_unloads, &unloads);
    return unloads;
}

void *gw_real_dlsym(void)
{
    static void *cache;

    return from_libc(&cache, "dlsym");
}

void *gw_real_dlvsym(void)
{
    static void *cache;

    return from_libc(&cache, "dlvsym");
}
