/* cudaGetDeviceProperties and its versions, from the driver's attributes. */
#include <stddef.h>
#include <string.h>

#include "properties.h"
#include "runtime.h"

#if RT_MAJOR >= 13
typedef struct rt_device_prop_13 device_prop;
#else
typedef struct rt_device_prop_12 device_prop;
#endif
#if CUDART_VERSION / 1000 == RT_MAJOR
_Static_assert(sizeof(device_prop) == sizeof(struct cudaDeviceProp), "the layout is that of the toolkit's header");
_Static_assert(offsetof(device_prop, unifiedFunctionPointers) ==
                   offsetof(struct cudaDeviceProp, unifiedFunctionPointers),
               "the layout is that of the toolkit's header");
#endif

struct attribute_query {
    int device;
    CUresult result; /* the first failure */
};

static int attribute(struct attribute_query *query, int number)
{
    int value = 0;
    if (query->result == CUDA_SUCCESS)
        query->result = DRV(cuDeviceGetAttribute)(&value, (CUdevice_attribute)number, query->device);
    return value;
}

static CUresult properties(device_prop *prop, int device)
{
    struct attribute_query query = {.device = device};

    memset(prop, 0, sizeof *prop);
#define RT_PROPERTY(field, number) prop->field = (__typeof__(prop->field))attribute(&query, number);
#if RT_MAJOR >= 13
#define RT_PROPERTY_12(field, number)
#define RT_PROPERTY_13 RT_PROPERTY
#else
#define RT_PROPERTY_12 RT_PROPERTY
#define RT_PROPERTY_13(field, number)
#endif
#include "properties.def"
#undef RT_PROPERTY
#undef RT_PROPERTY_12
#undef RT_PROPERTY_13
    if (query.result == CUDA_SUCCESS)
        query.result = DRV(cuDeviceGetName)(prop->name, sizeof prop->name, device);
    if (query.result == CUDA_SUCCESS)
        query.result = DRV(cuDeviceTotalMem)(&prop->totalGlobalMem, device);
    if (query.result == CUDA_SUCCESS)
        query.result = DRV(cuDeviceGetUuid)((CUuuid *)&prop->uuid, device);
    return query.result;
}

#if RT_MAJOR >= 13
cudaError_t rt_get_device_properties(device_prop *prop, int device) RT_SYMBOL("cudaGetDeviceProperties");

cudaError_t rt_get_device_properties(device_prop *prop, int device)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGetDeviceProperties", RT_REQUIRE(prop, properties(prop, device)));
}
#else
/* Programs compiled before 12.0 pass a structure that ends with reservedSharedMemPerBlock. */
static CUresult properties_11(void *prop, int device)
{
    device_prop full;
    CUresult result = properties(&full, device);
    if (result == CUDA_SUCCESS)
        memcpy(prop, &full, offsetof(device_prop, hostRegisterSupported));
    return result;
}

cudaError_t rt_get_device_properties_v1(void *prop, int device) RT_SYMBOL("cudaGetDeviceProperties");
cudaError_t rt_get_device_properties_v2(device_prop *prop, int device) RT_SYMBOL("cudaGetDeviceProperties_v2");

cudaError_t rt_get_device_properties_v1(void *prop, int device)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGetDeviceProperties", RT_REQUIRE(prop, properties_11(prop, device)));
}

cudaError_t rt_get_device_properties_v2(device_prop *prop, int device)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaGetDeviceProperties_v2", RT_REQUIRE(prop, properties(prop, device)));
}
#endif

static int distance(int wanted, int present)
{
    return wanted && present < wanted ? wanted - present : 0;
}

/* The device that misses the least of what WANTED states; the first among equals. */
static CUresult choose_device(int *chosen, const device_prop *wanted)
{
    int count = 0;
    int best = -1;
    int best_distance = 0;
    CUresult result = DRV(cuDeviceGetCount)(&count);

    for (int device = 0; result == CUDA_SUCCESS && device < count; device++) {
        device_prop prop;
        result = properties(&prop, device);
        int missing = distance(wanted->major * 10 + wanted->minor, prop.major * 10 + prop.minor) +
                      distance(wanted->multiProcessorCount, prop.multiProcessorCount) +
                      (wanted->totalGlobalMem > prop.totalGlobalMem ? 1 : 0);
        if (best < 0 || missing < best_distance) {
            best = device;
            best_distance = missing;
        }
    }
    if (result != CUDA_SUCCESS)
        return result;
    if (best < 0)
        return CUDA_ERROR_NO_DEVICE;
    *chosen = best;
    return CUDA_SUCCESS;
}

cudaError_t rt_choose_device_by_properties(int *device, const device_prop *prop) RT_SYMBOL("cudaChooseDevice");

cudaError_t rt_choose_device_by_properties(int *device, const device_prop *prop)
{
    RT_CALL_NAMED(RT_DRIVER, "cudaChooseDevice", RT_REQUIRE(device && prop, choose_device(device, prop)));
}
