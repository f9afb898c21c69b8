// An object that is linked against the driver and is the only user of CUDA in its program.
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);

__attribute__((visibility("default"))) int driver_user_devices(void);

int driver_user_devices(void)
{
    int count = -1;

    return cuInit(0) == 0 && cuDeviceGetCount(&count) == 0 ? count : -1;
}
