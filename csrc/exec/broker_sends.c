#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/outbound.h"
#include "exec/passing.h"
#include "exec/socket_address.h"
#include "exec/socket_message.h"
#include "exec/socket_network.h"
#include "exec/target.h"
#include "exec/waiting.h"

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif
#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif

/* A stream is copied in pieces of this size. */
#define PIECE ((size_t)256 * 1024)
/* What every kind of datagram can have, whatever the socket's buffer. */
#define DATAGRAM_MIN ((size_t)65536)
/* What no kind of datagram can have here, whatever the socket's buffer. */
#define DATAGRAM_MAX ((size_t)16 * 1024 * 1024)
/* UIO_MAXIOV of the kernel, for sendmmsg(2) too. */
#define BATCH_MAX 1024

/* One socket and how messages go through it. */
struct channel {
    struct call *call;
    int socket;
    struct socket_kind kind;
    int flags;
    bool waits; /* the command wants to wait where there is no room */
};

static bool is_stream(const struct channel *channel) {
    return channel->kind.type == SOCK_STREAM && channel->kind.protocol != IPPROTO_SCTP;
}

static int option_of(int socket, int option) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : 0;
}

/* With descriptors: that never waits. */
static bool passes(const struct socket_message *message, bool first) {
    return first && message->descriptor_count > 0;
}

/* One system call. The message's control data goes with the first piece. Bytes sent, or -errno. */
static int64_t send_once(const struct channel *channel, const struct socket_message *message, bool first,
                         const void *data, size_t size, int flags) {
    struct message_part part = {.address = (uint64_t)(uintptr_t)data, .length = size};
    struct message_header header = {.parts = (uint64_t)(uintptr_t)&part, .part_count = 1};
    if (message->address.length > 0) {
        header.name = (uint64_t)(uintptr_t)&message->address.bytes;
        header.name_length = (int32_t)message->address.length;
    }
    if (first && message->control_size > 0) {
        header.control = (uint64_t)(uintptr_t)message->control;
        header.control_length = message->control_size;
    }
    /* Past the C library, whose header and limits are others. A pipe's signal is the command's, not ours. */
    long sent = passes(message, first) ? passing_send_commands(&channel->call->supervisor->passing,
                                                               channel->socket, &header, flags | MSG_NOSIGNAL)
                                       : syscall(SYS_sendmsg, channel->socket, &header, flags | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

/* How one piece ended. */
struct outcome {
    int64_t sent; /* or -errno */
    bool interrupted;
};

/* A send with descriptors does not wait by itself (passing.h): it is tried again so often. */
#define LOOK_FOR_ROOM_MS 10

/* False where its time is over (SO_SNDTIMEO). */
static bool await_room(const struct channel *channel, int64_t *waited_ms) {
    struct pollfd room = {.fd = channel->socket, .events = POLLOUT};
    struct timeval limit = {0};
    socklen_t size = sizeof limit;
    getsockopt(channel->socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size);
    int64_t limit_ms = (int64_t)limit.tv_sec * 1000 + limit.tv_usec / 1000;
    /* Of a datagram's socket the kernel says that there is room where its receiver has none. */
    if (poll(&room, 1, LOOK_FOR_ROOM_MS) > 0)
        poll(NULL, 0, LOOK_FOR_ROOM_MS / 2);
    *waited_ms += LOOK_FOR_ROOM_MS;
    return limit_ms == 0 || *waited_ms < limit_ms;
}

/* Waits for room, and goes on after a part of the piece as long as nothing calls the command away. */
static struct outcome send_waiting(const struct channel *channel, const struct socket_message *message,
                                   bool first, const char *data, size_t size, int flags) {
    struct outcome outcome = {.sent = 0};
    int64_t waited_ms = 0;
    struct wait *wait = wait_begin(channel->call);
    if (wait == NULL)
        return (struct outcome){.sent = -EAGAIN};
    for (;;) {
        int64_t sent = send_once(channel, message, first && outcome.sent == 0, data + outcome.sent,
                                 size - (size_t)outcome.sent, flags);
        if (sent == -EINTR && !wait_interrupted(wait))
            continue;
        bool again = sent == -EAGAIN && passes(message, first && outcome.sent == 0);
        if (again && !wait_interrupted(wait) && await_room(channel, &waited_ms))
            continue;
        outcome.interrupted = sent == -EINTR || (again && wait_interrupted(wait));
        if (sent < 0 && outcome.sent == 0 && !outcome.interrupted)
            outcome.sent = sent;
        if (sent < 0)
            break;
        outcome.sent += sent;
        if (!is_stream(channel) || (size_t)outcome.sent == size)
            break;
    }
    wait_end(wait);
    return outcome;
}

/* Without waiting first: that needs no thread. A connection that MSG_FASTOPEN makes would not be waited for.
 */
static struct outcome send_piece(const struct channel *channel, const struct socket_message *message,
                                 bool first, const char *data, size_t size, int flags) {
    if (!channel->waits)
        return (struct outcome){.sent = send_once(channel, message, first, data, size, flags)};
    if (flags & MSG_FASTOPEN)
        return send_waiting(channel, message, first, data, size, flags);
    int64_t sent = send_once(channel, message, first, data, size, flags | MSG_DONTWAIT);
    if (sent < 0 && sent != -EAGAIN)
        return (struct outcome){.sent = sent};
    if (sent >= 0 && ((size_t)sent == size || !is_stream(channel)))
        return (struct outcome){.sent = sent};
    int64_t done = sent > 0 ? sent : 0;
    struct outcome rest =
        send_waiting(channel, message, first && done == 0, data + done, size - (size_t)done, flags);
    if (done > 0)
        rest.sent = done + (rest.sent > 0 ? rest.sent : 0);
    return rest;
}

/* The flags of one piece of a stream: what marks the end comes with the last, what opens with the first. */
static int piece_flags(const struct channel *channel, size_t offset, bool last) {
    int flags = channel->flags & ~MSG_ZEROCOPY;
    if (!last)
        flags &= ~(MSG_EOR | MSG_OOB);
    if (offset > 0)
        flags &= ~MSG_FASTOPEN;
    return flags;
}

static struct answer answer_outcome(int socket, struct outcome outcome, int64_t before) {
    if (before > 0 || outcome.sent > 0)
        return answer_value(before + (outcome.sent > 0 ? outcome.sent : 0));
    return outcome.interrupted ? wait_interrupted_answer(socket) : answer_value(outcome.sent);
}

/* Piece by piece, each of at most capacity bytes; a datagram is one. */
static struct answer send_pieces(const struct channel *channel, const struct socket_message *message,
                                 size_t capacity) {
    cleanup_free char *data = malloc(capacity > 0 ? capacity : 1);
    size_t done = 0;
    if (data == NULL)
        return answer_errno(ENOBUFS);
    for (;;) {
        size_t size = message->size - done < capacity ? message->size - done : capacity;
        bool last = done + size == message->size;
        int error = socket_message_data(channel->call, message, done, data, size);
        struct outcome outcome = {.sent = -error};
        if (error == 0)
            outcome = send_piece(channel, message, done == 0, data, size, piece_flags(channel, done, last));
        if (last || outcome.interrupted || outcome.sent < (int64_t)size)
            return answer_outcome(channel->socket, outcome, (int64_t)done);
        done += size;
    }
}

/* SIGPIPE of a stream whose other end is gone, for the thread that wanted to send. */
static void raise_pipe_signal(const struct call *call) {
    struct target_ids ids;
    if (target_ids(call, &ids) == 0)
        syscall(SYS_tgkill, ids.process, call->thread, SIGPIPE);
}

/* A datagram larger than the socket's buffer cannot be sent: its data need not be looked at. */
static bool is_too_large(const struct channel *channel, size_t size) {
    return !is_stream(channel) && size > DATAGRAM_MIN &&
           (size > DATAGRAM_MAX || size > (size_t)option_of(channel->socket, SO_SNDBUF));
}

/* With data in the SYN (tcp(7)); only then a stream looks at the address. */
static bool is_fast_open(const struct channel *channel, const struct socket_message *message) {
    return (channel->flags & MSG_FASTOPEN) != 0 && message->address.length > 0 && is_stream(channel);
}

/* 0 or the errno of the answer. */
static int judge(const struct channel *channel, const struct socket_message *message) {
    int error = message->address.length == 0 ? 0
                                             : socket_network_judge(channel->call, channel->socket,
                                                                    &message->address, "network-outbound");
    if (error != 0)
        return error;
    if (is_fast_open(channel, message))
        return outbound_judge_connect(channel->call, &channel->kind, &message->address);
    return outbound_judge_datagram(channel->call, channel->socket, &channel->kind, &message->address);
}

static void explain(const struct channel *channel, const struct socket_message *message, int64_t result) {
    if (is_fast_open(channel, message))
        outbound_connected(channel->call, channel->socket, &channel->kind, &message->address, result);
    else if (result < 0)
        outbound_explain(channel->call, &channel->kind, &message->address, result);
}

static struct answer send_message(const struct channel *channel, const struct socket_message *message) {
    size_t capacity = is_stream(channel) && message->size > PIECE ? PIECE : message->size;
    if (is_too_large(channel, message->size))
        return answer_errno(EMSGSIZE);
    /* As where the kernel has no memory for pinned pages: the sender copies instead (msg_zerocopy.rst). */
    if ((channel->flags & MSG_ZEROCOPY) && option_of(channel->socket, SO_ZEROCOPY) != 0)
        return answer_errno(ENOBUFS);
    int error = judge(channel, message);
    if (error != 0)
        return answer_errno(error);
    struct answer answer = send_pieces(channel, message, capacity);
    if (answer.value == -EPIPE && channel->kind.type == SOCK_STREAM && (channel->flags & MSG_NOSIGNAL) == 0)
        raise_pipe_signal(channel->call);
    explain(channel, message, answer.value);
    return answer;
}

/* Whether all of a message was sent, too. */
static struct answer send_read(const struct channel *channel, int error, struct socket_message *message,
                               bool *whole) {
    struct answer answer = error == 0 ? send_message(channel, message) : answer_errno(error);
    *whole = answer.value == (int64_t)message->size;
    socket_message_clear(message);
    return answer;
}

/* sendmmsg(2): an error counts only where nothing was sent before it; a message sent in part is the last. */
static struct answer send_batch(const struct channel *channel, uint64_t headers, uint64_t count) {
    struct call *call = channel->call;
    struct answer answer = answer_value(0);
    uint64_t done = 0;
    for (bool whole = true; whole && done < count && done < BATCH_MAX; done++) {
        struct socket_message message;
        uint64_t header = headers + done * sizeof(struct counted_message_header);
        int error = socket_message_read(call, &channel->kind, header, &message);
        answer = send_read(channel, error, &message, &whole);
        if (answer.value < 0)
            break;
        uint32_t sent = (uint32_t)answer.value;
        error =
            target_write(call, header + offsetof(struct counted_message_header, sent), &sent, sizeof sent);
        if (error != 0) {
            answer = answer_errno(error);
            break;
        }
    }
    return done > 0 ? answer_value((int64_t)done) : answer;
}

static struct answer send_by(const struct channel *channel) {
    struct call *call = channel->call;
    const __u64 *args = call->data->args;
    struct socket_message message;
    bool whole;
    switch (call->data->nr) {
    case SYS_sendto:
        return send_read(channel, socket_message_read_plain(call, &channel->kind, &message), &message,
                         &whole);
    case SYS_sendmsg:
        return send_read(channel, socket_message_read(call, &channel->kind, args[1], &message), &message,
                         &whole);
    default:
        return send_batch(channel, args[1], (unsigned)args[2]);
    }
}

static struct answer make_send(struct call *call, int flags) {
    cleanup_fd int socket = socket_target_duplicate(call, (int)call->data->args[0]);
    struct channel channel = {.call = call, .socket = socket, .flags = flags};
    int error = socket < 0 ? -socket : socket_kind_of(socket, &channel.kind);
    if (error != 0)
        return answer_errno(error);
    channel.waits = (flags & MSG_DONTWAIT) == 0 && (fcntl(socket, F_GETFL) & O_NONBLOCK) == 0;
    return send_by(&channel);
}

bool broker_sends(struct call *call, struct answer *answer) {
    switch (call->data->nr) {
    case SYS_sendto:
    case SYS_sendmmsg:
        *answer = make_send(call, (int)call->data->args[3]);
        return true;
    case SYS_sendmsg:
        *answer = make_send(call, (int)call->data->args[2]);
        return true;
    default:
        return false;
    }
}
