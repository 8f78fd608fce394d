/*
 * A folder of the host's as a copy of the session's own: an overlayfs, of which only what commands change is
 * kept, in the session's volume (session_tree.h). Made by the first run that wants it, shared by all.
 */
#ifndef OS_SANDBOX_EXEC_SESSION_CACHE_H
#define OS_SANDBOX_EXEC_SESSION_CACHE_H

#include <stddef.h>

#include "exec/payload.h"

/* To be called in the session's mount namespace. Makes the folder of each MOUNT_PRIVATE_COPY and
 * MOUNT_PRIVATE_EMPTY of the plan. 0, or -1 with why in text: such a copy is then an empty folder. */
int session_cache_make(const struct payload *payload, char *text, size_t text_size);

/* A copy of the mount, attached nowhere yet, in the session's namespace or a copy of it. -1 with errno. */
int session_cache_clone(const struct payload_mount *mount);

#endif
