#include "protocol/socks5.h"

#include <string.h>

#include "policy/ip_address.h"

#define VERSION 5
#define METHOD_NONE_NEEDED 0
#define METHOD_NONE_ACCEPTABLE 0xff
#define COMMAND_CONNECT 1

enum address_type { TYPE_V4 = 1, TYPE_NAME = 3, TYPE_V6 = 4 };

enum parse_state socks5_greeting_parse(const uint8_t *bytes, size_t size, size_t *taken, uint8_t *method) {
    struct cursor cursor = cursor_over(bytes, size), methods;
    uint32_t version;
    if (!cursor_number(&cursor, 1, &version))
        return PARSE_MORE;
    if (version != VERSION)
        return PARSE_INVALID;
    if (!cursor_vector(&cursor, 1, &methods))
        return PARSE_MORE;
    *taken = size - cursor.left;
    bool offered = methods.left > 0 && memchr(methods.at, METHOD_NONE_NEEDED, methods.left) != NULL;
    *method = offered ? METHOD_NONE_NEEDED : METHOD_NONE_ACCEPTABLE;
    return PARSE_DONE;
}

/* Version, command, a reserved 0: whatever is behind another one cannot be read. */
static bool is_head(const uint8_t *bytes, size_t size) {
    return (size < 1 || bytes[0] == VERSION) && (size < 3 || bytes[2] == 0);
}

static bool is_visible(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < 0x21 || bytes[i] > 0x7e)
            return false;
    return true;
}

static enum parse_state take_name(struct cursor *cursor, struct socks5_request *out) {
    struct cursor name;
    if (!cursor_vector(cursor, 1, &name))
        return PARSE_MORE;
    if (name.left == 0 || !is_visible(name.at, name.left))
        return PARSE_INVALID;
    memcpy(out->host, name.at, name.left);
    out->host[name.left] = '\0';
    return PARSE_DONE;
}

static enum parse_state take_address(struct cursor *cursor, size_t size, struct socks5_request *out) {
    /* The prefix of mapped addresses is left before IPv4. */
    uint8_t address[IP_ADDRESS_BYTES] = {[10] = 0xff, [11] = 0xff};
    const uint8_t *bytes;
    if (!cursor_take(cursor, size, &bytes))
        return PARSE_MORE;
    memcpy(address + sizeof address - size, bytes, size);
    ip_address_format(address, out->host);
    return PARSE_DONE;
}

static enum parse_state take_host(struct cursor *cursor, uint32_t type, struct socks5_request *out,
                                  enum socks5_reply_code *reply) {
    switch (type) {
    case TYPE_V4:
        return take_address(cursor, 4, out);
    case TYPE_NAME:
        return take_name(cursor, out);
    case TYPE_V6:
        return take_address(cursor, 16, out);
    default:
        *reply = SOCKS5_ADDRESS_UNSUPPORTED;
        return PARSE_INVALID;
    }
}

enum parse_state socks5_request_parse(const uint8_t *bytes, size_t size, struct socks5_request *out,
                                      enum socks5_reply_code *reply) {
    struct cursor cursor = cursor_over(bytes, size);
    const uint8_t *head;
    uint32_t type, port;
    *reply = SOCKS5_FAILURE;
    if (!is_head(bytes, size))
        return PARSE_INVALID;
    if (!cursor_take(&cursor, 3, &head) || !cursor_number(&cursor, 1, &type))
        return PARSE_MORE;
    enum parse_state state = take_host(&cursor, type, out, reply);
    if (state != PARSE_DONE)
        return state;
    if (!cursor_number(&cursor, 2, &port))
        return PARSE_MORE;
    /* Only now, so that nothing unread is left behind the answer, which a reset would overtake. */
    if (head[1] != COMMAND_CONNECT) {
        *reply = SOCKS5_COMMAND_UNSUPPORTED;
        return PARSE_INVALID;
    }
    if (port == 0)
        return PARSE_INVALID;
    out->host_length = strlen(out->host);
    out->port = (uint16_t)port;
    out->size = size - cursor.left;
    *reply = SOCKS5_OK;
    return PARSE_DONE;
}

void socks5_reply_make(enum socks5_reply_code code, uint8_t out[SOCKS5_REPLY_SIZE]) {
    /* The address that we are bound to is nobody's business: 0.0.0.0:0, which clients take. */
    const uint8_t reply[SOCKS5_REPLY_SIZE] = {VERSION, (uint8_t)code, 0, TYPE_V4};
    memcpy(out, reply, sizeof reply);
}
