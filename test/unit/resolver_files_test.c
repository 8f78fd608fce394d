#include "policy/resolver_files.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* Each is joined by spaces. */
static const struct {
    const char *text, *loopback, *search;
} resolvers[] = {
    {"", "127.0.0.1", ""},
    {"\n\n", "127.0.0.1", ""},
    {"# nameserver 192.0.2.1\n; nameserver 192.0.2.1\n", "127.0.0.1", ""},
    {"nameserver 192.0.2.1\n", "", ""},
    {"nameserver 127.0.0.53", "127.0.0.53", ""},
    {"nameserver 127.0.0.53\r\n", "127.0.0.53", ""},
    {"nameserver\t 127.0.0.53 # stub\n", "127.0.0.53", ""},
    {"nameserver 127.0.0.53#stub\n", "127.0.0.53", ""},
    {"nameserver 127.1\n", "127.0.0.1", ""},
    {"nameserver ::1\nnameserver 127.0.0.2\n", "::1 127.0.0.2", ""},
    {"nameserver ::1%lo\nnameserver fe80::1%eth0\n", "::1", ""},
    {"nameserver ::ffff:127.0.0.1\n", "127.0.0.1", ""},
    {"nameserver 0.0.0.0\nnameserver ::\n", "127.0.0.1 ::1", ""},
    {"nameserver 127.0.0.1\nnameserver 127.0.0.1\n", "127.0.0.1", ""},
    {"nameserver 127.0.0.1\nnameserver 127.0.0.2\nnameserver 127.0.0.3\nnameserver 127.0.0.4\n",
     "127.0.0.1 127.0.0.2 127.0.0.3", ""},
    {"nameserver 192.0.2.1\nnameserver 127.0.0.2\n", "127.0.0.2", ""},
    {"nameserver bad\n", "127.0.0.1", ""},
    {"nameserver\n", "127.0.0.1", ""},
    {" nameserver 192.0.2.1\n", "127.0.0.1", ""},
    {"nameservers 192.0.2.1\n", "127.0.0.1", ""},
    {"nameserver 192.0.2.1 127.0.0.1\n", "", ""},
    {"search example.com Corp.Example.COM. a..b .\n", "127.0.0.1", "example.com corp.example.com"},
    {"search a.example.com b.example.com\nsearch c.example.com\n", "127.0.0.1", "c.example.com"},
    {"search a.example.com\ndomain b.example.com c.example.com\n", "127.0.0.1", "b.example.com"},
    {"domain b.example.com\nsearch a.example.com c.example.com\n", "127.0.0.1",
     "a.example.com c.example.com"},
    {"search\n", "127.0.0.1", ""},
    {"options ndots:5 edns0\nsortlist 192.0.2.0\nsearch example.com", "127.0.0.1", "example.com"},
};

static const struct {
    const char *text, *address, *names;
} hosts[] = {
    {"127.0.0.1 localhost\n192.0.2.7 a.example.com A b\n", "192.0.2.7", "a.example.com a b"},
    {"192.0.2.7 a.example.com\n192.0.2.7 b.example.com.", "192.0.2.7", "a.example.com b.example.com"},
    {"192.0.2.7\ta.example.com # b.example.com\n", "192.0.2.7", "a.example.com"},
    {"192.0.2.7 a.example.com#b\r\n", "192.0.2.7", "a.example.com"},
    {"  192.0.2.7   a.example.com\n", "192.0.2.7", "a.example.com"},
    {"#192.0.2.7 a.example.com\n", "192.0.2.7", ""},
    {"192.0.2.7\n", "192.0.2.7", ""},
    {"192.0.2.7 bad..name b\xc3\xbc good\n", "192.0.2.7", "good"},
    {"192.0.2.77 a.example.com\n", "192.0.2.7", ""},
    {"2001:db8::7 a.example.com\n", "2001:DB8:0::7", "a.example.com"},
    {"::ffff:192.0.2.7 a.example.com\n", "192.0.2.7", "a.example.com"},
    {"fe80::7%eth0 a.example.com\n", "fe80::7", "a.example.com"},
    {"192.519 a.example.com\n0300.0.2.7 a.example.com\n", "192.0.2.7", ""},
    {"example.com 192.0.2.7\n", "192.0.2.7", ""},
    {"", "192.0.2.7", ""},
};

/* What is left of a file for those who look for an address. */
static const struct {
    const char *text, *left;
} shortened[] = {
    {"", ""},
    {"# nothing\n\n", ""},
    {"127.0.0.1 localhost\n::1 localhost\n192.0.2.7 a # b\n", "192.0.2.7 a # b\n"},
    {"192.0.2.7 a\n0.0.0.0 ads.example.net\n2001:db8::7 b", "192.0.2.7 a\n2001:db8::7 b"},
    {"bad a\n192.0.2.7 a\nfe80::7%eth0 b\n", "192.0.2.7 a\n"},
    {"10.0.0.7\n", "10.0.0.7\n"},
};

static void joined(const struct strvec *vec, char *out) {
    *out = '\0';
    for (size_t i = 0; i < vec->count; i++)
        sprintf(out + strlen(out), "%s%s", i == 0 ? "" : " ", vec->items[i]);
}

/* A block of exactly its size: an over-read is seen by the sanitizer. */
static char *exact_copy(const char *text) {
    size_t size = strlen(text);
    char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        abort();
    memcpy(copy, text, size);
    return copy;
}

static void reads_resolvers(const char *text, const char *loopback, const char *search) {
    char *copy = exact_copy(text);
    struct resolver_file file;
    ok(resolver_file_parse(copy, strlen(text), &file) == 0, "a resolv.conf is read");
    char shown[256] = "";
    for (size_t i = 0; i < file.loopback_count; i++) {
        char address[IP_ADDRESS_TEXT];
        ip_address_format(file.loopback[i], address);
        sprintf(shown + strlen(shown), "%s%s", i == 0 ? "" : " ", address);
    }
    bool right = is_str(shown, loopback, "its resolvers on loopback are known");
    joined(&file.search, shown);
    right = is_str(shown, search, "and its search domains") && right;
    if (!right)
        diag("file", text);
    resolver_file_clear(&file);
    free(copy);
}

static void reads_hosts(const char *text, const char *host, const char *names) {
    char *copy = exact_copy(text);
    uint8_t address[IP_ADDRESS_BYTES];
    if (strchr(host, ':') != NULL)
        ip_address_parse_v6(host, strlen(host), address);
    else
        ip_address_parse_v4(host, strlen(host), address);
    struct strvec found = {0};
    ok(hosts_file_names(copy, strlen(text), address, &found) == 0, "a hosts file is read");
    char shown[256];
    joined(&found, shown);
    if (!is_str(shown, names, "and gives the address its names"))
        diag("file", text);
    strvec_clear(&found);
    free(copy);
}

static void bytes_are_bytes(void) {
    static const char text[] = "nameserver 127.0.0.1\0x\nsearch a\0b c\n\0\n";
    struct resolver_file file;
    ok(resolver_file_parse(text, sizeof text - 1, &file) == 0 && file.search.count == 1 &&
           strcmp(file.search.items[0], "c") == 0,
       "a NUL is no end and no name");
    is_int((long long)file.loopback_count, 1, "and no address: the default counts");
    resolver_file_clear(&file);
}

static void shortens(const char *text, const char *left) {
    char *copy = exact_copy(text);
    size_t size = hosts_file_shorten(copy, strlen(text));
    if (!ok(size == strlen(left) && memcmp(copy, left, size) == 0,
            "what no name can open is taken out of a hosts file"))
        diag("file", text);
    free(copy);
}

int main(void) {
    for (size_t i = 0; i < sizeof resolvers / sizeof resolvers[0]; i++)
        reads_resolvers(resolvers[i].text, resolvers[i].loopback, resolvers[i].search);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        reads_hosts(hosts[i].text, hosts[i].address, hosts[i].names);
    for (size_t i = 0; i < sizeof shortened / sizeof shortened[0]; i++)
        shortens(shortened[i].text, shortened[i].left);
    is_int((long long)hosts_file_shorten(NULL, 0), 0, "nothing is as short as it gets");
    bytes_are_bytes();
    return done_testing();
}
