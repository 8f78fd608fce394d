/* The last look before a command starts: is every planned mount where it was meant to be, as it was meant to be? */
#ifndef OS_SANDBOX_EXEC_MOUNT_CHECK_H
#define OS_SANDBOX_EXEC_MOUNT_CHECK_H

#include <stddef.h>

#include "exec/payload.h"

/*
 * Opens the path without following any symlink (openat2, Linux 5.6) and compares mount root (statx, Linux 5.8), mode,
 * read-only flag, device and inode with the plan. 0, or -1 with what differs in text.
 */
int mount_check(const struct payload_check *check, char *text, size_t text_size);

#endif
