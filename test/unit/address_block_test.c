#include "policy/address_block.h"

#include <string.h>

#include "tap.h"

static const struct {
    const char *text;
    const char *address;
    unsigned prefix;
    int port;
} accepted[] = {
    {"192.0.2.7", "192.0.2.7", 128, 0},
    {"192.0.2.7:443", "192.0.2.7", 128, 443},
    {"192.0.2.7.", "192.0.2.7", 128, 0},
    {"0xc0.0.519:80", "192.0.2.7", 128, 80},
    {"3221225991", "192.0.2.7", 128, 0},
    {"::ffff:192.0.2.7", "192.0.2.7", 128, 0},
    {"192.0.2.0/24", "192.0.2.0", 120, 0},
    {"192.0.2.0/24:65535", "192.0.2.0", 120, 65535},
    {"192.0.2.7/32", "192.0.2.7", 128, 0},
    {"0.0.0.0/0", "0.0.0.0", 96, 0},
    {"::ffff:0:0/96", "0.0.0.0", 96, 0},
    {"::ffff:192.0.2.0/120", "192.0.2.0", 120, 0},
    {"128.0.0.0/1", "128.0.0.0", 97, 0},
    {"2001:db8::7", "2001:db8::7", 128, 0},
    {"[2001:DB8::7]", "2001:db8::7", 128, 0},
    {"[2001:db8::7]:443", "2001:db8::7", 128, 443},
    {"2001:db8::/32", "2001:db8::", 32, 0},
    {"[2001:db8::/32]", "2001:db8::", 32, 0},
    {"[2001:db8::/32]:443", "2001:db8::", 32, 443},
    {"::/0", "::", 0, 0},
    {"2001:db8:8000::/33", "2001:db8:8000::", 33, 0},
    {"2001:db8::7/128", "2001:db8::7", 128, 0},
};

#define NONE "it is not an address; names are for allowedDomains"
#define V4_LENGTH "the prefix length of an IPv4 block is a whole number from 0 to 32"
#define V6_LENGTH "the prefix length of an IPv6 block is a whole number from 0 to 128"
#define DOTTED "an IPv4 block is written with four decimal parts: 192.0.2.0/24"
#define SET "bits behind the prefix length are set: did you mean "
#define PORT "a port is a whole number from 1 to 65535"
#define BRACKETS "brackets hold an IPv6 address or block, with \":port\" or nothing behind them"

static const struct {
    const char *text, *reason;
} refused[] = {
    {"", "it is empty"},
    {"*", "all addresses are 0.0.0.0/0 and ::/0"},
    {"example.com", NONE},
    {"http://192.0.2.7", NONE},
    {" 192.0.2.7", NONE},
    {"192.0.2.7\n", NONE},
    {"256.0.0.1", NONE},
    {"1.2.3.4.5", NONE},
    {"/24", NONE},
    {".", NONE},
    {"fe80::1%eth0", NONE},
    {"[fe80::1%eth0]:80", NONE},
    {"example.com/24", NONE},
    {"2001:db8:::/32", NONE},
    {"10/8", DOTTED},
    {"10.0/8", DOTTED},
    {"010.0.0.0/8", DOTTED},
    {"0xa.0.0.0/8", DOTTED},
    {"192.0.2.0/", V4_LENGTH},
    {"192.0.2.0/33", V4_LENGTH},
    {"192.0.2.0/024", V4_LENGTH},
    {"192.0.2.0/-1", V4_LENGTH},
    {"192.0.2.0/+8", V4_LENGTH},
    {"192.0.2.0/24/8", V4_LENGTH},
    {"192.0.2.0/255.255.255.0", V4_LENGTH},
    {"192.0.2.0/4294967320", V4_LENGTH},
    {"2001:db8::/129", V6_LENGTH},
    {"2001:db8::/", V6_LENGTH},
    {"2001:db8::/1000", V6_LENGTH},
    {"192.0.2.7/24", SET "192.0.2.0/24?"},
    {"192.0.2.7/0", SET "0.0.0.0/0?"},
    {"192.0.2.7/24:443", SET "192.0.2.0/24?"},
    {"2001:db8::7/32", SET "2001:db8::/32?"},
    {"::ffff:0:0/95", SET "::fffe:0:0/95?"},
    {"192.0.2.7:", PORT},
    {"192.0.2.7:0", PORT},
    {"192.0.2.7:65536", PORT},
    {"192.0.2.7:080", PORT},
    {"192.0.2.7:443/24", PORT},
    {"[2001:db8::7]:", PORT},
    {"[2001:db8::]/32", "the prefix length stands inside the brackets: [2001:db8::/32]"},
    {"2001:db8::/32:443", "an IPv6 block with a port is written in brackets: [2001:db8::/32]:443"},
    {"[2001:db8::7", BRACKETS},
    {"[2001:db8::7]x", BRACKETS},
    {"[192.0.2.7]", BRACKETS},
    {"[192.0.2.0/24]:80", BRACKETS},
    {"[]", BRACKETS},
};

static void accepts(const char *text, const char *address, unsigned prefix, int port) {
    struct address_pattern pattern;
    struct error err = {0};
    if (!ok(address_pattern_parse(text, &pattern, &err) == 0, "%s is an entry", text)) {
        diag("reason", err.text);
        return;
    }
    char shown[IP_ADDRESS_TEXT];
    ip_address_format(pattern.block.address, shown);
    is_str(shown, address, "and has its address");
    is_int(pattern.block.prefix, prefix, "and its prefix");
    is_int(pattern.port, port, "and its port");
}

static void refuses(const char *text, const char *reason) {
    struct address_pattern pattern, before;
    memset(&pattern, 0x5a, sizeof pattern);
    memset(&before, 0x5a, sizeof before);
    struct error err = {0};
    bool untouched = address_pattern_parse(text, &pattern, &err) == -1 && err.kind == ERROR_OPTIONS &&
                     memcmp(&pattern, &before, sizeof pattern) == 0;
    if (!ok(untouched && strcmp(err.text, reason) == 0, "%s: %s", text, reason))
        diag("got", err.text);
}

/* Every prefix of an address: the block holds what agrees in so many bits, and nothing else. */
static void holds_what_agrees(const char *text, unsigned from) {
    uint8_t address[IP_ADDRESS_BYTES];
    if (strchr(text, ':') != NULL)
        ip_address_parse_v6(text, strlen(text), address);
    else
        ip_address_parse_v4(text, strlen(text), address);
    bool right = true;
    for (unsigned prefix = from; prefix <= ADDRESS_BLOCK_ONE; prefix++) {
        char written[IP_ADDRESS_TEXT + 8];
        snprintf(written, sizeof written, "%s/%u", text, prefix - from);
        struct address_block block;
        right = right && address_block_parse(written, strlen(written), &block) && block.prefix == prefix &&
                address_block_contains(&block, address);
        for (unsigned bit = from; bit < ADDRESS_BLOCK_ONE; bit++) {
            uint8_t other[IP_ADDRESS_BYTES];
            memcpy(other, address, sizeof other);
            other[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
            right = right && address_block_contains(&block, other) == (bit >= prefix);
        }
    }
    ok(right, "blocks around %s hold what agrees with their prefix", text);
}

static void families_are_apart(void) {
    struct address_block all_v4, all_v6;
    uint8_t v4[IP_ADDRESS_BYTES], v6[IP_ADDRESS_BYTES];
    ok(address_block_parse("0.0.0.0/0", 9, &all_v4) && address_block_parse("::/0", 4, &all_v6) &&
           ip_address_parse_v4("192.0.2.7", 9, v4) && ip_address_parse_v6("2001:db8::7", 11, v6),
       "both families are read");
    ok(address_block_contains(&all_v4, v4) && !address_block_contains(&all_v4, v6), "0.0.0.0/0 is IPv4");
    ok(!address_block_contains(&all_v6, v4) && address_block_contains(&all_v6, v6), "::/0 is IPv6");
}

int main(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++)
        accepts(accepted[i].text, accepted[i].address, accepted[i].prefix, accepted[i].port);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        refuses(refused[i].text, refused[i].reason);
    holds_what_agrees("192.0.2.7", 96);
    holds_what_agrees("2001:db8:5a5a::a5a5:7", 0);
    families_are_apart();
    return done_testing();
}
