/* Connections of a supervised command in a session's network, and what the addon hears of them. */
#include "supervised_network.h"

#include <poll.h>
#include <time.h>

#include "exec/gateway_wire.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

/* What the test's addon says of a port. */
enum {
    SERVED = 8080, /* there is a listener in the table */
    GONE,          /* and here there is none in truth */
    OPENED,        /* asked: allowed */
    DENIED,        /* asked: denied, by a name */
    NAMELESS,      /* asked: denied without a word */
    HUNG_UP,       /* asked: no answer */
    ON_TIME,       /* asked: an answer the second time only */
    IN_PARTS,      /* asked: an answer that comes slowly */
    FOREIGN,       /* asked: another version */
    NEVER,         /* asked: nothing ever */
    OTHER,         /* not asked about */
};

static bool answer_question(const struct network_question *question, int fd) {
    struct network_answer answer = {.version = QUESTION_VERSION, .allowed = 1};
    static unsigned seen;
    switch (question->port) {
    case DENIED:
        answer = (struct network_answer){.version = QUESTION_VERSION,
                                         .why = "not in network.allowedDomains",
                                         .host = "denied.example.com"};
        break;
    case NAMELESS:
        answer.allowed = 0;
        memset(answer.host, 'x', sizeof answer.host);
        memset(answer.host + 1, 0, sizeof answer.host - 2); /* no NUL at the end */
        break;
    case HUNG_UP:
        return true;
    case ON_TIME:
        if (seen++ == 0)
            return false;
        break;
    case IN_PARTS:
        if (write(fd, &answer, 100) == 100)
            usleep(50000);
        return write(fd, (char *)&answer + 100, sizeof answer - 100) > 0;
    case FOREIGN:
        answer.version++;
        break;
    case NEVER:
        return false;
    default:
        break;
    }
    answer_with(fd, &answer);
    return true;
}

static void prepare(void) {
    route_everything(AF_INET);
    route_everything(AF_INET6);
    for (uint16_t port = SERVED; port <= OTHER; port++)
        if (port != GONE)
            serve_everywhere(SOCK_STREAM, port);
    serve_everywhere(SOCK_STREAM, GATEWAY_PROXY_PORT);
    serve_everywhere(SOCK_STREAM, 53);
}

/* Whether connecting that socket is noted so. */
static bool notes(int fd, const char *host, uint16_t port, enum port_transport transport) {
    int error = connect_to(fd, host, port);
    uint16_t own = port_of(fd);
    close(fd);
    if (error != 0 && error != EINPROGRESS)
        printf("# connect: %s\n", strerror(error));
    return (error == 0 || error == EINPROGRESS) && is_ours(port_table_take(table, transport, own)) &&
           port_table_take(table, transport, own).run == 0;
}

static unsigned asked_about(uint16_t port) {
    unsigned found = 0;
    for (unsigned i = 0; i < atomic_load(&asked->count); i++)
        found += asked->questions[i].port == port;
    return found;
}

static void closed(void) {
    port_table_set_flags(table, PORT_TABLE_TRANSPARENT | PORT_TABLE_CLOSED);
    is_int(try(SOCK_STREAM, "192.0.2.1", SERVED), ECONNREFUSED,
           "where nothing is allowed nothing is reached");
    is_int(try(SOCK_STREAM, "2001:db8::1", SERVED), ECONNREFUSED, "by IPv6 neither");
    is_int(try(SOCK_STREAM, "::ffff:192.0.2.2", SERVED), ECONNREFUSED, "nor by IPv4 in its form");
    is_int(try(SOCK_STREAM | SOCK_NONBLOCK, "192.0.2.3", OPENED), ECONNREFUSED, "at once");
    is_int(try(SOCK_STREAM, GATEWAY_V4_OUTER, SERVED), ECONNREFUSED, "the gateway is no exception");
    is_int(try(SOCK_STREAM, GATEWAY_V4_OUTER, GATEWAY_PROXY_PORT), 0, "but the proxy answers for itself");
    is_int(try(SOCK_STREAM, GATEWAY_V6_OUTER, GATEWAY_PROXY_PORT), 0, "also by IPv6");
    is_int(try(SOCK_STREAM, "192.0.2.1", GATEWAY_PROXY_PORT), ECONNREFUSED, "at its own address only");
    is_int(try(SOCK_STREAM, "192.0.2.1", 53), 0, "resolvers answer for themselves, too");
    is_int(try(SOCK_STREAM, "127.0.0.1", OTHER), 0, "localhost is the session's");
    is_int(try(SOCK_STREAM, "0.0.0.0", OTHER), 0, "by any name");
    is_int(try(SOCK_STREAM, "::", OTHER), 0, "also of IPv6");
    is_int(try(SOCK_STREAM, GATEWAY_V4_INNER, OTHER), 0, "and the address that commands have");
    is_int(try(SOCK_STREAM, GATEWAY_V6_INNER, OTHER), 0, "of both kinds");
    int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
    is_int(connect_to(fd, "192.0.2.4", SERVED), ECONNREFUSED, "a socket of many paths has none");
    close(fd);
    is_int((int)atomic_load(&asked->count), 0, "nobody was asked");
}

/* Where the kernel would wait for a neighbour that never answers. */
static void neighbours(void) {
    is_int(try(SOCK_STREAM, "100.127.255.252", SERVED), ECONNREFUSED, "an address of the link");
    is_int(try(SOCK_STREAM, "fd6f:732d:7362::77", SERVED), ECONNREFUSED, "one of IPv6");
    is_int(try(SOCK_STREAM, "fe80::1", SERVED), ECONNREFUSED, "a link-local one");
}

static void noted(void) {
    struct to address = to("192.0.2.1", SERVED);
    port_table_set_flags(table, PORT_TABLE_TRANSPARENT);
    ok(notes(socket(AF_INET, SOCK_STREAM, 0), "192.0.2.1", SERVED, PORT_TCP4), "a connection is noted");
    ok(notes(socket(AF_INET6, SOCK_STREAM, 0), "2001:db8::1", SERVED, PORT_TCP6), "one by IPv6");
    ok(notes(socket(AF_INET6, SOCK_STREAM, 0), "::ffff:192.0.2.1", SERVED, PORT_TCP4),
       "one by IPv4 from a socket for IPv6");
    ok(notes(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "192.0.2.1", SERVED, PORT_TCP4),
       "one that is under way");
    ok(notes(socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), "192.0.2.1", SERVED, PORT_TCP4),
       "one of many paths");
    ok(notes(socket(AF_INET, SOCK_STREAM, 0), GATEWAY_V4_OUTER, GATEWAY_PROXY_PORT, PORT_TCP4),
       "one to the proxy");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    is_int(gave(sendto(fd, "fast", 4, MSG_FASTOPEN, (struct sockaddr *)&address.bytes, address.length)), 4,
           "data that opens a connection");
    ok(is_ours(port_table_take(table, PORT_TCP4, port_of(fd))), "is noted");
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    is_int(connect_to(fd, "127.0.0.1", OTHER), 0, "between commands");
    is_int(port_table_look(table, PORT_TCP4, port_of(fd)).run, 0, "nothing is noted");
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    is_int(connect_to(fd, "192.0.2.9", GONE), ECONNREFUSED, "where the listener has just gone");
    is_int(port_table_look(table, PORT_TCP4, port_of(fd)).run, 0, "there is nothing to note");
    close(fd);
    is_int(try(SOCK_STREAM, "192.0.2.10", 0), ECONNREFUSED, "port 0 is the kernel's");
    is_int((int)atomic_load(&asked->count), 0, "nobody was asked");
}

/* --- asking --- */

static atomic_uint alarms;

static void count_alarm(int number) {
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

static bool question_is(unsigned at, uint16_t port, const char *host) {
    const struct network_question *question = &asked->questions[at];
    struct in6_addr address;
    inet_pton(AF_INET6, host, &address);
    return atomic_load(&asked->count) > at && question->version == QUESTION_VERSION &&
           question->type == QUESTION_CONNECT && question->run == RUN_NUMBER &&
           question->pid == (uint32_t)getpid() && question->port == port &&
           memcmp(question->address, &address, sizeof address) == 0;
}

static void asks(void) {
    is_int(try(SOCK_STREAM, "192.0.2.1", OPENED), 0, "where there is no listener the addon opens one");
    ok(question_is(0, OPENED, "::ffff:192.0.2.1"), "it hears run, process, address and port");
    is_int(try(SOCK_STREAM | SOCK_NONBLOCK, "2001:db8::2", OPENED), EINPROGRESS, "also without blocking");
    ok(question_is(1, OPENED, "2001:db8::2"), "and by IPv6");
    is_int(try(SOCK_STREAM, "198.18.0.9", DENIED), ECONNREFUSED, "what it denies is refused");
    is_int(try(SOCK_STREAM, "192.0.2.1", NAMELESS), ECONNREFUSED, "also with an answer that says little");
    is_int(try(SOCK_STREAM, "192.0.2.1", HUNG_UP), ECONNREFUSED, "no answer is none");
    is_int(try(SOCK_STREAM, "192.0.2.1", FOREIGN), ECONNREFUSED, "nor is one that cannot be read");
    is_int(try(SOCK_STREAM, "192.0.2.1", IN_PARTS), 0, "one may come slowly");
    struct to address = to("192.0.2.1", DENIED);
    struct iovec part = part_of("x");
    struct mmsghdr many = {.msg_hdr = message_of(&part, 1)};
    many.msg_hdr.msg_name = &address.bytes;
    many.msg_hdr.msg_namelen = address.length;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    is_int(gave(sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address.bytes, address.length)),
           -ECONNREFUSED, "nothing goes past that with data");
    is_int(gave(sendmsg(fd, &many.msg_hdr, MSG_FASTOPEN)), -ECONNREFUSED, "in a message");
    is_int(gave(sendmmsg(fd, &many, 1, MSG_FASTOPEN)), -ECONNREFUSED, "or in several");
    is_int(asked_about(DENIED), 4, "it was asked each time");
    close(fd);
}

static void *make_other_calls(void *data) {
    usleep(50000);
    *(int *)data = try(SOCK_STREAM, "127.0.0.1", OTHER);
    return NULL;
}

static void interrupted(void) {
    struct sigaction action = {.sa_handler = count_alarm}; /* without SA_RESTART */
    pthread_t thread;
    int other = -1;
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&thread, NULL, make_other_calls, &other);
    ualarm(150000, 0);
    is_int(try(SOCK_STREAM, "192.0.2.1", ON_TIME), 0, "a connect that waits for an answer asks again");
    is_int((int)atomic_load(&alarms), 1, "after the command has handled a signal");
    pthread_join(thread, NULL);
    is_int(other, 0, "and another thread's goes on meanwhile");
    is_int(asked_about(ON_TIME), 2, "it was asked twice");
}

static void loopback(void) {
    port_table_set_flags(table, PORT_TABLE_TRANSPARENT | PORT_TABLE_ANY_LOOPBACK);
    unsigned before = atomic_load(&asked->count);
    is_int(try(SOCK_STREAM, "127.0.0.1", OPENED), 0, "a port of localhost may be the host's");
    ok(question_is(before, OPENED, "::ffff:127.0.0.1"), "so the addon is asked");
    is_int(try(SOCK_STREAM, "::1", DENIED), ECONNREFUSED, "which may deny it");
    is_int(try(SOCK_STREAM, "127.0.0.1", HUNG_UP), 0, "without an answer it is the session's");
    port_table_set_listening(table, PORT_LOOPBACK, OTHER, true);
    ok(notes(socket(AF_INET, SOCK_STREAM, 0), "127.0.0.1", OTHER, PORT_TCP4),
       "where there is a listener connections are noted");
    is_int(try(SOCK_STREAM, GATEWAY_V4_INNER, OTHER), 0, "the commands' own address is no localhost");
    is_int(asked_about(OTHER), 0, "and nobody is asked");
}

static void without_gateway(void) {
    port_table_set_flags(table, 0);
    unsigned before = atomic_load(&asked->count);
    ok(!notes(socket(AF_INET, SOCK_STREAM, 0), "127.0.0.1", GATEWAY_PROXY_PORT, PORT_TCP4),
       "a command's own server on the proxy's port is nobody else's concern");
    port_table_set_listening(table, PORT_LOOPBACK, GATEWAY_PROXY_PORT, true);
    ok(notes(socket(AF_INET, SOCK_STREAM, 0), "127.0.0.1", GATEWAY_PROXY_PORT, PORT_TCP4),
       "without a gateway the proxy is on localhost, and noted");
    is_int(try(SOCK_STREAM, "192.0.2.1", OPENED), 0, "the kernel answers for the rest");
    is_int(atomic_load(&asked->count) - before, 0, "nobody is asked");
}

/* --- listening --- */

/* 1: the addon heard of that port; 0: it did not. */
static int heard_of(uint16_t port) {
    for (unsigned tries = 0; tries < 200; tries++, usleep(1000))
        for (unsigned i = 0; i < atomic_load(&asked->count); i++)
            if (asked->questions[i].port == port && asked->questions[i].type == QUESTION_LISTENING)
                return 1;
    return 0;
}

static void listens(void) {
    struct sockaddr_in address;
    int fd = bound(SOCK_STREAM, &address);
    is_int(gave(listen(fd, 4)), 0, "a command listens");
    is_int(heard_of(ntohs(address.sin_port)), 1, "and the addon hears of its port");
    ok(try(SOCK_STREAM, "127.0.0.1", ntohs(address.sin_port)) == 0, "where it can be reached");
    close(fd);
    fd = socket(AF_INET6, SOCK_STREAM, 0);
    is_int(gave(listen(fd, 4)), 0, "without a port of its choice");
    is_int(heard_of(port_of(fd)), 1, "the kernel's is told");
    int second = socket(AF_INET6, SOCK_STREAM, 0);
    is_int(connect_to(second, "::1", port_of(fd)), 0, "a socket that is connected");
    unsigned before = atomic_load(&asked->count);
    is_int(gave(listen(second, 4)), -EINVAL, "does not listen");
    is_int(gave(listen(1000, 4)), -EBADF, "nor does none");
    close(second);
    close(fd);
    fd = bound(SOCK_DGRAM, &address);
    is_int(gave(listen(fd, 4)), -EOPNOTSUPP, "nor one for datagrams");
    close(fd);
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0os-sandbox-outbound-test"};
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    second = socket(AF_UNIX, SOCK_STREAM, 0);
    ok(bind(fd, (struct sockaddr *)&name, sizeof name) == 0 && listen(fd, 4) == 0 &&
           connect(second, (struct sockaddr *)&name, sizeof name) == 0 &&
           getsockopt(second, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == getpid(),
       "who listens on a unix socket is seen as itself");
    is_int(atomic_load(&asked->count) - before, 0, "none of these is told");
    close(second);
    close(fd);
}

/* --- both sides --- */

struct patience {
    int error;
    double seconds;
};

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *wait_in_vain(void *data) {
    struct patience *patience = data;
    double before = seconds_now();
    patience->error = try(SOCK_STREAM, "192.0.2.1", NEVER);
    patience->seconds = seconds_now() - before;
    return NULL;
}

static void command(void) {
    pthread_t thread;
    struct patience patience;
    sigset_t alarm_only;
    closed();
    neighbours();
    noted();
    asks();
    interrupted();
    sigemptyset(&alarm_only);
    pthread_create(&thread, NULL, wait_in_vain, &patience);
    for (int i = 0; i < 2000 && asked_about(NEVER) == 0; i++)
        usleep(1000);
    loopback();
    without_gateway();
    listens();
    pthread_join(thread, NULL);
    ok(patience.error == ECONNREFUSED && patience.seconds > 9.5 && patience.seconds < 15,
       "an answer is waited for ten seconds, and no longer: %.1f, errno %d", patience.seconds,
       patience.error);
}

int main(void) {
    static const struct {
        const char *host;
        unsigned port;
        const char *why;
    } reported[] = {
        {"192.0.2.1", SERVED, "not in network.allowedIPs"},
        {"2001:db8::1", SERVED, "not in network.allowedIPs"},
        {"192.0.2.2", SERVED, "not in network.allowedIPs"},
        {"192.0.2.3", OPENED, "not in network.allowedIPs"},
        {GATEWAY_V4_OUTER, SERVED, "not in network.allowedIPs"},
        {"192.0.2.1", GATEWAY_PROXY_PORT, "not in network.allowedIPs"},
        {"192.0.2.4", SERVED, "not in network.allowedIPs"},
        {"100.127.255.252", SERVED, "no network in the sandbox"},
        {"fd6f:732d:7362::77", SERVED, "no network in the sandbox"},
        {"fe80::1", SERVED, "a link-local address"},
        {"192.0.2.9", GONE, "no network in the sandbox"},
        {"denied.example.com", DENIED, "not in network.allowedDomains"},
        {"x", NAMELESS, "no network in the sandbox"},
        {"192.0.2.1", HUNG_UP, "no network in the sandbox"},
        {"192.0.2.1", FOREIGN, "no network in the sandbox"},
        {"192.0.2.1", NEVER, "no network in the sandbox"},
    };
    const unsigned count = sizeof reported / sizeof reported[0];
    network_begin(answer_question, prepare);
    supervised.filter |= SUPERVISE_LISTENS;
    static const uint16_t served[] = {SERVED, GONE, 53, GATEWAY_PROXY_PORT};
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++)
        port_table_set_listening(table, PORT_GATEWAY, served[i], true);
    supervised_run(NULL, 0, command);
    network_end();
    for (unsigned i = 0; i < count; i++)
        is_reported(reported[i].host, reported[i].port, reported[i].why);
    is_int(supervised_reports("\"operation\""), count, "and nothing else");
    if (tap_state.failed > 0)
        diag("reported", supervised_events);
    return done_testing();
}
