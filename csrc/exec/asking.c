#include "exec/asking.h"

#include <errno.h>
#include <poll.h>
#include <stdalign.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/caller.h"
#include "exec/passing.h"
#include "exec/waiting.h"

#define PATIENCE_MS 10000

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until the descriptor is ready, or whoever is at its other end gone. 0 or an errno of asking_wait. */
static int await(struct wait *wait, int fd, short events, int64_t deadline) {
    for (;;) {
        struct pollfd state = {.fd = fd, .events = events};
        int64_t left = deadline - now_ms();
        int ready = left <= 0 ? 0 : poll(&state, 1, (int)left);
        if (ready > 0)
            return 0;
        if (ready == 0 || errno != EINTR)
            return ETIMEDOUT;
        if (wait_interrupted(wait))
            return ERESTARTNOINTR;
    }
}

/* One datagram, with the descriptor for the answer where that is not -1. 0 or an errno: EAGAIN, … */
static int send_once(const struct call *call, const struct network_question *question, int fd) {
    alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct network_question copy = *question;
    struct iovec part = {.iov_base = &copy, .iov_len = sizeof copy};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        struct cmsghdr *item = CMSG_FIRSTHDR(&header);
        item->cmsg_level = SOL_SOCKET;
        item->cmsg_type = SCM_RIGHTS;
        item->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(item), &fd, sizeof fd);
    }
    struct supervisor *supervisor = call->supervisor;
    return passing_send_own(&supervisor->passing, supervisor->questions, &header, MSG_NOSIGNAL) < 0 ? errno
                                                                                                    : 0;
}

static int send_question(const struct call *call, struct wait *wait, const struct network_question *question,
                         int fd, int64_t deadline) {
    for (;;) {
        int error = send_once(call, question, fd);
        if (error == EAGAIN)
            error = await(wait, call->supervisor->questions, POLLOUT, deadline);
        else
            return error == 0 ? 0 : ETIMEDOUT;
        if (error != 0)
            return error;
    }
}

/* It may come in parts: the descriptor is a stream's. */
static int receive_answer(struct wait *wait, int fd, struct network_answer *answer, int64_t deadline) {
    for (size_t done = 0; done < sizeof *answer;) {
        int error = await(wait, fd, POLLIN, deadline);
        if (error != 0)
            return error;
        ssize_t got = recv(fd, (char *)answer + done, sizeof *answer - done, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return ETIMEDOUT;
        done += got > 0 ? (size_t)got : 0;
    }
    answer->why[sizeof answer->why - 1] = '\0';
    answer->host[sizeof answer->host - 1] = '\0';
    return answer->version == QUESTION_VERSION ? 0 : ETIMEDOUT;
}

static int ask(const struct call *call, struct wait *wait, const struct network_question *question,
               struct network_answer *answer) {
    int pair[2];
    int64_t deadline = now_ms() + PATIENCE_MS;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return ETIMEDOUT;
    cleanup_fd int ours = pair[0];
    int error = send_question(call, wait, question, pair[1], deadline);
    /* So that its end is seen where whoever was asked goes away. */
    close(pair[1]);
    return error != 0 ? error : receive_answer(wait, ours, answer, deadline);
}

static void sign(struct call *call, struct network_question *question) {
    question->version = QUESTION_VERSION;
    question->run = call->supervisor->run;
    question->pid = (uint32_t)caller_process(call);
}

int asking_wait(struct call *call, struct network_question *question, struct network_answer *answer) {
    if (call->supervisor->questions < 0)
        return ETIMEDOUT;
    sign(call, question);
    struct wait *wait = wait_begin(call);
    if (wait == NULL)
        return EAGAIN;
    int error = ask(call, wait, question, answer);
    wait_end(wait);
    return error;
}

void asking_tell(struct call *call, struct network_question *question) {
    int socket = call->supervisor->questions;
    sign(call, question);
    if (socket < 0 || send_once(call, question, -1) != EAGAIN)
        return;
    struct wait *wait = wait_begin(call);
    if (wait == NULL)
        return;
    send_question(call, wait, question, -1, now_ms() + PATIENCE_MS);
    wait_end(wait);
}
