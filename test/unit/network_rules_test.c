#include "policy/network_rules.h"

#include <stdarg.h>
#include <stdlib.h>

#include "tap.h"

#define NOT_NAMED "not in network.allowedDomains"
#define NOT_LISTED "not in network.allowedIPs"
#define DENIED "in network.deniedDomains"
#define LOOPBACK "a loopback address"
#define METADATA "a metadata service"
#define LINK_LOCAL "a link-local address"
#define MULTICAST "a multicast address"
#define UNSPECIFIED "the unspecified address"
#define RESERVED "a reserved address"
#define ALLOWED "allowed"
#define ASKED "asked"

#define EVERYTHING "*,", "0.0.0.0/0,::/0", ""

/* Lists are separated by commas. */
static void fill(struct strvec *out, const char *list) {
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        if (length > 0 && strvec_push_owned(out, strndup(list, length)) != 0)
            abort();
        list += length + (list[length] == ',' ? 1 : 0);
    }
}

static struct network_rules *rules_of(const char *domains, const char *ips, const char *denied, bool ask) {
    struct network_options options = {.has_ask = ask};
    fill(&options.allowed_domains, domains);
    fill(&options.allowed_ips, ips);
    fill(&options.denied_domains, denied);
    struct network_rules *rules = network_rules_new(&options);
    strvec_clear(&options.allowed_domains);
    strvec_clear(&options.allowed_ips);
    strvec_clear(&options.denied_domains);
    if (rules == NULL)
        abort();
    return rules;
}

static struct network_target target_of(const char *host, uint16_t port) {
    struct network_target target = {0};
    if (network_target_parse(host, strlen(host), port, &target) != 0)
        ok(false, "%s is a host", host);
    return target;
}

static const char *verdict_of(const struct network_rules *rules, const char *host, uint16_t port) {
    struct network_target target = target_of(host, port);
    struct network_decision decision = network_rules_decide(rules, &target);
    if (decision.verdict == NETWORK_DENY)
        return decision.why;
    if (decision.why != NULL)
        return "a reason with no denial";
    return decision.verdict == NETWORK_ALLOW ? ALLOWED : ASKED;
}

static const struct {
    const char *domains, *ips, *denied;
    const char *host;
    uint16_t port;
    const char *verdict;
    bool ask;
} decisions[] = {
    /* nothing given, nothing allowed */
    {"", "", "", "example.com", 443, NOT_NAMED, false},
    {"", "", "", "192.0.2.7", 443, NOT_LISTED, false},
    {"", "", "", "2001:db8::7", 443, NOT_LISTED, false},
    {"", "", "", "127.0.0.1", 443, LOOPBACK, false},
    {"", "", "", "localhost", 443, LOOPBACK, false},
    /* a name is that name only */
    {"example.com", "", "", "example.com", 443, ALLOWED, false},
    {"example.com", "", "", "EXAMPLE.com.", 443, ALLOWED, false},
    {"Example.COM.", "", "", "example.com", 1, ALLOWED, false},
    {"example.com", "", "", "www.example.com", 443, NOT_NAMED, false},
    {"example.com", "", "", "evilexample.com", 443, NOT_NAMED, false},
    {"example.com", "", "", "example.com.evil.example", 443, NOT_NAMED, false},
    {"example.com", "", "", "example.co", 443, NOT_NAMED, false},
    {"example.com", "", "", "com", 443, NOT_NAMED, false},
    {"xn--bcher-kva.example.com", "", "", "XN--bcher-kva.example.com", 443, ALLOWED, false},
    {"a_b.example.com", "", "", "a_b.example.com", 443, ALLOWED, false},
    {"a_b.example.com", "", "", "a-b.example.com", 443, NOT_NAMED, false},
    /* "*.": any depth below, not the name itself */
    {"*.example.com", "", "", "www.example.com", 443, ALLOWED, false},
    {"*.example.com", "", "", "a.b.c.example.com", 443, ALLOWED, false},
    {"*.example.com", "", "", "example.com", 443, NOT_NAMED, false},
    {"*.example.com", "", "", "evilexample.com", 443, NOT_NAMED, false},
    {"*.example.com", "", "", "www.example.com.evil.example", 443, NOT_NAMED, false},
    {"*.com", "", "", "example.com", 443, ALLOWED, false},
    {"*.com", "", "", "com", 443, NOT_NAMED, false},
    /* "*": every name, no address */
    {"*", "", "", "example.com", 443, ALLOWED, false},
    {"*", "", "", "intranet", 443, ALLOWED, false},
    {"*", "", "", "192.0.2.7", 443, NOT_LISTED, false},
    {"*", "", "", "2001:db8::7", 443, NOT_LISTED, false},
    {"*", "", "", "localhost", 443, LOOPBACK, false},
    {"*,*.localhost", "", "", "app.localhost", 443, LOOPBACK, false},
    {"app.localhost", "", "", "app.localhost", 443, LOOPBACK, false},
    {"localhost:5432", "", "", "a.b.localhost", 5432, ALLOWED, false},
    {"*", "", "", "notlocalhost", 443, ALLOWED, false},
    /* ports */
    {"example.com:443", "", "", "example.com", 443, ALLOWED, false},
    {"example.com:443", "", "", "example.com", 80, NOT_NAMED, false},
    {"*.example.com:443", "", "", "a.example.com", 444, NOT_NAMED, false},
    {"*:443", "", "", "example.com", 443, ALLOWED, false},
    {"*:443", "", "", "example.com", 22, NOT_NAMED, false},
    {"example.com:80,example.com:443", "", "", "example.com", 443, ALLOWED, false},
    {"example.com:80,example.com", "", "", "example.com", 443, ALLOWED, false},
    /* addresses, in both lists and every spelling */
    {"192.0.2.7", "", "", "192.0.2.7", 443, ALLOWED, false},
    {"192.0.2.7", "", "", "192.0.2.8", 443, NOT_LISTED, false},
    {"0xC0.0.519", "", "", "3221225991", 443, ALLOWED, false},
    {"192.0.2.7", "", "", "0300.0.02.07", 443, ALLOWED, false},
    {"192.0.2.7", "", "", "[::ffff:c000:207]", 443, ALLOWED, false},
    {"192.0.2.7", "", "", "::ffff:192.0.2.7", 443, ALLOWED, false},
    {"192.0.2.7", "", "", "64:ff9b::c000:207", 443, NOT_LISTED, false},
    {"192.0.2.7:80", "", "", "192.0.2.7", 443, NOT_LISTED, false},
    {"[2001:db8::7]:443", "", "", "2001:DB8:0::7", 443, ALLOWED, false},
    {"[2001:db8::7]:443", "", "", "2001:db8::7", 80, NOT_LISTED, false},
    {"", "192.0.2.7", "", "192.0.2.7", 22, ALLOWED, false},
    {"", "192.0.2.7:22", "", "192.0.2.7", 23, NOT_LISTED, false},
    {"", "192.0.2.0/24", "", "192.0.2.255", 22, ALLOWED, false},
    {"", "192.0.2.0/24", "", "192.0.3.0", 22, NOT_LISTED, false},
    {"", "192.0.2.0/25", "", "192.0.2.128", 22, NOT_LISTED, false},
    {"", "192.0.2.0/31", "", "192.0.2.1", 22, ALLOWED, false},
    {"", "192.0.2.0/31", "", "192.0.2.2", 22, NOT_LISTED, false},
    {"", "192.0.2.0/24:443", "", "192.0.2.9", 443, ALLOWED, false},
    {"", "192.0.2.0/24:443", "", "192.0.2.9", 80, NOT_LISTED, false},
    {"", "2001:db8::/32", "", "2001:db8:ffff::1", 22, ALLOWED, false},
    {"", "2001:db8::/32", "", "2001:db9::1", 22, NOT_LISTED, false},
    {"", "2001:db8:8000::/33", "", "2001:db8:7fff::1", 22, NOT_LISTED, false},
    {"", "[2001:db8::/32]:443", "", "2001:db8::1", 443, ALLOWED, false},
    {"", "[2001:db8::/32]:443", "", "2001:db8::1", 80, NOT_LISTED, false},
    {"", "0.0.0.0/0", "", "198.51.100.1", 22, ALLOWED, false},
    {"", "0.0.0.0/0", "", "10.0.0.1", 22, ALLOWED, false},
    {"", "0.0.0.0/0", "", "2001:db8::7", 22, NOT_LISTED, false},
    {"", "::/0", "", "2001:db8::7", 22, ALLOWED, false},
    {"", "::/0", "", "198.51.100.1", 22, NOT_LISTED, false},
    {"", "0.0.0.0/0", "", "example.com", 22, NOT_NAMED, false},
    /* denied beats allowed */
    {"*", "", "bad.example.com", "bad.example.com", 443, DENIED, false},
    {"*", "", "bad.example.com", "BAD.example.com.", 443, DENIED, false},
    {"*", "", "bad.example.com", "a.bad.example.com", 443, ALLOWED, false},
    {"*", "", "*.example.com", "a.b.example.com", 443, DENIED, false},
    {"a.example.com", "", "*.example.com", "a.example.com", 443, DENIED, false},
    {"a.example.com", "", "*", "a.example.com", 443, DENIED, false},
    {"a.example.com", "", "*:25", "a.example.com", 25, DENIED, false},
    {"a.example.com", "", "*:25", "a.example.com", 443, ALLOWED, false},
    {"", "192.0.2.0/24", "*", "192.0.2.1", 443, ALLOWED, false},
    {"", "192.0.2.0/24", "192.0.2.7", "192.0.2.7", 443, DENIED, false},
    {"", "192.0.2.0/24", "192.0.2.7", "0xc0000207", 443, DENIED, false},
    {"", "192.0.2.0/24", "192.0.2.7:25", "192.0.2.7", 443, ALLOWED, false},
    {"", "192.0.2.0/24", "192.0.2.7:25", "192.0.2.7", 25, DENIED, false},
    {"", "::/0", "192.0.2.7", "64:ff9b::c000:207", 443, DENIED, false},
    {"", "::/0", "192.0.2.7", "2002:c000:207::1", 443, DENIED, false},
    {"", "::/0", "192.0.2.7", "64:ff9b::c000:208", 443, ALLOWED, false},
    {"", "", "example.com", "example.com", 443, DENIED, true},
    /* asking: what neither list decides, and never about special addresses */
    {"", "", "", "example.com", 443, ASKED, true},
    {"", "", "", "192.0.2.7", 443, ASKED, true},
    {"example.com", "", "", "example.com", 443, ALLOWED, true},
    {"example.com:443", "", "", "example.com", 80, ASKED, true},
    {"", "", "", "127.0.0.1", 80, LOOPBACK, true},
    {"", "", "", "localhost", 80, LOOPBACK, true},
    {"", "", "", "169.254.169.254", 80, METADATA, true},
    /* special addresses: no wildcard opens them */
    {EVERYTHING, "127.0.0.1", 80, LOOPBACK, false},
    {EVERYTHING, "2130706433", 80, LOOPBACK, false},
    {EVERYTHING, "0x7f.1", 80, LOOPBACK, false},
    {EVERYTHING, "0177.0.0.1", 80, LOOPBACK, false},
    {EVERYTHING, "127.1", 80, LOOPBACK, false},
    {EVERYTHING, "127.255.255.254", 80, LOOPBACK, false},
    {EVERYTHING, "::1", 80, LOOPBACK, false},
    {EVERYTHING, "::ffff:7f00:1", 80, LOOPBACK, false},
    {EVERYTHING, "::7f00:1", 80, LOOPBACK, false},
    {EVERYTHING, "64:ff9b::7f00:1", 80, LOOPBACK, false},
    {EVERYTHING, "64:ff9b:1::7f00:1", 80, LOOPBACK, false},
    {EVERYTHING, "64:ff9b:1:7f00:0:100::", 80, LOOPBACK, false},
    {EVERYTHING, "64:ff9b:1:7f:0:1::", 80, LOOPBACK, false},
    {EVERYTHING, "64:ff9b:1:0:7f:0:100:0", 80, LOOPBACK, false},
    {EVERYTHING, "64:ff9b:1::c000:207", 80, ALLOWED, false},
    {EVERYTHING, "64:ff9b:1:c000:2:700::", 80, ALLOWED, false},
    {EVERYTHING, "2002:7f00:1::1", 80, LOOPBACK, false},
    {EVERYTHING, "2001:0:7f00:1::1", 80, LOOPBACK, false},
    {EVERYTHING, "2001:0:c000:207:0:0:80ff:fffe", 80, LOOPBACK, false},
    {EVERYTHING, "2001:0:c000:207:0:0:3fff:fdf8", 80, ALLOWED, false},
    {EVERYTHING, "::ffff:0:7f00:1", 80, LOOPBACK, false},
    {EVERYTHING, "0", 80, UNSPECIFIED, false},
    {EVERYTHING, "::", 80, UNSPECIFIED, false},
    {EVERYTHING, "::ffff:0.0.0.0", 80, UNSPECIFIED, false},
    {EVERYTHING, "0.1.2.3", 80, RESERVED, false},
    {EVERYTHING, "169.254.1.1", 80, LINK_LOCAL, false},
    {EVERYTHING, "fe80::1", 80, LINK_LOCAL, false},
    {EVERYTHING, "febf::1", 80, LINK_LOCAL, false},
    {EVERYTHING, "fec0::1", 80, "a site-local address", false},
    {EVERYTHING, "feff:ffff::1", 80, "a site-local address", false},
    {EVERYTHING, "224.0.0.1", 80, MULTICAST, false},
    {EVERYTHING, "239.255.255.255", 80, MULTICAST, false},
    {EVERYTHING, "ff02::1", 80, MULTICAST, false},
    {EVERYTHING, "240.0.0.1", 80, RESERVED, false},
    {EVERYTHING, "255.255.255.255", 80, "the broadcast address", false},
    {EVERYTHING, "169.254.169.254", 80, METADATA, false},
    {EVERYTHING, "100.100.100.200", 80, METADATA, false},
    {EVERYTHING, "168.63.129.16", 80, METADATA, false},
    {EVERYTHING, "fd00:ec2::254", 80, METADATA, false},
    {EVERYTHING, "::ffff:169.254.169.254", 80, METADATA, false},
    {EVERYTHING, "2002:a9fe:a9fe::", 80, METADATA, false},
    {EVERYTHING, "64:ff9b::6464:64c8", 80, METADATA, false},
    {EVERYTHING, "10.0.0.1", 80, ALLOWED, false},
    {EVERYTHING, "172.16.0.1", 80, ALLOWED, false},
    {EVERYTHING, "192.168.0.1", 80, ALLOWED, false},
    {EVERYTHING, "fd12::1", 80, ALLOWED, false},
    {EVERYTHING, "126.255.255.255", 80, ALLOWED, false},
    {EVERYTHING, "128.0.0.0", 80, ALLOWED, false},
    {EVERYTHING, "169.253.255.255", 80, ALLOWED, false},
    {EVERYTHING, "223.255.255.255", 80, ALLOWED, false},
    {EVERYTHING, "fe7f::1", 80, ALLOWED, false},
    {EVERYTHING, "::2", 80, RESERVED, false},
    /* but a rule that names them does */
    {"127.0.0.1", "", "", "127.0.0.1", 80, ALLOWED, false},
    {"127.0.0.1:5432", "", "", "127.1", 5432, ALLOWED, false},
    {"127.0.0.1:5432", "", "", "127.0.0.1", 5433, LOOPBACK, false},
    {"127.0.0.1:5432", "", "", "127.0.0.2", 5432, LOOPBACK, false},
    {"127.0.0.1:5432", "", "", "localhost", 5432, ALLOWED, false},
    {"[::1]:5432", "", "", "localhost", 5432, ALLOWED, false},
    {"localhost:5432", "", "", "LOCALHOST.", 5432, ALLOWED, false},
    {"localhost:5432", "", "", "localhost", 5433, LOOPBACK, false},
    {"localhost:5432", "", "", "127.0.0.1", 5432, ALLOWED, false},
    {"localhost:5432", "", "", "127.0.0.1", 80, LOOPBACK, false},
    {"localhost:5432", "", "", "::1", 5432, ALLOWED, false},
    {"localhost:5432", "", "", "64:ff9b::7f00:1", 5432, LOOPBACK, false},
    {"localhost:5432", "", "", "0.0.0.0", 5432, UNSPECIFIED, false},
    {"*.localhost", "", "", "localhost", 5432, LOOPBACK, false},
    {"127.0.0.2:80", "", "", "localhost", 80, LOOPBACK, false},
    {"", "127.0.0.0/8", "", "127.9.9.9", 80, ALLOWED, false},
    {"", "127.0.0.0/8", "", "localhost", 80, ALLOWED, false},
    {"", "126.0.0.0/7", "", "127.0.0.1", 80, LOOPBACK, false},
    {"", "126.0.0.0/7", "", "126.0.0.1", 80, ALLOWED, false},
    {"", "169.254.0.0/16", "", "169.254.7.7", 80, ALLOWED, false},
    {"", "169.254.0.0/16", "", "169.254.169.254", 80, METADATA, false},
    {"", "169.254.169.254:80", "", "169.254.169.254", 80, ALLOWED, false},
    {"", "fe80::/10", "", "fe80::1", 80, ALLOWED, false},
    {"", "fe00::/8", "", "fe80::1", 80, LINK_LOCAL, false},
    {"", "64:ff9b::/96", "", "64:ff9b::7f00:1", 80, LOOPBACK, false},
    {"", "64:ff9b::7f00:1", "", "64:ff9b::7f00:1", 80, ALLOWED, false},
    {"localhost:5432", "", "127.0.0.1", "localhost", 5432, DENIED, false},
    {"localhost:5432", "", "127.0.0.1", "127.0.0.1", 5432, DENIED, false},
    {"localhost:5432", "", "127.0.0.1", "::1", 5432, ALLOWED, false},
    {"127.0.0.1", "", "localhost:5432", "127.0.0.1", 5432, DENIED, false},
    {"127.0.0.1", "", "localhost:5432", "127.0.0.1", 80, ALLOWED, false},
};

static void decides(void) {
    for (size_t i = 0; i < sizeof decisions / sizeof decisions[0]; i++) {
        struct network_rules *rules =
            rules_of(decisions[i].domains, decisions[i].ips, decisions[i].denied, decisions[i].ask);
        const char *got = verdict_of(rules, decisions[i].host, decisions[i].port);
        if (!ok(strcmp(got, decisions[i].verdict) == 0,
                "allowed \"%s\" \"%s\", denied \"%s\": %s port %d: %s", decisions[i].domains,
                decisions[i].ips, decisions[i].denied, decisions[i].host, decisions[i].port,
                decisions[i].verdict))
            diag("got", got);
        network_rules_free(rules);
    }
}

static const struct {
    const char *domains, *ips, *denied, *name, *why; /* why: NULL where it resolves */
    bool ask;
} resolutions[] = {
    {"example.com", "", "", "example.com", NULL, false},
    {"example.com:443", "", "", "example.com", NULL, false},
    {"example.com", "", "", "a.example.com", NOT_NAMED, false},
    {"*", "0.0.0.0/0", "", "localhost", LOOPBACK, false},
    {"localhost:80", "", "", "localhost", NULL, false},
    {"", "0.0.0.0/0", "", "example.com", NOT_NAMED, false},
    {"", "", "", "example.com", NULL, true},
    {"*", "", "example.com", "example.com", DENIED, true},
    {"*", "", "example.com:25", "example.com", NULL, false},
    {"example.com:25", "", "example.com:25", "example.com", NOT_NAMED, false},
    {"example.com:25,example.com:26", "", "example.com:25", "example.com", NULL, false},
    {"example.com:25", "", "example.com:25", "example.com", NULL, true},
};

static void resolves(void) {
    for (size_t i = 0; i < sizeof resolutions / sizeof resolutions[0]; i++) {
        struct network_rules *rules =
            rules_of(resolutions[i].domains, resolutions[i].ips, resolutions[i].denied, resolutions[i].ask);
        const char *why = NULL;
        bool may = network_rules_may_resolve(rules, resolutions[i].name, &why);
        is_str(why, resolutions[i].why, "a name resolves where some port of it may be allowed");
        is_int(may, resolutions[i].why == NULL, "and says so");
        network_rules_free(rules);
    }
}

static void knows_ports(void) {
    uint16_t ports[4] = {0};
    struct network_rules *rules =
        rules_of("a.example.com:8443,b.example.com:8443,c.example.com,localhost:5432,127.0.0.1:5432,[::1]:81",
                 "192.0.2.0/24:22,127.0.0.0/8:82", "localhost:81", false);
    is_int((long long)network_rules_ports(rules, ports, 4), 2, "each port of the rules counts once");
    ok(ports[0] == 8443 && ports[1] == 22, "but for those of loopback");
    is_int((long long)network_rules_ports(rules, ports, 1), 1, "no more ports than there is room for");
    bool any = true;
    is_int((long long)network_rules_local_ports(rules, ports, 4, &any), 2,
           "ports of loopback are those named");
    ok(ports[0] == 5432 && ports[1] == 82 && !any, "but for denied ones");
    is_int((long long)network_rules_local_ports(rules, ports, 1, NULL), 1, "and they have a limit too");
    ok(network_rules_may_use_port(rules, 9999), "a rule without a port uses every port");
    network_rules_free(rules);

    rules = rules_of("a.example.com:443,localhost", "192.0.2.7:22", "", false);
    ok(network_rules_may_use_port(rules, 443) && network_rules_may_use_port(rules, 22),
       "named ports have a use");
    ok(!network_rules_may_use_port(rules, 80), "others, and those of localhost, have none");
    ok(network_rules_local_ports(rules, ports, 4, &any) == 0 && any, "localhost without a port is any port");
    network_rules_free(rules);

    rules = rules_of("localhost", "", "127.0.0.1", false);
    ok(network_rules_local_ports(rules, ports, 4, &any) == 0 && !any, "unless it is denied");
    network_rules_free(rules);

    rules = rules_of("*", "192.0.2.7:22", "*:25,*:22", false);
    ok(!network_rules_may_use_port(rules, 25), "a port that is denied for every name has no use");
    ok(network_rules_may_use_port(rules, 22), "unless an address has it");
    network_rules_free(rules);

    rules = rules_of("", "", "", true);
    ok(network_rules_may_use_port(rules, 1), "where the caller is asked every port has a use");
    ok(!network_rules_are_closed(rules), "and it is open");
    network_rules_free(rules);

    rules = rules_of("", "", "bad.example.com", false);
    ok(network_rules_are_closed(rules), "rules that allow nothing are closed");
    ok(!network_rules_may_use_port(rules, 443), "and no port has a use");
    network_rules_free(rules);
    network_rules_free(NULL);
}

static const struct {
    const char *domains, *ips, *denied, *address;
    uint16_t port;
    bool named;
    const char *refusal;
} dialed[] = {
    {"*", "0.0.0.0/0", "", "127.0.0.1", 80, false, NULL},
    {"*", "0.0.0.0/0", "", "192.0.2.7", 80, false, NULL},
    {"*", "192.0.2.0/24", "", "192.0.2.7", 80, false, NULL},
    {"192.0.2.7", "", "", "192.0.2.7", 80, true, NULL},
    {"*", "192.0.2.7:80", "", "192.0.2.7", 80, true, NULL},
    {"*", "192.0.2.7:80", "", "192.0.2.7", 81, false, NULL},
    {"localhost:80", "", "", "127.0.0.1", 80, true, NULL},
    {"localhost:80", "", "", "::1", 80, true, NULL},
    {"localhost:80", "", "", "192.0.2.7", 80, false, NULL},
    {"127.0.0.1", "", "", "::1", 80, false, NULL},
    {"*", "127.0.0.0/8", "", "127.0.0.53", 53, true, NULL},
    {"*", "127.0.0.0/8", "127.0.0.53", "127.0.0.53", 53, false, DENIED},
    {"*", "", "192.0.2.7", "192.0.2.7", 80, false, DENIED},
    {"*", "", "192.0.2.7:25", "192.0.2.7", 80, false, NULL},
    {"192.0.2.7", "", "192.0.2.7", "192.0.2.7", 80, false, DENIED},
    {"*", "", "192.0.2.7", "64:ff9b::c000:207", 80, false, DENIED},
    {"*", "", "localhost", "127.0.0.1", 80, false, DENIED},
    {"*", "", "*", "192.0.2.7", 80, false, NULL},
};

static void dials(void) {
    for (size_t i = 0; i < sizeof dialed / sizeof dialed[0]; i++) {
        struct network_rules *rules = rules_of(dialed[i].domains, dialed[i].ips, dialed[i].denied, false);
        struct network_target target = target_of(dialed[i].address, dialed[i].port);
        ok(network_rules_names_address(rules, target.address, dialed[i].port) == dialed[i].named,
           "allowed \"%s\" \"%s\", denied \"%s\": %s port %d is %s", dialed[i].domains, dialed[i].ips,
           dialed[i].denied, dialed[i].address, dialed[i].port, dialed[i].named ? "named" : "not named");
        is_str(network_rules_denied_address(rules, target.address, dialed[i].port), dialed[i].refusal,
               "and is denied by a rule, or is not");
        network_rules_free(rules);
    }
}

static void refuses_what_was_not_checked(void) {
    struct network_options options = {0};
    fill(&options.allowed_domains, "http://example.com");
    ok(network_rules_new(&options) == NULL, "rules that no parser took are no rules");
    strvec_clear(&options.allowed_domains);
}

int main(void) {
    decides();
    resolves();
    knows_ports();
    dials();
    refuses_what_was_not_checked();
    return done_testing();
}
