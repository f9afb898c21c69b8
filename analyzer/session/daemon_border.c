/*
 * Preloaded into the private lttng-sessiond, its consumer and gpuwitness-session, never into the traced program.
 *
 * LTTng 2.13 run by root keeps its sockets in /var/run/lttng whatever LTTNG_HOME says. Seen under another user id it
 * uses LTTNG_HOME as it does for everybody else. The id is only pretended: the kernel would refuse it in the
 * credentials of a socket (no capability, or no such id in this user namespace), so those carry the real one and are
 * translated on arrival.
 *
 * LTTng's polling loops sleep 100 and 200 ms, which is most of the time a recording takes to start and to stop.
 */
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PRETENDED_UID 65534
#define LONGEST_POLL_US 1000

#define EXPORTED __attribute__((visibility("default")))

static uid_t seen_uid(uid_t real)
{
    return real == 0 ? PRETENDED_UID : real;
}

EXPORTED uid_t getuid(void)
{
    return seen_uid((uid_t)syscall(SYS_getuid));
}

EXPORTED uid_t geteuid(void)
{
    return seen_uid((uid_t)syscall(SYS_geteuid));
}

/* Gives the credentials in `message` the user id `to` where `from` stands; both 0 and 65534 are only swapped for root.
 */
static void translate_credentials(struct msghdr *message, uid_t from, uid_t to)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        struct ucred credentials;
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&credentials, CMSG_DATA(part), sizeof(credentials));
        if (credentials.uid == from)
            credentials.uid = to;
        memcpy(CMSG_DATA(part), &credentials, sizeof(credentials));
    }
}

EXPORTED ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (syscall(SYS_geteuid) == 0)
        translate_credentials((struct msghdr *)message, PRETENDED_UID, 0);
    return syscall(SYS_sendmsg, fd, message, flags);
}

EXPORTED ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t length = syscall(SYS_recvmsg, fd, message, flags);
    if (length >= 0 && syscall(SYS_geteuid) == 0)
        translate_credentials(message, 0, PRETENDED_UID);
    return length;
}

EXPORTED int usleep(useconds_t us)
{
    struct timespec pause = {.tv_nsec = (us < LONGEST_POLL_US ? us : LONGEST_POLL_US) * 1000L};
    return nanosleep(&pause, NULL);
}
