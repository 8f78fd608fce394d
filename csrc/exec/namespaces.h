/* The session's namespaces: user, network and mount, kept by descriptors, entered by every run. */
#ifndef OS_SANDBOX_EXEC_NAMESPACES_H
#define OS_SANDBOX_EXEC_NAMESPACES_H

#include <stddef.h>

struct session_namespaces {
    int user; /* -1: not made */
    int network;
    int mount; /* with the tree of session_tree.h; -1: not made, bwrap mounts everything for each run */
};

/*
 * Makes them in a short-lived child (the caller stays where it is): the user namespace maps the caller's own
 * ids, the network namespace has a loopback that is up and nothing else, the mount namespace has the tree of
 * session_tree.h. 0, or an errno with the failed step's name in text; a kernel that refuses the mount
 * namespace alone is no failure.
 */
int session_namespaces_make(struct session_namespaces *out, char *text, size_t text_size);

/* Enters all, user first: it gives the right to enter the others. 0 or an errno. For a single-threaded
 * process. */
int session_namespaces_enter(const struct session_namespaces *namespaces);

#endif
