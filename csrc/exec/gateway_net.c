#include "exec/gateway_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/gateway_wire.h"
#include "exec/netlink.h"

/* In a new network namespace the loopback is 1; the pair's numbers are chosen, so that nobody has to ask. */
#define LOOPBACK 1
#define PAIR 64
/* Of a veth device the largest (veth(4)): a read of 64 KiB is one packet. */
#define PAIR_MTU 65535

struct address {
    int family;
    uint8_t prefix;
    const char *text;
};

struct route {
    int family;
    uint8_t type;  /* RTN_… */
    uint8_t table; /* RT_TABLE_… */
    uint8_t scope; /* RT_SCOPE_… */
    uint8_t prefix;
    uint32_t device;
    const char *to;  /* NULL: everything */
    const char *via; /* NULL: the device itself */
};

struct side {
    struct address addresses[2];
    struct route routes[4];
};

static const struct side inner_side = {
    .addresses = {{AF_INET, GATEWAY_V4_PREFIX, GATEWAY_V4_INNER},
                  {AF_INET6, GATEWAY_V6_PREFIX, GATEWAY_V6_INNER}},
    .routes = {{AF_INET, RTN_UNICAST, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE, 0, PAIR, NULL, GATEWAY_V4_OUTER},
               {AF_INET6, RTN_UNICAST, RT_TABLE_MAIN, RT_SCOPE_UNIVERSE, 0, PAIR, NULL, GATEWAY_V6_OUTER}},
};

/*
 * Everything is local, but the way back: without the pair's own networks in the same table, which is asked
 * first, answers would be local, too.
 */
static const struct side outer_side = {
    .addresses = {{AF_INET, GATEWAY_V4_PREFIX, GATEWAY_V4_OUTER},
                  {AF_INET6, GATEWAY_V6_PREFIX, GATEWAY_V6_OUTER}},
    .routes = {{AF_INET, RTN_UNICAST, RT_TABLE_LOCAL, RT_SCOPE_LINK, GATEWAY_V4_PREFIX, PAIR,
                GATEWAY_V4_INNER, NULL},
               {AF_INET, RTN_LOCAL, RT_TABLE_LOCAL, RT_SCOPE_HOST, 0, LOOPBACK, NULL, NULL},
               {AF_INET6, RTN_UNICAST, RT_TABLE_LOCAL, RT_SCOPE_LINK, GATEWAY_V6_PREFIX, PAIR,
                GATEWAY_V6_INNER, NULL},
               {AF_INET6, RTN_LOCAL, RT_TABLE_LOCAL, RT_SCOPE_HOST, 0, LOOPBACK, NULL, NULL}},
};

/* Below /proc/sys/net, of the caller's network namespace (ip-sysctl); what cannot be set is done without. */
struct setting {
    const char *path;
    const char *value;
};

/* Addresses that a device makes for itself would only be checked for doubles and announced. */
#define NO_LINK_LOCAL                                                                                        \
    { "/proc/sys/net/ipv6/conf/default/addr_gen_mode", "1" }
/* A command may use up all ports: those of connections that ended serve again after a second. */
#define PORTS_AGAIN                                                                                          \
    { "/proc/sys/net/ipv4/tcp_tw_reuse", "1" }

static const struct setting inner_settings[] = {NO_LINK_LOCAL, PORTS_AGAIN};

/* Refusals of UDP are ICMP messages: each is to be sent. The masks free their kinds of the kernel's overall
 * limit. */
static const struct setting outer_settings[] = {
    NO_LINK_LOCAL,
    PORTS_AGAIN,
    {"/proc/sys/net/ipv4/icmp_ratelimit", "0"},
    {"/proc/sys/net/ipv4/icmp_ratemask", "0"},
    {"/proc/sys/net/ipv6/icmp/ratelimit", "0"},
    {"/proc/sys/net/ipv6/icmp/ratemask", "255"},
};

static void apply(const struct setting *settings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        cleanup_fd int fd = open(settings[i].path, O_WRONLY | O_CLOEXEC);
        if (fd >= 0 && write(fd, settings[i].value, strlen(settings[i].value)) < 0)
            continue;
    }
}

static bool has_ipv6(void) {
    cleanup_fd int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0;
}

static int link_up(int netlink, int device) {
    const struct ifinfomsg body = {
        .ifi_family = AF_UNSPEC, .ifi_index = device, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct netlink_request request;
    netlink_begin(&request, RTM_NEWLINK, 0, &body, sizeof body);
    return netlink_do(netlink, &request);
}

int gateway_net_loopback(void) {
    cleanup_fd int netlink = netlink_open();
    return netlink < 0 ? errno : link_up(netlink, LOOPBACK);
}

static void put_name(struct netlink_request *request, uint16_t type, const char *name) {
    netlink_put(request, type, name, strlen(name) + 1);
}

/* Both devices, each in its namespace (veth(4), VETH_INFO_PEER). One without the other cannot be brought up.
 */
static int make_pair(int netlink, int outer) {
    const struct ifinfomsg body = {.ifi_family = AF_UNSPEC, .ifi_index = PAIR};
    struct netlink_request request;
    netlink_begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    put_name(&request, IFLA_IFNAME, "eth0");
    netlink_put_u32(&request, IFLA_MTU, PAIR_MTU);
    size_t info = netlink_nest(&request, IFLA_LINKINFO);
    put_name(&request, IFLA_INFO_KIND, "veth");
    size_t data = netlink_nest(&request, IFLA_INFO_DATA);
    size_t peer = netlink_nest_body(&request, VETH_INFO_PEER, &body, sizeof body);
    put_name(&request, IFLA_IFNAME, "gateway");
    netlink_put_u32(&request, IFLA_MTU, PAIR_MTU);
    netlink_put_u32(&request, IFLA_NET_NS_FD, (uint32_t)outer);
    netlink_nest_end(&request, peer);
    netlink_nest_end(&request, data);
    netlink_nest_end(&request, info);
    return netlink_do(netlink, &request);
}

/* The text as the kernel's bytes; their number. Only ever a constant above. */
static size_t parse(int family, const char *text, unsigned char *bytes) {
    inet_pton(family, text, bytes);
    return family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
}

/* Without the check for doubles, during which an IPv6 address cannot be used. */
static int add_address(int netlink, const struct address *address) {
    unsigned char bytes[sizeof(struct in6_addr)];
    size_t size = parse(address->family, address->text, bytes);
    const struct ifaddrmsg body = {.ifa_family = (unsigned char)address->family,
                                   .ifa_prefixlen = address->prefix,
                                   .ifa_flags = address->family == AF_INET6 ? IFA_F_NODAD : 0,
                                   .ifa_scope = RT_SCOPE_UNIVERSE,
                                   .ifa_index = PAIR};
    struct netlink_request request;
    netlink_begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    netlink_put(&request, IFA_LOCAL, bytes, size);
    netlink_put(&request, IFA_ADDRESS, bytes, size);
    return netlink_do(netlink, &request);
}

/* The kernel refuses an IPv4 destination with bits behind its prefix. */
static void mask(unsigned char *bytes, size_t size, unsigned prefix) {
    for (size_t i = 0; i < size; i++) {
        unsigned kept = prefix >= 8 * (i + 1) ? 8 : prefix > 8 * i ? prefix - 8 * (unsigned)i : 0;
        bytes[i] = (unsigned char)(bytes[i] & ~(0xffu >> kept));
    }
}

static int add_route(int netlink, const struct route *route) {
    unsigned char bytes[sizeof(struct in6_addr)];
    const struct rtmsg body = {.rtm_family = (unsigned char)route->family,
                               .rtm_dst_len = route->prefix,
                               .rtm_table = route->table,
                               .rtm_protocol = RTPROT_BOOT,
                               .rtm_scope = route->scope,
                               .rtm_type = route->type};
    struct netlink_request request;
    netlink_begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof body);
    if (route->to != NULL) {
        size_t size = parse(route->family, route->to, bytes);
        mask(bytes, size, route->prefix);
        netlink_put(&request, RTA_DST, bytes, size);
    }
    if (route->via != NULL) {
        size_t size = parse(route->family, route->via, bytes);
        netlink_put(&request, RTA_GATEWAY, bytes, size);
    }
    netlink_put_u32(&request, RTA_OIF, route->device);
    return netlink_do(netlink, &request);
}

/* One family on one side. The rows that are not there have no family. */
static int configure(int netlink, const struct side *side, int family) {
    int errnum = 0;
    for (size_t i = 0; errnum == 0 && i < sizeof side->addresses / sizeof side->addresses[0]; i++)
        if (side->addresses[i].family == family)
            errnum = add_address(netlink, &side->addresses[i]);
    for (size_t i = 0; errnum == 0 && i < sizeof side->routes / sizeof side->routes[0]; i++)
        if (side->routes[i].family == family)
            errnum = add_route(netlink, &side->routes[i]);
    return errnum;
}

static int set_up_outer(int *netlink) {
    apply(outer_settings, sizeof outer_settings / sizeof outer_settings[0]);
    *netlink = netlink_open();
    return *netlink < 0 ? errno : link_up(*netlink, LOOPBACK);
}

/* The inner side comes last: it gets its way out when what waits there is complete. */
static int join(int outer, int in_outer, int in_inner, const char **step) {
    int errnum;
    *step = "a veth pair between network namespaces";
    if ((errnum = make_pair(in_inner, outer)) != 0 || (errnum = link_up(in_outer, PAIR)) != 0 ||
        (errnum = link_up(in_inner, PAIR)) != 0)
        return errnum;
    *step = "addresses and routes of the gateway";
    if ((errnum = configure(in_outer, &outer_side, AF_INET)) != 0)
        return errnum;
    *step = "addresses and routes of the session's network";
    if ((errnum = configure(in_inner, &inner_side, AF_INET)) != 0)
        return errnum;
    if (has_ipv6() && configure(in_outer, &outer_side, AF_INET6) == 0)
        configure(in_inner, &inner_side, AF_INET6);
    return 0;
}

int gateway_net_join(int outer, int inner, const char **step) {
    cleanup_fd int in_outer = -1;
    cleanup_fd int in_inner = netlink_open();
    *step = "the gateway's network namespace";
    if (in_inner < 0)
        return errno;
    apply(inner_settings, sizeof inner_settings / sizeof inner_settings[0]);
    if (setns(outer, CLONE_NEWNET) != 0)
        return errno;
    int errnum = set_up_outer(&in_outer);
    if (setns(inner, CLONE_NEWNET) != 0)
        return errno;
    return errnum != 0 ? errnum : join(outer, in_outer, in_inner, step);
}
