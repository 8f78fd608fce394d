/* A message that a command wants to send, as the supervisor's own copy: address, control messages,
 * descriptors. */
#ifndef OS_SANDBOX_EXEC_SOCKET_MESSAGE_H
#define OS_SANDBOX_EXEC_SOCKET_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "exec/socket_address.h"
#include "exec/supervised.h"

/* struct user_msghdr of the kernel, 64 bits; the C library's has other types in it. */
struct message_header {
    uint64_t name;
    int32_t name_length;
    uint32_t unused_behind_name_length;
    uint64_t parts;
    uint64_t part_count;
    uint64_t control;
    uint64_t control_length;
    uint32_t flags;
    uint32_t unused_behind_flags;
};

/* struct mmsghdr */
struct counted_message_header {
    struct message_header header;
    uint32_t sent;
    uint32_t unused;
};

/* struct iovec: where data lies in the command's memory. */
struct message_part {
    uint64_t address;
    uint64_t length;
};

struct socket_message {
    struct socket_address address;
    struct message_part only; /* parts, where there is one */
    struct message_part *parts;
    size_t part_count;
    size_t size;   /* of all parts */
    char *control; /* with the supervisor's numbers of the descriptors that it carries */
    size_t control_size;
    int *descriptors; /* these */
    size_t descriptor_count;
};

/*
 * Read a message for a socket of a kind, but for its data: sendmsg(2) with a header in the command's memory,
 * sendto(2) with its arguments. The address is judged (socket_address_judge). 0 or the errno of the answer;
 * to be cleared either way.
 */
int socket_message_read(struct call *call, const struct socket_kind *kind, uint64_t header,
                        struct socket_message *out);
int socket_message_read_plain(struct call *call, const struct socket_kind *kind, struct socket_message *out);

/* Copies size bytes of the data, from an offset on. 0 or an errno. */
int socket_message_data(const struct call *call, const struct socket_message *message, size_t offset,
                        void *into, size_t size);

void socket_message_clear(struct socket_message *message);

#endif
