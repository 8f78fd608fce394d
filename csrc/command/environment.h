/* A command's environment: the ambient one with the run's own variables on top. Pure. */
#ifndef OS_SANDBOX_COMMAND_ENVIRONMENT_H
#define OS_SANDBOX_COMMAND_ENVIRONMENT_H

#include "base/strvec.h"

/*
 * Appends the ambient variables (NULL-terminated, as environ(7); NULL: none) that own does not name, then
 * own's. An item of own without "=" takes its variable away. 0, or -1: out of memory.
 */
int env_merge(char *const *ambient, const struct strvec *own, struct strvec *out);

#endif
