/* The addon's side of the agent: its process and its socket. Nothing here waits. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_AGENT_CLIENT_H
#define OS_SANDBOX_PLATFORM_LINUX_AGENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "exec/wire.h"

struct agent_process {
    pid_t pid;
    int pidfd;  /* readable when it has ended */
    int socket; /* SOCK_SEQPACKET, non-blocking; closing it ends the agent and every run */
};

/*
 * Starts the helper as an agent by posix_spawn, which copies no page tables: its cost does not grow with this
 * process. In a session of its own, or foreground: only in a process group of its own; with default signal
 * dispositions, /dev/null as stdio and an empty environment. 0, or -1 with everything closed.
 */
int agent_spawn(const char *helper, bool foreground, struct agent_process *out, struct error *err);

/* True when it has ended and was reaped. By its own descriptor: SIGCHLD and every other child stay libuv's.
 */
bool agent_reap(struct agent_process *agent);

/* Sends a start with its descriptors, or a stop or signal (fds NULL). 0, or a negative errno; -EAGAIN: the
 * socket is full. */
int agent_send(const struct agent_process *agent, const struct agent_request *request, const int *fds);

/*
 * The next event. 1: *out is filled, and the descriptors that came along are in fds, *fd_count of them, for
 * the caller to close; a message whose descriptors have no room (there, or among the open files) comes
 * without any. 0: none now; -1: the agent is gone.
 */
int agent_receive(const struct agent_process *agent, struct agent_event *out, int *fds, size_t fds_max,
                  size_t *fd_count);

#endif
