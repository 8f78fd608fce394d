/* Mounted file systems whose files are switches of the kernel. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_KERNEL_MOUNTS_H
#define OS_SANDBOX_PLATFORM_LINUX_KERNEL_MOUNTS_H

#include "base/error.h"
#include "base/strvec.h"

/*
 * Appends the mount points of proc, sysfs, cgroup, devtmpfs and their kind, wherever they are
 * (proc_pid_mountinfo(5)): root owns what is in them, so that no write root of root's may cover one. 0, or
 * -1.
 */
int kernel_mounts_list(struct strvec *out, struct error *err);

#endif
