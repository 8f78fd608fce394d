#include "network/questions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exec/question.h"
#include "network/judge.h"
#include "network/listeners.h"

#define QUESTIONS_PER_EVENT 64u
/* A listener for each family of the loopback. */
#define LOOPBACKS 2

static const uint8_t loopbacks[LOOPBACKS][IP_ADDRESS_BYTES] = {{[10] = 0xff, 0xff, 127, 0, 0, 1}, {[15] = 1}};

/* One that waits for listeners, or for the host's own port to be tried. */
struct pending {
    struct link link;
    struct network *network;
    int answer; /* descriptor */
    uint16_t port;
    struct listener_waiter waiters[LOOPBACKS];
    unsigned waiting; /* of them, and one more while they are being asked for */
    bool open;
    bool either;            /* it may connect with or without a listener */
    struct rule_set *rules; /* of the dial */
    struct dial *dial;
};

/* The supervisor may be gone: then nobody waits. */
static void send_answer(int fd, const struct network_answer *answer) {
    send(fd, answer, sizeof *answer, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void allow(int fd) {
    struct network_answer answer = {.version = QUESTION_VERSION, .allowed = 1};
    send_answer(fd, &answer);
}

static void refuse(int fd, const struct network_target *target, const char *why) {
    struct network_answer answer = {.version = QUESTION_VERSION};
    strncpy(answer.why, why, sizeof answer.why - 1);
    if (target != NULL && !network_target_is_address(target))
        strncpy(answer.host, target->name, sizeof answer.host - 1);
    send_answer(fd, &answer);
}

static void free_pending(struct pending *pending) {
    link_remove(&pending->link);
    for (size_t i = 0; i < LOOPBACKS; i++)
        link_remove(&pending->waiters[i].link);
    if (pending->dial != NULL)
        dial_cancel(pending->dial);
    if (pending->rules != NULL)
        rule_set_release(pending->rules);
    close_fd(&pending->answer);
    free(pending);
}

/* One thing less that it waits for. */
static void settle(struct pending *pending) {
    if (--pending->waiting > 0)
        return;
    if (pending->open || pending->either)
        allow(pending->answer);
    else
        refuse(pending->answer, NULL, "no network in the sandbox");
    free_pending(pending);
}

static struct pending *pending_of(struct listener_waiter *waiter, size_t index) {
    return LINK_OWNER(waiter - index, struct pending, waiters[0]);
}

static void opened(struct pending *pending, bool open) {
    pending->open = pending->open || open;
    settle(pending);
}

static void on_first_opened(struct listener_waiter *waiter, bool open) {
    opened(pending_of(waiter, 0), open);
}

static void on_second_opened(struct listener_waiter *waiter, bool open) {
    opened(pending_of(waiter, 1), open);
}

static struct pending *pending_new(struct network *network, uint16_t port, int *answer) {
    struct pending *pending = calloc(1, sizeof *pending);
    if (pending == NULL)
        return NULL;
    pending->network = network;
    pending->port = port;
    pending->answer = steal_fd(answer);
    pending->waiters[0].opened = on_first_opened;
    pending->waiters[1].opened = on_second_opened;
    pending->waiting = 1;
    link_add(&network->pending_questions, &pending->link);
    return pending;
}

static void open_everywhere(struct network *network, uint16_t port, int *answer) {
    struct pending *pending = pending_new(network, port, answer);
    if (pending == NULL)
        return;
    struct listener_request request = {.kind = LISTENER_EVERYWHERE, .port = port, .demanded = true};
    listener_open(network, &request, &pending->waiters[0]);
}

static void open_loopbacks(struct pending *pending) {
    pending->waiting = LOOPBACKS + 1;
    for (size_t i = 0; i < LOOPBACKS; i++) {
        struct listener_request request = {
            .kind = LISTENER_LOOPBACK, .port = pending->port, .address = loopbacks[i], .demanded = true};
        listener_open(pending->network, &request, &pending->waiters[i]);
    }
    settle(pending);
}

/* Where nothing listens on the host, a listener inside would only be in the way of a command's own. */
static void on_host_tried(void *data, enum dial_result result, int fd, const char *text) {
    struct pending *pending = data;
    cleanup_fd int tried = fd;
    (void)text;
    pending->dial = NULL;
    if (result == DIAL_CONNECTED)
        open_loopbacks(pending);
    else
        settle(pending);
}

/* The loopback inside is the session's own: a rule only adds what the host has at that port. */
static void question_loopback(struct network *network, const struct network_question *question, int *answer) {
    struct judgement judgement;
    network_judge_local(network->rules, question->address, question->port, &judgement);
    struct pending *pending = NULL;
    if (judgement.verdict == NETWORK_ALLOW && !listeners_have_loopback(network, question->port))
        pending = pending_new(network, question->port, answer);
    if (pending == NULL) {
        if (*answer >= 0)
            allow(*answer);
        return;
    }
    pending->either = true;
    pending->rules = network->rules;
    pending->rules->users++;
    struct dial_request request = {.target = judgement.target, .rules = network->rules->rules};
    pending->dial = dial_start_counted(network->loop, &request, &network->dials, on_host_tried, pending);
    if (pending->dial == NULL)
        settle(pending);
}

static bool is_loopback(const uint8_t address[IP_ADDRESS_BYTES]) {
    return memcmp(address, loopbacks[1], IP_ADDRESS_BYTES) == 0 ||
           (ip_address_is_v4(address) && address[12] == 127);
}

static void question_connect(struct network *network, const struct network_question *question, int *answer) {
    if (question->port == 0 || network->gateway == NULL) {
        refuse(*answer, NULL, "no network in the sandbox");
        return;
    }
    if (is_loopback(question->address)) {
        question_loopback(network, question, answer);
        return;
    }
    struct network_target target = {.port = question->port};
    memcpy(target.address, question->address, sizeof target.address);
    struct judgement judgement;
    network_judge(network, network->rules, &target, &judgement);
    if (judgement.verdict == NETWORK_DENY)
        refuse(*answer, &judgement.target, judgement.why);
    else
        open_everywhere(network, question->port, answer);
}

/* The descriptor that came along; of more than one all but the first are closed. */
static int descriptor_of(struct msghdr *message) {
    int first = -1;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (first < 0)
                first = fd;
            else
                close(fd);
        }
    }
    return first;
}

/* False: none is there, or (*broken) never will be. */
static bool take_question(struct network *network, bool *broken) {
    struct network_question question;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * 4)];
    } control;
    struct iovec part = {.iov_base = &question, .iov_len = sizeof question};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(network->questions, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR)
        return true;
    *broken = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    if (got <= 0)
        return false;
    cleanup_fd int answer = descriptor_of(&message);
    if (got != sizeof question || question.version != QUESTION_VERSION)
        return true;
    if (question.type == QUESTION_LISTENING && network->exposed != NULL)
        exposed_ports_heard(network->exposed);
    else if (question.type == QUESTION_CONNECT && answer >= 0)
        question_connect(network, &question, &answer);
    return true;
}

void questions_sweep(struct network *network) {
    bool broken = false;
    for (unsigned i = 0; i < QUESTIONS_PER_EVENT && network->questions >= 0; i++)
        if (!take_question(network, &broken))
            break;
    if (broken && network->questions >= 0)
        uv_poll_stop(&network->question_poll);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    (void)events;
    if (status < 0)
        uv_poll_stop(poll);
    else
        questions_sweep(poll->data);
}

int questions_begin(struct network *network) {
    int failed = uv_poll_init(network->loop, &network->question_poll, network->questions);
    if (failed != 0) {
        close_fd(&network->questions);
        return failed;
    }
    network->question_poll.data = network;
    network_hold(network);
    uv_unref((uv_handle_t *)&network->question_poll);
    return uv_poll_start(&network->question_poll, UV_READABLE, on_readable);
}

void questions_close(struct network *network) {
    while (!link_is_empty(&network->pending_questions))
        free_pending(LINK_OWNER(network->pending_questions.next, struct pending, link));
    if (network->questions < 0)
        return;
    uv_poll_stop(&network->question_poll);
    close_fd(&network->questions);
    uv_close((uv_handle_t *)&network->question_poll, network_on_handle_closed);
}
