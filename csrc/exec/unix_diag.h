/*
 * Which unix sockets in the file system belong to a network namespace: asked of the kernel (sock_diag(7)),
 * which lists the sockets of the namespace that the asking socket was made in, whoever asks.
 */
#ifndef OS_SANDBOX_EXEC_UNIX_DIAG_H
#define OS_SANDBOX_EXEC_UNIX_DIAG_H

#include <sys/types.h>
#include <sys/un.h>

/* A NETLINK_SOCK_DIAG socket in the caller's network namespace; -1 with errno. */
int unix_diag_open(void);

/* Such a socket with the lock that its questions need: the kernel answers one at a time. */
struct unix_diag;

/* Takes the descriptor, also on failure. NULL: fd is -1, or out of memory. */
struct unix_diag *unix_diag_new(int fd);
void unix_diag_free(struct unix_diag *diag);

/* The path that a socket was bound to, as its owner wrote it; "" where there is none. */
struct unix_diag_name {
    char text[sizeof(struct sockaddr_un)];
};

enum unix_diag_answer { DIAG_LISTED, DIAG_NOT_LISTED, DIAG_UNKNOWN };

/*
 * Whether a socket that can be connected to is bound to the file: its superblock's device, and its number, of
 * which the kernel compares the lower 32 bits. An accepted connection carries the file of its listener and
 * lies in the namespace of its *client*: it does not count. DIAG_LISTED: *name is filled (NULL: not asked
 * for). DIAG_UNKNOWN: no diag (NULL), or the kernel gave no whole answer.
 */
enum unix_diag_answer unix_diag_lists(struct unix_diag *diag, dev_t device, ino_t inode,
                                      struct unix_diag_name *name);

#endif
