#include "policy/cost_limits.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *key;
    const char *operation;
} rows[COST_LIMITS] = {
    [COST_MEMORY] = {"memoryBytes", "process-memory"},
    [COST_PROCESSES] = {"processes", "process-fork"},
    [COST_CPU] = {"cpuSeconds", "process-cpu"},
    [COST_FILE] = {"fileBytes", "file-write-data"},
    [COST_OPEN_FILES] = {"openFiles", "process-open-files"},
};

bool cost_limits_any(const struct cost_limits *limits) {
    for (size_t i = 0; i < COST_LIMITS; i++)
        if (limits->most[i] != 0)
            return true;
    return false;
}

const char *cost_limit_operation(enum cost_limit limit) {
    return rows[limit].operation;
}

const char *cost_limit_reason(const struct cost_limits *limits, enum cost_limit limit,
                              char text[COST_REASON_SIZE]) {
    snprintf(text, COST_REASON_SIZE, "limits.%s %" PRIu64, rows[limit].key, limits->most[limit]);
    return text;
}
