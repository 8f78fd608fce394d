/*
 * Ways to a unix socket of the host by its path. Arguments: paths of a stream, a sequenced packet and a
 * datagram socket that somebody outside serves. Links are made in the current folder.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    return address;
}

static void report_for(const char *word, const char *what, long result) {
    int errnum = errno;
    char name[64];
    snprintf(name, sizeof name, "%s %s", word, what);
    errno = errnum;
    report(name, result);
}

static long connect_new(int type, const char *path) {
    struct sockaddr_un to = address_of(path);
    int fd = socket(AF_UNIX, type, 0);
    long result = connect(fd, (struct sockaddr *)&to, sizeof to);
    /* A datagram socket shows nothing outside before something was sent. */
    return result == 0 ? send(fd, "x", 1, MSG_NOSIGNAL) : result;
}

static long connect_exactly(int type, const char *path) {
    struct sockaddr_un to = address_of(path);
    memset(to.sun_path + strlen(path), 'x', sizeof to.sun_path - strlen(path));
    int fd = socket(AF_UNIX, type, 0);
    long result = connect(fd, (struct sockaddr *)&to,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    return result == 0 ? send(fd, "x", 1, MSG_NOSIGNAL) : result;
}

static long connect_in_folder(int type, const char *path) {
    char folder[4096];
    char here[4096];
    const char *name = strrchr(path, '/') + 1;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
    if (getcwd(here, sizeof here) == NULL || chdir(folder) != 0)
        return -1;
    long result = connect_new(type, name);
    int errnum = errno;
    if (chdir(here) != 0)
        abort();
    errno = errnum;
    return result;
}

static long connect_by_descriptor(int type, const char *path) {
    char name[64];
    int fd = open(path, O_PATH);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return connect_new(type, name);
}

static long connect_through_root(int type, const char *path) {
    char name[4096];
    snprintf(name, sizeof name, "/proc/self/root%s", path);
    return connect_new(type, name);
}

static long connect_by_link(int type, const char *path, int (*make)(const char *, const char *)) {
    char name[64];
    snprintf(name, sizeof name, "link-%d-%d", getpid(), rand());
    return make(path, name) == 0 ? connect_new(type, name) : -1;
}

static long connect_in_child(int type, const char *path) {
    int status;
    pid_t child = vfork();
    if (child == 0)
        _exit(connect_new(type, path) < 0 ? errno : 0);
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    return errno == 0 ? 0 : -1;
}

static long connect_without_blocking(int type, const char *path) {
    return connect_new(type | SOCK_NONBLOCK, path);
}

static void connects(const char *word, int type, const char *path) {
    static const struct {
        const char *name;
        long (*way)(int type, const char *path);
    } ways[] = {{"connect", connect_new},
                {"connect without blocking", connect_without_blocking},
                {"connect to a path without a NUL", connect_exactly},
                {"connect by a relative path", connect_in_folder},
                {"connect by a descriptor's name", connect_by_descriptor},
                {"connect through /proc/self/root", connect_through_root},
                {"connect in a child", connect_in_child}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        report_for(word, ways[i].name, ways[i].way(type, path));
    report_for(word, "connect by a symlink", connect_by_link(type, path, symlink));
    report_for(word, "connect by a hard link", connect_by_link(type, path, link));
}

static void datagrams(const char *path) {
    struct sockaddr_un to = address_of(path);
    struct sockaddr_un own = address_of("own-datagram");
    struct iovec part = {.iov_base = (char[]){"x"}, .iov_len = 1};
    struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr batch[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    unlink(own.sun_path);
    report("datagram sendto", sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to));
    report("datagram sendmsg", sendmsg(fd, &message, 0));
    report("datagram sendmmsg", sendmmsg(fd, batch, 1, 0));
    if (bind(fd, (struct sockaddr *)&own, sizeof own) != 0)
        report("own socket", -1);
    batch[0].msg_hdr.msg_name = &own;
    int sent = sendmmsg(fd, batch, 2, 0);
    errno = EACCES;
    report("datagram second message of a batch", sent == 2 ? 0 : -1);
    if (connect(fd, (struct sockaddr *)&own, sizeof own) != 0)
        report("own connection", -1);
    report("datagram sendto past a connection", sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to));
    int pair[2];
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    report("datagram sendmsg from a pair", sendmsg(pair[0], &message, 0));
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    connects("stream", SOCK_STREAM, argv[1]);
    connects("seqpacket", SOCK_SEQPACKET, argv[2]);
    connects("datagram", SOCK_DGRAM, argv[3]);
    datagrams(argv[3]);
    return 0;
}
