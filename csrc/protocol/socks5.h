/* SOCKS5 as far as a proxy needs it (RFC 1928): no authentication, CONNECT only. Pure. */
#ifndef OS_SANDBOX_PROTOCOL_SOCKS5_H
#define OS_SANDBOX_PROTOCOL_SOCKS5_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/cursor.h"

enum socks5_reply_code {
    SOCKS5_OK = 0,
    SOCKS5_FAILURE = 1,
    SOCKS5_DENIED = 2,
    SOCKS5_NETWORK_UNREACHABLE = 3,
    SOCKS5_HOST_UNREACHABLE = 4,
    SOCKS5_REFUSED = 5,
    SOCKS5_TIMEOUT = 6,
    SOCKS5_COMMAND_UNSUPPORTED = 7,
    SOCKS5_ADDRESS_UNSUPPORTED = 8,
};

/* The greeting. PARSE_DONE: *taken bytes; *method is what to answer: 0 (none needed) or 0xff (none of theirs
 * will do). */
enum parse_state socks5_greeting_parse(const uint8_t *bytes, size_t size, size_t *taken, uint8_t *method);

struct socks5_request {
    char host[256]; /* a name as sent (bytes below 0x21 and above 0x7e were refused), or an address's
                       canonical text */
    size_t host_length;
    uint16_t port;
    size_t size;
};

/* The request. PARSE_INVALID: *reply is what to answer before closing (BIND and UDP ASSOCIATE: command
 * unsupported, said when the whole request is there). */
enum parse_state socks5_request_parse(const uint8_t *bytes, size_t size, struct socks5_request *out,
                                      enum socks5_reply_code *reply);

#define SOCKS5_REPLY_SIZE 10
void socks5_reply_make(enum socks5_reply_code code, uint8_t out[SOCKS5_REPLY_SIZE]);

#endif
