/* connect(2) and bind(2) of a supervised command; what is "the host's" belongs to the test's own network. */
#include "supervised_sockets.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/* 0 or the errno of connecting a new socket. */
static int try_address(int type, const void *address, socklen_t length) {
    int fd = socket(((const struct sockaddr *)address)->sa_family, type, 0);
    int error = connect(fd, address, length) == 0 ? 0 : errno;
    close(fd);
    return error;
}

static int try(int type, const char *name) {
    struct sockaddr_un address = address_of(name);
    return try_address(type, &address, sizeof address);
}

static const struct {
    const char *word;
    int type;
} kinds[] = {{"stream", SOCK_STREAM}, {"seqpacket", SOCK_SEQPACKET}, {"dgram", SOCK_DGRAM}};

static void host_sockets(void) {
    char name[64];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "host-%s", kinds[i].word);
        is_int(try(kinds[i].type, name), EACCES, "a socket of the host is refused");
        snprintf(name, sizeof name, "allowed-%s", kinds[i].word);
        is_int(try(kinds[i].type, name), 0, "one that the list names is reached");
    }
    is_int(try(SOCK_STREAM, "folder/listed"), 0, "so is one in a folder of the list");
    is_int(try(SOCK_STREAM, "link"), EACCES, "a symlink to a socket of the host is refused");
    is_int(try(SOCK_STREAM, "../../proc/self/root/var/tmp/../../proc/self/cwd/host-stream"), ENOENT,
           "and no detour helps");
    is_int(try(SOCK_DGRAM, "host-stream"), EACCES, "also by a socket of another type");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = address_of("host-stream");
    is_int(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, EACCES,
           "also by one that does not block");
    close(fd);
}

/* A list names a folder in which commands may make names. */
static void moved_sockets(void) {
    char from[128];
    char to[128];
    snprintf(from, sizeof from, "%s/host-stream", top);
    snprintf(to, sizeof to, "%s/folder/planted", top);
    is_int(link(from, to), 0, "a command can link a socket of the host to a path of the list");
    is_int(try(SOCK_STREAM, "folder/planted"), EACCES, "and does not reach it there");
    unlink(to);
    is_int(try(SOCK_STREAM, "folder/relative"), 0, "one that was bound to a relative path is reached");
    is_int(try(SOCK_STREAM, "folder/other-relative"), EACCES, "but by its own name only");
    is_int(try(SOCK_STREAM, "folder/stale"), ECONNREFUSED, "a stale one of the list gives what it gives");
}

static void inside_sockets(void) {
    char name[64];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "inside-%s", kinds[i].word);
        int server = make(name, kinds[i].type);
        int client = socket(AF_UNIX, kinds[i].type, 0);
        struct sockaddr_un address = address_of(name);
        is_int(connect(client, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, 0, name);
        struct sockaddr_un peer = {0};
        socklen_t length = sizeof peer;
        ok(getpeername(client, (struct sockaddr *)&peer, &length) == 0 &&
               strcmp(peer.sun_path, address.sun_path) == 0,
           "its peer has the name that it was bound to");
        int reader = kinds[i].type == SOCK_DGRAM ? server : accept(server, NULL, NULL);
        char got[8] = "";
        ok(send(client, "hello", 5, 0) == 5 && recv(reader, got, sizeof got, 0) == 5 &&
               strcmp(got, "hello") == 0,
           "data arrives");
        is_int(try(kinds[(i + 1) % 3].type, name), EPROTOTYPE, "another type does not fit");
        close(client);
        close(reader);
        close(server);
        is_int(try(kinds[i].type, name), ECONNREFUSED, "once it is closed nobody listens");
        unlink(address.sun_path);
    }
}

/* unix(7) and net/unix/af_unix.c */
static void kernel_errors(void) {
    struct sockaddr_un address = address_of("missing");
    is_int(try(SOCK_STREAM, "missing"), ENOENT, "what is not there");
    is_int(try(SOCK_STREAM, "missing/x"), ENOENT, "nor its folder");
    is_int(try(SOCK_STREAM, "file/x"), ENOTDIR, "what is no folder");
    is_int(try(SOCK_STREAM, "file"), ECONNREFUSED, "a plain file");
    is_int(try(SOCK_STREAM, "stale"), ECONNREFUSED, "a socket that nobody has any more");
    is_int(try(SOCK_STREAM, "loop"), ELOOP, "a loop of symlinks");
    is_int(try(SOCK_STREAM, "closed"), EACCES, "a socket that may not be written");
    is_int(try_address(SOCK_STREAM, &address, 1), EINVAL, "an address of one byte");
    is_int(try_address(SOCK_STREAM, &address, 2), EINVAL, "an address without a name");
    struct sockaddr_storage large = {.ss_family = AF_UNIX};
    is_int(try_address(SOCK_STREAM, &large, sizeof large), EINVAL, "a unix address that is too long");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    is_int(connect(fd, (struct sockaddr *)&large, sizeof large + 1) == 0 ? 0 : errno, EINVAL,
           "an address longer than any");
    is_int(connect(fd, (struct sockaddr *)(uintptr_t)16, sizeof address) == 0 ? 0 : errno, EFAULT,
           "an address that is not in memory");
    is_int(connect(1000, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, EBADF,
           "no descriptor");
    is_int(connect(0, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, ENOTSOCK, "no socket");
    int path = open("/", O_PATH);
    is_int(connect(path, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, EBADF, "a path only");
    close(path);
    close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    is_int(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, EAFNOSUPPORT,
           "an address of another family than the socket's");
    close(fd);
}

/* Where a path ends: at its NUL, or at the end of the address. */
static void path_ends(void) {
    int server = make("inside", SOCK_STREAM);
    struct sockaddr_un address = address_of("inside");
    socklen_t exact = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address.sun_path));
    is_int(try_address(SOCK_STREAM, &address, exact), 0, "a path without a NUL ends with the address");
    memset(address.sun_path + strlen(address.sun_path) + 1, 'x', 20);
    is_int(try_address(SOCK_STREAM, &address, sizeof address), 0,
           "what stands behind the NUL does not count");
    is_int(try_address(SOCK_STREAM, &address, exact - 1), ENOENT, "a byte less is another name");
    unlink(address_of("inside").sun_path);
    close(server);
    char folder[200];
    snprintf(folder, sizeof folder, "%s/%.*s", top, (int)(107 - strlen(top)), /* with its "/" 108 bytes */
             "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
             "nnnnnnn");
    memcpy(address.sun_path, folder, sizeof address.sun_path);
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    ok(strlen(folder) == 108 && bind(server, (struct sockaddr *)&address, sizeof address) == 0 &&
           listen(server, 1) == 0,
       "a path of 108 bytes is bound to");
    is_int(try_address(SOCK_STREAM, &address, sizeof address), 0, "and connected to");
    unlink(folder);
    close(server);
}

static void abstract(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0os-sandbox-broker-test"};
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 23;
    is_int(try_address(SOCK_STREAM, &address, length), ECONNREFUSED,
           "an abstract name of the host is not there: that is another network");
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    ok(bind(server, (struct sockaddr *)&address, length) == 0 && listen(server, 1) == 0,
       "the same name can be had here");
    is_int(try_address(SOCK_STREAM, &address, length), 0, "and connected to");
    close(server);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr nothing = {.sa_family = AF_UNSPEC};
    is_int(connect(fd, &nothing, sizeof nothing), 0, "a datagram socket can be disconnected");
    close(fd);
}

static void ip(void) {
    struct sockaddr_in address = inet("127.0.0.1", 0);
    socklen_t length = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    ok(bind(server, (struct sockaddr *)&address, sizeof address) == 0 && listen(server, 16) == 0 &&
           getsockname(server, (struct sockaddr *)&address, &length) == 0,
       "a port is listened on");
    is_int(try_address(SOCK_STREAM, &address, sizeof address), 0, "and connected to");
    uint16_t port = ntohs(address.sin_port);
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr);
    is_int(try_address(SOCK_STREAM, &mapped, sizeof mapped), 0, "also as an address of IPv6");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int result = connect(fd, (struct sockaddr *)&address, sizeof address);
    ok(result == 0 || errno == EINPROGRESS, "also without blocking");
    is_int(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK, "and the socket's flags stay");
    close(fd);
    close(server);
    is_int(try_address(SOCK_STREAM, &address, sizeof address), ECONNREFUSED, "where nobody listens");
    address = inet("192.0.2.1", 443);
    is_int(try_address(SOCK_STREAM, &address, sizeof address), ENETUNREACH, "there is nothing but loopback");
    is_int(try_address(SOCK_DGRAM, &address, sizeof address), ENETUNREACH, "by UDP neither");
    address = inet("192.0.2.2", 0);
    is_int(try_address(SOCK_DGRAM, &address, sizeof address), ENETUNREACH, "nor for a look at the route");
    struct sockaddr_in6 far = {.sin6_family = AF_INET6, .sin6_port = htons(53)};
    inet_pton(AF_INET6, "2001:db8::1", &far.sin6_addr);
    is_int(try_address(SOCK_STREAM, &far, sizeof far), ENETUNREACH, "nor by IPv6");
}

static int try_bind(int domain, const void *address, socklen_t length) {
    int fd = socket(domain, SOCK_STREAM, 0);
    int error = bind(fd, address, length) == 0 ? 0 : errno;
    close(fd);
    return error;
}

static void binds(void) {
    struct sockaddr_in address = inet("127.0.0.1", 80);
    is_int(try_bind(AF_INET, &address, sizeof address), EACCES, "a port that needs a privilege");
    address = inet("192.0.2.1", 80);
    is_int(try_bind(AF_INET, &address, sizeof address), EACCES, "whatever the address");
    address = inet("192.0.2.1", 8080);
    is_int(try_bind(AF_INET, &address, sizeof address), EADDRNOTAVAIL, "an address that is not ours");
    address = inet("0.0.0.0", 80);
    address.sin_family = AF_UNSPEC;
    is_int(try_bind(AF_INET, &address, sizeof address), EACCES, "also without a family");
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(1023)};
    is_int(try_bind(AF_INET6, &any, sizeof any), EACCES, "also by IPv6");
    any.sin6_port = htons(1024);
    is_int(try_bind(AF_INET6, &any, sizeof any), 0, "one that needs none");
    struct sockaddr_un local = address_of("file");
    is_int(try_bind(AF_UNIX, &local, sizeof local), EADDRINUSE, "a path that is taken");
    local = address_of("missing/x");
    is_int(try_bind(AF_UNIX, &local, sizeof local), ENOENT, "a path to nowhere");
    is_int(try_bind(AF_INET, &local, sizeof local), EAFNOSUPPORT, "an address of another family");
    is_int(bind(0, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, ENOTSOCK, "no socket");
}

/* --- a thread that swaps address and descriptor --- */

static struct {
    _Alignas(struct sockaddr_un) char address[sizeof(struct sockaddr_un)];
    struct sockaddr_un inside, host;
    int fd, spare[2];
    atomic_bool stop;
} swap;

static void *swap_on(void *unused) {
    (void)unused;
    while (!atomic_load(&swap.stop)) {
        memcpy(swap.address, &swap.host, sizeof swap.host);
        dup2(swap.spare[1], swap.fd);
        memcpy(swap.address, &swap.inside, sizeof swap.inside);
        dup2(swap.spare[0], swap.fd);
    }
    return NULL;
}

static void swaps(void) {
    pthread_t thread;
    unsigned attempts = 0;
    unsigned refused = 0;
    int server = make("inside", SOCK_DGRAM);
    swap.inside = address_of("inside");
    swap.host = address_of("host-dgram");
    for (size_t i = 0; i < 2; i++)
        swap.spare[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
    swap.fd = dup(swap.spare[0]);
    memcpy(swap.address, &swap.inside, sizeof swap.inside);
    pthread_create(&thread, NULL, swap_on, NULL);
    for (time_t until = time(NULL) + 2; time(NULL) < until; attempts++) {
        if (connect(swap.fd, (struct sockaddr *)swap.address, sizeof swap.inside) != 0)
            refused += errno == EACCES ? 1 : 0;
        send(swap.spare[0], "x", 1, MSG_DONTWAIT);
        send(swap.spare[1], "x", 1, MSG_DONTWAIT);
    }
    atomic_store(&swap.stop, true);
    pthread_join(thread, NULL);
    ok(attempts > 1000 && refused > 0, "%u connects while a thread swaps the address, %u refused", attempts,
       refused);
    close(server);
}

/* --- waiting --- */

static void ignore(int number) {
    (void)number;
}

static void *accept_later(void *data) {
    usleep(200000);
    close(accept(*(int *)data, NULL, NULL));
    usleep(100000);
    close(accept(*(int *)data, NULL, NULL));
    return NULL;
}

static void waits(void) {
    pthread_t thread;
    struct sockaddr_un address = address_of("inside-full");
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(server, (struct sockaddr *)&address, sizeof address);
    listen(server, 0);
    int first = socket(AF_UNIX, SOCK_STREAM, 0);
    is_int(connect(first, (struct sockaddr *)&address, sizeof address), 0,
           "a queue for one connection is full");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    is_int(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, EAGAIN,
           "one that does not block is refused");
    close(fd);
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGALRM, &action, NULL);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ualarm(100000, 0);
    is_int(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, EINTR,
           "one that blocks is interrupted by a signal");
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&thread, NULL, accept_later, &server);
    ualarm(100000, 0);
    is_int(connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno, 0,
           "or goes on waiting behind a handler that wants it, until there is room");
    pthread_join(thread, NULL);
    close(fd);
    close(first);
    close(server);
}

static void command(void) {
    host_sockets();
    moved_sockets();
    inside_sockets();
    kernel_errors();
    path_ends();
    abstract();
    ip();
    binds();
    swaps();
    waits();
}

/* Nobody knocked. */
static bool is_untouched(int server, int type) {
    char byte;
    fcntl(server, F_SETFL, O_NONBLOCK);
    return (type == SOCK_DGRAM ? recv(server, &byte, 1, 0) : accept(server, NULL, NULL)) < 0 &&
           errno == EAGAIN;
}

/* As a server does that has entered its folder. */
static void make_relative(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char other[64];
    char here[4096];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strcpy(address.sun_path, name);
    snprintf(other, sizeof other, "%s-relative", name);
    if (getcwd(here, sizeof here) == NULL || chdir(top) != 0 || chdir("folder") != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 16) != 0 ||
        (strcmp(name, "other") == 0 && rename(name, other) != 0) || chdir(here) != 0)
        supervised_fail(name);
}

int main(void) {
    int hosts[3];
    char name[64];
    char allowed[3][128];
    char folder[128];
    make_top();
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "host-%s", kinds[i].word);
        hosts[i] = make(name, kinds[i].type);
        snprintf(name, sizeof name, "allowed-%s", kinds[i].word);
        snprintf(allowed[i], sizeof allowed[i], "%s", address_of(name).sun_path);
        make(name, kinds[i].type);
    }
    snprintf(folder, sizeof folder, "%s/folder/", top);
    mkdir(folder, 0700);
    make("folder/listed", SOCK_STREAM);
    make_relative("relative");
    make_relative("other");
    close(make("folder/stale", SOCK_STREAM));
    chmod(address_of("allowed-stream").sun_path, 0600);
    close(make("stale", SOCK_STREAM));
    make("closed", SOCK_STREAM);
    chmod(address_of("closed").sun_path, 0);
    close(open(address_of("file").sun_path, O_CREAT | O_WRONLY, 0600));
    if (symlink("host-stream", address_of("link").sun_path) != 0 ||
        symlink("loop", address_of("loop").sun_path) != 0)
        return 1;
    struct sockaddr_un abstract_host = {.sun_family = AF_UNIX, .sun_path = "\0os-sandbox-broker-test"};
    int abstract_server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind(abstract_server, (struct sockaddr *)&abstract_host, offsetof(struct sockaddr_un, sun_path) + 23);
    listen(abstract_server, 1);

    supervised_run((char *[]){allowed[0], allowed[1], allowed[2], folder}, 4, command);

    for (size_t i = 0; i < 3; i++)
        ok(is_untouched(hosts[i], kinds[i].type), "the host's %s server was not reached", kinds[i].word);
    ok(is_untouched(abstract_server, SOCK_STREAM), "nor its abstract one");
    is_int(supervised_reports("/host-stream, see allowUnixSockets\""), 1,
           "what a moved one was bound to is told");
    is_int(supervised_reports("\"operation\":\"network-outbound\""), 3 + 2 + 2,
           "connects that were refused are reported");
    is_int(supervised_reports("host-stream\",\"why\":\"unix socket of the host, see allowUnixSockets\""), 1,
           "each path once");
    is_int(supervised_reports("\"host\":\"192.0.2.1\",\"port\":443,\"why\":\"no network in the sandbox\""), 1,
           "each address once");
    is_int(supervised_reports("192.0.2.2"), 0, "a look at the route is nothing");
    is_int(supervised_reports("\"operation\":\"network-bind\""), 3, "binds that were refused, too");
    if (tap_state.failed > 0)
        diag("reported", supervised_events);
    remove_top();
    return done_testing();
}
