#include "policy/domain_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define NAME DOMAIN_PATTERN_NAME
#define SUBDOMAINS DOMAIN_PATTERN_SUBDOMAINS
#define ANY DOMAIN_PATTERN_ANY
#define V4 DOMAIN_PATTERN_V4
#define V6 DOMAIN_PATTERN_V6

#define TEN "aaaaaaaaaa"
#define LABEL60 TEN TEN TEN TEN TEN TEN
#define LABEL63 LABEL60 "aaa"
#define NAME_192 LABEL63 "." LABEL63 "." LABEL63 "."
#define NAME_253 NAME_192 LABEL60 "a"

static const struct {
    const char *text;
    enum domain_pattern_kind kind;
    const char *name;
    int port;
} accepted[] = {
    {"example.com", NAME, "example.com", 0},
    {"EXAMPLE.Com", NAME, "example.com", 0},
    {"example.com.", NAME, "example.com", 0},
    {"example.com.:443", NAME, "example.com", 443},
    {"example.com:1", NAME, "example.com", 1},
    {"example.com:65535", NAME, "example.com", 65535},
    {"localhost", NAME, "localhost", 0},
    {"localhost:5432", NAME, "localhost", 5432},
    {"xn--bcher-kva.example.com", NAME, "xn--bcher-kva.example.com", 0},
    {"_dmarc.example.com", NAME, "_dmarc.example.com", 0},
    {"1e100.example.com", NAME, "1e100.example.com", 0},
    {"10.0.0.1.example.com", NAME, "10.0.0.1.example.com", 0},
    {"0xg", NAME, "0xg", 0},
    {LABEL63 ".example.com", NAME, LABEL63 ".example.com", 0},
    {NAME_253, NAME, NAME_253, 0},
    {NAME_253 ".", NAME, NAME_253, 0},
    {"*.example.com", SUBDOMAINS, "example.com", 0},
    {"*.Example.COM.:8443", SUBDOMAINS, "example.com", 8443},
    {"*.com", SUBDOMAINS, "com", 0},
    {"*", ANY, "", 0},
    {"*:443", ANY, "", 443},
    {"192.0.2.7", V4, "192.0.2.7", 0},
    {"192.0.2.7:80", V4, "192.0.2.7", 80},
    {"192.0.2.7.", V4, "192.0.2.7", 0},
    {"3221225991", V4, "192.0.2.7", 0},
    {"0xC0000207", V4, "192.0.2.7", 0},
    {"0300.0.02.7", V4, "192.0.2.7", 0},
    {"192.519", V4, "192.0.2.7", 0},
    {"192.0.519", V4, "192.0.2.7", 0},
    {"0xc0.0x0.0x2.0x7", V4, "192.0.2.7", 0},
    {"127.1", V4, "127.0.0.1", 0},
    {"0", V4, "0.0.0.0", 0},
    {"0x", V4, "0.0.0.0", 0},
    {"4294967295", V4, "255.255.255.255", 0},
    {"255.255.65535", V4, "255.255.255.255", 0},
    {"2001:db8::7", V6, "2001:db8::7", 0},
    {"[2001:DB8:0:0::7]", V6, "2001:db8::7", 0},
    {"[2001:db8::7]:443", V6, "2001:db8::7", 443},
    {"::", V6, "::", 0},
    {"::1", V6, "::1", 0},
    {"2001:db8::7:443", V6, "2001:db8::7:443", 0},
    {"::ffff:192.0.2.7", V4, "192.0.2.7", 0},
    {"[::ffff:c000:207]:80", V4, "192.0.2.7", 80},
};

#define SCHEME "schemes are not part of a pattern"
#define USER "user names and passwords are not part of a pattern"
#define PATHS "paths and address blocks are not part of a pattern"
#define SPACES "spaces and control characters are not part of a pattern"
#define LETTERS "write names with other letters than ASCII in their A-label form, xn--…"
#define PORT "a port is a whole number from 1 to 65535"
#define STAR_END "\"*\" cannot be the end of a name"
#define STAR_INSIDE "\"*\" stands alone or as the whole first label"
#define EMPTY_LABEL "a label is empty"
#define LONG_NAME "a name is not longer than 253 bytes"
#define LONG_LABEL "a label is longer than 63 bytes"
#define BYTES "a name has letters, digits, \"-\", \"_\" and dots only"
#define BRACKETS "brackets hold an IPv6 address, with \":port\" or nothing behind them"
#define NOT_V4 "it ends in a number and is not an IPv4 address"
#define NOT_V6 "it is not an IPv6 address"

static const struct {
    const char *text;
    const char *reason;
} refused[] = {
    {"", "it is empty"},
    {"http://example.com", SCHEME},
    {"https://user@example.com/x", SCHEME},
    {"https:example.com", PORT},
    {"user@example.com", USER},
    {"user:secret@example.com:80", USER},
    {"example.com/", PATHS},
    {"//example.com", PATHS},
    {"10.0.0.0/8", PATHS},
    {"example.com\\x", "paths are not part of a pattern"},
    {"example.com?x=1", "queries are not part of a pattern"},
    {"example.com#top", "fragments are not part of a pattern"},
    {"fe80::1%eth0", "zones and percent-encoding are not part of a pattern"},
    {"ex%61mple.com", "zones and percent-encoding are not part of a pattern"},
    {" example.com", SPACES},
    {"example.com\n", SPACES},
    {"example\x7f.com", SPACES},
    {"b\xc3\xbc"
     "cher.example.com",
     LETTERS},
    {"example\xe3\x80\x82"
     "com",
     LETTERS},
    {"\xff", LETTERS},
    {"example.*", STAR_END},
    {"*.*", STAR_END},
    {"**", STAR_END},
    {"example*", STAR_END},
    {"ex*mple.com", STAR_INSIDE},
    {"*example.com", STAR_INSIDE},
    {"**.example.com", STAR_INSIDE},
    {"*.*.example.com", STAR_INSIDE},
    {"www.*.example.com", STAR_INSIDE},
    {".", EMPTY_LABEL},
    {"..", EMPTY_LABEL},
    {".example.com", EMPTY_LABEL},
    {"example..com", EMPTY_LABEL},
    {"example.com..", EMPTY_LABEL},
    {"*.", STAR_END},
    {"*..", EMPTY_LABEL},
    {"*..example.com", EMPTY_LABEL},
    {LABEL63 "a.example.com", LONG_LABEL},
    {NAME_253 "a", LONG_NAME},
    {"*." NAME_253 "a", LONG_NAME},
    {"example.com:", PORT},
    {"example.com:0", PORT},
    {"example.com:65536", PORT},
    {"example.com:99999", PORT},
    {"example.com:4294967739", PORT},
    {"example.com:0443", PORT},
    {"example.com:-1", PORT},
    {"example.com:+80", PORT},
    {"example.com:80x", PORT},
    {"example.com:*", PORT},
    {"[::1]:", PORT},
    {"[::1]:0", PORT},
    {":80", "there is no name before the port"},
    {"a.example.com,b.example.com", BYTES},
    {"!example.com", BYTES},
    {"[::1", BRACKETS},
    {"[::1]x", BRACKETS},
    {"[192.0.2.7]", NOT_V6},
    {"[]", NOT_V6},
    {"[example.com]", NOT_V6},
    {"example.com:80:90", NOT_V6},
    {"1:2:3:4:5:6:7:8:9", NOT_V6},
    {"2001:db8:::7", NOT_V6},
    {"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb", NOT_V6},
    {"256.0.0.1", NOT_V4},
    {"1.2.3.256", NOT_V4},
    {"1.2.3.4.5", NOT_V4},
    {"1.2.65536", NOT_V4},
    {"1.16777216", NOT_V4},
    {"4294967296", NOT_V4},
    {"18446744073709551617", NOT_V4},
    {"0x100000000", NOT_V4},
    {"08", NOT_V4},
    {"1..2", NOT_V4},
    {"example.7", NOT_V4},
    {"example.0x7", NOT_V4},
    {"*.192.0.2.7", "an address has no subdomains"},
};

static void accepts(const char *text, enum domain_pattern_kind kind, const char *name, int port) {
    struct domain_pattern pattern;
    struct error err = {0};
    if (domain_pattern_parse(text, &pattern, &err) != 0) {
        ok(false, "%.60s is a pattern", text);
        diag("reason", err.text);
        return;
    }
    bool same = pattern.kind == kind && strcmp(pattern.name, name) == 0 && pattern.port == port;
    if (!ok(same, "%.60s is a pattern for \"%.60s\"", text, name))
        printf("#   kind %d name %s port %d\n", pattern.kind, pattern.name, pattern.port);
}

static void refuses(const char *text, const char *reason) {
    struct domain_pattern pattern, before;
    memset(&pattern, 0x5a, sizeof pattern);
    memset(&before, 0x5a, sizeof before);
    struct error err = {0};
    int result = domain_pattern_parse(text, &pattern, &err);
    bool untouched = memcmp(&pattern, &before, sizeof pattern) == 0;
    bool same = result == -1 && err.kind == ERROR_OPTIONS && strcmp(err.text, reason) == 0 && untouched;
    if (!ok(same, "refused: %s", reason)) {
        diag("pattern", text);
        diag("got", err.text);
    }
}

static void gives_the_address(const char *text, const uint8_t wanted[IP_ADDRESS_BYTES]) {
    struct domain_pattern pattern = {0};
    ok(domain_pattern_parse(text, &pattern, NULL) == 0 &&
           memcmp(pattern.address, wanted, IP_ADDRESS_BYTES) == 0,
       "%s gives its 16 bytes", text);
}

int main(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        accepts(accepted[i].text, accepted[i].kind, accepted[i].name, accepted[i].port);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        refuses(refused[i].text, refused[i].reason);

    static const uint8_t v4[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff, 192, 0, 2, 7};
    static const uint8_t v6[IP_ADDRESS_BYTES] = {0x20, 0x01, 0x0d, 0xb8, [15] = 7};
    static const uint8_t none[IP_ADDRESS_BYTES] = {0};
    gives_the_address("192.0.2.7", v4);
    gives_the_address("0300.519", v4);
    gives_the_address("::ffff:192.0.2.7", v4);
    gives_the_address("[2001:db8::7]:443", v6);
    gives_the_address("example.com", none);
    is_int(domain_pattern_parse("http://x", &(struct domain_pattern){0}, NULL), -1, "the error may be NULL");
    return done_testing();
}
