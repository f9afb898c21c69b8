#include "analyzer/session/keeper/steps.h"

#include "shim/api/steps.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int gw_steps_listen(const char *home)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", home, GW_STEPS_SOCKET) >=
        (int)sizeof(address.sun_path))
        return -ENAMETOOLONG;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        int result = -errno;
        close(fd);
        return result;
    }
    return fd;
}
