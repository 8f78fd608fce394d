/* What the files of the Linux backend know of each other. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_BACKEND_INTERNAL_H
#define OS_SANDBOX_PLATFORM_LINUX_BACKEND_INTERNAL_H

#include "plan/bwrap_args.h"
#include "platform/backend.h"
#include "platform/linux/agent_client.h"
#include "platform/linux/find_control_group.h"

struct backend {
    struct backend_config config; /* its strings are the backend's own */
    uv_loop_t *loop;
    struct backend_calls calls;

    char *bwrap;
    struct agent_process agent;
    int null_fd; /* stdio of commands that get none */
    uv_poll_t socket_watch;
    uv_poll_t exit_watch;
    bool watching_socket;
    unsigned open_handles;
    bool held;
    bool sending_blocked; /* the agent's socket is full: writable is awaited */

    bool has_namespaces; /* what the agent could make: the rungs that need more are skipped */
    bool has_mounts;
    struct bwrap_features features;
    unsigned supervision;           /* as much of enum supervision as runs can have here */
    struct error supervision_error; /* why that is not all */

    struct control_groups control_groups; /* where runs have cgroups; folder NULL: they have none */
    struct error control_group_error;     /* why, where they would be of use */
};

bool backend_is_supervised(const struct backend *backend);

/* Sends the agent a request. -EAGAIN: the socket is full, calls.writable tells when it is not. */
int backend_send(struct backend *backend, const struct agent_request *request, const int *fds);

#endif
