/* Writing to a descriptor that is shared with others, and whose reader may have stopped reading. */
#ifndef OS_SANDBOX_BASE_WRITE_READY_H
#define OS_SANDBOX_BASE_WRITE_READY_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Writes what a pipe, a socket or a terminal takes at once, without O_NONBLOCK, which everybody would have
 * who has the same descriptor. How many bytes that was; 0 where there is no room now, -1 with errno where
 * nothing can be written any more. It waits only where another writer takes the room between the look and the
 * write.
 */
ssize_t write_ready(int fd, const char *data, size_t size);

#endif
