/* Ports of one network on the loopback of another; the gateway, which makes sockets in the former, is a
 * double. */
#include "network/exposed.h"

#include <linux/netlink.h>

#include "looping.h"
#include "network/exposed_internal.h"
#include "small_world.h"
#include "tap.h"

static int host_network;
static int inner_network;

static int own_network(void) {
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

static void enter(int network) {
    if (setns(network, CLONE_NEWNET) != 0)
        perror("setns");
}

/* The double: answers from the loop, with a socket from inside, or an error. */
struct gateway_client {
    uv_timer_t timer;
    struct {
        struct gateway_request request;
        gateway_socket_fn done;
        void *data;
    } waiting[64];
    unsigned count;
    int error;
    bool silent;
};

static void on_gateway(uv_timer_t *timer) {
    struct gateway_client *client = timer->data;
    unsigned count = client->count;
    for (unsigned i = 0; i < count; i++) {
        const struct gateway_request *request = &client->waiting[i].request;
        int fd = client->error;
        if (fd == 0) {
            enter(inner_network);
            fd = socket(request->domain, request->kind | SOCK_NONBLOCK | SOCK_CLOEXEC, request->protocol);
            enter(host_network);
        }
        client->waiting[i].done(client->waiting[i].data, fd);
    }
    client->count -= count;
    memmove(client->waiting, client->waiting + count, client->count * sizeof client->waiting[0]);
    if (client->count > 0)
        uv_timer_start(timer, on_gateway, 0, 0);
}

int gateway_client_socket(struct gateway_client *client, const struct gateway_request *request,
                          gateway_socket_fn done, void *data) {
    if (client->count == 64)
        return -EBUSY;
    client->waiting[client->count].request = *request;
    client->waiting[client->count].done = done;
    client->waiting[client->count++].data = data;
    if (!client->silent)
        uv_timer_start(&client->timer, on_gateway, 0, 0);
    return 0;
}

struct gateway_request gateway_stream_inside(int domain) {
    return (struct gateway_request){.domain = domain, .kind = SOCK_STREAM};
}

struct gateway_request gateway_diag_inside(void) {
    return (struct gateway_request){.domain = AF_NETLINK, .kind = SOCK_DGRAM, .protocol = NETLINK_SOCK_DIAG};
}

static struct gateway_client gateway;
static struct tunnels *tunnels;
static struct exposed_ports *ports;

static int listen_inside(const char *address, uint16_t *port) {
    enter(inner_network);
    int fd = listen_at(address, port, 16);
    enter(host_network);
    set_blocking(fd, false);
    return fd;
}

struct opened {
    bool called;
    uint16_t port;
};

static void on_open(void *data, uint16_t host_port) {
    *(struct opened *)data = (struct opened){true, host_port};
}

static uint16_t expose(uint16_t port) {
    struct opened opened = {0};
    exposed_ports_open(ports, port, on_open, &opened);
    if (opened.called)
        ok(false, "an answer comes later");
    run_until(&opened.called, 2000);
    return opened.port;
}

/* A connection to the host's port; -1: refused. */
static int connect_to(uint16_t port) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

static int accept_looping(int listener) {
    int fd = -1;
    for (uint64_t end = now_ms() + 2000; fd < 0 && now_ms() < end;) {
        uv_run(&loop, UV_RUN_NOWAIT);
        fd = accept(listener, NULL, NULL);
    }
    return fd;
}

/* Whether what is sent to the host's port comes out at the listener, and back. */
static bool is_carried(uint16_t host_port, int listener) {
    char got[16] = {0};
    char back[16] = {0};
    int end;
    run_for(20);
    for (int earlier; (earlier = accept(listener, NULL, NULL)) >= 0;)
        close(earlier);
    int client = connect_to(host_port);
    if (client < 0)
        return false;
    int server = accept_looping(listener);
    send(client, "ping", 4, MSG_NOSIGNAL);
    read_looping(server, got, 4, &end);
    send(server, "pong", 4, MSG_NOSIGNAL);
    read_looping(client, back, 4, &end);
    close(client);
    close(server);
    run_for(10);
    return strcmp(got, "ping") == 0 && strcmp(back, "pong") == 0;
}

static void requested(void) {
    static const char *const addresses[] = {"127.0.0.1", "::1", "0.0.0.0", "::", GATEWAY_V4_INNER};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        uint16_t port = 0;
        int listener = listen_inside(addresses[i], &port);
        uint16_t host_port = expose(port);
        is_int(host_port, port, "a port gets the same number where that is free");
        ok(is_carried(host_port, listener), "and leads to a server that listens on %s", addresses[i]);
        is_int(expose(port), host_port, "asked for again it is the same");
        close(listener);
    }
    uint16_t port = 0;
    int taken = listen_at("127.0.0.1", &port, 1);
    int listener = listen_inside("127.0.0.1", &port);
    uint16_t host_port = expose(port);
    ok(host_port != 0 && host_port != port, "where the number is taken it is another");
    ok(is_carried(host_port, listener), "that leads there all the same");
    close(taken);
    close(listener);
    char byte;
    int end;
    int client = connect_to(host_port);
    read_looping(client, &byte, 1, &end);
    is_int(end, ECONNRESET, "where nobody listens the connection is reset");
    close(client);
    listener = listen_inside("127.0.0.1", &port);
    ok(is_carried(host_port, listener), "the port stays open, for a server that comes later");
    gateway.error = -EMFILE;
    client = connect_to(host_port);
    read_looping(client, &byte, 1, &end);
    is_int(end, ECONNRESET, "where the gateway has no socket the connection is reset");
    close(client);
    gateway.error = 0;
    close(listener);
    is_int(expose(0), 0, "there is no port 0");
}

static bool is_own(void *data, uint16_t port) {
    return *(uint16_t *)data == port;
}

/* Waits until the host's port is open, or is not. */
static bool becomes(uint16_t port, bool open, uint64_t ms) {
    for (uint64_t end = now_ms() + ms;;) {
        int fd = connect_to(port);
        if (fd >= 0)
            reset_now(fd);
        if ((fd >= 0) == open || now_ms() > end)
            return (fd >= 0) == open;
        run_for(5);
    }
}

static void followed(void) {
    static uint16_t own;
    uint16_t first = 0;
    uint16_t elsewhere = 0;
    int own_listener = listen_inside("127.0.0.1", &own);
    int listener = listen_inside("::1", &first);
    int unreachable = listen_inside("127.0.0.5", &elsewhere);
    exposed_ports_follow(ports, true, is_own, &own);
    ok(becomes(first, true, 2000), "what listens inside already is opened on the host");
    ok(is_carried(first, listener), "and leads there");
    ok(!becomes(own, true, 50), "the network's own listeners are left out");
    ok(!becomes(elsewhere, true, 50), "and one that could not be reached");
    uint16_t second = 0;
    int other = listen_inside("0.0.0.0", &second);
    exposed_ports_heard(ports);
    ok(becomes(second, true, 500), "one that was heard of is opened, too");
    close(other);
    ok(becomes(second, false, 500), "when it ends it is closed on the host, without a word");
    ok(becomes(first, true, 50), "the others stay");
    exposed_ports_heard(ports);
    run_for(70);
    other = listen_inside("127.0.0.1", &second);
    ok(becomes(second, true, 500), "a command may be heard of before it listens");
    close(other);
    ok(becomes(second, false, 500), "that is closed as well");
    close(own_listener);
    close(unreachable);
    run_for(1000);
    uint64_t before = cpu_ms();
    run_for(500);
    ok(cpu_ms() - before < 50, "following takes no time while nothing happens");

    uint16_t asked = 0;
    other = listen_inside("127.0.0.1", &asked);
    expose(asked);
    exposed_ports_heard(ports);
    run_for(50);
    close(other);
    run_for(100);
    ok(becomes(asked, true, 50), "what was asked for stays when nothing listens there any more");
    ok(ports->untold == false, "this kernel tells of ends");
    exposed_ports_follow(ports, false, is_own, &own);
    ok(becomes(first, false, 50) && becomes(asked, true, 50),
       "when it is over, what was opened so is closed");
    exposed_ports_follow(ports, true, is_own, &own);
    ok(becomes(first, true, 500), "and it can begin again");
    close(listener);
    ok(becomes(first, false, 500), "as before");
}

/* A thousand short connections inside: none of them is told of. */
static void many_ends(void) {
    uint16_t port = 0;
    int listener = listen_inside("127.0.0.1", &port);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    exposed_ports_heard(ports);
    becomes(port, true, 500);
    run_for(1000);
    for (unsigned i = 0; i < 1000; i++) {
        enter(inner_network);
        int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        enter(host_network);
        connect(client, (struct sockaddr *)&to, sizeof to);
        int server = accept(listener, NULL, NULL);
        reset_now(client);
        close(server);
    }
    ok(!uv_is_active((uv_handle_t *)&ports->look), "nothing is looked at when connections end");
    run_for(20);
    ok(!uv_is_active((uv_handle_t *)&ports->look), "nor a moment later");
    ok(becomes(port, true, 50), "and the port is open");
    for (unsigned i = 0; i < 5000; i++)
        exposed_ports_heard(ports);
    ok(becomes(port, true, 50), "also when a command makes much noise");
    close(listener);
    ok(becomes(port, false, 500), "until it ends");
}

static void on_closed(void *data) {
    *(bool *)data = true;
}

static void closing(void) {
    uint16_t port = 0;
    bool closed = false;
    bool tunnels_closed = false;
    struct opened opened = {0};
    int listener = listen_inside("127.0.0.1", &port);
    uint16_t host_port = expose(port);
    int carried = connect_to(host_port);
    int server = accept_looping(listener);
    gateway.silent = true;
    int waiting = connect_to(host_port);
    run_for(20);
    exposed_ports_open(ports, port, on_open, &opened);
    exposed_ports_close(ports, on_closed, &closed);
    ok(opened.called && opened.port == 0, "who waits hears from inside that there is none");
    ok(connect_to(host_port) < 0, "the ports are closed at once");
    char byte;
    int end;
    read_looping(waiting, &byte, 1, &end);
    is_int(end, ECONNRESET, "a connection that was on its way is reset");
    ok(!closed, "the gateway's answer is waited for");
    on_gateway(&gateway.timer);
    ok(run_until(&closed, 2000), "then it is closed");
    send(carried, "x", 1, MSG_NOSIGNAL);
    ok(read_looping(server, &byte, 1, &end) == 1, "a tunnel goes on");
    tunnels_close(tunnels, on_closed, &tunnels_closed);
    ok(run_until(&tunnels_closed, 2000), "until tunnels are closed");
    close(carried);
    close(waiting);
    close(server);
    close(listener);
}

int main(void) {
    if (!ok(world_begin(), "there is a network of the test's own"))
        return done_testing();
    host_network = own_network();
    if (unshare(CLONE_NEWNET) != 0)
        perror("unshare");
    inner_network = own_network();
    world_up("lo", NULL);
    world_up("lo:1", GATEWAY_V4_INNER);
    enter(host_network);
    loop_begin();
    gateway.timer.data = &gateway;
    uv_timer_init(&loop, &gateway.timer);
    tunnels = tunnels_new(&loop);
    ports = exposed_ports_new(&loop, &gateway, tunnels);
    requested();
    followed();
    many_ends();
    closing();
    uv_close((uv_handle_t *)&gateway.timer, NULL);
    ok(loop_end(), "nothing is left on the loop");
    close(host_network);
    close(inner_network);
    return done_testing();
}
