#include "exec/passfd.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"

int send_with_fds(int socket, const void *message, size_t size, const int *fds, size_t fd_count) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(PASSFD_MAX * sizeof(int))] = {0};
    struct iovec part = {.iov_base = (void *)(size_t)message, .iov_len = size};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count > PASSFD_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (fd_count > 0) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(item), fds, fd_count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -1 : 0;
}

/* The descriptors of a message, up to fds_max; those beyond are closed. False: there were some. */
static bool take_fds(struct msghdr *header, int *fds, size_t fds_max, size_t *fd_count) {
    bool fit = true;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item != NULL; item = CMSG_NXTHDR(header, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof fd);
            if (*fd_count < fds_max) {
                fds[(*fd_count)++] = fd;
                continue;
            }
            close(fd);
            fit = false;
        }
    }
    return fit;
}

ssize_t receive_with_fds(int socket, void *message, size_t size, int *fds, size_t fds_max, size_t *fd_count) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(PASSFD_MAX * sizeof(int))] = {0};
    struct iovec part = {.iov_base = message, .iov_len = size};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    *fd_count = 0;
    ssize_t got;
    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    bool overflow = (header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0;
    if (!take_fds(&header, fds, overflow ? 0 : fds_max, fd_count))
        overflow = true;
    if (!overflow)
        return got;
    for (size_t i = 0; i < *fd_count; i++)
        close(fds[i]);
    *fd_count = 0;
    errno = EPROTO;
    return -1;
}

static pid_t sender_of(struct msghdr *header) {
    for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item != NULL; item = CMSG_NXTHDR(header, item)) {
        struct ucred credentials;
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_CREDENTIALS)
            continue;
        memcpy(&credentials, CMSG_DATA(item), sizeof credentials);
        return credentials.pid;
    }
    return 0;
}

/* Without room for a descriptor the kernel closes those that come (unix(7)). */
static ssize_t receive_from(int socket, void *message, size_t size, size_t control_size, pid_t *sender,
                            int *fds, size_t *fd_count) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {.iov_base = message, .iov_len = size};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = control_size};
    ssize_t got;
    do
        got = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    *fd_count = 0;
    *sender = got < 0 ? 0 : sender_of(&header);
    if (got >= 0)
        take_fds(&header, fds, 1, fd_count);
    return got;
}

ssize_t receive_with_pid(int socket, void *message, size_t size, pid_t *sender) {
    int none = -1;
    size_t count;
    ssize_t got =
        receive_from(socket, message, size, CMSG_SPACE(sizeof(struct ucred)), sender, &none, &count);
    close_fd(&none);
    return got;
}

ssize_t receive_with_pid_and_fd(int socket, void *message, size_t size, pid_t *sender, int *fd) {
    size_t count;
    *fd = -1;
    return receive_from(socket, message, size, CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int)),
                        sender, fd, &count);
}
