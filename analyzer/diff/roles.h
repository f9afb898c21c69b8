/* What a kernel is for, told by its name: frameworks name the same work differently. */
#ifndef GW_ANALYZER_DIFF_ROLES_H
#define GW_ANALYZER_DIFF_ROLES_H

#include "analyzer/model/model.h"

enum gw_role {
    GW_ROLE_MATMUL = 0,
    GW_ROLE_ATTENTION,
    GW_ROLE_CONVOLUTION,
    GW_ROLE_NORMALISATION,
    GW_ROLE_SOFTMAX,
    GW_ROLE_OPTIMIZER,
    GW_ROLE_REDUCTION,
    GW_ROLE_INDEXING,
    GW_ROLE_RANDOM,
    GW_ROLE_SORTING,
    GW_ROLE_REARRANGING,
    GW_ROLE_ELEMENTWISE,
    GW_ROLE_COMMUNICATION,
    GW_ROLE_MEMSET,
    GW_ROLE_GRAPH,
    GW_ROLE_OTHER,
    GW_ROLE_COUNT
};

/* "matmul", "attention", …; static. */
const char *gw_role_name(enum gw_role role);

/* Role of a kernel with this name, mangled or not, whose folded name is brief: that decides, and the types in the whole
 * name only where it does not tell. GW_ROLE_OTHER when neither tells. */
enum gw_role gw_role_of_kernel(const char *name, const char *brief);

#endif
