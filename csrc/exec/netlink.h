/* Requests to the kernel's network configuration (rtnetlink(7)): one at a time, each acknowledged. */
#ifndef OS_SANDBOX_EXEC_NETLINK_H
#define OS_SANDBOX_EXEC_NETLINK_H

#include <linux/netlink.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_REQUEST_MAX 512

struct netlink_request {
    alignas(struct nlmsghdr) char bytes[NETLINK_REQUEST_MAX];
    size_t size;
    bool too_large;
};

/* A socket for the network namespace that the caller is in, close-on-exec; -1 with errno. */
int netlink_open(void);

/* Begins a request: type and flags as nlmsghdr's (NLM_F_REQUEST and NLM_F_ACK are added), and its body. */
void netlink_begin(struct netlink_request *request, uint16_t type, uint16_t flags, const void *body,
                   size_t size);

/* Adds an attribute. */
void netlink_put(struct netlink_request *request, uint16_t type, const void *data, size_t size);
void netlink_put_u32(struct netlink_request *request, uint16_t type, uint32_t value);

/* Begins an attribute that holds what is added up to its end; returns what the end wants to know. */
size_t netlink_nest(struct netlink_request *request, uint16_t type);
/* The same with a body before the attributes (VETH_INFO_PEER). */
size_t netlink_nest_body(struct netlink_request *request, uint16_t type, const void *body, size_t size);
void netlink_nest_end(struct netlink_request *request, size_t nest);

/* Sends it and waits for the kernel's answer: 0 or an errno (EMSGSIZE: the request had no room). */
int netlink_do(int fd, struct netlink_request *request);

#endif
