/* Which unix sockets of the host a command may reach: a path against the list of a run. Pure. */
#ifndef OS_SANDBOX_BASE_SOCKET_LIST_H
#define OS_SANDBOX_BASE_SOCKET_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True where the real path of a socket is in the list. Each entry is a pattern of base/glob.h; one that ends
 * in a slash means everything below.
 */
bool socket_list_has(char *const *entries, size_t count, const char *path);

#endif
