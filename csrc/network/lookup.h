/*
 * Looking names up, on threads of its own: those of libuv's pool, of which the look-ups of the host program
 * have two, are not to be taken by names that a command chose. Nobody waits for a resolver that does not
 * answer: neither who cancels, nor the loop, nor the end of the process.
 */
#ifndef OS_SANDBOX_NETWORK_LOOKUP_H
#define OS_SANDBOX_NETWORK_LOOKUP_H

#include <netdb.h>
#include <uv.h>

/* So many at once; a name behind them waits. */
#define LOOKUP_THREADS_MAX 16u

struct lookups; /* those that share the threads */
struct lookup;

/* NULL: out of memory. */
struct lookups *lookups_new(void);
/* Harmless for NULL. Those that have begun go on as they are. */
void lookups_release(struct lookups *all);

struct lookup_hooks {
    /* On the loop, once, unless it was cancelled before; never from inside lookup_start. status: 0, or as of
     * getaddrinfo(3). What was found holds until this returns. */
    void (*answered)(void *data, int status, const struct addrinfo *found);
    /* Its handle has left the loop: once, after all else. */
    void (*gone)(void *data);
    void *data;
};

/* IPv4 and IPv6. Does not keep the loop alive. NULL: no memory, or no thread; no hook is called. */
struct lookup *lookup_start(struct lookups *all, uv_loop_t *loop, const char *name,
                            const struct lookup_hooks *hooks);

/* Not after answered, nor from inside it. */
void lookup_cancel(struct lookup *lookup);

#endif
