/* A command's environment: the ambient one with the run's own variables on top. */
#ifndef OS_SANDBOX_COMMAND_ENVIRONMENT_H
#define OS_SANDBOX_COMMAND_ENVIRONMENT_H

#include <stdbool.h>

#include "base/strvec.h"

/*
 * Appends the ambient variables (NULL-terminated, as environ(7); NULL: none) that own does not name, then
 * own's. An item of own without "=" takes its variable away. 0, or -1: out of memory. Pure.
 */
int env_merge(char *const *ambient, const struct strvec *own, struct strvec *out);

/*
 * Takes variables away that lead programs to unix sockets which a command cannot reach: SSH_AUTH_SOCK,
 * DBUS_SESSION_BUS_ADDRESS, DOCKER_HOST. Those that own names stay, and those of which a socket is in the
 * list (base/socket_list.h), as written or where its symlinks lead.
 */
void env_withhold_sockets(struct strvec *env, const struct strvec *own, const struct strvec *allowed);

/*
 * Names the proxy in the variables that clients go by, in both spellings, over what the ambient environment
 * says; those that own names stay as they are. every_client: what ignores such variables gets through as
 * well; else Node.js is told to heed them, which it warns of in every process. 0, or -1: out of memory.
 */
int env_name_proxy(struct strvec *env, const struct strvec *own, const char *url, bool every_client);

/*
 * Where npm has its cache by that environment (npm-config(7), "cache"; configuration files are not read):
 * absolute. NULL: out of memory. The caller frees.
 */
char *env_package_cache(const struct strvec *env, const char *home, const char *cwd);

/* Sets that, in the place of every spelling that npm takes. 0, or -1: out of memory. */
int env_set_package_cache(struct strvec *env, const char *path);

/* Has TMPDIR, with every also its like, name /tmp where is_shown says no to what it names. 0, or -1. */
int env_repair_tmpdir(struct strvec *env, bool every, bool (*is_shown)(void *data, const char *path),
                      void *data);

#endif
