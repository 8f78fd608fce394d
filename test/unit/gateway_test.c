#include "gateway_session.h"

#include <signal.h>

/* Each of ten datagrams is refused before 200 ms are over; how many were. */
static int refused_datagrams(const struct sockaddr_storage *address) {
    int refused = 0;
    for (int i = 0; i < 10; i++) {
        int fd = socket(address->ss_family, SOCK_DGRAM, 0);
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        char answer;
        if (connect(fd, (const struct sockaddr *)address, size_of(address)) == 0 &&
            send(fd, "x", 1, 0) == 1 && poll(&waiting, 1, 200) == 1 && recv(fd, &answer, 1, 0) < 0 &&
            errno == ECONNREFUSED)
            refused++;
        close(fd);
    }
    return refused;
}

static void streams(void) {
    int listener = ask(gateway_listener_everywhere(80));
    ok(listener >= 0, "a listener for every address is made");
    arrives(listener, "198.51.100.34", 80);
    arrives(listener, "198.18.0.7", 80);
    arrives(listener, "10.0.0.1", 80);
    arrives(listener, GATEWAY_V4_OUTER, 80);
    arrives(listener, "2001:db8::7", 80);
    arrives(listener, GATEWAY_V6_OUTER, 80);
    is_int(inside(connects, "127.0.0.1", 80), ECONNREFUSED, "the loopback inside is not among them");
    is_int(inside(connects, "::1", 80), ECONNREFUSED, "nor that of IPv6");
    is_int(inside(connects, "198.51.100.34", 81), ECONNREFUSED, "a port without a listener is refused");
    is_int(inside(connects, "2001:db8::7", 81), ECONNREFUSED, "by IPv6, too");
    is_int(ask(gateway_listener_everywhere(80)), -EADDRINUSE, "what cannot be made comes as an error");
    close(listener);
    is_int(inside(connects, "198.51.100.34", 80), ECONNREFUSED, "a closed listener listens no more");
    int v4 = ask(gateway_listener_everywhere_v4(80));
    arrives(v4, "198.51.100.34", 80);
    close(v4);
}

static void loopback(void) {
    int v4 = ask(gateway_listener_loopback(AF_INET, 5432));
    int v6 = ask(gateway_listener_loopback(AF_INET6, 5432));
    arrives(v4, "127.0.0.1", 5432);
    arrives(v6, "::1", 5432);
    is_int(inside(connects, "198.51.100.34", 5432), ECONNREFUSED, "which is nowhere else");
    struct sockaddr_storage address = at("127.0.0.53", 53);
    int bound = ask(gateway_bound(GATEWAY_INNER, SOCK_STREAM, (const struct sockaddr *)&address));
    arrives(bound, "127.0.0.53", 53);
    close(v4);
    close(v6);
    close(bound);
}

static int listens(const struct sockaddr_storage *address) {
    int fd = socket(address->ss_family, SOCK_STREAM, 0);
    return bind(fd, (const struct sockaddr *)address, size_of(address)) == 0 && listen(fd, 5) == 0 ? 0
                                                                                                   : errno;
}

static void servers_inside(void) {
    struct sockaddr_storage address = at("127.0.0.1", 8080);
    int held;
    int result;
    pid_t child = begin_inside(listens, &address, &result, &held);
    is_int(result, 0, "a server inside gets its port");
    int fd = ask(gateway_stream_inside(AF_INET));
    struct pollfd waiting = {.fd = fd, .events = POLLOUT};
    int failed = -1;
    socklen_t size = sizeof failed;
    if (connect(fd, (const struct sockaddr *)&address, size_of(&address)) != 0 && errno == EINPROGRESS)
        poll(&waiting, 1, 2000);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    is_int(failed, 0, "and can be reached by a socket that was made inside");
    close(fd);
    end_inside(child, held);
    int diag = ask(gateway_diag_inside());
    ok(diag >= 0, "a socket that lists those inside is made");
    close(diag);
}

/* Asks at any address, and takes the answer from that one alone. 0: it came. */
static int asks(const struct sockaddr_storage *address) {
    int fd = socket(address->ss_family, SOCK_DGRAM, 0);
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    char text[16] = "";
    if (connect(fd, (const struct sockaddr *)address, size_of(address)) != 0 || send(fd, "name?", 5, 0) != 5)
        return errno;
    if (poll(&waiting, 1, 2000) != 1)
        return ETIMEDOUT;
    return recv(fd, text, sizeof text, 0) == 2 ? 0 : errno;
}

/* Answers one datagram from the address that it was sent to. */
static bool answer_one(int fd) {
    char text[64];
    char control[128] = {0};
    struct sockaddr_storage from;
    struct iovec part = {.iov_base = text, .iov_len = sizeof text};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof from,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    if (poll(&waiting, 1, 2000) != 1 || recvmsg(fd, &message, 0) != 5)
        return false;
    struct cmsghdr *item = CMSG_FIRSTHDR(&message);
    if (item != NULL && item->cmsg_level == IPPROTO_IP) {
        struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(item);
        info->ipi_spec_dst = info->ipi_addr;
        info->ipi_ifindex = 0;
    } else if (item != NULL) {
        struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(item);
        info->ipi6_ifindex = 0;
    }
    part.iov_len = 2;
    return item != NULL && sendmsg(fd, &message, 0) == 2;
}

static void resolver(int fd, const char *host) {
    struct sockaddr_storage address = at(host, 53);
    fflush(stdout);
    pid_t helper = fork();
    if (helper == 0)
        _exit(answer_one(fd) ? 0 : 1);
    is_int(inside(asks, host, 53), 0, "a resolver's answer comes from the address that was asked");
    waitpid(helper, NULL, 0);
    (void)address;
}

static void datagrams(void) {
    is_int(inside(refused_datagrams, "198.51.100.34", 443), 10,
           "datagrams are refused at once, each of them");
    is_int(inside(refused_datagrams, "2001:db8::7", 443), 10, "by IPv6, too");
    int v4 = ask(gateway_datagrams_everywhere(AF_INET, 53));
    int v6 = ask(gateway_datagrams_everywhere(AF_INET6, 53));
    resolver(v4, "192.0.2.53");
    resolver(v4, "198.51.100.1");
    resolver(v6, "2001:db8::53");
    close(v4);
    close(v6);
}

static struct port_owner owner_of(const struct sockaddr_storage *address) {
    struct answer answer = {.come = false};
    is_int(gateway_client_owner(client, (const struct sockaddr *)address, on_owner, &answer), 0,
           "the owner of a connection is asked for");
    await(&answer.come);
    return answer.owner;
}

static void owners(int domain, const char *host, int listener) {
    struct sockaddr_storage address = at(host, 80);
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof peer;
    int held;
    int result;
    pid_t child = begin_inside(connects, &address, &result, &held);
    int accepted = accept_soon(listener);
    is_int(getpeername(accepted, (struct sockaddr *)&peer, &size), 0, "a connection came");
    is_int(peer.ss_family, domain, "of the family that the listener has");
    is_int(owner_of(&peer).run, 0, "a process below no run has no owner");
    port_table_add_run(ports, 7, getpid());
    struct port_owner owner = owner_of(&peer);
    is_int(owner.run, 7, "one below a run belongs to that");
    is_int(owner.pid, child, "and is named itself");
    port_table_remove_run(ports, 7, getpid());
    is_int(owner_of(&peer).run, 0, "until the run is over");
    end_inside(child, held);
    close(accepted);
}

static void all_owners(void) {
    int dual = ask(gateway_listener_everywhere(80));
    owners(AF_INET6, "198.51.100.34", dual); /* mapped */
    owners(AF_INET6, "2001:db8::7", dual);
    close(dual);
    int v4 = ask(gateway_listener_everywhere_v4(80));
    owners(AF_INET, "198.51.100.34", v4);
    close(v4);
}

enum { MANY = 1500 };

static void many(void) {
    static struct answer answers[MANY];
    struct gateway_request request = gateway_stream_inside(AF_INET);
    struct gateway_request wrong = gateway_stream_inside(AF_INET);
    wrong.place = 77;
    come_so_far = 0;
    unsigned taken = 0;
    unsigned right = 0;
    for (unsigned i = 0; i < MANY; i++)
        taken += gateway_client_socket(client, i % 2 == 0 ? &request : &wrong, on_socket, &answers[i]) == 0;
    is_int(taken, MANY, "more requests than the socket holds are taken");
    await(&answers[MANY - 1].come);
    for (unsigned i = 0; i < MANY; i++) {
        bool expected = i % 2 == 0 ? answers[i].socket >= 0 : answers[i].socket == -ENODEV;
        right += answers[i].come && answers[i].place == i && expected;
        if (answers[i].socket > 0)
            close(answers[i].socket);
    }
    is_int(right, MANY, "and answered in their order");
}

static void ends(void) {
    struct answer answers[2] = {{.socket = 0}};
    struct gateway_request request = gateway_stream_inside(AF_INET);
    bool closed = false;
    kill(session.gateway, SIGSTOP);
    gateway_client_socket(client, &request, on_socket, &answers[0]);
    kill(session.gateway, SIGKILL);
    await(&answers[0].come);
    is_int(answers[0].socket, -EPIPE, "who waits hears that the gateway process is gone");
    is_int(gateway_client_socket(client, &request, on_socket, &answers[1]), -EPIPE, "and who asks then, too");
    gateway_client_close(client, on_closed, &closed);
    ok(!closed, "a client is closed later");
    await(&closed);
    ok(closed, "and says so");
}

static void starts(void) {
    char text[128];
    int failed = session_namespaces_make(&session, ports, text, sizeof text);
    is_int(failed, 0, "the session's namespaces are made");
    is_str(text, "", "with nothing to complain of");
    ok(session.transparent && session.gateway > 0 && session.gateway_socket >= 0, "and with a gateway");
    if (session.gateway <= 1)
        abort();
    client = gateway_client_new(uv_default_loop(), session.gateway_socket);
    session.gateway_socket = -1;
}

static void closes(void) {
    struct answer answer = {.socket = 0};
    struct gateway_request request = gateway_stream_inside(AF_INET);
    bool closed = false;
    starts();
    kill(session.gateway, SIGSTOP);
    gateway_client_socket(client, &request, on_socket, &answer);
    gateway_client_close(client, on_closed, &closed);
    is_int(answer.socket, -ECANCELED, "who waits hears from inside the call that the client is closed");
    await(&closed);
    kill(session.gateway, SIGCONT);
    int status = -1;
    waitpid(session.gateway, &status, 0);
    ok(WIFEXITED(status), "the gateway process ends with the client's socket");
    session.gateway = 0;
    session_namespaces_close(&session);
}

int main(void) {
    int fd = port_table_make();
    ports = port_table_map(fd);
    close(fd);
    starts();
    streams();
    loopback();
    servers_inside();
    datagrams();
    all_owners();
    many();
    ends();
    session_namespaces_close(&session);
    closes();
    port_table_unmap(ports);
    uv_loop_close(uv_default_loop());
    return done_testing();
}
