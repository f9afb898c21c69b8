// Who the simulated devices are, for the libraries that are asked: the driver and NVML.
#ifndef GW_SIMGPU_IDENTITY_H
#define GW_SIMGPU_IDENTITY_H

#define SIMGPU_NAME "Simulated GPU"
#define SIMGPU_UUID "simgpu-device-\0" // 15 bytes; the last one is the device's number from 1
#define SIMGPU_FIRST_BUS 0x10          // PCI bus of device 0; the others follow
#define SIMGPU_MAJOR 9                 // compute capability
#define SIMGPU_MINOR 0

#endif
