/* What the tests of supervised sockets share: a folder, sockets in it, messages. */
#ifndef OS_SANDBOX_TEST_SUPERVISED_SOCKETS_H
#define OS_SANDBOX_TEST_SUPERVISED_SOCKETS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "supervised_child.h"

/* Made by make_top. */
static char top[] = "/var/tmp/os-sandbox-broker-XXXXXX";

static inline void make_top(void) {
    if (mkdtemp(top) == NULL)
        supervised_fail(top);
}

static inline void remove_top(void) {
    char shell[128];
    snprintf(shell, sizeof shell, "rm -rf %s", top);
    if (system(shell) != 0)
        supervised_fail(shell);
}

static inline struct sockaddr_un address_of(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", top, name);
    return address;
}

static inline int make(const char *name, int type) {
    struct sockaddr_un address = address_of(name);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        (type != SOCK_DGRAM && listen(fd, 16) != 0))
        ok(false, "%s is made: %s", name, strerror(errno));
    return fd;
}

/* What a call gave: its result, or -errno. */
static inline int gave(ssize_t result) {
    return result < 0 ? -errno : (int)result;
}

static inline struct msghdr message_of(struct iovec *parts, size_t count) {
    return (struct msghdr){.msg_iov = parts, .msg_iovlen = count};
}

static inline struct iovec part_of(const char *text) {
    return (struct iovec){.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
}

static inline bool receives(int fd, const char *wanted) {
    char got[64] = "";
    ssize_t size = recv(fd, got, sizeof got - 1, MSG_DONTWAIT);
    return size == (ssize_t)strlen(wanted) && memcmp(got, wanted, strlen(wanted)) == 0;
}

static inline struct sockaddr_in inet(const char *host, uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &address.sin_addr);
    return address;
}

static inline int bound(int type, struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    *address = inet("127.0.0.1", 0);
    int fd = socket(AF_INET, type, 0);
    if (bind(fd, (struct sockaddr *)address, sizeof *address) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) != 0)
        ok(false, "a port is bound");
    return fd;
}

#endif
