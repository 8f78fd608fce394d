/* The target of a request to a proxy, and the Host field beside it (RFC 9112, 3.2; RFC 3986, 3.2). Pure. */
#ifndef OS_SANDBOX_PROTOCOL_HTTP_TARGET_H
#define OS_SANDBOX_PROTOCOL_HTTP_TARGET_H

#include <stdbool.h>

#include "protocol/http_head.h"

/* Reads "host:port" of a CONNECT into host and port. NULL; or why not, static text. */
const char *http_target_connect(struct http_text target, struct http_request *out);

/* Reads "http://host[:port][/path][?query]" into host, port and path. NULL; or why not. */
const char *http_target_absolute(struct http_text target, struct http_request *out);

/* Whether a Host field means the request's host and port; without a port in it: 80, or for CONNECT any. */
bool http_target_is_host(const struct http_request *request, struct http_text value);

#endif
