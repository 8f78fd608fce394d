#include "policy/domain_pattern.h"

#include <stdbool.h>
#include <string.h>

struct span {
    const char *start;
    size_t length;
};

/* What people paste that is more than a host, most telling first. */
static const struct {
    const char *text;
    const char *reason;
} foreign_parts[] = {
    {"://", "schemes are not part of a pattern"},
    {"@", "user names and passwords are not part of a pattern"},
    {"/", "paths and address blocks are not part of a pattern"},
    {"\\", "paths are not part of a pattern"},
    {"?", "queries are not part of a pattern"},
    {"#", "fragments are not part of a pattern"},
    {"%", "zones and percent-encoding are not part of a pattern"},
};

static int refuse(struct error *err, const char *reason) {
    return error_set(err, ERROR_OPTIONS, 0, "%s", reason);
}

static int check_bytes(const char *text, struct error *err) {
    if (*text == '\0')
        return refuse(err, "it is empty");
    for (size_t i = 0; i < sizeof foreign_parts / sizeof *foreign_parts; i++)
        if (strstr(text, foreign_parts[i].text) != NULL)
            return refuse(err, foreign_parts[i].reason);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c >= 0x80)
            return refuse(err, "write names with other letters than ASCII in their A-label form, xn--…");
        if (*c <= ' ' || *c == 0x7f)
            return refuse(err, "spaces and control characters are not part of a pattern");
    }
    return 0;
}

static int parse_port(const char *text, uint16_t *port, struct error *err) {
    return ip_port_parse(text, strlen(text), port) ? 0
                                                   : refuse(err, "a port is a whole number from 1 to 65535");
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static int check_labels(const char *name, struct error *err) {
    size_t label = 0;
    for (const char *c = name;; c++) {
        if (*c == '.' || *c == '\0') {
            if (label == 0)
                return refuse(err, "a label is empty");
            if (label > DOMAIN_LABEL_MAX)
                return refuse(err, "a label is longer than 63 bytes");
            if (*c == '\0')
                return 0;
            label = 0;
        } else {
            label++;
        }
    }
}

int domain_name_parse(const char *text, size_t length, char name[DOMAIN_NAME_MAX + 1], struct error *err) {
    if (length > DOMAIN_NAME_MAX)
        return refuse(err, "a name is not longer than 253 bytes");
    char canonical[DOMAIN_NAME_MAX + 1];
    for (size_t i = 0; i < length; i++) {
        char c = lower(text[i]);
        if (c != '.' && !is_name_byte(c))
            return refuse(err, "a name has letters, digits, \"-\", \"_\" and dots only");
        canonical[i] = c;
    }
    canonical[length] = '\0';
    if (check_labels(canonical, err) != 0)
        return -1;
    memcpy(name, canonical, length + 1);
    return 0;
}

static int parse_name(struct span host, struct domain_pattern *out, struct error *err) {
    if (memchr(host.start, '*', host.length) != NULL)
        return refuse(err, host.start[host.length - 1] == '*'
                               ? "\"*\" cannot be the end of a name"
                               : "\"*\" stands alone or as the whole first label");
    return domain_name_parse(host.start, host.length, out->name, err);
}

/* The address was read: the kind and the canonical text follow from it. */
static int accept_address(struct domain_pattern *out) {
    out->kind = ip_address_is_v4(out->address) ? DOMAIN_PATTERN_V4 : DOMAIN_PATTERN_V6;
    ip_address_format(out->address, out->name);
    return 0;
}

static int parse_v6(struct span text, struct domain_pattern *out, struct error *err) {
    if (!ip_address_parse_v6(text.start, text.length, out->address))
        return refuse(err, "it is not an IPv6 address");
    return accept_address(out);
}

static int parse_host(struct span host, struct domain_pattern *out, struct error *err) {
    if (host.length == 0)
        return refuse(err, "there is no name before the port");
    if (host.length == 1 && host.start[0] == '*') {
        out->kind = DOMAIN_PATTERN_ANY;
        return 0;
    }
    if (host.length > 1 && host.start[host.length - 1] == '.')
        host.length--;
    if (host.length >= 2 && memcmp(host.start, "*.", 2) == 0) {
        out->kind = DOMAIN_PATTERN_SUBDOMAINS;
        host = (struct span){host.start + 2, host.length - 2};
        if (host.length > 0 && ip_address_ends_in_number(host.start, host.length))
            return refuse(err, "an address has no subdomains");
        return host.length == 0 ? refuse(err, "a label is empty") : parse_name(host, out, err);
    }
    if (!ip_address_ends_in_number(host.start, host.length)) {
        out->kind = DOMAIN_PATTERN_NAME;
        return parse_name(host, out, err);
    }
    if (!ip_address_parse_v4(host.start, host.length, out->address))
        return refuse(err, "it ends in a number and is not an IPv4 address");
    return accept_address(out);
}

static int parse_bracketed(const char *text, struct domain_pattern *out, struct error *err) {
    const char *close = strchr(text, ']');
    if (close == NULL || (close[1] != '\0' && close[1] != ':'))
        return refuse(err, "brackets hold an IPv6 address, with \":port\" or nothing behind them");
    if (close[1] == ':' && parse_port(close + 2, &out->port, err) != 0)
        return -1;
    return parse_v6((struct span){text + 1, (size_t)(close - text - 1)}, out, err);
}

static int parse_pattern(const char *text, struct domain_pattern *out, struct error *err) {
    if (text[0] == '[')
        return parse_bracketed(text, out, err);
    const char *colon = strchr(text, ':');
    if (colon == NULL)
        return parse_host((struct span){text, strlen(text)}, out, err);
    if (strchr(colon + 1, ':') != NULL)
        return parse_v6((struct span){text, strlen(text)}, out, err);
    if (parse_port(colon + 1, &out->port, err) != 0)
        return -1;
    return parse_host((struct span){text, (size_t)(colon - text)}, out, err);
}

int domain_pattern_parse(const char *text, struct domain_pattern *out, struct error *err) {
    struct domain_pattern parsed = {0};
    if (check_bytes(text, err) != 0 || parse_pattern(text, &parsed, err) != 0)
        return -1;
    *out = parsed;
    return 0;
}
