#include "policy/network_rules.h"

#include <stdlib.h>

#include "tap.h"

#define TEN "aaaaaaaaaa"
#define LABEL63 TEN TEN TEN TEN TEN TEN "aaa"
#define NAME_253 LABEL63 "." LABEL63 "." LABEL63 "." TEN TEN TEN TEN TEN TEN "a"

#define TEXT(text) text, sizeof(text) - 1

static const struct {
    const char *host;
    size_t length;
    const char *shown; /* NULL: no host */
} hosts[] = {
    {TEXT("example.com"), "example.com"},
    {TEXT("EXAMPLE.Com."), "example.com"},
    {TEXT("localhost"), "localhost"},
    {TEXT("a"), "a"},
    {TEXT("a_b-c.example.com"), "a_b-c.example.com"},
    {TEXT("xn--BCHER-kva.example.com"), "xn--bcher-kva.example.com"},
    {TEXT(NAME_253), NAME_253},
    {TEXT(NAME_253 "."), NAME_253},
    {TEXT("192.0.2.7"), "192.0.2.7"},
    {TEXT("192.0.2.7."), "192.0.2.7"},
    {TEXT("2130706433"), "127.0.0.1"},
    {TEXT("0x7f.1"), "127.0.0.1"},
    {TEXT("0177.0.0.1"), "127.0.0.1"},
    {TEXT("127.1"), "127.0.0.1"},
    {TEXT("0"), "0.0.0.0"},
    {TEXT("::1"), "::1"},
    {TEXT("[::1]"), "::1"},
    {TEXT("[2001:DB8:0::7]"), "2001:db8::7"},
    {TEXT("::ffff:7f00:1"), "127.0.0.1"},
    {TEXT("[::ffff:127.0.0.1]"), "127.0.0.1"},
    {TEXT("1.2.3.4.example.com"), "1.2.3.4.example.com"},
    {TEXT(""), NULL},
    {TEXT("."), NULL},
    {TEXT(".."), NULL},
    {TEXT("example.com.."), NULL},
    {TEXT(".example.com"), NULL},
    {TEXT("example..com"), NULL},
    {TEXT("example.com\0"), NULL},
    {TEXT("example.com\0.evil.example"), NULL},
    {TEXT("\0"), NULL},
    {TEXT("127.0.0.1\0"), NULL},
    {TEXT("::1\0"), NULL},
    {TEXT("[::1\0]"), NULL},
    {TEXT("example.com\r"), NULL},
    {TEXT("example.com\n"), NULL},
    {TEXT("exa mple.com"), NULL},
    {TEXT(" example.com"), NULL},
    {TEXT("example.com%00"), NULL},
    {TEXT("%65xample.com"), NULL},
    {TEXT("user@example.com"), NULL},
    {TEXT("example.com/"), NULL},
    {TEXT("example.com\\"), NULL},
    {TEXT("example.com?"), NULL},
    {TEXT("example.com#"), NULL},
    {TEXT("example.com:80"), NULL},
    {TEXT("*.example.com"), NULL},
    {TEXT("*"), NULL},
    {TEXT("b\xc3\xbc"
          "cher.example.com"),
     NULL},
    {TEXT("example\xe3\x80\x82"
          "com"),
     NULL},
    {TEXT("\xef\xbc\x91.1.1.1"), NULL},
    {TEXT(LABEL63 "a.example.com"), NULL},
    {TEXT(NAME_253 "a"), NULL},
    {TEXT("256.0.0.1"), NULL},
    {TEXT("1.2.3.4.5"), NULL},
    {TEXT("4294967296"), NULL},
    {TEXT("08.0.0.1"), NULL},
    {TEXT("example.1"), NULL},
    {TEXT("1..2"), NULL},
    {TEXT("[]"), NULL},
    {TEXT("["), NULL},
    {TEXT("[::1"), NULL},
    {TEXT("::1]"), NULL},
    {TEXT("[::1]x"), NULL},
    {TEXT("[[::1]]"), NULL},
    {TEXT("[127.0.0.1]"), NULL},
    {TEXT("[example.com]"), NULL},
    {TEXT("[::1%lo]"), NULL},
    {TEXT("fe80::1%eth0"), NULL},
    {TEXT("[::1%25lo]"), NULL},
    {TEXT("[v1.fe80::a]"), NULL},
    {TEXT(":"), NULL},
    {TEXT(":::"), NULL},
    {TEXT("1:2:3:4:5:6:7:8:9"), NULL},
    {TEXT("::ffff:0177.0.0.1"), NULL},
};

/* From a block of exactly its size: an over-read is seen by the sanitizer. */
static int parse(const char *host, size_t length, uint16_t port, struct network_target *out) {
    char *exact = malloc(length == 0 ? 1 : length);
    if (exact == NULL)
        abort();
    memcpy(exact, host, length);
    int result = network_target_parse(exact, length, port, out);
    free(exact);
    return result;
}

static void reads(const char *host, size_t length, const char *shown) {
    struct network_target target, before;
    memset(&target, 0x5a, sizeof target);
    memcpy(&before, &target, sizeof target);
    int result = parse(host, length, 80, &target);
    if (shown == NULL) {
        ok(result == -1 && memcmp(&target, &before, sizeof target) == 0, "%.40s is no host", host);
        return;
    }
    char text[DOMAIN_NAME_MAX + 1] = "";
    if (ok(result == 0 && target.port == 80, "%.40s is a host", host))
        network_target_host(&target, text);
    is_str(text, shown, "and is shown in one way");
    bool address = network_target_is_address(&target);
    uint8_t again[IP_ADDRESS_BYTES];
    bool reads_back = strchr(shown, ':') != NULL ? ip_address_parse_v6(shown, strlen(shown), again)
                                                 : ip_address_parse_dotted(shown, strlen(shown), again);
    ok(address == reads_back, "and is an address where that is one");
}

static void compares(void) {
    static const struct {
        const char *a, *b;
        uint16_t port;
        bool equal;
    } pairs[] = {
        {"example.com", "EXAMPLE.com.", 80, true}, {"example.com", "example.com", 81, false},
        {"example.com", "example.org", 80, false}, {"127.1", "[::ffff:127.0.0.1]", 80, true},
        {"127.0.0.1", "127.0.0.2", 80, false},     {"::1", "127.0.0.1", 80, false},
        {"example.com", "192.0.2.7", 80, false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct network_target a = {0}, b = {0};
        parse(pairs[i].a, strlen(pairs[i].a), 80, &a);
        parse(pairs[i].b, strlen(pairs[i].b), pairs[i].port, &b);
        ok(network_target_equal(&a, &b) == pairs[i].equal, "%s:80 and %s:%d are %s", pairs[i].a, pairs[i].b,
           pairs[i].port, pairs[i].equal ? "the same" : "different");
    }
}

int main(void) {
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        reads(hosts[i].host, hosts[i].length, hosts[i].shown);
    compares();
    return done_testing();
}
