// Between the files of the engine only.
#ifndef GW_SIMGPU_ENGINE_INTERNAL_H
#define GW_SIMGPU_ENGINE_INTERNAL_H

void engine_devices_init(void);
void engine_after_fork(void);
void host_functions_after_fork(void);

#endif
