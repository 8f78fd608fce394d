#include "policy/upstream_proxy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "policy/address_block.h"

#define DEFAULT_PORT 80 /* of http (RFC 9110, section 4.2.1) */

struct span {
    const char *start;
    size_t length;
};

static int refuse(struct error *err, const char *reason) {
    return error_set(err, ERROR_OPTIONS, 0, "%s", reason);
}

/* Credentials: RFC 7617, the "Basic" scheme. */

static unsigned hex_value(char c) {
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* RFC 3986, section 2.1. to has room for as many bytes as there are; -1: a "%" without two digits behind it.
 */
static int percent_decode(struct span text, char *to, size_t *size) {
    size_t wrote = 0;
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.start[i];
        if (byte == '%') {
            unsigned high = text.length - i > 2 ? hex_value(text.start[i + 1]) : 16;
            unsigned low = high < 16 ? hex_value(text.start[i + 2]) : 16;
            if (low > 15)
                return -1;
            byte = (char)(high << 4 | low);
            i += 2;
        }
        to[wrote++] = byte;
    }
    *size = wrote;
    return 0;
}

/* RFC 4648, section 4, with a NUL behind it. to has room for 4 * (size / 3 + 1) + 1 bytes. */
static void base64(const char *bytes, size_t size, char *to) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)(unsigned char)bytes[i] << 16;
        group |= left > 1 ? (uint32_t)(unsigned char)bytes[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)(unsigned char)bytes[i + 2] : 0;
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = left > 1 ? digits[group >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[group & 63] : '=';
    }
    *to = '\0';
}

/* userinfo is "user", "user:" or "user:password", percent-encoded. */
static int read_credentials(struct span userinfo, char **authorization, struct error *err) {
    const char *colon = memchr(userinfo.start, ':', userinfo.length);
    size_t user_length = colon == NULL ? userinfo.length : (size_t)(colon - userinfo.start);
    struct span user = {userinfo.start, user_length};
    struct span password = {colon == NULL ? "" : colon + 1,
                            colon == NULL ? 0 : userinfo.length - user_length - 1};
    cleanup_free char *plain = malloc(userinfo.length + 2);
    if (plain == NULL)
        return error_memory(err);
    size_t size, more;
    if (percent_decode(user, plain, &size) != 0)
        return refuse(err, "a \"%\" in a user name or password is written %25");
    if (memchr(plain, ':', size) != NULL)
        return refuse(err, "a user name has no \":\"");
    plain[size++] = ':';
    if (percent_decode(password, plain + size, &more) != 0)
        return refuse(err, "a \"%\" in a user name or password is written %25");
    size += more;
    static const char scheme[] = "Basic ";
    size_t prefix = sizeof scheme - 1;
    char *value = malloc(prefix + 4 * (size / 3 + 1) + 1);
    if (value == NULL)
        return error_memory(err);
    memcpy(value, scheme, prefix);
    base64(plain, size, value + prefix);
    *authorization = value;
    return 0;
}

/* The URL. */

/* Takes "http://" off; true in *had. -1: another scheme. */
static int take_scheme(struct span *url, bool *had, struct error *err) {
    static const char http[] = "http://";
    const char *mark = memmem(url->start, url->length, "://", 3);
    *had = mark != NULL;
    if (mark == NULL)
        return 0;
    if (url->length < sizeof http - 1 || strncasecmp(url->start, http, sizeof http - 1) != 0)
        return refuse(err, "the connection to the proxy is plain HTTP: http://host:port");
    *url = (struct span){url->start + sizeof http - 1, url->length - (sizeof http - 1)};
    return 0;
}

/* Nothing but "/" may stand behind the port: a proxy has no path. */
static int take_path(struct span *url, struct error *err) {
    for (size_t i = 0; i < url->length; i++) {
        if (strchr("/?#\\", url->start[i]) == NULL)
            continue;
        if (url->start[i] != '/' || i + 1 != url->length)
            return refuse(err, "a proxy has no path; in a password \"/\" is written %2F");
        url->length = i;
        return 0;
    }
    return 0;
}

/* Splits "host", "host:port", "[v6]" and "[v6]:port". port.start is NULL where there is none. */
static void split_port(struct span text, struct span *host, struct span *port) {
    bool bracketed = text.length > 0 && text.start[0] == '[';
    const char *from = bracketed ? memchr(text.start, ']', text.length) : text.start;
    const char *colon = from == NULL ? NULL : memchr(from, ':', text.length - (size_t)(from - text.start));
    *host = text;
    *port = (struct span){NULL, 0};
    if (colon == NULL)
        return;
    host->length = (size_t)(colon - text.start);
    *port = (struct span){colon + 1, text.length - host->length - 1};
}

static int read_host(struct span authority, bool needs_port, struct upstream_proxy *out, struct error *err) {
    struct span host, port;
    split_port(authority, &host, &port);
    if (host.length == 0)
        return refuse(err, "there is no host");
    if (needs_port && port.start == NULL)
        return refuse(err, "there is no port: write http://host:port or host:port");
    out->port = DEFAULT_PORT;
    /* "http://host:" is a URL with an empty port, which is the default. */
    bool empty = port.length == 0 && !needs_port;
    if (port.start != NULL && !empty && !ip_port_parse(port.start, port.length, &out->port))
        return refuse(err, "a port is a whole number from 1 to 65535; an IPv6 address stands in brackets");
    struct network_target target;
    if (network_target_parse(host.start, host.length, out->port, &target) != 0)
        return refuse(err, "the host is neither a name nor an address");
    network_target_host(&target, out->host);
    return 0;
}

int upstream_proxy_parse(const char *url, struct upstream_proxy *out, struct error *err) {
    struct upstream_proxy parsed = {0};
    struct span rest = {url, strlen(url)};
    bool has_scheme;
    if (take_scheme(&rest, &has_scheme, err) != 0)
        return -1;
    if (take_path(&rest, err) != 0)
        return -1;
    /* Curl and others take the last one, where a password has some. */
    const char *at = memrchr(rest.start, '@', rest.length);
    struct span userinfo = {rest.start, at == NULL ? 0 : (size_t)(at - rest.start)};
    if (at != NULL)
        rest = (struct span){at + 1, rest.length - userinfo.length - 1};
    if (read_host(rest, !has_scheme, &parsed, err) != 0)
        return -1;
    if (at != NULL && read_credentials(userinfo, &parsed.authorization, err) != 0)
        return -1;
    *out = parsed;
    return 0;
}

void upstream_proxy_clear(struct upstream_proxy *proxy) {
    free(proxy->authorization);
    free(proxy->except);
    *proxy = (struct upstream_proxy){0};
}

/* NO_PROXY. */

static bool excepts_name(struct span entry, const char *name) {
    if (entry.length > 1 && memcmp(entry.start, "*.", 2) == 0)
        entry = (struct span){entry.start + 1, entry.length - 1};
    if (entry.length > 0 && entry.start[0] == '.')
        entry = (struct span){entry.start + 1, entry.length - 1};
    if (entry.length > 1 && entry.start[entry.length - 1] == '.')
        entry.length--;
    size_t length = strlen(name);
    if (entry.length == 0 || length < entry.length ||
        strncasecmp(name + length - entry.length, entry.start, entry.length) != 0)
        return false;
    return length == entry.length || name[length - entry.length - 1] == '.';
}

static bool excepts_address(struct span entry, const uint8_t address[IP_ADDRESS_BYTES]) {
    struct address_block block;
    if (entry.length > 2 && entry.start[0] == '[' && entry.start[entry.length - 1] == ']')
        entry = (struct span){entry.start + 1, entry.length - 2};
    return address_block_parse(entry.start, entry.length, &block) && address_block_contains(&block, address);
}

/* One entry of the list: a bare IPv6 address or block has colons, and no port. */
static bool excepts(struct span entry, const struct network_target *target) {
    struct address_block block;
    struct span host = entry, port = {NULL, 0};
    if (!address_block_parse(entry.start, entry.length, &block))
        split_port(entry, &host, &port);
    uint16_t number = target->port;
    if (port.start != NULL && (!ip_port_parse(port.start, port.length, &number) || number != target->port))
        return false;
    if (host.length == 1 && host.start[0] == '*')
        return true;
    return network_target_is_address(target) ? excepts_address(host, target->address)
                                             : excepts_name(host, target->name);
}

bool upstream_proxy_excepts(const struct upstream_proxy *proxy, const struct network_target *target) {
    if (network_target_is_address(target) ? ip_address_is_loopback(target->address)
                                          : excepts_name((struct span){"localhost", 9}, target->name))
        return true;
    static const char between[] = ", \t\r\n";
    const char *at = proxy->except == NULL ? "" : proxy->except;
    for (at += strspn(at, between); *at != '\0'; at += strspn(at, between)) {
        struct span entry = {at, strcspn(at, between)};
        if (excepts(entry, target))
            return true;
        at += entry.length;
    }
    return false;
}
