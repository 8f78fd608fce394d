/*
 * Reaches a server by one of several ways: network-client WAY HOST PORT download BYTES PARALLEL
 *                                                                         requests COUNT PARALLEL
 *                                                                         idle COUNT
 * WAY: direct (no proxy is asked), connect, http, socks (the proxy of the environment). Every request has a
 * connection of its own. download prints the milliseconds that PARALLEL downloads of BYTES took together;
 * requests prints those of all COUNT and then the median and the 99th percentile of one, in microseconds.
 * idle opens COUNT connections that stay and ends when the server has ended them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEAD_MAX 4096
#define PIECE ((size_t)256 << 10)
#define SMALL 100 /* bytes of a small answer */
#define PARALLEL_MAX 64

struct way {
    const char *name;
    const char *variable; /* that names the proxy; NULL: none */
    void (*ask)(int fd);  /* of the proxy, before the request; NULL: nothing */
    bool absolute;        /* the request names the server */
};

static const struct way *way;
static const char *host;
static const char *port;
static struct sockaddr_in first_stop; /* the proxy, or the server */
static char user[256];                /* that the proxy wants */
static char password[256];
static char credentials[1024]; /* a header line with both; or empty */

__attribute__((format(printf, 1, 2))) static _Noreturn void fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fprintf(stderr, "network-client: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}

static double now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void send_all(int fd, const void *bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0)
            fail("send: %s", strerror(errno));
        sent += (size_t)count;
    }
}

static void receive_all(int fd, void *bytes, size_t size) {
    ssize_t got = recv(fd, bytes, size, MSG_WAITALL);
    if (got != (ssize_t)size)
        fail("recv: %s", got < 0 ? strerror(errno) : "the connection ended");
}

/* Reads a head, which must say 200, and perhaps more. Gives the size of what lies behind it. */
static size_t receive_head(int fd, char head[HEAD_MAX]) {
    size_t size = 0;
    const char *end;
    do {
        ssize_t got = recv(fd, head + size, HEAD_MAX - 1 - size, 0);
        if (got <= 0)
            fail("no answer: %s", got < 0 ? strerror(errno) : "the connection ended");
        size += (size_t)got;
        head[size] = '\0';
        end = strstr(head, "\r\n\r\n");
    } while (end == NULL);
    if (strncmp(head, "HTTP/1.1 200 ", 13) != 0 && strncmp(head, "HTTP/1.0 200 ", 13) != 0)
        fail("%.200s", head);
    return size - (size_t)(end + 4 - head);
}

static void ask_by_connect(int fd) {
    char head[HEAD_MAX];
    int size = snprintf(head, sizeof head, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n%s\r\n", host, port,
                        host, port, credentials);
    send_all(fd, head, (size_t)size);
    if (receive_head(fd, head) != 0)
        fail("the server speaks first");
}

/* RFC 1929. */
static void name_user(int fd) {
    uint8_t words[2 * 256 + 3] = {1};
    size_t user_size = strlen(user);
    size_t password_size = strlen(password);
    words[1] = (uint8_t)user_size;
    memcpy(words + 2, user, user_size);
    words[2 + user_size] = (uint8_t)password_size;
    memcpy(words + 3 + user_size, password, password_size);
    send_all(fd, words, 3 + user_size + password_size);
    uint8_t status[2];
    receive_all(fd, status, sizeof status);
    if (status[1] != 0)
        fail("SOCKS: user refused");
}

/* RFC 1928. */
static void ask_by_socks(int fd) {
    const uint8_t method = user[0] == '\0' ? 0 : 2;
    const uint8_t hello[] = {5, 1, method};
    uint8_t reply[10];
    send_all(fd, hello, sizeof hello);
    receive_all(fd, reply, 2);
    if (reply[1] != method)
        fail("SOCKS: method %d", reply[1]);
    if (method == 2)
        name_user(fd);
    uint8_t request[10] = {5, 1, 0, 1};
    uint16_t wire_port = htons((uint16_t)atoi(port));
    if (inet_pton(AF_INET, host, request + 4) != 1)
        fail("%s: not an address", host);
    memcpy(request + 8, &wire_port, 2);
    send_all(fd, request, sizeof request);
    receive_all(fd, reply, sizeof reply);
    if (reply[1] != 0)
        fail("SOCKS: reply %d", reply[1]);
}

static const struct way ways[] = {
    {.name = "direct"},
    {.name = "connect", .variable = "HTTP_PROXY", .ask = ask_by_connect},
    {.name = "http", .variable = "HTTP_PROXY", .absolute = true},
    {.name = "socks", .variable = "HTTP_PROXY", .ask = ask_by_socks},
};

static int open_connection(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&first_stop, sizeof first_stop) != 0)
        fail("connect: %s", strerror(errno));
    if (way->ask != NULL)
        way->ask(fd);
    return fd;
}

/* Asks for so many bytes, and for the end of the connection after them, or not. Gives how many have come
 * already. */
static size_t request(int fd, bool stay, size_t bytes) {
    char head[HEAD_MAX];
    char server[300] = "";
    if (way->absolute)
        snprintf(server, sizeof server, "http://%s:%s", host, port);
    int size =
        snprintf(head, sizeof head, "GET %s/%s/%zu HTTP/1.1\r\nHost: %s:%s\r\nConnection: %s\r\n%s\r\n",
                 server, stay ? "keep" : "get", bytes, host, port, stay ? "keep-alive" : "close",
                 way->absolute ? credentials : "");
    send_all(fd, head, (size_t)size);
    return receive_head(fd, head);
}

static void fetch(size_t bytes, char *piece) {
    int fd = open_connection();
    size_t total = request(fd, false, bytes);
    ssize_t got;
    while ((got = recv(fd, piece, PIECE, 0)) > 0)
        total += (size_t)got;
    if (got < 0 || total != bytes)
        fail("%zu bytes instead of %zu: %s", total, bytes,
             got < 0 ? strerror(errno) : "the connection ended");
    close(fd);
}

/* What one of several threads has to do. */
struct share {
    pthread_t thread;
    size_t bytes;
    size_t count;
    double *times; /* of each */
};

static void *work(void *data) {
    const struct share *share = data;
    char *piece = malloc(PIECE);
    if (piece == NULL)
        fail("malloc");
    for (size_t i = 0; i < share->count; i++) {
        double start = now_ms();
        fetch(share->bytes, piece);
        share->times[i] = now_ms() - start;
    }
    free(piece);
    return NULL;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Gives the milliseconds that all took; the times of each come out sorted. */
static double work_in_parallel(size_t bytes, size_t count, size_t parallel, double *times) {
    struct share shares[PARALLEL_MAX];
    double start = now_ms();
    for (size_t i = 0; i < parallel; i++) {
        size_t from = count * i / parallel;
        shares[i] =
            (struct share){.bytes = bytes, .count = count * (i + 1) / parallel - from, .times = times + from};
        if (pthread_create(&shares[i].thread, NULL, work, &shares[i]) != 0)
            fail("pthread_create");
    }
    for (size_t i = 0; i < parallel; i++)
        pthread_join(shares[i].thread, NULL);
    double took = now_ms() - start;
    qsort(times, count, sizeof *times, compare);
    return took;
}

static void stay_idle(size_t count) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int *fds = calloc(count, sizeof *fds);
    if (fds == NULL)
        fail("calloc");
    for (size_t i = 0; i < count; i++) {
        char bytes[SMALL];
        fds[i] = open_connection();
        size_t come = request(fds[i], true, SMALL);
        if (come < SMALL)
            receive_all(fds[i], bytes, SMALL - come);
    }
    for (size_t i = 0; i < count; i++) {
        char byte;
        if (recv(fds[i], &byte, 1, 0) > 0)
            fail("more than was asked for");
    }
    free(fds);
}

static void decode_percent(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        unsigned value;
        if (*from == '%' && sscanf(from + 1, "%2x", &value) == 1) {
            *to = (char)value;
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* A header line for "user:password". */
static void make_credentials(void) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char both[520] = "";
    char text[720] = "";
    size_t size = (size_t)snprintf((char *)both, sizeof both - 2, "%s:%s", user, password);
    for (size_t i = 0, to = 0; i < size; i += 3) {
        uint32_t three = (uint32_t)both[i] << 16 | (uint32_t)both[i + 1] << 8 | both[i + 2];
        for (size_t k = 0; k < 4; k++)
            text[to++] = i + k > size ? '=' : digits[three >> (18 - 6 * k) & 63];
    }
    snprintf(credentials, sizeof credentials, "Proxy-Authorization: Basic %s\r\n", text);
}

static void look_up(const char *name, const char *service) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int error = getaddrinfo(name, service, &hints, &found);
    if (error != 0)
        fail("%s: %s", name, gai_strerror(error));
    memcpy(&first_stop, found->ai_addr, sizeof first_stop);
    freeaddrinfo(found);
}

/* http://[user:password@]host:port[/] */
static void find_proxy(const char *variable) {
    const char *url = getenv(variable);
    if (url == NULL || strstr(url, "://") == NULL)
        fail("%s does not name a proxy", variable);
    const char *rest = strstr(url, "://") + 3;
    const char *at = strrchr(rest, '@');
    if (at != NULL) {
        if (sscanf(rest, "%255[^:@]:%255[^@]", user, password) != 2)
            fail("%s: no password", variable);
        decode_percent(user);
        decode_percent(password);
        make_credentials();
        rest = at + 1;
    }
    char name[256];
    char service[6];
    if (sscanf(rest, "%255[^:]:%5[0-9]", name, service) != 2)
        fail("%s has no port", variable);
    look_up(name, service);
}

static void choose_way(const char *name) {
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i].name, name) == 0)
            way = &ways[i];
    if (way == NULL)
        fail("%s: no such way", name);
    if (way->variable == NULL)
        look_up(host, port);
    else
        find_proxy(way->variable);
}

int main(int argc, char **argv) {
    if (argc != 6 && argc != 7)
        return 2;
    host = argv[2];
    port = argv[3];
    choose_way(argv[1]);
    size_t number = strtoull(argv[5], NULL, 10);
    size_t parallel = argc == 7 ? strtoull(argv[6], NULL, 10) : 1;
    if (number == 0 || parallel == 0 || parallel > PARALLEL_MAX)
        return 2;
    if (strcmp(argv[4], "idle") == 0) {
        stay_idle(number);
        return 0;
    }
    bool small = strcmp(argv[4], "requests") == 0;
    size_t count = small ? number : parallel;
    double *times = calloc(count, sizeof *times);
    if (times == NULL)
        fail("calloc");
    double took = work_in_parallel(small ? SMALL : number, count, parallel, times);
    if (small)
        printf("%.3f %.1f %.1f\n", took, times[count / 2] * 1e3, times[count * 99 / 100] * 1e3);
    else
        printf("%.3f\n", took);
    free(times);
    return 0;
}
