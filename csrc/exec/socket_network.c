#include "exec/socket_network.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#ifndef SO_NETNS_COOKIE /* Linux 5.14 */
#define SO_NETNS_COOKIE 71
#endif
#ifndef SIOCGSKNS /* Linux 4.9 */
#define SIOCGSKNS 0x894C
#endif

#define NO_NETWORK "no network in the sandbox"

int socket_network_learn(struct supervisor *supervisor, pid_t stage) {
    char path[32];
    struct stat facts;
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)stage);
    if (stat(path, &facts) != 0)
        return errno;
    supervisor->network.device = facts.st_dev;
    supervisor->network.inode = facts.st_ino;
    return 0;
}

/* The owner of the run's network may ask for its namespace; of the host's network only its root may. */
static bool is_in(int socket, const struct run_network *network) {
    struct stat facts;
    cleanup_fd int namespace = ioctl(socket, SIOCGSKNS);
    return namespace >= 0 && fstat(namespace, &facts) == 0 && facts.st_dev == network->device &&
           facts.st_ino == network->inode;
}

/* The number that the kernel gives a network is quicker to have than the network, and never used again. */
static bool is_own(struct run_network *network, int socket) {
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    if (getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0)
        return is_in(socket, network);
    if (cookie == atomic_load(&network->cookie))
        return true;
    if (!is_in(socket, network))
        return false;
    atomic_store(&network->cookie, cookie);
    return true;
}

int socket_network_judge(struct call *call, int socket, const struct socket_address *address,
                         const char *operation) {
    if (call->supervisor->network.inode == 0 || is_own(&call->supervisor->network, socket))
        return 0;
    if (socket_address_is_ip(address))
        socket_address_report(call, address, operation, NO_NETWORK);
    return EACCES;
}
