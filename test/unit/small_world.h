/* A network of the test's own, with a loopback, an address and a resolver: the host's are neither asked nor
 * touched. */
#ifndef OS_SANDBOX_TEST_SMALL_WORLD_H
#define OS_SANDBOX_TEST_SMALL_WORLD_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

/* An address of that world's only host, beside the loopback. */
#define WORLD_OWN_ADDRESS "192.0.2.55"

/* What the resolver knows: IPv4 (0 to 3) and IPv6 addresses; a silent one never answers. */
struct world_name {
    const char *name;
    const char *v4[4];
    const char *v6[4];
    bool silent;
};

struct world_resolver {
    const struct world_name *names;
    size_t count;
    int fd;
    atomic_uint questions; /* for any name and type */
};

static inline bool world_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return good;
}

/* Puts a file of ours in the place of one of the host's, where the host has it. */
static inline void world_replace(const char *path, const char *text) {
    char ours[] = "/var/tmp/os-sandbox-world-XXXXXX";
    int fd = mkstemp(ours);
    if (access(path, F_OK) == 0 && (!world_write(ours, text) || mount(ours, path, NULL, MS_BIND, NULL) != 0))
        perror(path);
    close(fd);
    unlink(ours);
}

static inline void world_up(const char *name, const char *address) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_LOOPBACK};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (address != NULL) {
        struct sockaddr_in own = {.sin_family = AF_INET};
        inet_pton(AF_INET, address, &own.sin_addr);
        memcpy(&request.ifr_addr, &own, sizeof own);
    }
    if (ioctl(fd, address == NULL ? SIOCSIFFLAGS : SIOCSIFADDR, &request) != 0)
        perror(name);
    close(fd);
}

/* Before any thread is made. False: there can be none here. */
static inline bool world_begin(void) {
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0)
        return false;
    snprintf(map, sizeof map, "%u %u 1", (unsigned)uid, (unsigned)uid);
    world_write("/proc/self/setgroups", "deny");
    bool good = world_write("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", (unsigned)gid, (unsigned)gid);
    good = good && world_write("/proc/self/gid_map", map);
    world_replace("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
    world_replace("/etc/nsswitch.conf", "hosts: files dns\n");
    world_replace("/etc/hosts", "127.0.0.1 localhost\n");
    world_up("lo", NULL);
    world_up("lo:1", WORLD_OWN_ADDRESS);
    return good;
}

/* Reads the name of a question; its end, or 0. */
static inline size_t world_question(const uint8_t *bytes, size_t size, char name[256]) {
    size_t at = 12;
    size_t length = 0;
    while (at < size && bytes[at] != 0 && bytes[at] < 64 && at + bytes[at] + 1 < size &&
           length + bytes[at] < 250) {
        memcpy(name + length, bytes + at + 1, bytes[at]);
        length += bytes[at];
        name[length++] = '.';
        at += bytes[at] + 1u;
    }
    name[length > 0 ? length - 1 : 0] = '\0';
    return at + 5 <= size ? at + 5 : 0;
}

static inline size_t world_answer(uint8_t *bytes, size_t end, const struct world_name *known) {
    bool six = bytes[end - 3] == 28;
    const char *const *list = known == NULL ? NULL : six ? known->v6 : known->v4;
    uint8_t count = 0;
    bytes[2] = 0x81;
    bytes[3] = known == NULL ? 0x83 : 0x80;
    memset(bytes + 6, 0, 6);
    for (; list != NULL && count < 4 && list[count] != NULL; count++) {
        const uint8_t head[] = {0xc0, 12, 0, six ? 28 : 1, 0, 1, 0, 0, 0, 60, 0, six ? 16 : 4};
        memcpy(bytes + end, head, sizeof head);
        inet_pton(six ? AF_INET6 : AF_INET, list[count], bytes + end + sizeof head);
        end += sizeof head + (six ? 16 : 4);
    }
    bytes[7] = count;
    return end;
}

static inline void *world_serve(void *data) {
    struct world_resolver *resolver = data;
    uint8_t bytes[1024];
    char name[256];
    for (;;) {
        struct sockaddr_in from;
        socklen_t from_size = sizeof from;
        ssize_t got = recvfrom(resolver->fd, bytes, 512, 0, (struct sockaddr *)&from, &from_size);
        if (got < 17)
            return NULL; /* a short one ends it */
        atomic_fetch_add(&resolver->questions, 1);
        size_t end = world_question(bytes, (size_t)got, name);
        const struct world_name *known = NULL;
        for (size_t i = 0; i < resolver->count; i++)
            known = strcasecmp(resolver->names[i].name, name) == 0 ? &resolver->names[i] : known;
        if (end == 0 || (known != NULL && known->silent))
            continue;
        size_t size = world_answer(bytes, end, known);
        sendto(resolver->fd, bytes, size, 0, (struct sockaddr *)&from, from_size);
    }
}

static inline void world_resolve(struct world_resolver *resolver, pthread_t *thread) {
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    resolver->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind(resolver->fd, (struct sockaddr *)&here, sizeof here) != 0)
        perror("port 53");
    pthread_create(thread, NULL, world_serve, resolver);
}

static inline void world_resolve_end(struct world_resolver *resolver, pthread_t thread) {
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    sendto(resolver->fd, "", 1, 0, (struct sockaddr *)&here, sizeof here);
    pthread_join(thread, NULL);
    close(resolver->fd);
}

#endif
