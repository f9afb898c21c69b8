/* Names of kernels as people read them; the recorder and the reports match them with the same patterns. */
#ifndef GW_SHIM_API_KERNEL_NAME_H
#define GW_SHIM_API_KERNEL_NAME_H

/* Demangled kernel name with template and function arguments folded, for people; the caller frees. NULL: no memory. */
char *gw_kernel_name_short(const char *mangled);

/* Likewise, with the template's own arguments, each without namespaces and arguments of its own, to tell variants of a
 * kernel apart: "at::native::reduce_kernel<512, 1, ReduceOp<>>". */
char *gw_kernel_name_variant(const char *mangled);

#endif
