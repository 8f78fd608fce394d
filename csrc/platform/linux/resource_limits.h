/* The resource limits (setrlimit(2)) with which a command starts. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_RESOURCE_LIMITS_H
#define OS_SANDBOX_PLATFORM_LINUX_RESOURCE_LIMITS_H

#include "exec/payload.h"

/* This process's own, as far as a command gets them, lowered to what payload->cost allows. */
void resource_limits_fill(struct payload *payload);

#endif
