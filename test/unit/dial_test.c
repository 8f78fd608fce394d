/* Dialing over real sockets; rules, the upstream's exceptions and the parser of its answer are doubles. */
#include "network/dial.h"

#include <pthread.h>
#include <sys/resource.h>

#include "looping.h"
#include "network/address.h"
#include "network/dial_internal.h"
#include "protocol/http_response.h"
#include "small_world.h"
#include "tap.h"

/* Doubles: by flag the loopback is named, all but 127.0.0.9, and 127.0.0.8 denied; exceptions are by flag. */
static bool loopback_is_named;
static bool upstream_is_excepted;

bool network_rules_names_address(const struct network_rules *rules, const uint8_t address[IP_ADDRESS_BYTES],
                                 uint16_t port) {
    (void)rules;
    (void)port;
    return loopback_is_named && network_address_class(address) != NULL && address[15] != 9;
}

const char *network_rules_denied_address(const struct network_rules *rules,
                                         const uint8_t address[IP_ADDRESS_BYTES], uint16_t port) {
    (void)rules;
    (void)port;
    return loopback_is_named && address[12] == 127 && address[15] == 8 ? "in network.deniedDomains" : NULL;
}

const char *network_address_class(const uint8_t address[IP_ADDRESS_BYTES]) {
    static const uint8_t six[IP_ADDRESS_BYTES] = {[15] = 1};
    bool is_loopback = (ip_address_is_v4(address) && address[12] == 127) || memcmp(address, six, 16) == 0;
    return is_loopback ? "a loopback address" : NULL;
}

void network_target_host(const struct network_target *target, char text[DOMAIN_NAME_MAX + 1]) {
    char address[IP_ADDRESS_TEXT];
    ip_address_format(target->address, address);
    snprintf(text, DOMAIN_NAME_MAX + 1, "%s", target->name[0] != '\0' ? target->name : address);
}

bool network_name_is_localhost(const char *name) {
    return strcmp(name, "localhost") == 0;
}

bool upstream_proxy_excepts(const struct upstream_proxy *proxy, const struct network_target *target) {
    (void)proxy;
    (void)target;
    return upstream_is_excepted;
}

enum parse_state http_connect_reply_parse(const uint8_t *bytes, size_t size, size_t *taken,
                                          unsigned *status) {
    const uint8_t *end = memmem(bytes, size, "\r\n\r\n", 4);
    if (size >= 5 && memcmp(bytes, "HTTP/", 5) != 0)
        return PARSE_INVALID;
    if (end == NULL)
        return PARSE_MORE;
    *taken = (size_t)(end - bytes) + 4;
    *status = (unsigned)strtoul((const char *)bytes + 9, NULL, 10);
    return PARSE_DONE;
}

struct dialed {
    bool called;
    unsigned calls;
    enum dial_result result;
    int fd;
    char text[256];
    uint64_t ms; /* how long it took */
};

static void on_done(void *data, enum dial_result result, int fd, const char *text) {
    struct dialed *dialed = data;
    dialed->called = true;
    dialed->calls++;
    dialed->result = result;
    dialed->fd = fd;
    snprintf(dialed->text, sizeof dialed->text, "%s", text);
}

static void parse(const char *text, uint8_t address[IP_ADDRESS_BYTES]) {
    size_t length = strlen(text);
    if (!ip_address_parse_v4(text, length, address) && !ip_address_parse_v6(text, length, address))
        printf("# %s is no address\n", text);
}

static struct dial_request to_address(const char *text, uint16_t port) {
    struct dial_request request = {.target = {.port = port}};
    parse(text, request.target.address);
    return request;
}

static struct dial_request to_name(const char *name, uint16_t port) {
    struct dial_request request = {.target = {.port = port}};
    snprintf(request.target.name, sizeof request.target.name, "%s", name);
    return request;
}

static struct dialed dial(struct dial_request request) {
    struct dialed dialed = {.fd = -1};
    uint64_t began = now_ms();
    if (dial_start(&loop, &request, on_done, &dialed) == NULL || dialed.called)
        ok(false, "a dial begins, and tells nothing from inside");
    run_until(&dialed.called, 20000);
    dialed.ms = now_ms() - began;
    return dialed;
}

/* An end of a connection: it is good, and as promised. */
static void is_good(const struct dialed *dialed, const char *name) {
    int delay = 0;
    socklen_t size = sizeof delay;
    ok(dialed->result == DIAL_CONNECTED && dialed->fd >= 0 &&
           (fcntl(dialed->fd, F_GETFL) & O_NONBLOCK) != 0 && (fcntl(dialed->fd, F_GETFD) & FD_CLOEXEC) != 0 &&
           getsockopt(dialed->fd, IPPROTO_TCP, TCP_NODELAY, &delay, &size) == 0 && delay != 0,
       "%s (%s)", name, dialed->text);
}

static void addresses(void) {
    uint16_t port = 0;
    int listener = listen_at("127.0.0.1", &port, 8);
    loopback_is_named = true;
    struct dialed dialed = dial(to_address("127.0.0.1", port));
    is_good(&dialed, "an address is connected to");
    close(dialed.fd);
    dialed = dial(to_name("localhost", port));
    is_good(&dialed, "localhost is the loopback, IPv4 where only that listens");
    close(dialed.fd);
    close(listener);
    dialed = dial(to_address("127.0.0.1", port));
    ok(dialed.result == DIAL_UNREACHABLE && dialed.fd == -1, "nobody listens: unreachable");
    is_str(dialed.text, strerror(ECONNREFUSED), "with the reason");
    listener = listen_at("::1", &port, 8);
    dialed = dial(to_name("localhost", port));
    is_good(&dialed, "localhost is IPv6 where only that listens");
    close(dialed.fd);
    close(listener);
}

static struct world_name known[] = {
    {.name = "one.example.com", .v4 = {"127.0.0.1"}},
    {.name = "inside.example.com", .v4 = {"127.0.0.9"}},
    {.name = "own.example.com", .v4 = {WORLD_OWN_ADDRESS}},
    {.name = "mixed.example.com", .v4 = {"127.0.0.9", "127.0.0.1"}},
    {.name = "many.example.com", .v4 = {"127.0.0.2", "127.0.0.3"}, .v6 = {"::1"}},
    {.name = "silent.example.com", .silent = true},
    {.name = "proxy.example.com", .v4 = {"127.0.0.9"}},
};
static struct world_resolver resolver = {.names = known, .count = sizeof known / sizeof known[0]};

/* Whether nobody came. */
static bool nobody_came(int listener) {
    set_blocking(listener, false);
    return accept(listener, NULL, NULL) < 0;
}

static void refusals(void) {
    uint16_t port = 0;
    int listener = listen_at("0.0.0.0", &port, 8);
    loopback_is_named = false;
    struct dialed dialed = dial(to_address("127.0.0.1", port));
    ok(dialed.result == DIAL_REFUSED && dialed.fd == -1, "a loopback address that no rule names is refused");
    is_str(dialed.text, "a loopback address", "with its class");
    dialed = dial(to_name("localhost", port));
    is_str(dialed.text, "resolves to 127.0.0.1, a loopback address", "so is localhost");
    dialed = dial(to_name("inside.example.com", port));
    ok(dialed.result == DIAL_REFUSED, "so is a name that resolves to one");
    is_str(dialed.text, "resolves to 127.0.0.9, a loopback address", "with the address");
    struct dial_request request = to_name("files.example.com", port);
    request.use_address = true;
    parse("127.0.0.9", request.address);
    is_str(dial(request).text, "resolves to 127.0.0.9, a loopback address",
           "so is an address that is given for a name");
    dialed = dial(to_address(WORLD_OWN_ADDRESS, port));
    ok(dialed.result == DIAL_REFUSED, "an address of this host is refused");
    is_str(dialed.text, "an address of this host", "with the reason");
    is_str(dial(to_name("own.example.com", port)).text,
           "resolves to " WORLD_OWN_ADDRESS ", an address of this host", "so is a name that resolves to it");
    ok(nobody_came(listener), "nobody is connected to then");
    loopback_is_named = true;
    unsigned before = atomic_load(&resolver.questions);
    dialed = dial(to_name("mixed.example.com", port));
    is_good(&dialed, "of several addresses those that may be dialed are");
    ok(atomic_load(&resolver.questions) - before <= 2,
       "the name was looked up once: a question for each family");
    close(dialed.fd);
    close(listener);
    static const struct {
        const char *address;
        const char *why;
    } cases[] = {
        {"64:ff9b::192.0.2.55", "an address of this host"},
        {"2002:c000:237::1", "an address of this host"},
        {"::192.0.2.55", "an address of this host"},
        {"::ffff:0:192.0.2.55", "an address of this host"},
        {"64:ff9b:1::192.0.2.55", "an address of this host"},
        {"64:ff9b::192.0.2.56", NULL},
        {"192.0.2.56", NULL},
        {"2001:db8::1", NULL},
        {"127.0.0.7", NULL},
        {"127.0.0.8", "in network.deniedDomains"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t address[IP_ADDRESS_BYTES];
        parse(cases[i].address, address);
        is_str(dial_address_refusal(NULL, address, 80), cases[i].why, cases[i].address);
    }
}

static void names(void) {
    uint16_t port = 0;
    int listener = listen_at("127.0.0.1", &port, 8);
    struct dialed dialed = dial(to_name("one.example.com", port));
    is_good(&dialed, "a name is looked up and connected to");
    close(dialed.fd);
    close(listener);
    dialed = dial(to_name("nothing.example.com", port));
    ok(dialed.result == DIAL_NOT_FOUND, "a name without an address is not found");
    ok(strncmp(dialed.text, "no address: ", 12) == 0, "and the reason says so (%s)", dialed.text);
    unsigned before = atomic_load(&resolver.questions);
    struct dial_request request = to_name("one.example.com", port);
    request.use_address = true;
    parse("127.0.0.1", request.address);
    dial(request);
    is_int(atomic_load(&resolver.questions) - before, 0, "with an address at hand nothing is looked up");
}

/* A port that swallows connections: its queue is full, and what comes is not answered. */
static int black_hole(const char *address, uint16_t *port, int waiting[4]) {
    int fd = listen_at(address, port, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(*port)};
    inet_pton(AF_INET, address, &to.sin_addr);
    for (unsigned i = 0; i < 4; i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(waiting[i], (struct sockaddr *)&to, sizeof to);
    }
    return fd;
}

static void races(void) {
    uint16_t port = 0;
    int waiting[4];
    int listener = listen_at("127.0.0.3", &port, 8);
    struct dialed dialed = dial(to_name("many.example.com", port));
    is_good(&dialed, "addresses that refuse are passed over");
    ok(dialed.ms < 200, "at once (%llu ms)", (unsigned long long)dialed.ms);
    close(dialed.fd);
    int hole = black_hole("127.0.0.2", &port, waiting);
    dialed = dial(to_name("many.example.com", port));
    is_good(&dialed, "one that does not answer is not waited for");
    ok(dialed.ms >= DIAL_ATTEMPT_DELAY_MS - 30 && dialed.ms < 2 * DIAL_ATTEMPT_DELAY_MS,
       "the next is tried after a quarter of a second (%llu ms)", (unsigned long long)dialed.ms);
    close(dialed.fd);
    close(listener);

    struct dial_request request = to_address("127.0.0.2", port);
    struct dial_account account = {0};
    dialed = (struct dialed){.fd = -1};
    struct dial *dial = dial_start_counted(&loop, &request, &account, on_done, &dialed);
    run_for(30);
    ok(!dialed.called && account.open == 1, "what does not answer goes on");
    dial->deadline.timer_cb(&dial->deadline);
    ok(dialed.result == DIAL_TIMED_OUT && dialed.fd == -1, "until the time is over");
    is_str(dialed.text, "no connection within 30 s", "with the time in the reason");
    run_for(20);
    ok(account.open == 0 && dialed.calls == 1, "then it is gone, and told once");
    for (unsigned i = 0; i < 4; i++)
        close(waiting[i]);
    close(hole);
}

static void on_idle(void *data) {
    ++*(unsigned *)data;
}

static unsigned descriptors(void) {
    unsigned count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
}

/* At every moment: before it begins, in the look-up, in the race. */
static void cancels(void) {
    uint16_t port = 0;
    int waiting[4];
    int hole = black_hole("127.0.0.2", &port, waiting);
    const struct dial_request requests[] = {
        to_address("127.0.0.2", port), to_name("many.example.com", port), to_name("silent.example.com", port),
        to_name("nothing.example.com", port), to_address("127.0.0.9", port)};
    static const unsigned turns[] = {0, 1, 2, 3, 5, 8};
    unsigned idle = 0;
    struct dial_account account = {.idle = on_idle, .data = &idle};
    struct dialed dialed = {.fd = -1};
    unsigned before = descriptors();
    unsigned cancelled = 0;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        for (size_t j = 0; j < sizeof turns / sizeof turns[0]; j++) {
            dialed = (struct dialed){.fd = -1};
            struct dial *dial = dial_start_counted(&loop, &requests[i], &account, on_done, &dialed);
            for (unsigned turn = 0; turn < turns[j] && !dialed.called; turn++)
                uv_run(&loop, UV_RUN_NOWAIT);
            if (dialed.called)
                continue;
            cancelled++;
            dial_cancel(dial);
            dial_cancel(dial);
            run_for(j == 3 ? 60 : 0);
            ok(!dialed.called, "dial %zu tells nothing when it was cancelled after %u turns", i, turns[j]);
        }
    }
    ok(cancelled > 20, "that was tried at many moments");
    for (unsigned i = 0; i < 20 && account.open > 0; i++)
        run_for(50);
    ok(account.open == 0 && idle > 0, "in the end all are gone, and the account hears it");
    /* A resolver that does not answer is not waited for, and lets go a little later. */
    for (unsigned i = 0; i < 200 && descriptors() > before; i++)
        run_for(50);
    is_int(descriptors(), before, "no descriptor is left");
    for (unsigned i = 0; i < 4; i++)
        close(waiting[i]);
    close(hole);
}

/* The upstream proxy: one connection, one scripted answer. */
struct proxy {
    int listener;
    const char *pieces[4];
    bool drip; /* a byte at a time */
    char request[1024];
    pthread_t thread;
};

static void *serve(void *data) {
    struct proxy *proxy = data;
    int fd = accept(proxy->listener, NULL, NULL);
    size_t have = 0;
    while (strstr(proxy->request, "\r\n\r\n") == NULL) {
        ssize_t got = recv(fd, proxy->request + have, sizeof proxy->request - 1 - have, 0);
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    for (size_t i = 0; i < 4 && proxy->pieces[i] != NULL; i++) {
        size_t size = strlen(proxy->pieces[i]);
        size_t step = proxy->drip ? 1 : size;
        for (size_t at = 0; at < size; at += step, usleep(proxy->drip ? 500 : 5000))
            send(fd, proxy->pieces[i] + at, step, MSG_NOSIGNAL);
    }
    shutdown(fd, SHUT_WR);
    char byte;
    while (recv(fd, &byte, 1, 0) > 0)
        ;
    close(fd);
    return NULL;
}

static struct dialed dial_through(struct proxy *proxy, const char *host, const char *authorization,
                                  struct dial_request request) {
    struct upstream_proxy upstream = {.port = 0};
    char *copy = authorization == NULL ? NULL : strdup(authorization);
    snprintf(upstream.host, sizeof upstream.host, "%s", host);
    upstream.authorization = copy;
    proxy->listener = listen_at("0.0.0.0", &upstream.port, 8);
    request.upstream = &upstream;
    pthread_create(&proxy->thread, NULL, serve, proxy);
    struct dialed dialed = dial(request);
    free(copy);
    return dialed;
}

static void end_proxy(struct proxy *proxy, struct dialed *dialed) {
    if (dialed->fd >= 0)
        close(dialed->fd);
    shutdown(proxy->listener, SHUT_RDWR); /* where nobody came */
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
}

static void upstream(void) {
    struct proxy good = {.pieces = {"HTTP/1.1 200 OK\r\nVia: x\r\n\r\nSSH-2.0"}};
    unsigned before = atomic_load(&resolver.questions);
    struct dialed dialed = dial_through(&good, "127.0.0.9", "Basic dTpw", to_name("far.example.com", 22));
    is_good(&dialed, "through the upstream proxy");
    is_str(good.request,
           "CONNECT far.example.com:22 HTTP/1.1\r\nHost: far.example.com:22\r\nProxy-Authorization: Basic "
           "dTpw\r\n\r\n",
           "by CONNECT, with its password");
    is_int(atomic_load(&resolver.questions) - before, 0, "the name is not looked up here");
    char rest[8] = {0};
    int end;
    read_looping(dialed.fd, rest, 7, &end);
    is_str(rest, "SSH-2.0", "what follows the head of the answer is the connection's");
    end_proxy(&good, &dialed);

    struct proxy slow = {.pieces = {"HTTP/1.1 103 Early\r\n\r\n", "HTTP/1.0 200 Fine\r\n\r\nbanner"},
                         .drip = true};
    dialed = dial_through(&slow, "proxy.example.com", NULL, to_address("2001:db8::7", 443));
    is_good(&dialed, "an answer may come byte by byte, after an interim one, from a proxy that is a name");
    is_str(slow.request, "CONNECT [2001:db8::7]:443 HTTP/1.1\r\nHost: [2001:db8::7]:443\r\n\r\n",
           "an IPv6 address is in brackets");
    read_looping(dialed.fd, rest, 6, &end);
    ok(memcmp(rest, "banner", 6) == 0, "and nothing of the connection is lost");
    end_proxy(&slow, &dialed);

    struct proxy given = {.pieces = {"HTTP/1.1 200 OK\r\n\r\n"}};
    struct dial_request request = to_name("named.example.com", 80);
    request.use_address = true;
    parse("192.0.2.99", request.address);
    dialed = dial_through(&given, "127.0.0.1", NULL, request);
    ok(strncmp(given.request, "CONNECT 192.0.2.99:80 ", 22) == 0,
       "an address that is given for a name is asked for");
    end_proxy(&given, &dialed);
}

static void upstream_failures(void) {
    static char endless[20000];
    memset(endless, 'a', sizeof endless - 1);
    memcpy(endless, "HTTP/1.1 200 O", 14);
    const struct {
        const char *answer;
        const char *text;
    } cases[] = {
        {"HTTP/1.1 407 No\r\n\r\n", "the upstream proxy answered 407"},
        {"HTTP/1.1 502 No\r\nX: y\r\n\r\nbody", "the upstream proxy answered 502"},
        {"HTTP/1.1 101 No\r\n\r\n", "the upstream proxy answered 101"},
        {"SSH-2.0-x\r\n\r\n", "the upstream proxy's answer cannot be read"},
        {endless, "the upstream proxy's answer cannot be read"},
        {"HTTP/1.1 200 O", "the upstream proxy closed the connection"},
        {NULL, "the upstream proxy closed the connection"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct proxy proxy = {.pieces = {cases[i].answer}};
        struct dialed dialed = dial_through(&proxy, "127.0.0.1", NULL, to_name("far.example.com", 22));
        ok(dialed.result == DIAL_UPSTREAM && dialed.fd == -1, "upstream failure %zu", i);
        is_str(dialed.text, cases[i].text, "with its text");
        end_proxy(&proxy, &dialed);
    }
    struct upstream_proxy nobody = {.host = "127.0.0.1", .port = 9};
    struct dial_request request = to_name("far.example.com", 22);
    request.upstream = &nobody;
    struct dialed dialed = dial(request);
    ok(dialed.result == DIAL_UPSTREAM, "a proxy that is not there is an upstream failure");
    is_str(dialed.text, "the upstream proxy cannot be reached: Connection refused", "with the reason");
    snprintf(nobody.host, sizeof nobody.host, "nothing.example.com");
    dialed = dial(request);
    ok(dialed.result == DIAL_UPSTREAM && strncmp(dialed.text, "the upstream proxy has no address", 33) == 0,
       "so is one without an address (%s)", dialed.text);
    request = to_address("127.0.0.9", 22);
    request.upstream = &nobody;
    ok(dial(request).result == DIAL_REFUSED,
       "a literal address is checked also where it goes through the proxy");
    upstream_is_excepted = true;
    uint16_t port = 0;
    int listener = listen_at("127.0.0.1", &port, 8);
    request = to_address("127.0.0.1", port);
    request.upstream = &nobody;
    dialed = dial(request);
    is_good(&dialed, "what is excepted goes out directly");
    close(dialed.fd);
    close(listener);
    upstream_is_excepted = false;
}

/* Nothing was refused then: it is our own lack. */
static void no_descriptors(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    struct dialed dialed = dial(to_address("192.0.2.56", 80));
    setrlimit(RLIMIT_NOFILE, &limit);
    is_int(dialed.result, DIAL_BROKEN, "without descriptors an address is not refused, it is not dialed");
    is_str(dialed.text, "an address that cannot be checked", "with the reason");
}

int main(void) {
    pthread_t thread;
    if (!ok(world_begin(), "there is a network of the test's own"))
        return done_testing();
    world_resolve(&resolver, &thread);
    loop_begin();
    addresses();
    refusals();
    names();
    races();
    cancels();
    upstream();
    upstream_failures();
    no_descriptors();
    ok(loop_end(), "nothing is left on the loop");
    world_resolve_end(&resolver, thread);
    return done_testing();
}
