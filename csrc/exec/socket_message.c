#include "exec/socket_message.h"

#include <errno.h>
#include <limits.h>
#include <linux/in6.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/target.h"

/* As the kernel: UIO_MAXIOV, MAX_RW_COUNT, SCM_MAX_FD; net.core.optmem_max as it is since Linux 6.9. */
#define PARTS_MAX 1024
#define SIZE_MAX_AT_ONCE (INT_MAX & ~4095)
#define DESCRIPTORS_MAX 253
#define CONTROL_MAX 131072

/* struct cmsghdr of the kernel, 64 bits. */
struct control_header {
    uint64_t length;
    int32_t level;
    int32_t type;
};

/*
 * What takes a privilege over the network namespace, which the supervisor has and a command has not (ip(7),
 * ipv6(7), socket(7)). IPV6_2292… are the older numbers.
 */
static const struct {
    int level;
    int type;
} privileged[] = {{SOL_SOCKET, SO_MARK},
                  {SOL_SOCKET, SO_PRIORITY},
                  {IPPROTO_IP, IP_RETOPTS},
                  {IPPROTO_IPV6, IPV6_HOPOPTS},
                  {IPPROTO_IPV6, IPV6_DSTOPTS},
                  {IPPROTO_IPV6, IPV6_RTHDRDSTOPTS},
                  {IPPROTO_IPV6, IPV6_2292HOPOPTS},
                  {IPPROTO_IPV6, IPV6_2292DSTOPTS}};

static bool is_privileged(const struct control_header *header) {
    for (size_t i = 0; i < sizeof privileged / sizeof privileged[0]; i++)
        if (privileged[i].level == header->level && privileged[i].type == header->type)
            return true;
    return false;
}

/*
 * Where bwrap mounted the plan by name, masks come off a folder when the run ends in whose mount namespace
 * they were made: a descriptor of it in another run would show what they hide.
 */
static bool may_pass(const struct call *call, int fd) {
    struct stat facts;
    return call->supervisor->mounts_stay || (fstat(fd, &facts) == 0 && !S_ISDIR(facts.st_mode));
}

/* The command's numbers become the supervisor's, of the same open files. */
static int take_descriptors(struct call *call, char *data, size_t size, struct socket_message *out) {
    size_t count = size / sizeof(int);
    if (count > DESCRIPTORS_MAX - out->descriptor_count)
        return EINVAL;
    if (out->descriptors == NULL && (out->descriptors = calloc(DESCRIPTORS_MAX, sizeof(int))) == NULL)
        return ENOMEM;
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, data + i * sizeof fd, sizeof fd);
        fd = socket_target_duplicate(call, fd);
        if (fd < 0)
            return -fd;
        out->descriptors[out->descriptor_count++] = fd;
        if (!may_pass(call, fd))
            return EPERM;
        memcpy(data + i * sizeof fd, &fd, sizeof fd);
    }
    return 0;
}

/* unix(7): a process may name itself only. It is the supervisor that sends. */
static int take_credentials(const struct call *call, char *data, size_t size) {
    struct ucred credentials;
    struct target_ids ids;
    if (size != sizeof credentials)
        return EINVAL;
    int error = target_ids(call, &ids);
    if (error != 0)
        return error;
    memcpy(&credentials, data, sizeof credentials);
    if (credentials.pid != ids.inner_process)
        return EPERM;
    credentials.pid = getpid();
    memcpy(data, &credentials, sizeof credentials);
    return 0;
}

static int take_control(struct call *call, const struct socket_kind *kind,
                        const struct control_header *header, char *data, struct socket_message *out) {
    size_t size = (size_t)header->length - sizeof *header;
    bool own = kind->domain == AF_UNIX || kind->domain == AF_NETLINK;
    if (!own)
        return is_privileged(header) ? EPERM : 0;
    if (header->level == SOL_SOCKET && header->type == SCM_CREDENTIALS)
        return take_credentials(call, data, size);
    if (header->level == SOL_SOCKET && header->type == SCM_RIGHTS && kind->domain == AF_UNIX)
        return take_descriptors(call, data, size, out);
    return 0;
}

/* What is not touched the kernel judges: it sees the same bytes. */
static int take_controls(struct call *call, const struct socket_kind *kind, struct socket_message *out) {
    for (size_t at = 0; at < out->control_size && out->control_size - at >= sizeof(struct control_header);) {
        struct control_header header;
        memcpy(&header, out->control + at, sizeof header);
        if (header.length < sizeof header || header.length > out->control_size - at)
            return EINVAL;
        int error = take_control(call, kind, &header, out->control + at + sizeof header, out);
        if (error != 0)
            return error;
        at += ((size_t)header.length + 7) & ~(size_t)7;
    }
    return 0;
}

static int read_control(struct call *call, const struct socket_kind *kind,
                        const struct message_header *header, struct socket_message *out) {
    if (header->control_length == 0)
        return 0;
    if (header->control_length > CONTROL_MAX)
        return ENOBUFS;
    out->control_size = (size_t)header->control_length;
    out->control = malloc(out->control_size);
    if (out->control == NULL)
        return ENOMEM;
    int error = socket_target_read(call, header->control, out->control, out->control_size);
    return error != 0 ? error : take_controls(call, kind, out);
}

/* As import_iovec(): what is over the most that can be sent at once is left out. */
static int measure_parts(struct socket_message *out) {
    for (size_t i = 0; i < out->part_count; i++) {
        if (out->parts[i].length > INT64_MAX)
            return EINVAL;
        if (out->parts[i].length > SIZE_MAX_AT_ONCE - out->size)
            out->parts[i].length = SIZE_MAX_AT_ONCE - out->size;
        out->size += (size_t)out->parts[i].length;
    }
    return 0;
}

static int read_parts(const struct call *call, const struct message_header *header,
                      struct socket_message *out) {
    if (header->part_count > PARTS_MAX)
        return EMSGSIZE;
    out->part_count = (size_t)header->part_count;
    out->parts = out->part_count <= 1 ? &out->only : calloc(out->part_count, sizeof *out->parts);
    if (out->parts == NULL)
        return ENOMEM;
    int error = socket_target_read(call, header->parts, out->parts, out->part_count * sizeof *out->parts);
    return error != 0 ? error : measure_parts(out);
}

/*
 * Streams take no address of their own and sequenced packets ignore it (unix(7)): one without a name stands
 * for it, of which the kernel says the same. A netlink message to the kernel goes without: with one the
 * kernel would not ask whether who opened the socket has the privilege (NETLINK_SKB_DST), and the supervisor
 * has it.
 */
static int judge_address(struct call *call, const struct socket_kind *kind, struct socket_address *address) {
    if (kind->domain == AF_UNIX && kind->type != SOCK_DGRAM && address->length > 0) {
        address->local = (struct sockaddr_un){.sun_family = AF_UNIX};
        address->length = sizeof address->local.sun_family;
        return 0;
    }
    int error = socket_address_judge(call, kind->domain, address);
    if (error == 0 && kind->domain == AF_NETLINK && address->length >= sizeof address->netlink &&
        address->any.sa_family == AF_NETLINK)
        address->length = 0;
    return error;
}

static int read_address(struct call *call, const struct socket_kind *kind, uint64_t name, int64_t length,
                        struct socket_message *out) {
    int error = socket_address_read(call, name, length, &out->address);
    return error != 0 ? error : judge_address(call, kind, &out->address);
}

int socket_message_read(struct call *call, const struct socket_kind *kind, uint64_t header,
                        struct socket_message *out) {
    struct message_header own;
    *out = (struct socket_message){.address.object = -1};
    int error = socket_target_read(call, header, &own, sizeof own);
    if (error != 0)
        return error;
    if (own.name != 0 && own.name_length < 0)
        return EINVAL;
    if (own.name_length > (int)sizeof out->address.bytes)
        own.name_length = sizeof out->address.bytes;
    if (own.name != 0 && own.name_length > 0)
        error = read_address(call, kind, own.name, own.name_length, out);
    if (error == 0)
        error = read_parts(call, &own, out);
    return error != 0 ? error : read_control(call, kind, &own, out);
}

int socket_message_read_plain(struct call *call, const struct socket_kind *kind, struct socket_message *out) {
    const __u64 *args = call->data->args;
    *out = (struct socket_message){
        .address.object = -1, .only = {.address = args[1], .length = args[2]}, .part_count = 1};
    out->parts = &out->only;
    if (out->only.length > SIZE_MAX_AT_ONCE)
        out->only.length = SIZE_MAX_AT_ONCE;
    int error = measure_parts(out);
    return error != 0 ? error : read_address(call, kind, args[4], (int)args[5], out);
}

int socket_message_data(const struct call *call, const struct socket_message *message, size_t offset,
                        void *into, size_t size) {
    char *to = into;
    for (size_t i = 0; i < message->part_count && size > 0; i++) {
        const struct message_part *part = &message->parts[i];
        if (offset >= part->length) {
            offset -= (size_t)part->length;
            continue;
        }
        size_t taken = (size_t)part->length - offset < size ? (size_t)part->length - offset : size;
        int error = socket_target_read(call, part->address + offset, to, taken);
        if (error != 0)
            return error;
        to += taken;
        size -= taken;
        offset = 0;
    }
    return 0;
}

void socket_message_clear(struct socket_message *message) {
    for (size_t i = 0; i < message->descriptor_count; i++)
        close(message->descriptors[i]);
    free(message->descriptors);
    free(message->control);
    if (message->parts != &message->only)
        free(message->parts);
    socket_address_clear(&message->address);
    *message = (struct socket_message){.address.object = -1};
}
