/*
 * The stamps of git directories that the session made: whose supervisor looks at them at its end, or that
 * one did, and which folder was meant: a path may be another's by now. 0: not known yet.
 */
#ifndef OS_SANDBOX_EXEC_RULES_STAMP_H
#define OS_SANDBOX_EXEC_RULES_STAMP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STAMP_CHECKED ((uint64_t)1 << 63)
#define STAMP_OPEN ((uint64_t)1 << 62)
#define STAMP_PID_SHIFT 40
#define STAMP_PID_MASK (((uint64_t)1 << 22) - 1) /* PID_MAX_LIMIT of the kernel */
#define STAMP_IDENTITY_MASK (((uint64_t)1 << STAMP_PID_SHIFT) - 1)

/* identity: file_identity_hash's. */
static inline bool stamp_is_of(uint64_t stamp, uint64_t identity) {
    return (stamp & STAMP_IDENTITY_MASK) == (identity & STAMP_IDENTITY_MASK);
}

static inline uint64_t stamp_open(pid_t supervisor, uint64_t identity) {
    return STAMP_OPEN | ((uint64_t)supervisor & STAMP_PID_MASK) << STAMP_PID_SHIFT |
           (identity & STAMP_IDENTITY_MASK);
}

static inline uint64_t stamp_checked(uint64_t identity) {
    return STAMP_CHECKED | (identity & STAMP_IDENTITY_MASK);
}

static inline pid_t stamp_supervisor(uint64_t stamp) {
    return (pid_t)(stamp >> STAMP_PID_SHIFT & STAMP_PID_MASK);
}

#endif
