// The small stand-in libraries, as programs find them: by dlopen and dlsym.
#include "tests/simgpu/test_support.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CALL(library, name, type, ...) ((type)dlsym(library, name))(__VA_ARGS__)

typedef int pointer_fn(void *);
typedef int text_fn(void *, char *, unsigned);
typedef int named_fn(const char *, void **);
typedef int index_fn(unsigned, void **);
typedef int number_fn(void *, unsigned *);
typedef size_t size_fn(void);

static void *nvml;

static int start(void **state)
{
    (void)state;
    support_start("devices 3");
    nvml = dlopen(SIMGPU_DIR "/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(nvml);
    return 0;
}

static void nvml_and_the_driver_name_the_same_devices(void **state)
{
    (void)state;
    unsigned count = 0, index = 9;
    void *device, *same;
    char bus[16], uuid[64], wanted[64], name[32], driver_name[32], *at = wanted + sprintf(wanted, "GPU-");
    CUuuid bytes;
    assert_int_equal(CALL(nvml, "nvmlDeviceGetCount_v2", pointer_fn *, &count), 1); // not initialised
    assert_int_equal(CALL(nvml, "nvmlInit_v2", size_fn *), 0);
    assert_int_equal(CALL(nvml, "nvmlDeviceGetCount_v2", pointer_fn *, &count), 0);
    assert_int_equal(count, 3);
    OK(cuDeviceGetPCIBusId(bus, sizeof bus, 2));
    assert_int_equal(CALL(nvml, "nvmlDeviceGetHandleByPciBusId_v2", named_fn *, bus, &device), 0);
    assert_int_equal(CALL(nvml, "nvmlDeviceGetIndex", number_fn *, device, &index), 0);
    assert_int_equal(index, 2);
    OK(cuDeviceGetUuid_v2(&bytes, 2));
    for (int i = 0; i < 16; i++)
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", (unsigned char)bytes.bytes[i]);
    assert_int_equal(CALL(nvml, "nvmlDeviceGetUUID", text_fn *, device, uuid, sizeof uuid), 0);
    assert_string_equal(uuid, wanted);
    assert_int_equal(CALL(nvml, "nvmlDeviceGetHandleByUUID", named_fn *, uuid, &same), 0);
    assert_ptr_equal(same, device);
    OK(cuDeviceGetName(driver_name, sizeof driver_name, 2));
    assert_int_equal(CALL(nvml, "nvmlDeviceGetName", text_fn *, device, name, sizeof name), 0);
    assert_string_equal(name, driver_name);
    assert_int_equal(CALL(nvml, "nvmlDeviceGetName", text_fn *, device, name, 4), 7);         // too small
    assert_int_equal(CALL(nvml, "nvmlDeviceGetHandleByIndex_v2", index_fn *, 3, &device), 6); // no such device
    assert_null(dlsym(nvml, "nvmlDeviceGetTemperature"));
}

static void there_is_a_device_file(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(stat("/dev/nvidiactl", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    assert_int_equal(stat("/dev/nvidia-of-nobody", &status), -1);
    assert_int_equal(stat("/", &status), 0);
    assert_true(S_ISDIR(status.st_mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvml_and_the_driver_name_the_same_devices),
        cmocka_unit_test(there_is_a_device_file),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
