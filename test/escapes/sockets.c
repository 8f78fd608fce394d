/*
 * Ways out by socket. Arguments: pairs of an IPv4 address and a port that listen outside, by TCP and by UDP;
 * then the name of an abstract unix socket outside. Nothing in here changes a host on which it is allowed.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

static void report_for(const char *what, const char *address, const char *port, long result) {
    int errnum = errno;
    char name[128];
    snprintf(name, sizeof name, "%s %s %s", what, address, port);
    errno = errnum;
    report(name, result);
}

static struct sockaddr_in address_of(const char *address, const char *port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    inet_pton(AF_INET, address, &to.sin_addr);
    return to;
}

/* Also spelled as an IPv6 address, and by sendto with data in the SYN. */
static void streams(const char *address, const char *port) {
    struct sockaddr_in to = address_of(address, port);
    report_for("tcp", address, port,
               connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof to));
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = to.sin_port};
    char text[64];
    snprintf(text, sizeof text, "::ffff:%s", address);
    inet_pton(AF_INET6, text, &mapped.sin6_addr);
    report_for("tcp mapped", address, port,
               connect(socket(AF_INET6, SOCK_STREAM, 0), (struct sockaddr *)&mapped, sizeof mapped));
    int fast = socket(AF_INET, SOCK_STREAM, 0);
    report_for("tcp fast open", address, port,
               sendto(fast, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&to, sizeof to));
}

/* On the loopback inside, a datagram to a closed port is taken and then refused: the answer counts. */
static void datagrams(const char *address, const char *port) {
    struct sockaddr_in to = address_of(address, port);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    long result = connect(fd, (struct sockaddr *)&to, sizeof to);
    if (result == 0 && (result = send(fd, "x", 1, 0)) == 1) {
        struct pollfd answer = {.fd = fd, .events = POLLIN};
        poll(&answer, 1, 100);
        result = send(fd, "x", 1, 0);
    }
    report_for("udp", address, port, result);
}

/* Some programs fill the whole of sun_path with zeros, which makes another name. */
static void abstract(const char *name) {
    static const struct {
        const char *word;
        int type;
    } kinds[] = {{"stream", SOCK_STREAM}, {"datagram", SOCK_DGRAM}, {"seqpacket", SOCK_SEQPACKET}};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "%s", name);
    const socklen_t exact = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int fd = socket(AF_UNIX, kinds[i].type, 0);
        long result = connect(fd, (struct sockaddr *)&to, exact);
        if (result != 0)
            result = connect(fd, (struct sockaddr *)&to, sizeof to);
        report_for("abstract", kinds[i].word, "socket", result);
    }
}

static void raw(void) {
    report("raw icmp", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    report("raw ip", socket(AF_INET, SOCK_RAW, IPPROTO_RAW));
    report("raw icmp6", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
    report("packet", socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));
    report("packet datagram", socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL)));
    struct sockaddr_in to = address_of("192.0.2.1", "0");
    struct icmphdr echo = {.type = ICMP_ECHO};
    int ping = socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
    report("ping", ping < 0 ? -1 : sendto(ping, &echo, sizeof echo, 0, (struct sockaddr *)&to, sizeof to));
}

/* A request to rtnetlink; 0, or -1 with errno as the kernel answered. */
static long netlink(uint16_t type, const void *body, size_t size) {
    struct {
        struct nlmsghdr header;
        char body[64];
    } request = {.header = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
                            .nlmsg_type = type,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE}};
    memcpy(request.body, body, size);
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (fd < 0 || send(fd, &request, request.header.nlmsg_len, 0) < 0)
        return -1;
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
    } answer;
    if (recv(fd, &answer, sizeof answer, 0) < (ssize_t)sizeof answer.header)
        return -1;
    errno = -answer.error.error;
    return errno == 0 ? 0 : -1;
}

/* What changes nothing where it is allowed: the flags that are set already, a route request without a route.
 */
static void configure(void) {
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (ioctl(fd, SIOCGIFFLAGS, &request) == 0)
        report("set a link's flags by ioctl", ioctl(fd, SIOCSIFFLAGS, &request));
    struct ifinfomsg link = {.ifi_index = 1, .ifi_change = IFF_UP, .ifi_flags = (unsigned)request.ifr_flags};
    report("set a link's flags", netlink(RTM_NEWLINK, &link, sizeof link));
    long result = netlink(RTM_NEWROUTE, &link, 1);
    report("add a route", result < 0 && errno == EPERM ? -1 : 0);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    for (int i = 1; i + 1 < argc - 1; i += 2) {
        streams(argv[i], argv[i + 1]);
        datagrams(argv[i], argv[i + 1]);
    }
    abstract(argv[argc - 1]);
    raw();
    configure();
    return 0;
}
