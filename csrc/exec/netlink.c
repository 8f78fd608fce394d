#include "exec/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int netlink_open(void) {
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

/* Room for size bytes, aligned behind them, which are 0; NULL: there is none left. */
static char *take(struct netlink_request *request, size_t size) {
    size_t taken = NLMSG_ALIGN(size);
    if (request->too_large || taken > sizeof request->bytes - request->size) {
        request->too_large = true;
        return NULL;
    }
    char *at = request->bytes + request->size;
    request->size += taken;
    return at;
}

void netlink_begin(struct netlink_request *request, uint16_t type, uint16_t flags, const void *body,
                   size_t size) {
    const struct nlmsghdr header = {.nlmsg_type = type,
                                    .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)};
    *request = (struct netlink_request){.size = 0};
    char *at = take(request, NLMSG_LENGTH(size));
    if (at == NULL)
        return;
    memcpy(at, &header, sizeof header);
    memcpy(at + NLMSG_HDRLEN, body, size);
}

void netlink_put(struct netlink_request *request, uint16_t type, const void *data, size_t size) {
    const struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = type};
    char *at = take(request, RTA_LENGTH(size));
    if (at == NULL)
        return;
    memcpy(at, &attribute, sizeof attribute);
    if (size > 0)
        memcpy(at + RTA_LENGTH(0), data, size);
}

void netlink_put_u32(struct netlink_request *request, uint16_t type, uint32_t value) {
    netlink_put(request, type, &value, sizeof value);
}

size_t netlink_nest_body(struct netlink_request *request, uint16_t type, const void *body, size_t size) {
    size_t nest = request->size;
    netlink_put(request, type, body, size);
    return nest;
}

size_t netlink_nest(struct netlink_request *request, uint16_t type) {
    return netlink_nest_body(request, type, NULL, 0);
}

void netlink_nest_end(struct netlink_request *request, size_t nest) {
    if (request->too_large)
        return;
    unsigned short length = (unsigned short)(request->size - nest);
    memcpy(request->bytes + nest + offsetof(struct rtattr, rta_len), &length, sizeof length);
}

int netlink_do(int fd, struct netlink_request *request) {
    if (request->too_large)
        return EMSGSIZE;
    uint32_t length = (uint32_t)request->size;
    memcpy(request->bytes + offsetof(struct nlmsghdr, nlmsg_len), &length, sizeof length);
    ssize_t got;
    do
        got = send(fd, request->bytes, request->size, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    /* The answer repeats a refused request behind its errno; what has no room is cut. */
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
    } answer = {.error.error = 0};
    do
        got = recv(fd, &answer, sizeof answer, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno;
    if ((size_t)got < NLMSG_LENGTH(sizeof answer.error.error) || answer.header.nlmsg_type != NLMSG_ERROR)
        return EPROTO;
    return -answer.error.error;
}
