/* How a run can have ended, in the words that the exec helper, csrc/command and both platforms share. */
#ifndef OS_SANDBOX_PLATFORM_RUN_END_H
#define OS_SANDBOX_PLATFORM_RUN_END_H

#include <stdint.h>

enum run_end_flags {
    ENDED_FAILED = 1u << 0,       /* the sandbox itself failed: text says why, status means nothing */
    ENDED_TIMED_OUT = 1u << 1,    /* the deadline stopped it */
    ENDED_UNSTARTED = 1u << 2,    /* stopped before there was a command: status means nothing; with
                                     ENDED_FAILED: it failed before that, as far as that is seen */
    ENDED_UNCONFIRMED = 1u << 3,  /* KILL was sent, and something is still there (in the kernel, or traced) */
    ENDED_UNSUPERVISED = 1u << 4, /* a probe found no notifications here: only the static filter can be had */
    ENDED_UNFILTERED = 1u << 5,   /* nor that one */
    ENDED_EMPTY_CACHE = 1u << 6,  /* what was to be a copy was empty: text says why */
};

/* In the same flags: the run came to this limit of its cost (enum cost_limit). */
#define ENDED_AT_LIMIT(limit) (1u << (8u + (unsigned)(limit)))

#define RUN_END_TEXT_MAX 1024

struct run_end {
    uint32_t flags;
    int32_t status; /* exit code, 128+n for a signal */
    int32_t signal; /* that the command died of, 0: none */
    char text[RUN_END_TEXT_MAX];
};

#endif
