#include "exec/socket_owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Addresses are compared as 16 bytes, IPv4 mapped. */
struct endpoint {
    unsigned char address[16];
    uint16_t port; /* network order */
};

static const unsigned char mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const unsigned char nowhere[16];

static void map_ipv4(const void *bytes, unsigned char *address) {
    memcpy(address, mapped_prefix, sizeof mapped_prefix);
    memcpy(address + sizeof mapped_prefix, bytes, 4);
}

static bool read_endpoint(const struct sockaddr_storage *local, struct endpoint *out) {
    if (local->ss_family == AF_INET) {
        struct sockaddr_in address;
        memcpy(&address, local, sizeof address);
        map_ipv4(&address.sin_addr, out->address);
        out->port = address.sin_port;
        return true;
    }
    struct sockaddr_in6 address;
    memcpy(&address, local, sizeof address);
    memcpy(out->address, &address.sin6_addr, sizeof out->address);
    out->port = address.sin6_port;
    return local->ss_family == AF_INET6;
}

/* A datagram socket that is not connected may have no address of its own. */
static bool is_at(const struct inet_diag_msg *socket, const struct endpoint *wanted) {
    unsigned char address[16];
    if (socket->idiag_family == AF_INET6)
        memcpy(address, socket->id.idiag_src, sizeof address);
    else
        map_ipv4(socket->id.idiag_src, address);
    bool anywhere = socket->idiag_state == TCP_CLOSE &&
                    (memcmp(address, nowhere, sizeof nowhere) == 0 || memcmp(address + 12, nowhere, 4) == 0);
    return socket->id.idiag_sport == wanted->port &&
           (anywhere || memcmp(address, wanted->address, sizeof address) == 0);
}

/* One datagram of the list. False: it was the last. */
static bool read_list(const char *data, size_t size, const struct endpoint *wanted, uint32_t *inode) {
    struct nlmsghdr header;
    struct inet_diag_msg socket;
    while (size >= sizeof header) {
        memcpy(&header, data, sizeof header);
        if (header.nlmsg_len < sizeof header || header.nlmsg_len > size ||
            header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
            return false;
        if (header.nlmsg_len >= NLMSG_LENGTH(sizeof socket)) {
            memcpy(&socket, data + NLMSG_HDRLEN, sizeof socket);
            if (*inode == 0 && is_at(&socket, wanted))
                *inode = socket.idiag_inode;
        }
        size_t taken = NLMSG_ALIGN(header.nlmsg_len);
        taken = taken < size ? taken : size;
        data += taken;
        size -= taken;
    }
    return true;
}

/* The number of the socket, 0: there is none. A listener has the same port as what it accepts, and is not
 * meant. */
static uint32_t find_inode(int family, int protocol, const struct endpoint *wanted) {
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {.header = {.nlmsg_len = sizeof message,
                            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                 .request = {.sdiag_family = (uint8_t)family,
                             .sdiag_protocol = (uint8_t)protocol,
                             .idiag_states = ~(1u << TCP_LISTEN),
                             .id.idiag_sport = wanted->port}};
    /* The kernel fills one page, or what the reader has room for, at a time. */
    alignas(struct nlmsghdr) char answer[16384];
    cleanup_fd int diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    uint32_t inode = 0;
    ssize_t got;
    if (diag < 0 || send(diag, &message, sizeof message, 0) != (ssize_t)sizeof message)
        return 0;
    do {
        while ((got = recv(diag, answer, sizeof answer, 0)) < 0 && errno == EINTR)
            ;
    } while (got > 0 && read_list(answer, (size_t)got, wanted, &inode));
    return inode;
}

/* 0: it is gone. The name, in parentheses, may hold anything (proc_pid_stat(5)). */
static pid_t parent_of(pid_t pid) {
    char path[32];
    char text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    const char *end = strrchr(text, ')');
    return end == NULL || strlen(end) < 4 ? 0 : (pid_t)strtol(end + 4, NULL, 10);
}

/* Deeper chains than a run can make are a change while it was read. */
#define DEPTH_MAX 65536

static uint32_t run_above(pid_t pid, const struct port_table *ports) {
    for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
        uint32_t run = port_table_run_of(ports, pid);
        if (run != 0)
            return run;
        pid = parent_of(pid);
    }
    return 0;
}

static bool has_open(pid_t pid, const char *wanted) {
    char path[32];
    char target[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    bool found = false;
    for (struct dirent *entry; folder != NULL && !found && (entry = readdir(folder)) != NULL;) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = '\0';
        found = strcmp(target, wanted) == 0;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

static struct port_owner find_holder(uint32_t inode, const struct port_table *ports) {
    struct port_owner owner = {0};
    char wanted[32];
    snprintf(wanted, sizeof wanted, "socket:[%u]", (unsigned)inode);
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes != NULL && owner.run == 0 && (entry = readdir(processes)) != NULL;) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        uint32_t run = pid > 1 ? run_above(pid, ports) : 0;
        if (run != 0 && has_open(pid, wanted))
            owner = (struct port_owner){.run = run, .pid = (uint32_t)pid};
    }
    if (processes != NULL)
        closedir(processes);
    return owner;
}

struct port_owner socket_owner_find(const struct sockaddr_storage *local, const struct port_table *ports) {
    static const struct {
        int family;
        int protocol;
    } lists[] = {
        {AF_INET, IPPROTO_TCP}, {AF_INET6, IPPROTO_TCP}, {AF_INET, IPPROTO_UDP}, {AF_INET6, IPPROTO_UDP}};
    const struct port_owner nobody = {0};
    struct endpoint wanted;
    uint32_t inode = 0;
    if (ports == NULL || !read_endpoint(local, &wanted))
        return nobody;
    for (size_t i = 0; inode == 0 && i < sizeof lists / sizeof lists[0]; i++)
        inode = find_inode(lists[i].family, lists[i].protocol, &wanted);
    return inode == 0 ? nobody : find_holder(inode, ports);
}
