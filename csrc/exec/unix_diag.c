#include "exec/unix_diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

#define ANSWER_SIZE 32768
/* How often a list that changed while it was read is asked for again. */
#define ATTEMPTS 4

struct unix_diag {
    int fd;
    uint32_t sequence;
    pthread_mutex_t lock;
    alignas(struct nlmsghdr) char answer[ANSWER_SIZE];
};

int unix_diag_open(void) {
    return socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

struct unix_diag *unix_diag_new(int fd) {
    cleanup_fd int owned = fd;
    struct unix_diag *diag = fd < 0 ? NULL : calloc(1, sizeof *diag);
    if (diag == NULL)
        return NULL;
    if (pthread_mutex_init(&diag->lock, NULL) != 0) {
        free(diag);
        return NULL;
    }
    diag->fd = steal_fd(&owned);
    return diag;
}

void unix_diag_free(struct unix_diag *diag) {
    if (diag == NULL)
        return;
    close_fd(&diag->fd);
    pthread_mutex_destroy(&diag->lock);
    free(diag);
}

static bool ask(struct unix_diag *diag) {
    const struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } message = {.header = {.nlmsg_len = sizeof message,
                            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                            .nlmsg_seq = ++diag->sequence},
                 .request = {.sdiag_family = AF_UNIX,
                             .udiag_states = 1u << TCP_LISTEN | 1u << TCP_CLOSE | 1u << TCP_ESTABLISHED,
                             .udiag_show = UDIAG_SHOW_VFS | UDIAG_SHOW_NAME}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent;
    do
        sent = sendto(diag->fd, &message, sizeof message, 0, (const struct sockaddr *)&kernel, sizeof kernel);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof message;
}

/* What is asked for, and what was found. */
struct question {
    uint32_t device; /* as the kernel numbers devices inside (MKDEV, 12 and 20 bits) */
    uint32_t inode;
    struct unix_diag_name name;
    bool found;
    bool done;
    bool failed;
    bool changed; /* the list was not read from one state (NLM_F_DUMP_INTR) */
};

/* The attribute at the front of size bytes: its content's size, and all that it takes. 0: there is no whole
 * one. */
static size_t attribute_at(const char *data, size_t size, unsigned *type, size_t *content) {
    struct rtattr attribute;
    if (size < sizeof attribute)
        return 0;
    memcpy(&attribute, data, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > size)
        return 0;
    *type = attribute.rta_type;
    *content = attribute.rta_len - RTA_LENGTH(0);
    size_t taken = RTA_ALIGN(attribute.rta_len);
    return taken < size ? taken : size;
}

static bool is_file(const char *content, size_t size, const struct question *question) {
    struct unix_diag_vfs vfs;
    if (size < sizeof vfs)
        return false;
    memcpy(&vfs, content, sizeof vfs);
    return vfs.udiag_vfs_ino == question->inode && vfs.udiag_vfs_dev == question->device;
}

/* Of an abstract name there is no text: it begins with a NUL. */
static void copy_name(const char *content, size_t size, struct unix_diag_name *name) {
    size_t length = strnlen(content, size < sizeof name->text ? size : sizeof name->text - 1);
    memcpy(name->text, content, length);
    name->text[length] = '\0';
}

/* One socket of the list: size bytes of message and attributes. */
static void read_socket(const char *data, size_t size, struct question *question) {
    struct unix_diag_msg socket;
    struct unix_diag_name name = {.text = ""};
    bool found = false;
    if (size < sizeof socket)
        return;
    memcpy(&socket, data, sizeof socket);
    if (socket.udiag_state == TCP_ESTABLISHED && socket.udiag_type != SOCK_DGRAM)
        return;
    unsigned type = 0;
    size_t content = 0;
    size_t taken;
    for (size_t at = NLMSG_ALIGN(sizeof socket);
         at < size && (taken = attribute_at(data + at, size - at, &type, &content)) > 0; at += taken) {
        if (type == UNIX_DIAG_VFS)
            found = is_file(data + at + RTA_LENGTH(0), content, question);
        else if (type == UNIX_DIAG_NAME)
            copy_name(data + at + RTA_LENGTH(0), content, &name);
    }
    if (found && !question->found) {
        question->found = true;
        question->name = name;
    }
}

static void read_message(const struct nlmsghdr *header, const char *body, struct question *question) {
    question->changed = question->changed || (header->nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    if (header->nlmsg_type == NLMSG_DONE)
        question->done = true;
    else if (header->nlmsg_type == NLMSG_ERROR)
        question->failed = true;
    else if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY)
        read_socket(body, header->nlmsg_len - NLMSG_HDRLEN, question);
}

static void read_datagram(const struct unix_diag *diag, size_t size, struct question *question) {
    for (size_t at = 0; at < size && size - at >= sizeof(struct nlmsghdr);) {
        struct nlmsghdr header;
        memcpy(&header, diag->answer + at, sizeof header);
        if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size - at) {
            question->failed = true;
            return;
        }
        /* What an earlier question left behind does not count. */
        if (header.nlmsg_seq == diag->sequence)
            read_message(&header, diag->answer + at + NLMSG_HDRLEN, question);
        at += NLMSG_ALIGN(header.nlmsg_len);
    }
}

/* The whole list is read, found or not: the kernel takes no other question before. */
static struct question read_list(struct unix_diag *diag, dev_t device, ino_t inode) {
    struct question question = {.device = (uint32_t)major(device) << 20 | (uint32_t)minor(device),
                                .inode = (uint32_t)inode,
                                .failed = !ask(diag)};
    while (!question.done && !question.failed) {
        struct sockaddr_nl from = {0};
        struct iovec part = {.iov_base = diag->answer, .iov_len = sizeof diag->answer};
        struct msghdr message = {
            .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1};
        /* The kernel has answered already, or goes on when some of it was taken: nothing is waited for. */
        ssize_t got = recvmsg(diag->fd, &message, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || (message.msg_flags & MSG_TRUNC))
            question.failed = true;
        else if (from.nl_pid == 0)
            read_datagram(diag, (size_t)got, &question);
    }
    return question;
}

enum unix_diag_answer unix_diag_lists(struct unix_diag *diag, dev_t device, ino_t inode,
                                      struct unix_diag_name *name) {
    enum unix_diag_answer answer = DIAG_UNKNOWN;
    if (diag == NULL)
        return answer;
    pthread_mutex_lock(&diag->lock);
    for (unsigned i = 0; i < ATTEMPTS && answer == DIAG_UNKNOWN; i++) {
        struct question question = read_list(diag, device, inode);
        if (question.found)
            answer = DIAG_LISTED;
        else if (question.done && !question.failed && !question.changed)
            answer = DIAG_NOT_LISTED;
        if (question.found && name != NULL)
            *name = question.name;
    }
    pthread_mutex_unlock(&diag->lock);
    return answer;
}
