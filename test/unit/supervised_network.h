/*
 * A supervised command in a network where every address leads to sockets of its own, as each leads to the
 * gateway of a session; the test answers the questions of its supervisor.
 */
#ifndef OS_SANDBOX_TEST_SUPERVISED_NETWORK_H
#define OS_SANDBOX_TEST_SUPERVISED_NETWORK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "exec/passfd.h"
#include "exec/port_table.h"
#include "exec/question.h"
#include "supervised_sockets.h"

#define RUN_NUMBER 0x500000007u
#define FIRST_KEPT 200

/* What was asked, for both sides. */
#define ASKED_MAX 64
struct asked {
    atomic_uint count;
    struct network_question questions[ASKED_MAX];
};

static struct asked *asked;
static struct port_table *table;

/* ip route add local default dev lo */
static inline void route_everything(int family) {
    struct {
        struct nlmsghdr header;
        struct rtmsg route;
        struct rtattr attribute;
        int device;
    } request = {.header = {.nlmsg_len = sizeof request,
                            .nlmsg_type = RTM_NEWROUTE,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE},
                 .route = {.rtm_family = (unsigned char)family,
                           .rtm_table = RT_TABLE_LOCAL,
                           .rtm_protocol = RTPROT_STATIC,
                           .rtm_scope = RT_SCOPE_HOST,
                           .rtm_type = RTN_LOCAL},
                 .attribute = {.rta_len = RTA_LENGTH(sizeof(int)), .rta_type = RTA_OIF},
                 .device = (int)if_nametoindex("lo")};
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
    } answer = {.error.error = -EIO};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (send(fd, &request, sizeof request, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0 ||
        answer.error.error != 0)
        supervised_fail("routes");
    close(fd);
}

/* Listens, or receives, at that port of every address; the descriptor stays. */
static inline int serve_everywhere(int type, uint16_t port) {
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&any, sizeof any) != 0 || (type == SOCK_STREAM && listen(fd, 64) != 0))
        supervised_fail("a server");
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_KEPT);
    close(fd);
    return kept;
}

/* --- the command's side --- */

struct to {
    struct sockaddr_storage bytes;
    socklen_t length;
};

static inline struct to to(const char *host, uint16_t port) {
    struct to to = {.length = sizeof(struct sockaddr_in)};
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&to.bytes;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&to.bytes;
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return to;
    }
    *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    to.length = inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? sizeof *v6 : 0;
    return to;
}

static inline int connect_to(int fd, const char *host, uint16_t port) {
    struct to address = to(host, port);
    return connect(fd, (struct sockaddr *)&address.bytes, address.length) == 0 ? 0 : errno;
}

static inline int family_of(const char *host) {
    return strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
}

/* 0 or the errno of connecting a new socket. */
static inline int try(int type, const char *host, uint16_t port) {
    int fd = socket(family_of(host), type, 0);
    int error = connect_to(fd, host, port);
    close(fd);
    return error;
}

static inline uint16_t port_of(int fd) {
    struct sockaddr_in6 own = {0};
    socklen_t length = sizeof own;
    getsockname(fd, (struct sockaddr *)&own, &length);
    return ntohs(own.sin6_port); /* at the same place for IPv4 */
}

static inline bool is_ours(struct port_owner owner) {
    return owner.run == (uint32_t)RUN_NUMBER && owner.pid == (uint32_t)getpid();
}

static inline bool is_reported(const char *host, unsigned port, const char *why) {
    char text[256];
    snprintf(text, sizeof text, "\"network-outbound\",\"host\":\"%s\",\"port\":%u,\"why\":\"%s\"", host, port,
             why);
    return ok(supervised_reports(text) == 1, "%s:%u is reported once: %s", host, port, why);
}

/* --- the addon's side --- */

/* Answers one question; answer_fd stays the caller's: true where it is to be closed. */
typedef bool (*answer_fn)(const struct network_question *question, int answer_fd);

static struct addon {
    pthread_t thread;
    int questions;
    answer_fn answer;
} addon;

static inline void *addon_main(void *unused) {
    struct network_question question;
    int fd;
    size_t count;
    while (receive_with_fds(addon.questions, &question, sizeof question, &fd, 1, &count) ==
           (ssize_t)sizeof question) {
        unsigned at = atomic_load(&asked->count);
        if (at < ASKED_MAX)
            asked->questions[at] = question;
        atomic_store(&asked->count, at + 1);
        if (count == 1 && addon.answer(&question, fd))
            close(fd);
    }
    return unused;
}

static inline bool answer_with(int fd, const struct network_answer *answer) {
    return write(fd, answer, sizeof *answer) == (ssize_t)sizeof *answer;
}

/* Everything that supervised_run (supervised_child.h) needs for such a network. */
static inline void network_begin(answer_fn answer, void (*prepare)(void)) {
    int pair[2];
    int ports = port_table_make();
    table = ports < 0 ? NULL : port_table_map(ports);
    asked = mmap(NULL, sizeof *asked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (table == NULL || asked == MAP_FAILED || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) != 0)
        supervised_fail("a port table");
    close(ports);
    addon = (struct addon){.questions = pair[0], .answer = answer};
    pthread_create(&addon.thread, NULL, addon_main, NULL);
    supervised.prepare = prepare;
    supervised.first_kept = FIRST_KEPT;
    supervised.session.run = RUN_NUMBER;
    supervised.session.questions = pair[1];
    supervised.session.ports = table;
}

/* After it. */
static inline void network_end(void) {
    shutdown(addon.questions, SHUT_RDWR);
    pthread_join(addon.thread, NULL);
    close(addon.questions);
}

#endif
