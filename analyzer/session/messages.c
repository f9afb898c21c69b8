#include "analyzer/session/messages.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int gw_message_send(int socket, const json_t *message)
{
    int result = 0;
    char *text = json_dumps(message, JSON_COMPACT);
    if (text == NULL)
        return -ENOMEM;
    size_t length = strlen(text);
    if (length > GW_MESSAGE_MAX_BYTES)
        result = -EMSGSIZE;
    else if (send(socket, text, length, MSG_NOSIGNAL) < 0)
        result = -errno;
    free(text);
    return result;
}

int gw_message_receive(int socket, int timeout_ms, json_t **ret_message)
{
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    int result = 0;
    char *text = malloc(GW_MESSAGE_MAX_BYTES);
    if (text == NULL)
        return -ENOMEM;
    int ready;
    do {
        ready = poll(&readable, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        result = -ETIMEDOUT;
        goto end;
    }
    ssize_t length = recv(socket, text, GW_MESSAGE_MAX_BYTES, 0);
    if (length <= 0) {
        result = -EPIPE;
        goto end;
    }
    json_t *message = json_loadb(text, (size_t)length, 0, NULL);
    if (!json_is_object(message)) {
        json_decref(message);
        result = -EPROTO;
        goto end;
    }
    *ret_message = message;
end:
    free(text);
    return result;
}
