#include "protocol/tls_hello.h"

#include <string.h>

/* RFC 8446, 5.1 and 4; heartbeats are RFC 6520's. */
enum content_type { CHANGE_CIPHER_SPEC = 20, ALERT = 21, HANDSHAKE = 22, HEARTBEAT = 24 };

#define MAJOR_VERSION 3
#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define MESSAGE_HEADER 4
#define CLIENT_HELLO 1
#define RANDOM_SIZE 32
#define SESSION_ID_MAX 32
#define EXTENSION_SERVER_NAME 0 /* RFC 6066, 3 */
#define NAME_TYPE_HOST 0

/*
 * Some servers overlook an alert, a change of ciphers or a heartbeat before the ClientHello: a connection
 * that begins so is TLS too, though not one that we read. Other protocols begin with these bytes as well (a
 * length, the low byte first), hence the look at the whole header.
 */
static enum tls_hello judge_other(const uint8_t *bytes, size_t size) {
    static const struct {
        uint8_t type, least_minor, length;
    } kinds[] = {
        {CHANGE_CIPHER_SPEC, 0, 1}, {ALERT, 0, 2}, {HEARTBEAT, 1, 0}, /* of any length */
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (bytes[0] != kinds[i].type)
            continue;
        if ((size > 1 && bytes[1] != MAJOR_VERSION) ||
            (size > 2 && (bytes[2] < kinds[i].least_minor || bytes[2] > 4)))
            return TLS_HELLO_NOT_TLS;
        if (size < RECORD_HEADER)
            return TLS_HELLO_MORE;
        bool fits = kinds[i].length == 0 || (bytes[3] == 0 && bytes[4] == kinds[i].length);
        return fits ? TLS_HELLO_MALFORMED : TLS_HELLO_NOT_TLS;
    }
    return TLS_HELLO_NOT_TLS;
}

/*
 * A handshake's byte with a version that is none: some servers do not look at that. They want a ClientHello
 * all the same; other protocols begin so as well (MySQL, MongoDB: a length), with something else behind it.
 */
static enum tls_hello judge_foreign(const uint8_t *bytes, size_t size) {
    if (size <= RECORD_HEADER)
        return TLS_HELLO_MORE;
    uint8_t first = bytes[RECORD_HEADER];
    bool empty = bytes[3] == 0 && bytes[4] == 0; /* then it is the next record's */
    bool fits = empty ? first >= CHANGE_CIPHER_SPEC && first <= HEARTBEAT : first == CLIENT_HELLO;
    return fits ? TLS_HELLO_MALFORMED : TLS_HELLO_NOT_TLS;
}

/* A record's header, as far as it has arrived, may be one. */
static bool may_be_record(const struct cursor *cursor) {
    const uint8_t *header = cursor->at;
    if ((cursor->left > 0 && header[0] != HANDSHAKE) || (cursor->left > 1 && header[1] != MAJOR_VERSION))
        return false;
    if (cursor->left < RECORD_HEADER)
        return true;
    /* RFC 8446, 5.1: no fragment of a handshake is empty. */
    size_t length = (size_t)header[3] << 8 | header[4];
    return length > 0 && length <= RECORD_MAX;
}

/* The ClientHello's bytes out of their records. */
struct message {
    uint8_t bytes[TLS_HELLO_MAX];
    size_t size;   /* that has arrived */
    size_t wanted; /* of the whole message, once its header is there; else that of the header */
};

/* Takes one record's bytes, or the part of them that is there. Whether the message may still be one. */
static bool add_fragment(struct message *message, struct cursor *cursor) {
    size_t length = (size_t)cursor->at[3] << 8 | cursor->at[4], there = cursor->left - RECORD_HEADER;
    const uint8_t *fragment;
    if (there > length)
        there = length;
    if (message->size + there > sizeof message->bytes || !cursor_skip(cursor, RECORD_HEADER) ||
        !cursor_take(cursor, there, &fragment))
        return false;
    memcpy(message->bytes + message->size, fragment, there);
    message->size += there;
    if (message->size > 0 && message->bytes[0] != CLIENT_HELLO)
        return false;
    if (message->size >= MESSAGE_HEADER) {
        struct cursor header = cursor_over(message->bytes + 1, MESSAGE_HEADER - 1);
        uint32_t body = 0;
        cursor_number(&header, MESSAGE_HEADER - 1, &body);
        message->wanted = MESSAGE_HEADER + (size_t)body;
    }
    /* Each record costs its header besides. */
    return message->wanted + RECORD_HEADER <= TLS_HELLO_MAX;
}

/* PARSE_DONE: the message is whole. */
static enum parse_state collect(const uint8_t *bytes, size_t size, struct message *message) {
    struct cursor cursor = cursor_over(bytes, size < TLS_HELLO_MAX ? size : TLS_HELLO_MAX);
    message->size = 0;
    message->wanted = MESSAGE_HEADER;
    while (message->size < message->wanted) {
        if (!may_be_record(&cursor))
            return PARSE_INVALID;
        if (cursor.left < RECORD_HEADER)
            return size < TLS_HELLO_MAX ? PARSE_MORE : PARSE_INVALID;
        if (!add_fragment(message, &cursor))
            return PARSE_INVALID;
    }
    return PARSE_DONE;
}

/* Letters, digits and what else host names have: nothing that could be read as an end of the name. */
static bool is_name(const struct cursor *name) {
    if (name->left == 0 || name->left > 255)
        return false;
    for (size_t i = 0; i < name->left; i++) {
        uint8_t c = name->at[i], lower = c | 0x20;
        bool fits =
            (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
        if (!fits)
            return false;
    }
    return true;
}

/* RFC 6066, 3: a list of names, of one type only and of each type one. */
static bool take_server_name(struct cursor extension, char name[256]) {
    struct cursor list, host;
    uint32_t type;
    if (!cursor_vector(&extension, 2, &list) || extension.left > 0 || !cursor_number(&list, 1, &type) ||
        type != NAME_TYPE_HOST || !cursor_vector(&list, 2, &host) || list.left > 0 || !is_name(&host))
        return false;
    memcpy(name, host.at, host.left);
    name[host.left] = '\0';
    return true;
}

static enum tls_hello take_extensions(struct cursor extensions, char name[256]) {
    uint8_t seen[65536 / 8] = {0};
    char found[256];
    enum tls_hello result = TLS_HELLO_NAMELESS;
    while (extensions.left > 0) {
        uint32_t type;
        struct cursor extension;
        if (!cursor_number(&extensions, 2, &type) || !cursor_vector(&extensions, 2, &extension) ||
            (seen[type / 8] & 1u << type % 8) != 0)
            return TLS_HELLO_MALFORMED;
        seen[type / 8] |= (uint8_t)(1u << type % 8);
        if (type != EXTENSION_SERVER_NAME)
            continue;
        if (!take_server_name(extension, found))
            return TLS_HELLO_MALFORMED;
        result = TLS_HELLO_NAMED;
    }
    if (result == TLS_HELLO_NAMED)
        memcpy(name, found, strlen(found) + 1);
    return result;
}

/* RFC 8446, 4.1.2; before TLS 1.3 there may be no extensions at all (RFC 5246, 7.4.1.2). */
static enum tls_hello read_hello(struct cursor hello, char name[256]) {
    struct cursor session, ciphers, compressions, extensions;
    uint32_t version;
    if (!cursor_number(&hello, 2, &version) || version >> 8 != MAJOR_VERSION ||
        !cursor_skip(&hello, RANDOM_SIZE) || !cursor_vector(&hello, 1, &session) ||
        session.left > SESSION_ID_MAX || !cursor_vector(&hello, 2, &ciphers) || ciphers.left < 2 ||
        ciphers.left % 2 != 0 || !cursor_vector(&hello, 1, &compressions) || compressions.left == 0)
        return TLS_HELLO_MALFORMED;
    if (hello.left == 0)
        return TLS_HELLO_NAMELESS;
    if (!cursor_vector(&hello, 2, &extensions) || hello.left > 0)
        return TLS_HELLO_MALFORMED;
    return take_extensions(extensions, name);
}

enum tls_hello tls_hello_server_name(const uint8_t *bytes, size_t size, char name[256]) {
    struct message message;
    if (size == 0)
        return TLS_HELLO_MORE;
    if (bytes[0] != HANDSHAKE)
        return judge_other(bytes, size);
    if (size > 1 && bytes[1] != MAJOR_VERSION)
        return judge_foreign(bytes, size);
    enum parse_state state = collect(bytes, size, &message);
    if (state != PARSE_DONE)
        return state == PARSE_MORE ? TLS_HELLO_MORE : TLS_HELLO_MALFORMED;
    return read_hello(cursor_over(message.bytes + MESSAGE_HEADER, message.wanted - MESSAGE_HEADER), name);
}
