#include "protocol/http_target.h"

#include <string.h>
#include <strings.h>

#include "policy/ip_address.h"
#include "protocol/http_text.h"

#define HTTP_PORT 80
#define PORT_MAX 65535

static struct http_text until(struct http_text text, size_t length) {
    return (struct http_text){text.start, length};
}

static struct http_text from(struct http_text text, size_t start) {
    return (struct http_text){text.start + start, text.length - start};
}

static bool begins(struct http_text text, const char *prefix) {
    return text.length >= strlen(prefix) && strncasecmp(text.start, prefix, strlen(prefix)) == 0;
}

/* Letters, digits, "-", "_" and dots: no escapes, nothing that another reader could take for an end. */
static bool is_name(struct http_text host) {
    for (size_t i = 0; i < host.length; i++) {
        unsigned char c = (unsigned char)host.start[i], lower = c | 0x20;
        bool fits =
            (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        if (!fits)
            return false;
    }
    return host.length > 0;
}

/* A leading 0 is refused: some would read it as octal. */
static bool read_port(struct http_text text, uint16_t *port) {
    uint64_t value;
    if (text.length == 0 || text.start[0] == '0' || !http_text_number(text, PORT_MAX, &value))
        return false;
    *port = (uint16_t)value;
    return true;
}

/* "[2001:db8::7]" as the address inside; *rest is what follows. */
static const char *read_bracketed(struct http_text text, struct http_text *host, struct http_text *rest) {
    uint8_t address[IP_ADDRESS_BYTES];
    const char *end = memchr(text.start, ']', text.length);
    if (end == NULL)
        return "a bracket that nothing closes";
    size_t length = (size_t)(end - text.start);
    *host = (struct http_text){text.start + 1, length - 1};
    if (!ip_address_parse_v6(host->start, host->length, address))
        return "no IPv6 address in the brackets";
    *rest = from(text, length + 1);
    return NULL;
}

/* host[:port]. *port is left as it is where there is none. */
static const char *read_authority(struct http_text text, struct http_text *host, uint16_t *port) {
    struct http_text rest;
    if (text.length > 0 && memchr(text.start, '@', text.length) != NULL)
        return "user information in the target";
    if (text.length > 0 && text.start[0] == '[') {
        const char *why = read_bracketed(text, host, &rest);
        if (why != NULL)
            return why;
    } else {
        const char *colon = text.length == 0 ? NULL : memchr(text.start, ':', text.length);
        *host = until(text, colon == NULL ? text.length : (size_t)(colon - text.start));
        rest = from(text, host->length);
        if (host->length == 0)
            return "no host in the target";
        if (!is_name(*host))
            return "a byte in the host that no host name has";
    }
    if (rest.length == 0)
        return NULL;
    if (rest.start[0] != ':' || !read_port(from(rest, 1), port))
        return "no valid port in the target";
    return NULL;
}

const char *http_target_connect(struct http_text target, struct http_request *out) {
    out->port = 0;
    const char *why = read_authority(target, &out->host, &out->port);
    if (why == NULL && out->port == 0)
        why = "CONNECT without a port";
    return why;
}

static const char *other_scheme(struct http_text target) {
    if (begins(target, "https://"))
        return "https:// goes through a proxy by CONNECT";
    if (target.length > 0 && (target.start[0] == '/' || target.start[0] == '*'))
        return "this is a proxy: the target must be an absolute http:// URL";
    return "the target is no absolute http:// URL";
}

const char *http_target_absolute(struct http_text target, struct http_request *out) {
    static const char scheme[] = "http://";
    if (!begins(target, scheme))
        return other_scheme(target);
    struct http_text rest = from(target, strlen(scheme));
    size_t end = 0;
    while (end < rest.length && rest.start[end] != '/' && rest.start[end] != '?' && rest.start[end] != '#')
        end++;
    out->port = HTTP_PORT;
    out->path = from(rest, end);
    if (memchr(target.start, '#', target.length) != NULL)
        return "a fragment in the target";
    return read_authority(until(rest, end), &out->host, &out->port);
}

/* Either is an address, in any spelling. */
static bool read_address(struct http_text host, uint8_t address[IP_ADDRESS_BYTES]) {
    if (memchr(host.start, ':', host.length) != NULL)
        return ip_address_parse_v6(host.start, host.length, address);
    return ip_address_ends_in_number(host.start, host.length) &&
           ip_address_parse_v4(host.start, host.length, address);
}

/* Names with and without the dot of the root are the same, as are all spellings of an address. */
static bool same_host(struct http_text a, struct http_text b) {
    uint8_t one[IP_ADDRESS_BYTES], other[IP_ADDRESS_BYTES];
    if (a.length > 1 && a.start[a.length - 1] == '.')
        a.length--;
    if (b.length > 1 && b.start[b.length - 1] == '.')
        b.length--;
    if (http_text_same(a, b))
        return true;
    return read_address(a, one) && read_address(b, other) && memcmp(one, other, sizeof one) == 0;
}

bool http_target_is_host(const struct http_request *request, struct http_text value) {
    struct http_text host;
    uint16_t port = request->connect ? request->port : HTTP_PORT;
    return read_authority(value, &host, &port) == NULL && port == request->port &&
           same_host(host, request->host);
}
