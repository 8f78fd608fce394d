#include "policy/ip_address.h"

#include <arpa/inet.h>
#include <string.h>

#define V4_OFFSET 12
#define V4_PARTS 4

static const uint8_t v4_prefix[V4_OFFSET] = {[10] = 0xff, [11] = 0xff};

/* The value of a digit in any base up to 16; 16 or more is no digit. */
static unsigned digit_value(char c) {
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

/* Cuts a number's prefix off and returns its base. */
static unsigned take_base(const char **text, size_t *length) {
    if (*length >= 2 && (*text)[0] == '0' && ((*text)[1] == 'x' || (*text)[1] == 'X')) {
        *text += 2;
        *length -= 2;
        return 16;
    }
    return *length >= 2 && (*text)[0] == '0' ? 8 : 10;
}

static bool parse_part(const char *text, size_t length, uint64_t *value) {
    if (length == 0)
        return false;
    unsigned base = take_base(&text, &length);
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned digit = digit_value(text[i]);
        if (digit >= base)
            return false;
        *value = *value * base + digit;
        if (*value > UINT32_MAX)
            return false;
    }
    return true;
}

bool ip_address_ends_in_number(const char *host, size_t length) {
    const char *dot = length == 0 ? NULL : memrchr(host, '.', length);
    const char *label = dot == NULL ? host : dot + 1;
    size_t left = length - (size_t)(label - host);
    if (left == 0)
        return false;
    /* "09" is no octal number, yet parsers refuse it as an address and do not look it up as a name. */
    unsigned base = take_base(&label, &left) == 16 ? 16 : 10;
    for (size_t i = 0; i < left; i++)
        if (digit_value(label[i]) >= base)
            return false;
    return true;
}

bool ip_address_parse_v4(const char *text, size_t length, uint8_t address[IP_ADDRESS_BYTES]) {
    const char *end = text + length;
    uint64_t sum = 0;
    for (unsigned part = 0; part < V4_PARTS; part++) {
        const char *dot = memchr(text, '.', (size_t)(end - text));
        uint64_t value;
        if (!parse_part(text, (size_t)((dot == NULL ? end : dot) - text), &value))
            return false;
        if (dot != NULL && value > 0xff)
            return false;
        /* The last part fills all bytes that are left. */
        if (dot == NULL && value >> (8 * (V4_PARTS - part)) != 0)
            return false;
        sum += dot == NULL ? value : value << (8 * (V4_PARTS - 1 - part));
        if (dot == NULL) {
            uint32_t network_order = htonl((uint32_t)sum);
            memcpy(address, v4_prefix, V4_OFFSET);
            memcpy(address + V4_OFFSET, &network_order, sizeof network_order);
            return true;
        }
        text = dot + 1;
    }
    return false;
}

/* inet_pton on text without a NUL behind it, or with one inside. */
static bool parse_presentation(int family, const char *text, size_t length, uint8_t *parsed) {
    char copy[IP_ADDRESS_TEXT];
    if (length == 0 || length >= sizeof copy || memchr(text, '\0', length) != NULL)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return inet_pton(family, copy, parsed) == 1;
}

bool ip_address_parse_dotted(const char *text, size_t length, uint8_t address[IP_ADDRESS_BYTES]) {
    uint8_t parsed[IP_ADDRESS_BYTES - V4_OFFSET];
    if (!parse_presentation(AF_INET, text, length, parsed))
        return false;
    memcpy(address, v4_prefix, V4_OFFSET);
    memcpy(address + V4_OFFSET, parsed, sizeof parsed);
    return true;
}

bool ip_address_parse_v6(const char *text, size_t length, uint8_t address[IP_ADDRESS_BYTES]) {
    uint8_t parsed[IP_ADDRESS_BYTES];
    if (!parse_presentation(AF_INET6, text, length, parsed))
        return false;
    memcpy(address, parsed, sizeof parsed);
    return true;
}

bool ip_address_is_v4(const uint8_t address[IP_ADDRESS_BYTES]) {
    return memcmp(address, v4_prefix, V4_OFFSET) == 0;
}

void ip_address_format(const uint8_t address[IP_ADDRESS_BYTES], char text[IP_ADDRESS_TEXT]) {
    if (ip_address_is_v4(address))
        inet_ntop(AF_INET, address + V4_OFFSET, text, IP_ADDRESS_TEXT);
    else
        inet_ntop(AF_INET6, address, text, IP_ADDRESS_TEXT);
}

bool ip_address_is_loopback(const uint8_t address[IP_ADDRESS_BYTES]) {
    static const uint8_t v6[IP_ADDRESS_BYTES] = {[IP_ADDRESS_BYTES - 1] = 1};
    return ip_address_is_v4(address) ? address[V4_OFFSET] == 127 : memcmp(address, v6, sizeof v6) == 0;
}

bool ip_port_parse(const char *text, size_t length, uint16_t *port) {
    unsigned value = 0;
    if (length == 0 || length > 5 || text[0] == '0')
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (unsigned)(text[i] - '0');
    }
    if (value > UINT16_MAX)
        return false;
    *port = (uint16_t)value;
    return true;
}
