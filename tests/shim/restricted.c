/*
 * restricted: runs the program that RESTRICTED_PROGRAM names under a filter as containers have: system calls that a
 * tool might make, and the program does not, fail with EPERM.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned refused[] = {
    SYS_add_key,    SYS_bpf,        SYS_get_mempolicy,    SYS_io_uring_setup, SYS_kcmp,       SYS_keyctl,
    SYS_mbind,      SYS_membarrier, SYS_memfd_create,     SYS_mount,          SYS_move_pages, SYS_perf_event_open,
    SYS_pidfd_open, SYS_ptrace,     SYS_process_vm_readv, SYS_setns,          SYS_unshare,    SYS_userfaultfd};
enum { REFUSED = sizeof(refused) / sizeof(refused[0]) };

int main(void)
{
    struct sock_filter rules[2 * REFUSED + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog filter = {.len = 2 * REFUSED + 2, .filter = rules};
    char *program = getenv("RESTRICTED_PROGRAM");

    for (unsigned i = 0; i < REFUSED; i++) {
        rules[2 * i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
        rules[2 * i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    rules[2 * REFUSED + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (!program || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 77;
    execl(program, program, (char *)NULL);
    perror(program);
    return 1;
}
