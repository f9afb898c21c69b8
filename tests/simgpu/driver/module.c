// Modules, libraries and the linker's interface.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/simgpu/driver/image.h"
#include "tests/simgpu/driver/internal.h"

static struct CUmod_st *modules; // of cuModuleLoad and its like, all contexts

static CUresult load_data(CUmodule *ret_module, const void *data)
{
    struct image image = {.context = context_current()};
    if (!ret_module)
        return CUDA_ERROR_INVALID_VALUE;
    spend_ns(CONFIG(module_load_ns));
    const CUresult result = image_read(&image, data);
    if (result) {
        image_clear(&image);
        return result;
    }
    struct CUmod_st *module = object_new(MAGIC_MODULE, sizeof *module);
    module->context = context_current();
    module->image = image;
    module->next = modules;
    modules = module;
    *ret_module = module;
    return CUDA_SUCCESS;
}

// The file's bytes and a NUL after them; NULL when it cannot be read. The caller frees.
static char *read_file(const char *path)
{
    struct stat status;
    char *data = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && (data = calloc(1, (size_t)status.st_size + 4)) &&
        read(file, data, (size_t)status.st_size) != (ssize_t)status.st_size) {
        free(data);
        data = NULL;
    }
    close(file);
    return data;
}

static CUresult load_file(CUmodule *ret_module, const char *path)
{
    char *data = path ? read_file(path) : NULL;
    if (!data)
        return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    const CUresult result = load_data(ret_module, data);
    free(data);
    return result;
}

static void module_delete(struct CUmod_st *module)
{
    struct CUmod_st **place = &modules;
    while (*place != module)
        place = &(*place)->next;
    *place = module->next;
    image_clear(&module->image);
    object_free(module, sizeof *module);
}

static CUresult unload(CUmodule module)
{
    if (!IS(module, MAGIC_MODULE))
        return CUDA_ERROR_INVALID_HANDLE;
    if (module->library)
        return CUDA_ERROR_NOT_PERMITTED;
    context_wait(module->context);
    module_delete(module);
    return CUDA_SUCCESS;
}

void images_delete_all(struct CUctx_st *context)
{
    for (struct CUmod_st *module = modules, *next; module; module = next) {
        next = module->next;
        if (module->context == context)
            module_delete(module);
    }
}

static CUresult get_function(CUfunction *ret_function, CUmodule module, const char *name)
{
    return IS(module, MAGIC_MODULE) ? image_function(&module->image, name, ret_function) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult get_global(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
    return IS(module, MAGIC_MODULE) ? image_global(&module->image, name, address, size) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult kernel_count(unsigned *ret_count, const struct image *image)
{
    if (!ret_count)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_count = (unsigned)image->kernel_count;
    return CUDA_SUCCESS;
}

static CUresult enumerate(CUfunction *functions, unsigned count, struct image *image)
{
    if (!functions)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && i < image->kernel_count; i++)
        image_function(image, image->kernel_names[i], &functions[i]);
    return CUDA_SUCCESS;
}

static CUresult loading_mode(CUmoduleLoadingMode *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    const char *wish = getenv("CUDA_MODULE_LOADING");
    *mode = wish && strcmp(wish, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

ENTRY(NEED_CONTEXT | UNSAFE, cuModuleLoad, (CUmodule * module, const char *fname), load_file(module, fname))
ENTRY(NEED_CONTEXT | UNSAFE, cuModuleLoadData, (CUmodule * module, const void *image), load_data(module, image))
ENTRY(NEED_CONTEXT | UNSAFE, cuModuleLoadDataEx,
      (CUmodule * module, const void *image, unsigned numOptions, CUjit_option *options, void **optionValues),
      ((void)numOptions, (void)options, (void)optionValues, load_data(module, image)))
ENTRY(NEED_CONTEXT | UNSAFE, cuModuleLoadFatBinary, (CUmodule * module, const void *fatCubin),
      load_data(module, fatCubin))
ENTRY(NEED_CONTEXT | UNSAFE, cuModuleUnload, (CUmodule hmod), unload(hmod))
ENTRY(NEED_CONTEXT, cuModuleGetFunction, (CUfunction * hfunc, CUmodule hmod, const char *name),
      get_function(hfunc, hmod, name))
ENTRY(NEED_CONTEXT, cuModuleGetGlobal_v2, (CUdeviceptr * dptr, size_t *bytes, CUmodule hmod, const char *name),
      get_global(dptr, bytes, hmod, name))
ENTRY(NEED_CONTEXT, cuModuleGetFunctionCount, (unsigned *count, CUmodule mod),
      IS(mod, MAGIC_MODULE) ? kernel_count(count, &mod->image) : CUDA_ERROR_INVALID_HANDLE)
ENTRY(NEED_CONTEXT, cuModuleEnumerateFunctions, (CUfunction * functions, unsigned numFunctions, CUmodule mod),
      IS(mod, MAGIC_MODULE) ? enumerate(functions, numFunctions, &mod->image) : CUDA_ERROR_INVALID_HANDLE)
ENTRY(NEED_NOTHING, cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), loading_mode(mode))

static CUresult library_load(CUlibrary *ret_library, const void *data)
{
    struct image image = {.context = context_current()};
    if (!ret_library)
        return CUDA_ERROR_INVALID_VALUE;
    spend_ns(CONFIG(module_load_ns));
    const CUresult result = image_read(&image, data);
    if (result) {
        image_clear(&image);
        return result;
    }
    struct CUlib_st *library = object_new(MAGIC_LIBRARY, sizeof *library);
    library->module = (struct CUmod_st){.magic = MAGIC_MODULE, .image = image, .library = library};
    *ret_library = library;
    return CUDA_SUCCESS;
}

static CUresult library_load_file(CUlibrary *ret_library, const char *path)
{
    char *data = path ? read_file(path) : NULL;
    if (!data)
        return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    const CUresult result = library_load(ret_library, data);
    free(data);
    return result;
}

static CUresult library_unload(CUlibrary library)
{
    if (!IS(library, MAGIC_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    image_clear(&library->module.image);
    object_free(library, sizeof *library);
    return CUDA_SUCCESS;
}

// A library belongs to no context; its globals, one instance here, take the memory of the first context that asks.
static CUresult library_image(CUlibrary library, struct image **ret_image)
{
    if (!IS(library, MAGIC_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    struct image *image = &library->module.image;
    if (!IS(image->context, MAGIC_CONTEXT))
        image->context = context_current();
    *ret_image = image;
    return CUDA_SUCCESS;
}

static CUresult library_kernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
    struct image *image;
    struct CUfunc_st *function;
    CUresult result = library_image(library, &image);
    if (result || (result = image_function(image, name, &function)) || !ret_kernel)
        return result ? result : CUDA_ERROR_INVALID_VALUE;
    *ret_kernel = (CUkernel)function;
    return CUDA_SUCCESS;
}

static CUresult library_module(CUmodule *ret_module, CUlibrary library)
{
    if (!IS(library, MAGIC_LIBRARY) || !ret_module)
        return IS(library, MAGIC_LIBRARY) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    *ret_module = &library->module;
    return CUDA_SUCCESS;
}

static CUresult library_global(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
    struct image *image;
    const CUresult result = library_image(library, &image);
    return result ? result : image_global(image, name, address, size);
}

static CUresult library_count(unsigned *count, CUlibrary library)
{
    struct image *image;
    const CUresult result = library_image(library, &image);
    return result ? result : kernel_count(count, image);
}

static CUresult library_enumerate(CUkernel *kernels, unsigned count, CUlibrary library)
{
    struct image *image;
    const CUresult result = library_image(library, &image);
    return result ? result : enumerate((CUfunction *)kernels, count, image);
}

ENTRY(NEED_INIT, cuLibraryLoadData,
      (CUlibrary * library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues, unsigned numJitOptions,
       CUlibraryOption *libraryOptions, void **libraryOptionValues, unsigned numLibraryOptions),
      ((void)jitOptions, (void)jitOptionsValues, (void)numJitOptions, (void)libraryOptions, (void)libraryOptionValues,
       (void)numLibraryOptions, library_load(library, code)))
ENTRY(NEED_INIT, cuLibraryLoadFromFile,
      (CUlibrary * library, const char *fileName, CUjit_option *jitOptions, void **jitOptionsValues,
       unsigned numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues, unsigned numLibraryOptions),
      ((void)jitOptions, (void)jitOptionsValues, (void)numJitOptions, (void)libraryOptions, (void)libraryOptionValues,
       (void)numLibraryOptions, library_load_file(library, fileName)))
ENTRY(NEED_INIT, cuLibraryUnload, (CUlibrary library), library_unload(library))
ENTRY(NEED_INIT, cuLibraryGetKernel, (CUkernel * pKernel, CUlibrary library, const char *name),
      library_kernel(pKernel, library, name))
ENTRY(NEED_INIT, cuLibraryGetModule, (CUmodule * pMod, CUlibrary library), library_module(pMod, library))
ENTRY(NEED_CONTEXT, cuLibraryGetGlobal, (CUdeviceptr * dptr, size_t *bytes, CUlibrary library, const char *name),
      library_global(dptr, bytes, library, name))
ENTRY(NEED_CONTEXT, cuLibraryGetManaged, (CUdeviceptr * dptr, size_t *bytes, CUlibrary library, const char *name),
      library_global(dptr, bytes, library, name))
ENTRY(NEED_INIT, cuLibraryGetKernelCount, (unsigned *count, CUlibrary lib), library_count(count, lib))
ENTRY(NEED_INIT, cuLibraryEnumerateKernels, (CUkernel * kernels, unsigned numKernels, CUlibrary lib),
      library_enumerate(kernels, numKernels, lib))

// Linking keeps the first input: only its names matter.
struct CUlinkState_st {
    enum magic magic;
    char *image;
    size_t size;
};

static CUresult link_create(CUlinkState *ret_state)
{
    if (!ret_state)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_state = object_new(MAGIC_LINKER, sizeof **ret_state);
    return CUDA_SUCCESS;
}

static CUresult link_add(CUlinkState state, const void *data, size_t size)
{
    if (!IS(state, MAGIC_LINKER) || !data || !size)
        return IS(state, MAGIC_LINKER) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (state->image)
        return CUDA_SUCCESS;
    state->image = calloc(1, size + 4);
    if (!state->image)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(state->image, data, size);
    state->size = size;
    return CUDA_SUCCESS;
}

static CUresult link_add_file(CUlinkState state, const char *path)
{
    struct stat status;
    char *data = path && stat(path, &status) == 0 ? read_file(path) : NULL;
    if (!data)
        return CUDA_ERROR_FILE_NOT_FOUND;
    const CUresult result = link_add(state, data, (size_t)status.st_size);
    free(data);
    return result;
}

static CUresult link_complete(CUlinkState state, void **ret_image, size_t *ret_size)
{
    if (!IS(state, MAGIC_LINKER) || !ret_image)
        return IS(state, MAGIC_LINKER) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if (!state->image)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_image = state->image;
    if (ret_size)
        *ret_size = state->size;
    return CUDA_SUCCESS;
}

static CUresult link_destroy(CUlinkState state)
{
    if (!IS(state, MAGIC_LINKER))
        return CUDA_ERROR_INVALID_HANDLE;
    free(state->image);
    object_free(state, sizeof *state);
    return CUDA_SUCCESS;
}

#define LINK_ENTRIES(version)                                                                                          \
    ENTRY(NEED_CONTEXT, cuLinkCreate##version,                                                                         \
          (unsigned numOptions, CUjit_option *options, void **optionValues, CUlinkState *stateOut),                    \
          ((void)numOptions, (void)options, (void)optionValues, link_create(stateOut)))                                \
    ENTRY(NEED_CONTEXT, cuLinkAddData##version,                                                                        \
          (CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned numOptions,     \
           CUjit_option *options, void **optionValues),                                                                \
          ((void)type, (void)name, (void)numOptions, (void)options, (void)optionValues, link_add(state, data, size)))  \
    ENTRY(NEED_CONTEXT, cuLinkAddFile##version,                                                                        \
          (CUlinkState state, CUjitInputType type, const char *path, unsigned numOptions, CUjit_option *options,       \
           void **optionValues),                                                                                       \
          ((void)type, (void)numOptions, (void)options, (void)optionValues, link_add_file(state, path)))

LINK_ENTRIES()
LINK_ENTRIES(_v2)
ENTRY(NEED_CONTEXT, cuLinkComplete, (CUlinkState state, void **cubinOut, size_t *sizeOut),
      link_complete(state, cubinOut, sizeOut))
ENTRY(NEED_CONTEXT, cuLinkDestroy, (CUlinkState state), link_destroy(state))
