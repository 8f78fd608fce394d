/* Descriptors over a unix socket (unix(7), SCM_RIGHTS), one message at a time. */
#ifndef OS_SANDBOX_EXEC_PASSFD_H
#define OS_SANDBOX_EXEC_PASSFD_H

#include <stddef.h>
#include <sys/types.h>

#define PASSFD_MAX 8

/* Sends the message with the descriptors (at most PASSFD_MAX, may be 0). 0, or -1 with errno. Never raises
 * SIGPIPE. */
int send_with_fds(int socket, const void *message, size_t size, const int *fds, size_t fd_count);

/*
 * Receives one message; descriptors come close-on-exec, *fd_count of them in fds. Returns the message's size,
 * 0 at the end, -1 with errno. More descriptors than fds_max, or a message that was cut, is EPROTO with
 * everything closed.
 */
ssize_t receive_with_fds(int socket, void *message, size_t size, int *fds, size_t fds_max, size_t *fd_count);

/*
 * Receives one message on a socket with SO_PASSCRED, and the sender's pid as this pid namespace sees it (0:
 * unknown). Does not block. Returns as receive_with_fds; descriptors are not accepted.
 */
ssize_t receive_with_pid(int socket, void *message, size_t size, pid_t *sender);

/* The same, and one descriptor that came along, close-on-exec; -1: none came, or there is no room for it. */
ssize_t receive_with_pid_and_fd(int socket, void *message, size_t size, pid_t *sender, int *fd);

#endif
