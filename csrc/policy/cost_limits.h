/* What a run may cost: the limits that options set, what each is called, and as what exceeding it is
 * reported. */
#ifndef OS_SANDBOX_POLICY_COST_LIMITS_H
#define OS_SANDBOX_POLICY_COST_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cost_limit {
    COST_MEMORY,     /* bytes */
    COST_PROCESSES,  /* with their threads */
    COST_CPU,        /* seconds of all processes together */
    COST_FILE,       /* bytes of each file that is written */
    COST_OPEN_FILES, /* of each process */
    COST_LIMITS
};

struct cost_limits {
    uint64_t most[COST_LIMITS]; /* 0: no limit */
};

bool cost_limits_any(const struct cost_limits *limits);

/* The operation of a violation. */
const char *cost_limit_operation(enum cost_limit limit);

/* "limits.cpuSeconds 20", as a violation's reason. */
#define COST_REASON_SIZE 48
const char *cost_limit_reason(const struct cost_limits *limits, enum cost_limit limit,
                              char text[COST_REASON_SIZE]);

#endif
