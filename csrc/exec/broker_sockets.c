#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/bind_inside.h"
#include "exec/explain.h"
#include "exec/socket_address.h"
#include "exec/waiting.h"
#include "exec/walk.h"

/* connect(2) that may wait: a stream's, unless its description says otherwise. */
static bool may_wait(int socket, const struct socket_kind *kind) {
    return kind->type != SOCK_DGRAM && (fcntl(socket, F_GETFL) & O_NONBLOCK) == 0;
}

/* Once more after a signal that was not the command's: a connection that is under way is waited for. */
static struct answer connect_waiting(struct call *call, int socket, const struct socket_address *address) {
    struct wait *wait = wait_begin(call);
    if (wait == NULL)
        return answer_errno(EAGAIN);
    struct answer answer;
    for (;;) {
        answer = answer_errno(connect(socket, &address->any, address->length) == 0 ? 0 : errno);
        if (answer.value != -EINTR)
            break;
        if (wait_interrupted(wait)) {
            answer = wait_interrupted_answer(socket);
            break;
        }
    }
    wait_end(wait);
    return answer;
}

static struct answer connect_judged(struct call *call, int socket, const struct socket_kind *kind,
                                    struct socket_address *address) {
    int error = socket_address_judge(call, kind->domain, address);
    if (error != 0)
        return answer_errno(error);
    struct answer answer =
        may_wait(socket, kind)
            ? connect_waiting(call, socket, address)
            : answer_errno(connect(socket, &address->any, address->length) == 0 ? 0 : errno);
    if (answer.value < 0)
        socket_address_explain(call, address, (int)-answer.value);
    return answer;
}

static struct answer make_connect(struct call *call) {
    const __u64 *args = call->data->args;
    struct socket_kind kind;
    struct socket_address address;
    cleanup_fd int socket = socket_target_duplicate(call, (int)args[0]);
    if (socket < 0)
        return answer_errno(-socket);
    int error = socket_address_read(call, args[1], (int)args[2], &address);
    if (error != 0)
        return answer_errno(error);
    error = socket_kind_of(socket, &kind);
    if (error != 0)
        return answer_errno(error);
    struct answer answer = connect_judged(call, socket, &kind, &address);
    socket_address_clear(&address);
    return answer;
}

static bool is_of_domain(struct call *call, int fd, int domain) {
    struct socket_kind kind;
    cleanup_fd int socket = socket_target_duplicate(call, fd);
    return socket >= 0 && socket_kind_of(socket, &kind) == 0 && kind.domain == domain;
}

static struct answer bind_at(struct call *call, int socket, const struct socket_address *address,
                             const struct place *place) {
    int error = bind_inside(call, socket, &address->any, address->length);
    /* A path through /proc/self: the child that binds is no process of the run. */
    if (error == ENOENT && !is_on_read_only_mount(place->parent))
        return answer_continue();
    return explain_place(call, "network-bind", place, error);
}

static struct answer bind_path(struct call *call, const struct socket_address *address, const char *path) {
    cleanup_fd int socket = socket_target_duplicate(call, (int)call->data->args[0]);
    struct place place;
    if (socket < 0)
        return answer_errno(-socket);
    int error = walk_to_place(call, AT_FDCWD, path, false, &place);
    struct answer answer = answer_continue();
    if (error != 0)
        answer = explain_place(call, "network-bind", &place, error);
    else if (!is_left_to_kernel(call, place.parent))
        answer = bind_at(call, socket, address, &place);
    place_clear(&place);
    return answer;
}

/* What has no path goes on, for the kernel to judge with the command's own rights, which are less than the
 * supervisor's over the run's network. The first port that needs no privilege is 1024 in a new network
 * (ip-sysctl.rst). */
static struct answer judge_bind(struct call *call) {
    const __u64 *args = call->data->args;
    char path[sizeof(struct sockaddr_un)];
    struct socket_address address;
    if (socket_address_read(call, args[1], (int)args[2], &address) != 0)
        return answer_continue();
    socket_address_path(&address, path);
    if (path[0] != '\0')
        return is_of_domain(call, (int)args[0], AF_UNIX) ? bind_path(call, &address, path)
                                                         : answer_continue();
    uint16_t port = socket_address_port(&address);
    if (port == 0 || port >= 1024 || !socket_address_is_local(&address) ||
        !is_of_domain(call, (int)args[0], address.any.sa_family))
        return answer_continue();
    socket_address_report(call, &address, "network-bind", "ports below 1024 need a privilege");
    return answer_errno(EACCES);
}

bool broker_sockets(struct call *call, struct answer *answer) {
    switch (call->data->nr) {
    case SYS_connect:
        *answer = make_connect(call);
        return true;
    case SYS_bind:
        *answer = judge_bind(call);
        return true;
    default:
        return false;
    }
}
