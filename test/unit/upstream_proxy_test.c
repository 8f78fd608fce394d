#include "policy/upstream_proxy.h"

#include <stdlib.h>

#include "tap.h"

static const struct {
    const char *url, *host;
    uint16_t port;
    const char *authorization;
} accepted[] = {
    {"http://proxy.example.com:3128", "proxy.example.com", 3128, NULL},
    {"http://proxy.example.com:3128/", "proxy.example.com", 3128, NULL},
    {"HTTP://Proxy.Example.COM.", "proxy.example.com", 80, NULL},
    {"http://proxy.example.com:", "proxy.example.com", 80, NULL},
    {"proxy.example.com:3128", "proxy.example.com", 3128, NULL},
    {"localhost:3128", "localhost", 3128, NULL},
    {"http://192.0.2.7", "192.0.2.7", 80, NULL},
    {"0xc0000207:8080", "192.0.2.7", 8080, NULL},
    {"http://[2001:DB8::7]:3128", "2001:db8::7", 3128, NULL},
    {"http://[2001:db8::7]", "2001:db8::7", 80, NULL},
    {"[::1]:3128", "::1", 3128, NULL},
    {"http://user:secret@proxy.example.com:3128", "proxy.example.com", 3128, "Basic dXNlcjpzZWNyZXQ="},
    {"user:secret@proxy.example.com:3128", "proxy.example.com", 3128, "Basic dXNlcjpzZWNyZXQ="},
    {"http://user@proxy.example.com", "proxy.example.com", 80, "Basic dXNlcjo="},
    {"http://user:@proxy.example.com", "proxy.example.com", 80, "Basic dXNlcjo="},
    {"http://:p@proxy.example.com", "proxy.example.com", 80, "Basic OnA="},
    {"http://@proxy.example.com", "proxy.example.com", 80, "Basic Og=="},
    {"http://us%65r:p%40%3a%2Fss@proxy.example.com", "proxy.example.com", 80, "Basic dXNlcjpwQDovc3M="},
    {"http://user:p@ss@proxy.example.com", "proxy.example.com", 80, "Basic dXNlcjpwQHNz"},
    {"http://user:a:b@proxy.example.com", "proxy.example.com", 80, "Basic dXNlcjphOmI="},
    {"http://user:%ff%00%0a@proxy.example.com", "proxy.example.com", 80, "Basic dXNlcjr/AAo="},
};

#define SCHEME "the connection to the proxy is plain HTTP: http://host:port"
#define NO_PATH "a proxy has no path; in a password \"/\" is written %2F"
#define HOST "the host is neither a name nor an address"
#define PORT "a port is a whole number from 1 to 65535; an IPv6 address stands in brackets"
#define NO_PORT "there is no port: write http://host:port or host:port"
#define PERCENT "a \"%\" in a user name or password is written %25"

static const struct {
    const char *url, *reason;
} refused[] = {
    {"https://proxy.example.com", SCHEME},
    {"socks5://proxy.example.com:1080", SCHEME},
    {"ftp://x", SCHEME},
    {"://proxy.example.com", SCHEME},
    {"http://", "there is no host"},
    {"", "there is no host"},
    {":3128", "there is no host"},
    {"http://user@", "there is no host"},
    {"proxy.example.com", NO_PORT},
    {"dirct", NO_PORT},
    {"proxy.example.com:", PORT},
    {"http://proxy.example.com:0", PORT},
    {"http://proxy.example.com:65536", PORT},
    {"http://proxy.example.com:3128x", PORT},
    {"http://2001:db8::7", PORT},
    {"http://proxy.example.com/x", NO_PATH},
    {"http://proxy.example.com/?x", NO_PATH},
    {"http://proxy.example.com?x", NO_PATH},
    {"http://proxy.example.com#x", NO_PATH},
    {"http://user:a/b@proxy.example.com", NO_PATH},
    {"http://proxy example.com", HOST},
    {"http://proxy..example.com", HOST},
    {"http://[2001:db8::7", HOST},
    {"http://[2001:db8::7]x:80", HOST},
    {"http://prox%79.example.com", HOST},
    {"http://pr\xc3\xb6xy.example.com", HOST},
    {"http://user%3a:x@proxy.example.com", "a user name has no \":\""},
    {"http://user%:x@proxy.example.com", PERCENT},
    {"http://user:x%4@proxy.example.com", PERCENT},
    {"http://user:%zz@proxy.example.com", PERCENT},
};

static void accepts(const char *url, const char *host, uint16_t port, const char *authorization) {
    struct upstream_proxy proxy = {0};
    struct error err = {0};
    if (!ok(upstream_proxy_parse(url, &proxy, &err) == 0, "%s is a proxy", url)) {
        diag("reason", err.text);
        return;
    }
    is_str(proxy.host, host, "with its host");
    is_int(proxy.port, port, "and its port");
    is_str(proxy.authorization, authorization, "and its credentials");
    upstream_proxy_clear(&proxy);
    ok(proxy.authorization == NULL && proxy.host[0] == '\0', "and is cleared");
}

static void refuses(const char *url, const char *reason) {
    struct upstream_proxy proxy = {0};
    struct error err = {0};
    int result = upstream_proxy_parse(url, &proxy, &err);
    if (!ok(result == -1 && err.kind == ERROR_OPTIONS && strcmp(err.text, reason) == 0, "%s: %s", url,
            reason))
        diag("got", err.text);
    upstream_proxy_clear(&proxy);
}

static const struct {
    const char *except, *host;
    uint16_t port;
    bool direct;
} exceptions[] = {
    {NULL, "example.com", 443, false},
    {NULL, "localhost", 80, true},
    {NULL, "127.0.0.1", 80, true},
    {NULL, "127.9.9.9", 80, true},
    {NULL, "::1", 80, true},
    {NULL, "10.0.0.1", 80, false},
    {"", "example.com", 443, false},
    {" , ,", "example.com", 443, false},
    {"*", "example.com", 443, true},
    {"*", "192.0.2.7", 443, true},
    {"example.com", "example.com", 443, true},
    {"EXAMPLE.com.", "example.com", 443, true},
    {"example.com", "a.example.com", 443, true},
    {".example.com", "a.b.example.com", 443, true},
    {".example.com", "example.com", 443, true},
    {"*.example.com", "a.example.com", 443, true},
    {"example.com", "evilexample.com", 443, false},
    {"example.com", "example.com.evil.example", 443, false},
    {"a.example.com", "example.com", 443, false},
    {"x.example.org, example.com", "example.com", 443, true},
    {"x.example.org example.com\tother", "example.com", 443, true},
    {"example.com:443", "example.com", 443, true},
    {"example.com:443", "example.com", 80, false},
    {"example.com:", "example.com", 443, false},
    {"*:443", "example.com", 443, true},
    {"*:443", "example.com", 80, false},
    {"192.0.2.7", "192.0.2.7", 443, true},
    {"192.0.2.7", "0xc0000207", 443, true},
    {"192.0.2.7", "192.0.2.77", 443, false},
    {"192.0.2.7:443", "192.0.2.7", 443, true},
    {"192.0.2.7:443", "192.0.2.7", 80, false},
    {"192.0.2.9/24", "192.0.2.200", 443, true},
    {"192.0.2.0/24", "192.0.3.1", 443, false},
    {"192.0.2.0/24:443", "192.0.2.1", 80, false},
    {"192.0.2.0/24:443", "192.0.2.1", 443, true},
    {"2001:db8::/32", "2001:db8::7", 443, true},
    {"2001:db8::7", "2001:db8::7", 443, true},
    {"[2001:db8::7]", "2001:db8::7", 443, true},
    {"[2001:db8::7]:443", "2001:db8::7", 443, true},
    {"[2001:db8::7]:443", "2001:db8::7", 80, false},
    {"[2001:db8::/32]:443", "2001:db8::9", 443, true},
    {"2", "2.example.com", 443, false},
    {"[", "example.com", 443, false},
    {".", "example.com", 443, false},
    {"*.", "example.com", 443, false},
    {"192.0.2.7", "7", 443, false},
    {"[]:", "::1", 443, true},
};

static void excepts(const char *list, const char *host, uint16_t port, bool direct) {
    struct upstream_proxy proxy = {.except = list == NULL ? NULL : strdup(list)};
    struct network_target target = {0};
    network_target_parse(host, strlen(host), port, &target);
    ok(upstream_proxy_excepts(&proxy, &target) == direct, "NO_PROXY=%s: %s port %d is reached %s",
       list == NULL ? "(none)" : list, host, port, direct ? "directly" : "through the proxy");
    upstream_proxy_clear(&proxy);
}

int main(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++)
        accepts(accepted[i].url, accepted[i].host, accepted[i].port, accepted[i].authorization);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        refuses(refused[i].url, refused[i].reason);
    for (size_t i = 0; i < sizeof exceptions / sizeof exceptions[0]; i++)
        excepts(exceptions[i].except, exceptions[i].host, exceptions[i].port, exceptions[i].direct);
    return done_testing();
}
