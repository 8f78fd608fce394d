/* A thread that looks at files with a command's rights: as root a command has no capabilities, so neither has
 * the look. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_THREAD_RIGHTS_H
#define OS_SANDBOX_PLATFORM_LINUX_THREAD_RIGHTS_H

#include <stdint.h>

struct thread_rights {
    uint32_t effective[2];
    int changed;
};

/* Takes CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH out of this thread's effective set (capset(2) is per
 * thread). */
void thread_rights_lower(struct thread_rights *saved);

/* Puts back what thread_rights_lower took. */
void thread_rights_restore(const struct thread_rights *saved);

#endif
