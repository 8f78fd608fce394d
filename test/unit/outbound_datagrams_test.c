/* Datagrams of a supervised command in a session's network. */
#include "supervised_network.h"

#include "exec/gateway_wire.h"

#define OTHER 8090

static int dns;

static void prepare(void) {
    route_everything(AF_INET);
    route_everything(AF_INET6);
    dns = serve_everywhere(SOCK_DGRAM, 53);
}

static bool nothing_is_asked(const struct network_question *question, int fd) {
    (void)question;
    (void)fd;
    return true;
}

/* --- datagrams --- */

static int send_to(int fd, const char *host, uint16_t port) {
    struct to address = to(host, port);
    return gave(sendto(fd, "hi", 2, 0, (struct sockaddr *)&address.bytes, address.length));
}

static void datagrams(void) {
    struct to address = to("192.0.2.1", 443);
    struct iovec part = part_of("hi");
    struct mmsghdr many = {.msg_hdr = message_of(&part, 1)};
    many.msg_hdr.msg_name = &address.bytes;
    many.msg_hdr.msg_namelen = address.length;
    is_int(try(SOCK_DGRAM, "192.0.2.1", 443), ECONNREFUSED, "UDP is refused at once");
    is_int(try(SOCK_DGRAM, "2001:db8::1", 443), ECONNREFUSED, "by IPv6, too");
    is_int(try(SOCK_DGRAM, "192.0.2.77", 0), 0, "a look at the route is none");
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    for (int i = 0; i < 10; i++)
        if (send_to(fd, "192.0.2.1", 443) != -ECONNREFUSED)
            ok(false, "every time");
    is_int(gave(sendmsg(fd, &many.msg_hdr, 0)), -ECONNREFUSED, "in a message");
    is_int(gave(sendmmsg(fd, &many, 1, 0)), -ECONNREFUSED, "or in several");
    is_int(send_to(fd, "224.0.0.251", 5353), -ECONNREFUSED, "to a group");
    is_int(send_to(fd, "224.0.0.251", 53), -ECONNREFUSED, "whatever its port is");
    is_int(send_to(fd, "255.255.255.255", 53), -ECONNREFUSED, "to everybody");
    is_int(send_to(fd, GATEWAY_V4_OUTER, GATEWAY_PROXY_PORT), -ECONNREFUSED, "the proxy has no UDP");
    address.bytes.ss_family = AF_UNSPEC;
    is_int(gave(sendmsg(fd, &many.msg_hdr, 0)), -ECONNREFUSED, "an address may lack its family");
    close(fd);
    fd = socket(AF_INET6, SOCK_DGRAM, 0);
    is_int(send_to(fd, "192.0.2.5", 443), -ECONNREFUSED, "or be IPv4's for a socket of IPv6");
    is_int(try(SOCK_DGRAM, "fe80::1", 53), ECONNREFUSED, "a neighbour does not answer");
    is_int(send_to(fd, "ff02::fb", 5353), -ECONNREFUSED, "or be a group of IPv6");
    is_int(send_to(fd, "::1", OTHER), 2, "localhost is reached");
    is_int(send_to(fd, GATEWAY_V6_INNER, OTHER), 2, "and the commands' own address");
    is_int(port_table_look(table, PORT_UDP6, port_of(fd)).run, 0, "without a note");
    close(fd);
    fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE);
    is_int(send_to(fd, "192.0.2.1", 53), fd < 0 ? -EBADF : 2, "another protocol");
    is_int(fd < 0 ? 0 : (int)port_table_look(table, PORT_UDP4, port_of(fd)).run, 0, "has ports of its own");
    close(fd);
}

/* Receives queries, and looks at once who sent them. */
static struct { atomic_uint known, unknown; } queries;

static void *receive_queries(void *unused) {
    struct sockaddr_in6 from;
    char data[16];
    for (;;) {
        socklen_t length = sizeof from;
        if (recvfrom(dns, data, sizeof data, 0, (struct sockaddr *)&from, &length) < 0)
            return unused;
        bool ipv4 = IN6_IS_ADDR_V4MAPPED(&from.sin6_addr);
        struct port_owner owner = port_table_look(table, ipv4 ? PORT_UDP4 : PORT_UDP6, ntohs(from.sin6_port));
        atomic_fetch_add(is_ours(owner) ? &queries.known : &queries.unknown, 1);
    }
}

static bool all_are_known(unsigned count) {
    for (int i = 0; i < 2000 && atomic_load(&queries.known) + atomic_load(&queries.unknown) < count; i++)
        usleep(1000);
    return atomic_load(&queries.known) == count && atomic_load(&queries.unknown) == 0;
}

static void resolvers(void) {
    pthread_t thread;
    unsigned sent = 0;
    static const char *const hosts[] = {"192.0.2.53", "2001:db8::53", "::ffff:192.0.2.53",
                                        "127.0.0.53", "::1",          GATEWAY_V4_OUTER};
    pthread_create(&thread, NULL, receive_queries, NULL);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        int fd = socket(family_of(hosts[i]), SOCK_DGRAM, 0);
        is_int(send_to(fd, hosts[i], 53), 2, hosts[i]);
        is_int(send_to(fd, hosts[i], 53), 2, "a second query from there");
        close(fd);
        fd = socket(family_of(hosts[i]), SOCK_DGRAM, 0);
        is_int(connect_to(fd, hosts[i], 53), 0, "one from a connected socket");
        is_int(gave(send(fd, "hi", 2, 0)), 2, "is sent");
        close(fd);
        sent += 3;
    }
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    is_int(send_to(fd, "192.0.2.53", 53), 2, "one to IPv4 from a socket for IPv6");
    close(fd);
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in own = inet("0.0.0.0", 0);
    bind(fd, (struct sockaddr *)&own, sizeof own);
    is_int(send_to(fd, "192.0.2.53", 53), 2, "one from a socket that was bound");
    close(fd);
    bool known = all_are_known(sent + 2);
    ok(known, "whoever receives a query knows who sent it: %u, %u unknown", atomic_load(&queries.known),
       atomic_load(&queries.unknown));
}

static void without_gateway(void) {
    port_table_set_flags(table, 0);
    is_int(try(SOCK_DGRAM, "192.0.2.1", 443), 0, "without a gateway the kernel answers");
}

static void command(void) {
    port_table_set_flags(table, PORT_TABLE_TRANSPARENT);
    datagrams();
    resolvers();
    port_table_set_flags(table, PORT_TABLE_TRANSPARENT | PORT_TABLE_CLOSED);
    is_int(try(SOCK_DGRAM, "192.0.2.1", 53), 0, "resolvers are asked also where nothing is allowed");
    without_gateway();
    is_int((int)atomic_load(&asked->count), 0, "the addon is not asked about datagrams");
}

int main(void) {
    static const struct {
        const char *host;
        unsigned port;
    } reported[] = {
        {"fe80::1", 53},         {"192.0.2.1", 443},
        {"2001:db8::1", 443},    {"192.0.2.5", 443},
        {"224.0.0.251", 5353},   {"224.0.0.251", 53},
        {"255.255.255.255", 53}, {GATEWAY_V4_OUTER, GATEWAY_PROXY_PORT},
        {"ff02::fb", 5353},
    };
    const unsigned count = sizeof reported / sizeof reported[0];
    network_begin(nothing_is_asked, prepare);
    supervised_run(NULL, 0, command);
    network_end();
    for (unsigned i = 0; i < count; i++)
        is_reported(reported[i].host, reported[i].port, "UDP is not forwarded");
    is_int(supervised_reports("\"operation\""), count, "and nothing else");
    if (tap_state.failed > 0)
        diag("reported", supervised_events);
    return done_testing();
}
