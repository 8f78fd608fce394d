/* Why this host cannot run a sandbox, in words that say what to do about it. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_HOST_CHECK_H
#define OS_SANDBOX_PLATFORM_LINUX_HOST_CHECK_H

#include "base/error.h"

/* The oldest kernel with openat2, statx mount roots and close_range: without them nothing can be checked. 0
 * or -1. */
int host_check_kernel(struct error *err);

/* Puts the cause that this host shows before what the probe said: reads /proc/sys and the kernel's AppArmor
 * switch. */
void host_explain(const char *probe_text, struct error *err);

#endif
