// Between the files of the engine only.
#ifndef GW_SIMGPU_ENGINE_INTERNAL_H
#define GW_SIMGPU_ENGINE_INTERNAL_H

// Loses the current context to a sticky error. Takes the engine's lock; defined by the driver.
void sim_context_fail(int error);

void engine_devices_init(void);
void engine_after_fork(void);
void host_functions_after_fork(void);

#endif
