/*
 * What plots ask of a device.
 */
#ifndef GW_PLOTS_DEVICES_H
#define GW_PLOTS_DEVICES_H

#include "analyzer/model/model.h"

/* Whether the run has an operation on the device; of one that is only opened, idle time says nothing. */
bool gw_device_is_used(const struct gw_model *model, uint32_t device);

/* The rank of a device in the largest of its communicators, else that of its process; −1: there is none. */
int32_t gw_device_rank(const struct gw_model *model, uint32_t device);

#endif
