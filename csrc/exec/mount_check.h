/* The last look before a command starts: is every planned mount where it was meant to be, as it was meant to
 * be? */
#ifndef OS_SANDBOX_EXEC_MOUNT_CHECK_H
#define OS_SANDBOX_EXEC_MOUNT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "exec/payload.h"

/*
 * Opens a planned mount's path (O_PATH) without following any symlink (openat2, Linux 5.6): the descriptor,
 * or -1 with why in text.
 */
int mount_point_open(const struct payload_mount *mount, char *text, size_t text_size);

/* The same, and -1 also where the file is not the planned one by device and inode. */
int mount_point_open_planned(const struct payload_mount *mount, char *text, size_t text_size);

/* The same for what is only copied from there, to be mounted in a skeleton: the path may be a symlink, the
 * planned file is then what it leads to. */
int mount_source_open_planned(const struct payload_mount *mount, char *text, size_t text_size);

/*
 * Compares what is mounted with the plan: mount root (statx, Linux 5.8), mode, read-only flag, device and
 * inode. 0, or -1 with what differs in text. A root that is read-only although it was to be writable is the
 * file system's affair.
 */
int mount_check(const struct payload_mount *mount, char *text, size_t text_size);

/*
 * What a denied path leads to by now, symlinks followed as a command would: 0 where that is nothing, out of
 * reach, or read-only and with masked also without permissions or a skeleton's folder; -1 with what is open
 * in text. Closes what changed between the look at the path and the mounts. Entries below /proc and /dev,
 * which are the sandbox's own, always pass.
 */
int denial_check(const char *path, bool masked, char *text, size_t text_size);

/* Whether the file of fd (O_PATH will do) is what a denied path is covered with: a mask, a skeleton's folder,
 * or a name without permissions in one. */
bool covers_denied(int fd);

#endif
