/* The server name of a TLS ClientHello (RFC 8446, RFC 6066), over any split of records and segments. Pure. */
#ifndef OS_SANDBOX_PROTOCOL_TLS_HELLO_H
#define OS_SANDBOX_PROTOCOL_TLS_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/cursor.h"

/* As many bytes of a connection are looked at; a ClientHello that is longer is malformed. */
#define TLS_HELLO_MAX ((size_t)64 * 1024)

enum tls_hello {
    TLS_HELLO_MORE,      /* may become one */
    TLS_HELLO_NOT_TLS,   /* does not begin as TLS: its first byte is of no record that a server may take first
                          */
    TLS_HELLO_NAMED,     /* whole; name is its server name */
    TLS_HELLO_NAMELESS,  /* whole, without a server name */
    TLS_HELLO_MALFORMED, /* also: two names, a name that is empty or has odd bytes, an extension twice, an
                            alert, a change of ciphers or a heartbeat before the hello, which some servers
                            overlook */
};

/* From the first byte of the connection on. name: as sent, with a NUL behind it; written with TLS_HELLO_NAMED
 * only. */
enum tls_hello tls_hello_server_name(const uint8_t *bytes, size_t size, char name[256]);

#endif
