/* The session's namespaces: one user and one network namespace, kept by descriptors, entered by every run. */
#ifndef OS_SANDBOX_EXEC_NETNS_H
#define OS_SANDBOX_EXEC_NETNS_H

#include <stddef.h>

struct session_namespaces {
    int user; /* -1: not made */
    int network;
};

/*
 * Makes them in a short-lived child (the caller stays where it is): the user namespace maps the caller's own ids,
 * the network namespace has a loopback that is up and nothing else. 0, or an errno with the failed step's name in text.
 */
int session_namespaces_make(struct session_namespaces *out, char *text, size_t text_size);

/* Enters both, user first: it gives the right to enter the other. 0 or an errno. For a single-threaded process. */
int session_namespaces_enter(const struct session_namespaces *namespaces);

#endif
