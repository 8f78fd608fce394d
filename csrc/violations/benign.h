/* Refused attempts that say nothing: programs make them by habit and do without. Pure. */
#ifndef OS_SANDBOX_VIOLATIONS_BENIGN_H
#define OS_SANDBOX_VIOLATIONS_BENIGN_H

#include <stdbool.h>

#include "violations/violation.h"

bool violation_is_benign(const struct violation *violation);

#endif
