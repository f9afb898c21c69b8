#include "tests/simgpu/dnn/descriptor.h"

#include <stdlib.h>
#include <string.h>

size_t attribute_size(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
        return 1;
    case CUDNN_TYPE_FRACTION:
        return sizeof(cudnnFraction_t);
    default: // enumerations, int32 and float
        return 4;
    }
}

static void clear(struct attribute *attribute)
{
    struct descriptor **children = attribute->elements;
    for (int64_t i = 0; attribute->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < attribute->count; i++)
        descriptor_release(children[i]);
    free(attribute->elements);
    *attribute = (struct attribute){.name = attribute->name};
}

struct descriptor *descriptor_create(cudnnBackendDescriptorType_t type)
{
    struct descriptor *created = calloc(1, sizeof *created);
    if (created) {
        created->type = type;
        created->references = 1;
    }
    return created;
}

void descriptor_release(struct descriptor *descriptor)
{
    if (!descriptor || __atomic_sub_fetch(&descriptor->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < descriptor->attribute_count; i++)
        clear(&descriptor->attributes[i]);
    free(descriptor->attributes);
    free(descriptor);
}

static struct attribute *find(const struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    for (size_t i = 0; i < descriptor->attribute_count; i++) {
        if (descriptor->attributes[i].name == name)
            return &descriptor->attributes[i];
    }
    return NULL;
}

static struct attribute *find_or_add(struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    struct attribute *found = find(descriptor, name);
    if (found)
        return found;
    struct attribute *more =
        realloc(descriptor->attributes, (descriptor->attribute_count + 1) * sizeof *descriptor->attributes);
    if (!more)
        return NULL;
    descriptor->attributes = more;
    more[descriptor->attribute_count] = (struct attribute){.name = name};
    return &more[descriptor->attribute_count++];
}

cudnnStatus_t descriptor_set(struct descriptor *descriptor, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
    const size_t size = (size_t)count * attribute_size(type);
    struct descriptor *const *children = elements;
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++) {
        if (!children[i])
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    }
    struct attribute *attribute = find_or_add(descriptor, name);
    void *copy = malloc(size ? size : 1);
    if (!attribute || !copy) {
        free(copy);
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    }
    if (size)
        memcpy(copy, elements, size);
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        __atomic_add_fetch(&children[i]->references, 1, __ATOMIC_RELAXED);
    clear(attribute);
    attribute->type = type;
    attribute->count = count;
    attribute->elements = copy;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t descriptor_copy(struct descriptor *to, const struct descriptor *from)
{
    if (to->type != from->type)
        return CUDNN_STATUS_BAD_PARAM;
    for (size_t i = 0; i < from->attribute_count; i++) {
        const struct attribute *attribute = &from->attributes[i];
        const cudnnStatus_t status =
            descriptor_set(to, attribute->name, attribute->type, attribute->count, attribute->elements);
        if (status != CUDNN_STATUS_SUCCESS)
            return status;
    }
    to->is_final = true;
    return CUDNN_STATUS_SUCCESS;
}

const struct attribute *descriptor_find(const struct descriptor *descriptor, cudnnBackendAttributeName_t name)
{
    return find(descriptor, name);
}

struct descriptor *descriptor_child(const struct descriptor *descriptor, cudnnBackendAttributeName_t name,
                                    int64_t index)
{
    const struct attribute *attribute = descriptor ? find(descriptor, name) : NULL;
    if (!attribute || attribute->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || index >= attribute->count)
        return NULL;
    return ((struct descriptor **)attribute->elements)[index];
}
