// dlsym, dlvsym and dlopen: ask the route, then either return its value or jump to the real function with the program's
// arguments and return address as they came (the route is told that address as well), because the real one looks at its caller for RTLD_NEXT and RTLD_DEFAULT.
#if defined(__x86_64__)

#define CALLER_THIRD %rdx
#define CALLER_FOURTH %rcx

.macro hook name, route, caller
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), \caller
    call \route
    movq %rdx, %rcx
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jz 1f
    jmp *%rax
1:
    movq %rcx, %rax
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

#elif defined(__aarch64__)

#define CALLER_THIRD x2
#define CALLER_FOURTH x3

.macro hook name, route, caller
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    stp x29, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset x29, -48
    .cfi_offset x30, -40
    mov x29, sp
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    mov \caller, x30
    bl \route
    mov x16, x0
    mov x17, x1
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_def_cfa_offset 0
    cbz x16, 1f
    br x16
1:
    mov x0, x17
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

#else
#error "dlsym needs a hook for this processor"
#endif

    .text
    hook dlsym, gw_route_dlsym, CALLER_THIRD
    hook dlvsym, gw_route_dlvsym, CALLER_FOURTH
    hook dlopen, gw_route_dlopen, CALLER_THIRD
    .section .note.GNU-stack, "", %progbits
