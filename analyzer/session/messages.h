/* JSON objects over a SOCK_SEQPACKET socket: one message each. */
#ifndef GW_SESSION_MESSAGES_H
#define GW_SESSION_MESSAGES_H

#include <jansson.h>

#define GW_MESSAGE_MAX_BYTES 65536

/* Returns 0, -EMSGSIZE, or -errno of send. */
int gw_message_send(int socket, const json_t *message);

/*
 * Waits at most `timeout_ms` (-1: for ever). The caller owns *ret_message. Returns 0; -ETIMEDOUT; -EPIPE when the other
 * side is gone; -EPROTO when it sent something else.
 */
int gw_message_receive(int socket, int timeout_ms, json_t **ret_message);

#endif
