#include "plots/devices.h"

bool gw_device_is_used(const struct gw_model *model, uint32_t device)
{
    for (size_t i = 0; i < model->streams_count; i++)
        if (model->streams[i].device == device && model->streams[i].op_count)
            return true;
    return false;
}

int32_t gw_device_rank(const struct gw_model *model, uint32_t device)
{
    uint32_t size = 0;
    int32_t rank = model->processes[model->devices[device].process].rank;

    for (size_t i = 0; i < model->communicators_count; i++)
        if (model->communicators[i].device == device && model->communicators[i].size > size) {
            size = model->communicators[i].size;
            rank = (int32_t)model->communicators[i].rank;
        }
    return rank;
}
