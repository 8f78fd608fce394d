/* sendto(2), sendmsg(2) and sendmmsg(2) of a supervised command. "The host's" belongs to the test's own
 * network. */
#include "supervised_sockets.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/* One datagram to a name by each of the three calls; as the second of a batch behind one that is allowed. */
static void to_name(const char *name, int wanted, const char *first) {
    struct sockaddr_un to = address_of(name);
    struct sockaddr_un before = address_of(first);
    struct iovec part = part_of("abc");
    struct msghdr message = message_of(&part, 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    is_int(gave(sendto(fd, "abc", 3, 0, (struct sockaddr *)&to, sizeof to)), wanted, "by sendto");
    message.msg_name = &to;
    message.msg_namelen = sizeof to;
    is_int(gave(sendmsg(fd, &message, 0)), wanted, "by sendmsg");
    struct mmsghdr batch[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    is_int(gave(sendmmsg(fd, batch, 1, 0)), wanted < 0 ? wanted : 1, "by sendmmsg");
    batch[0].msg_hdr.msg_name = &before;
    batch[1].msg_len = 77;
    is_int(gave(sendmmsg(fd, batch, 2, 0)), wanted < 0 ? 1 : 2, "as the second message of a batch");
    ok(batch[0].msg_len == 3 && batch[1].msg_len == (wanted < 0 ? 77 : 3), "what was sent is counted");
    close(fd);
}

static void names(void) {
    int server = make("inside", SOCK_DGRAM);
    to_name("host", -EACCES, "inside");
    to_name("allowed", 3, "inside");
    to_name("missing", -ENOENT, "inside");
    to_name("inside", 3, "inside");
    unsigned count = 0;
    while (receives(server, "abc"))
        count++;
    is_int(count, 8, "what was sent inside arrives");
    close(server);
    unlink(address_of("inside").sun_path);
    int stream[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, stream);
    struct sockaddr_un host = address_of("host");
    is_int(gave(sendto(stream[0], "x", 1, 0, (struct sockaddr *)&host, sizeof host)), -EISCONN,
           "a stream takes no address");
    int packets[2];
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets);
    is_int(gave(sendto(packets[0], "x", 1, 0, (struct sockaddr *)&host, sizeof host)), 1,
           "sequenced packets ignore theirs");
    ok(receives(packets[1], "x") && !receives(stream[1], "x"), "and go where they belong");
}

static void plain(void) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
    struct iovec parts[] = {part_of("ab"), part_of(""), part_of("cde")};
    struct msghdr message = message_of(parts, 3);
    is_int(gave(sendmsg(pair[0], &message, 0)), 5, "parts are put together");
    ok(receives(pair[1], "abcde"), "in their order");
    message.msg_iovlen = 0;
    is_int(gave(sendmsg(pair[0], &message, 0)), 0, "no part is an empty message");
    char byte;
    is_int(recv(pair[1], &byte, 1, MSG_DONTWAIT), 0, "which arrives");
    struct iovec many[1025];
    for (size_t i = 0; i < 1025; i++)
        many[i] = part_of("m");
    message = message_of(many, 1024);
    is_int(gave(sendmsg(pair[0], &message, 0)), 1024, "1,024 parts are taken");
    message.msg_iovlen = 1025;
    is_int(gave(sendmsg(pair[0], &message, 0)), -EMSGSIZE, "one more is too many");
    parts[1].iov_len = (size_t)-1;
    message = message_of(parts, 3);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EINVAL, "a part of a negative size");
    parts[1] = (struct iovec){.iov_base = (void *)(uintptr_t)16, .iov_len = 8};
    is_int(gave(sendmsg(pair[0], &message, 0)), -EFAULT, "a part that is not in memory");
    is_int(gave(sendmsg(pair[0], (struct msghdr *)(uintptr_t)16, 0)), -EFAULT, "a message that is not");
    is_int(gave(sendmsg(1000, &message, 0)), -EBADF, "no descriptor");
    is_int(gave(sendmsg(0, &message, 0)), -ENOTSOCK, "no socket");
    is_int(gave(sendmmsg(pair[0], NULL, 0, 0)), 0, "no messages at all");
}

/* --- control messages --- */

union control {
    char bytes[CMSG_SPACE(300 * sizeof(int))];
    struct cmsghdr header;
};

static struct cmsghdr *put(struct msghdr *message, union control *control, int level, int type,
                           const void *data, size_t size) {
    memset(control, 0, sizeof *control);
    message->msg_control = control;
    message->msg_controllen = CMSG_SPACE(size);
    struct cmsghdr *item = &control->header;
    item->cmsg_level = level;
    item->cmsg_type = type;
    item->cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(item), data, size);
    return item;
}

static int received_descriptor(int socket) {
    union control control;
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = message_of(&part, 1);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    int fd = -1;
    if (recvmsg(socket, &message, MSG_DONTWAIT) == 1 && CMSG_FIRSTHDR(&message) != NULL)
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static void descriptors(void) {
    union control control;
    int pair[2];
    int pipe_ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    struct iovec part = part_of("x");
    struct msghdr message = message_of(&part, 1);
    if (pipe(pipe_ends) != 0)
        return;
    put(&message, &control, SOL_SOCKET, SCM_RIGHTS, &pipe_ends[1], sizeof(int));
    is_int(gave(sendmsg(pair[0], &message, 0)), 1, "a descriptor is sent");
    int got = received_descriptor(pair[1]);
    char byte = 0;
    ok(got >= 0 && write(got, "y", 1) == 1 && read(pipe_ends[0], &byte, 1) == 1 && byte == 'y',
       "and leads where it did");
    close(got);
    close(pipe_ends[1]);
    struct pollfd end = {.fd = pipe_ends[0]};
    ok(poll(&end, 1, 1000) == 1 && (end.revents & POLLHUP), "nobody else has kept a copy");
    int many[254];
    for (size_t i = 0; i < 254; i++)
        many[i] = pipe_ends[0];
    put(&message, &control, SOL_SOCKET, SCM_RIGHTS, many, 253 * sizeof(int));
    is_int(gave(sendmsg(pair[0], &message, 0)), 1, "253 descriptors are sent");
    put(&message, &control, SOL_SOCKET, SCM_RIGHTS, many, sizeof many);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EINVAL, "one more is too many");
    many[1] = 1000;
    put(&message, &control, SOL_SOCKET, SCM_RIGHTS, many, 2 * sizeof(int));
    is_int(gave(sendmsg(pair[0], &message, 0)), -EBADF, "one that is none");
    put(&message, &control, SOL_SOCKET, SCM_RIGHTS, many, sizeof(int))->cmsg_len = 4;
    is_int(gave(sendmsg(pair[0], &message, 0)), -EINVAL, "a control message shorter than its header");
    put(&message, &control, SOL_SOCKET, SCM_RIGHTS, many, sizeof(int))->cmsg_len = 1000;
    is_int(gave(sendmsg(pair[0], &message, 0)), -EINVAL, "one that is longer than what there is");
    put(&message, &control, SOL_SOCKET, 99, many, sizeof(int));
    is_int(gave(sendmsg(pair[0], &message, 0)), -EINVAL, "one that the kernel does not know");
    put(&message, &control, SOL_SOCKET, SCM_RIGHTS, many, sizeof(int));
    message.msg_controllen = 8;
    is_int(gave(sendmsg(pair[0], &message, 0)), 1, "less than a header is nothing");
    message.msg_controllen = 1u << 20;
    is_int(gave(sendmsg(pair[0], &message, 0)), -ENOBUFS, "a mebibyte of control messages");
    message.msg_control = NULL;
    is_int(gave(sendmsg(pair[0], &message, 0)), -ENOBUFS, "wherever they lie");
    message.msg_controllen = 16;
    is_int(gave(sendmsg(pair[0], &message, 0)), -EFAULT, "and some that are nowhere");
    close(pipe_ends[0]);
}

static void credentials(void) {
    union control control;
    union control received;
    int pair[2];
    int on = 1;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    struct iovec part = part_of("x");
    struct msghdr message = message_of(&part, 1);
    struct ucred own = {.pid = getpid(), .uid = getuid(), .gid = getgid()};
    put(&message, &control, SOL_SOCKET, SCM_CREDENTIALS, &own, sizeof own);
    is_int(gave(sendmsg(pair[0], &message, 0)), 1, "a process can say who it is");
    char byte;
    struct iovec into = {.iov_base = &byte, .iov_len = 1};
    struct msghdr answer = message_of(&into, 1);
    answer.msg_control = &received;
    answer.msg_controllen = sizeof received;
    struct ucred got = {.uid = 77};
    if (recvmsg(pair[1], &answer, MSG_DONTWAIT) == 1 && CMSG_FIRSTHDR(&answer) != NULL)
        memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&answer)), sizeof got);
    ok(got.uid == own.uid && got.gid == own.gid, "its user and group arrive");
    own.pid = getppid();
    put(&message, &control, SOL_SOCKET, SCM_CREDENTIALS, &own, sizeof own);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EPERM, "it cannot say that it is another");
    own = (struct ucred){.pid = getpid(), .uid = getuid() + 1, .gid = getgid()};
    put(&message, &control, SOL_SOCKET, SCM_CREDENTIALS, &own, sizeof own);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EPERM, "nor another user");
    put(&message, &control, SOL_SOCKET, SCM_CREDENTIALS, &own, sizeof own - 4);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EINVAL, "nor part of it");
}

/* --- IP --- */

static void datagrams(void) {
    union control control;
    struct sockaddr_in to;
    int server = bound(SOCK_DGRAM, &to);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    is_int(gave(sendto(fd, "hi", 2, 0, (struct sockaddr *)&to, sizeof to)), 2, "UDP goes to localhost");
    ok(receives(server, "hi"), "and arrives");
    struct iovec part = part_of("ttl");
    struct msghdr message = message_of(&part, 1);
    int ttl = 7;
    message.msg_name = &to;
    message.msg_namelen = sizeof to;
    put(&message, &control, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl);
    is_int(gave(sendmsg(fd, &message, 0)), 3, "with a control message");
    uint32_t mark = 1;
    put(&message, &control, SOL_SOCKET, SO_MARK, &mark, sizeof mark);
    is_int(gave(sendmsg(fd, &message, 0)), -EPERM, "but none that needs a privilege");
    static char large[70000];
    is_int(gave(sendto(fd, large, sizeof large, 0, (struct sockaddr *)&to, sizeof to)), -EMSGSIZE,
           "a datagram that is too large");
    struct sockaddr_in far = inet("192.0.2.1", 53);
    is_int(gave(sendto(fd, "hi", 2, 0, (struct sockaddr *)&far, sizeof far)), -ENETUNREACH,
           "nothing goes out");
    int on = 1;
    is_int(setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on), 0, "sending without a copy is asked for");
    is_int(gave(sendto(fd, "hi", 2, MSG_ZEROCOPY, (struct sockaddr *)&to, sizeof to)), -ENOBUFS,
           "and is not to be had");
    close(fd);
    close(server);
}

static void fast_open(void) {
    struct sockaddr_in to;
    int server = bound(SOCK_STREAM, &to);
    listen(server, 1);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    is_int(gave(sendto(fd, "fast", 4, MSG_FASTOPEN, (struct sockaddr *)&to, sizeof to)), 4,
           "data that opens a connection");
    int accepted = accept(server, NULL, NULL);
    char got[8] = "";
    ok(recv(accepted, got, sizeof got, 0) == 4 && strcmp(got, "fast") == 0, "arrives");
    struct sockaddr_in far = inet("192.0.2.3", 80);
    int other = socket(AF_INET, SOCK_STREAM, 0);
    is_int(gave(sendto(other, "fast", 4, MSG_FASTOPEN, (struct sockaddr *)&far, sizeof far)), -ENETUNREACH,
           "but not outside");
    close(other);
    close(accepted);
    close(fd);
    close(server);
}

/* A request that changes the network, with the kernel's address: the kernel's answer. */
static int set_link(const struct sockaddr_nl *to) {
    struct {
        struct nlmsghdr header;
        struct ifinfomsg link;
    } request = {.header = {.nlmsg_len = sizeof request,
                            .nlmsg_type = RTM_NEWLINK,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
                 .link = {.ifi_index = 1, .ifi_change = IFF_UP}};
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
    } answer = {.error.error = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    int result = gave(sendto(fd, &request, sizeof request, 0, (const struct sockaddr *)to, sizeof *to));
    if (result > 0)
        recv(fd, &answer, sizeof answer, 0);
    close(fd);
    return result < 0 ? result : answer.error.error;
}

static void netlink(void) {
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct sockaddr_nl other = {.nl_family = AF_NETLINK, .nl_pid = 7};
    struct sockaddr_nl group = {.nl_family = AF_NETLINK, .nl_groups = 1};
    is_int(set_link(&kernel), -EPERM, "the kernel does not take the supervisor's rights for the command's");
    is_int(set_link(&other), -EPERM, "another process cannot be spoken to");
    is_int(set_link(&group), -EPERM, "nor a group");
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    is_int(gave(connect(fd, (struct sockaddr *)&other, sizeof other)), -EPERM, "by connecting neither");
    is_int(gave(connect(fd, (struct sockaddr *)&kernel, sizeof kernel)), 0, "the kernel can be connected to");
    struct {
        struct nlmsghdr header;
        struct rtgenmsg message;
    } request = {.header = {.nlmsg_len = sizeof request,
                            .nlmsg_type = RTM_GETLINK,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
    char answer[8192];
    is_int(gave(sendto(fd, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel)),
           sizeof request, "and asked for the links");
    ok(recv(fd, answer, sizeof answer, 0) > 100, "which it tells");
    close(fd);
}

/* --- a thread that swaps the address, the descriptor and the message --- */

static struct {
    _Alignas(struct sockaddr_un) char address[sizeof(struct sockaddr_un)];
    struct sockaddr_un inside, host, *pointer;
    struct msghdr message;
    atomic_bool stop;
} swap;

static void *swap_on(void *unused) {
    (void)unused;
    while (!atomic_load(&swap.stop)) {
        memcpy(swap.address, &swap.host, sizeof swap.host);
        *(void *volatile *)&swap.message.msg_name = &swap.host;
        memcpy(swap.address, &swap.inside, sizeof swap.inside);
        *(void *volatile *)&swap.message.msg_name = &swap.inside;
    }
    return NULL;
}

static void swaps(void) {
    pthread_t thread;
    unsigned refused = 0;
    unsigned attempts = 0;
    struct iovec part = part_of("x");
    int server = make("inside", SOCK_DGRAM);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    swap.inside = address_of("inside");
    swap.host = address_of("host");
    swap.message = message_of(&part, 1);
    swap.message.msg_namelen = sizeof swap.inside;
    pthread_create(&thread, NULL, swap_on, NULL);
    for (time_t until = time(NULL) + 2; time(NULL) < until; attempts++) {
        ssize_t result = attempts % 2 == 0 ? sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)swap.address,
                                                    sizeof swap.inside)
                                           : sendmsg(fd, &swap.message, MSG_DONTWAIT);
        refused += result < 0 && errno == EACCES ? 1 : 0;
        while (receives(server, "x"))
            ;
    }
    atomic_store(&swap.stop, true);
    pthread_join(thread, NULL);
    ok(attempts > 1000 && refused > 0, "%u sends while a thread swaps the address, %u refused", attempts,
       refused);
    close(server);
    unlink(swap.inside.sun_path);
}

static void command(void) {
    names();
    plain();
    descriptors();
    credentials();
    datagrams();
    fast_open();
    netlink();
    swaps();
}

int main(void) {
    char allowed[128];
    char byte[8];
    make_top();
    snprintf(allowed, sizeof allowed, "%s/allowed", top);
    int host = make("host", SOCK_DGRAM);
    int other = make("allowed", SOCK_DGRAM);
    supervised_run((char *[]){allowed}, 1, command);
    ok(recv(host, byte, sizeof byte, MSG_DONTWAIT) < 0 && errno == EAGAIN,
       "the host's server was not reached");
    unsigned count = 0;
    while (recv(other, byte, sizeof byte, MSG_DONTWAIT) == 3)
        count++;
    is_int(count, 4, "the one that the list names was");
    is_int(supervised_reports("/host\""), 1, "the path is reported once");
    is_int(supervised_reports("\"host\":\"192.0.2.1\",\"port\":53"), 1, "and an address");
    is_int(supervised_reports("\"type\":\"violation\""), 3, "and nothing else that was not refused");
    if (tap_state.failed > 0)
        diag("reported", supervised_events);
    remove_top();
    return done_testing();
}
