// Descriptors of cuDNN's backend interface: each keeps the attributes that were set. A descriptor that another one was
// given lives as long as that one.
#ifndef GW_SIMGPU_DNN_DESCRIPTOR_H
#define GW_SIMGPU_DNN_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cudnn.h>

struct attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    void *elements; // `count` of the size that the type has
};

struct descriptor {
    cudnnBackendDescriptorType_t type;
    unsigned references;
    bool is_final;
    struct attribute *attributes;
    size_t attribute_count;
};

// Returns a descriptor without attributes, referred to once, or NULL without memory.
struct descriptor *descriptor_create(cudnnBackendDescriptorType_t type);

// Gives back a reference; NULL is none.
void descriptor_release(struct descriptor *descriptor);

// Replaces or adds an attribute; the elements are copied, descriptors among them are referred to.
cudnnStatus_t descriptor_set(struct descriptor *descriptor, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t count, const void *elements);

// Makes `to` equal to `from`, which must be of the same type. `to` is final then.
cudnnStatus_t descriptor_copy(struct descriptor *to, const struct descriptor *from);

// The attribute of that name, or NULL.
const struct attribute *descriptor_find(const struct descriptor *descriptor, cudnnBackendAttributeName_t name);

// The descriptor that is the attribute's element `index`; NULL when there is none. Borrowed.
struct descriptor *descriptor_child(const struct descriptor *descriptor, cudnnBackendAttributeName_t name,
                                    int64_t index);

// The bytes of an element of that type.
size_t attribute_size(cudnnBackendAttributeType_t type);

#endif
