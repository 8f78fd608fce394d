/*
 * The session's namespaces: user, network and mount, kept by descriptors, entered by every run; and the
 * gateway process, which sits between the session's network and the addon.
 */
#ifndef OS_SANDBOX_EXEC_NAMESPACES_H
#define OS_SANDBOX_EXEC_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "exec/port_table.h"

struct session_namespaces {
    int user; /* -1: not made */
    int network;
    int mount;     /* with the tree of session_tree.h; -1: not made, bwrap mounts everything for each run */
    pid_t gateway; /* the gateway process, a child of the caller's; 0: none */
    int gateway_socket; /* the addon's end of its socket, which does not block; -1: none */
    bool transparent;   /* every address leads to the gateway's network namespace */
};

#define SESSION_NAMESPACES_NONE                                                                              \
    { .user = -1, .network = -1, .mount = -1, .gateway_socket = -1 }

/*
 * Makes them in children (the caller stays where it is): the user namespace maps the caller's own ids, the
 * network namespace has a loopback that is up and, where that can be had, a pair of devices to the gateway's
 * (gateway_net.h), the mount namespace has the tree of session_tree.h. ports is for the gateway process.
 * 0, or an errno with the failed step's name in text, and nothing is left. A kernel that refuses the mount
 * namespace, or the gateway's network, is no failure: why there is no gateway is then in text, else "".
 */
int session_namespaces_make(struct session_namespaces *out, struct port_table *ports, char *text,
                            size_t text_size);

/* Closes what is open, and ends the gateway process. */
void session_namespaces_close(struct session_namespaces *namespaces);

/* Enters all, user first: it gives the right to enter the others. 0 or an errno. For a single-threaded
 * process. */
int session_namespaces_enter(const struct session_namespaces *namespaces);

#endif
