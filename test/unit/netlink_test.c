#include "exec/netlink.h"
#include "tap.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <unistd.h>

static void layout(void) {
    struct netlink_request request;
    const struct ifinfomsg body = {.ifi_index = 7};
    netlink_begin(&request, RTM_NEWLINK, NLM_F_CREATE, &body, sizeof body);
    size_t nest = netlink_nest(&request, IFLA_LINKINFO);
    netlink_put(&request, IFLA_INFO_KIND, "abc", 3);
    netlink_nest_end(&request, nest);
    netlink_put_u32(&request, IFLA_MTU, 0x01020304);
    const struct nlmsghdr *header = (const struct nlmsghdr *)request.bytes;
    is_int(header->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, "every request asks for an answer");
    const struct rtattr *outer = (const struct rtattr *)(request.bytes + NLMSG_LENGTH(sizeof body));
    is_int(outer->rta_len, 12, "an attribute is as long as what it holds, padding with it");
    const struct rtattr *within = (const struct rtattr *)((const char *)outer + RTA_LENGTH(0));
    ok(within->rta_len == 7 && memcmp(RTA_DATA(within), "abc", 4) == 0, "whose own length has none");
    const struct rtattr *next = (const struct rtattr *)((const char *)outer + outer->rta_len);
    ok(next->rta_type == IFLA_MTU && next->rta_len == 8, "and the next one follows");
    is_int((long long)request.size, NLMSG_LENGTH(sizeof body) + 12 + 8, "up to the end");
}

static void limits(void) {
    struct netlink_request request;
    char large[NETLINK_REQUEST_MAX] = {0};
    netlink_begin(&request, RTM_NEWLINK, 0, large, 16);
    netlink_put(&request, IFLA_IFNAME, large, sizeof large - NLMSG_LENGTH(16) - RTA_LENGTH(0));
    ok(!request.too_large && request.size == sizeof request.bytes, "a request can be filled");
    size_t nest = netlink_nest(&request, IFLA_LINKINFO);
    netlink_nest_end(&request, nest);
    is_int(netlink_do(-1, &request), EMSGSIZE, "one that has more is not sent");
    netlink_begin(&request, RTM_NEWLINK, 0, large, sizeof large);
    is_int(netlink_do(-1, &request), EMSGSIZE, "nor one with too large a body");
}

static void answers(void) {
    int fd = netlink_open();
    struct netlink_request request;
    struct ifinfomsg body = {.ifi_index = 0x7ffffff0, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    netlink_begin(&request, RTM_NEWLINK, 0, &body, sizeof body);
    int errnum = netlink_do(fd, &request);
    ok(errnum == ENODEV || errnum == EPERM, "the kernel's refusal comes back");
    body = (struct ifinfomsg){.ifi_index = 1};
    netlink_begin(&request, RTM_GETLINK, 0, &body, sizeof body);
    is_int(netlink_do(-1, &request), EBADF, "and so does that of the socket");
    close(fd);
}

int main(void) {
    layout();
    limits();
    answers();
    return done_testing();
}
