// The backend interface: descriptors, the one engine that heuristics find for every graph of operations, and plans.
#include <stdlib.h>
#include <string.h>

#include "tests/simgpu/dnn/graph.h"

// Attributes that nobody sets: one number each.
static const struct {
    cudnnBackendAttributeName_t name;
    int64_t value;
} numbers[] = {
    {CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1},
    {CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 0},
    {CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0},
};

// Attributes of which there are none unless they were set.
static const cudnnBackendAttributeName_t none[] = {
    CUDNN_ATTR_ENGINE_KNOB_INFO,     CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,  CUDNN_ATTR_ENGINE_LAYOUT_INFO,
    CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
};

EXPORT cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t descriptorType,
                                                  cudnnBackendDescriptor_t *descriptor)
{
    if (!descriptor)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    struct descriptor *created = descriptor_create(descriptorType);
    if (!created)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    *descriptor = created;
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    descriptor_release(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                              cudnnBackendAttributeName_t attributeName,
                                              cudnnBackendAttributeType_t attributeType, int64_t elementCount,
                                              const void *arrayOfElements)
{
    struct descriptor *into = descriptor;
    if (!into || (elementCount && !arrayOfElements))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (into->is_final)
        return CUDNN_STATUS_NOT_INITIALIZED; // as documented for a descriptor that is finalized
    if (elementCount < 0)
        return CUDNN_STATUS_BAD_PARAM;
    return descriptor_set(into, attributeName, attributeType, elementCount, arrayOfElements);
}

// The configuration of the one engine, for the graph that the heuristics were asked about.
static cudnnStatus_t make_configuration(struct descriptor *configuration, const struct descriptor *heuristics)
{
    const int64_t index = 0;
    struct descriptor *graph = descriptor_child(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0);
    struct descriptor *engine = graph ? descriptor_create(CUDNN_BACKEND_ENGINE_DESCRIPTOR) : NULL;
    if (!engine)
        return graph ? CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED : CUDNN_STATUS_BAD_PARAM;
    cudnnStatus_t status =
        descriptor_set(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    if (status == CUDNN_STATUS_SUCCESS)
        status = descriptor_set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &index);
    engine->is_final = true;
    if (status == CUDNN_STATUS_SUCCESS)
        status = descriptor_set(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    configuration->is_final = true;
    descriptor_release(engine);
    return status;
}

// Writes to `elements` what an attribute is that was set. Descriptors are copied into the caller's.
static cudnnStatus_t copy_out(const struct attribute *attribute, int64_t count, void *elements)
{
    if (count > attribute->count)
        count = attribute->count;
    if (attribute->type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        memcpy(elements, attribute->elements, (size_t)count * attribute_size(attribute->type));
        return CUDNN_STATUS_SUCCESS;
    }
    struct descriptor *const *from = attribute->elements, *const *into = elements;
    for (int64_t i = 0; i < count; i++) {
        const cudnnStatus_t status = into[i] ? descriptor_copy(into[i], from[i]) : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    return CUDNN_STATUS_SUCCESS;
}

EXPORT cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                              cudnnBackendAttributeName_t attributeName,
                                              cudnnBackendAttributeType_t attributeType, int64_t requestedElementCount,
                                              int64_t *elementCount, void *arrayOfElements)
{
    const struct descriptor *from = descriptor;
    if (!from)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!from->is_final)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    const bool is_wanted = arrayOfElements && requestedElementCount > 0;
    int64_t count = 0;
    cudnnStatus_t status = CUDNN_STATUS_NOT_SUPPORTED;
    const struct attribute *set = descriptor_find(from, attributeName);
    if (set) {
        count = set->count;
        status = set->type != attributeType ? CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE
                 : is_wanted                ? copy_out(set, requestedElementCount, arrayOfElements)
                                            : CUDNN_STATUS_SUCCESS;
    } else if (attributeName == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
        count = 1;
        struct descriptor *const *into = arrayOfElements;
        status = is_wanted ? make_configuration(into[0], from) : CUDNN_STATUS_SUCCESS;
    }
    for (size_t i = 0; !set && i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].name != attributeName || attributeType != CUDNN_TYPE_INT64)
            continue;
        count = 1;
        if (is_wanted)
            *(int64_t *)arrayOfElements = numbers[i].value;
        status = CUDNN_STATUS_SUCCESS;
    }
    for (size_t i = 0; !set && i < sizeof none / sizeof *none; i++) {
        if (none[i] == attributeName)
            status = CUDNN_STATUS_SUCCESS;
    }
    if (status == CUDNN_STATUS_SUCCESS && elementCount)
        *elementCount = count;
    return status;
}

static const struct descriptor *graph_of(const struct descriptor *plan)
{
    const struct descriptor *configuration = descriptor_child(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    const struct descriptor *engine = descriptor_child(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, 0);
    return descriptor_child(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, 0);
}

EXPORT cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    struct descriptor *final = descriptor;
    if (!final)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const struct descriptor *graph = final->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR   ? final
                                     : final->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? graph_of(final)
                                                                                              : NULL;
    struct kernel kernel;
    char name[CONV_NAME_SIZE];
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (graph)
        status = graph_kernel(&kernel, name, graph);
    else if (final->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        status = CUDNN_STATUS_BAD_PARAM;
    final->is_final = status == CUDNN_STATUS_SUCCESS;
    return status;
}

EXPORT cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
                                         cudnnBackendDescriptor_t variantPack)
{
    const struct descriptor *plan = executionPlan, *pack = variantPack;
    struct kernel kernel;
    char name[CONV_NAME_SIZE];
    if (!plan || !pack)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (plan->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || pack->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
    if (!plan->is_final || !pack->is_final)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    const cudnnStatus_t status = graph_kernel(&kernel, name, graph_of(plan));
    return status == CUDNN_STATUS_SUCCESS ? handle_launch(handle, &kernel) : status;
}
