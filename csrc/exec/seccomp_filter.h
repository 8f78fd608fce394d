/*
 * The system call filter of a run: what is refused outright, what its supervisor is asked, all from one table
 * (seccomp_table.h). x86_64 and arm64; a call by a foreign architecture's door, x32 included, ends the
 * process.
 */
#ifndef OS_SANDBOX_EXEC_SECCOMP_FILTER_H
#define OS_SANDBOX_EXEC_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

/* Which of the notified calls are: enum supervision of payload.h, without SUPERVISE_FILTER none of them. */

#define SECCOMP_FILTER_MAX 1024 /* instructions */

/* Builds the program; its length in instructions, 0 where it does not fit. Pure. memory: RLIMIT_DATA, 0 where
 * there is none; a mapping that the kernel will refuse for it is notified, so that it is told. */
size_t seccomp_filter_build(unsigned supervision, uint64_t memory, struct sock_filter *out, size_t capacity);

/*
 * Puts the filter on the calling thread for good, and on all it starts (seccomp(2); no_new_privs must be
 * set). *listener becomes the notification descriptor, close-on-exec, with WAIT_KILLABLE_RECV (Linux 5.19):
 * once the supervisor has a call, only a fatal signal interrupts it. 0 or an errno, and then nothing is
 * installed: where there can be no listener (EINVAL: an older kernel, EBUSY: another one above), or on an
 * architecture that the table is not made for (ENOSYS). Without SUPERVISE_FILTER no listener is asked for and
 * *listener is -1, as it is after a failure.
 */
#define SUPERVISE_STATIC_ONLY 0u
int seccomp_filter_install(unsigned supervision, uint64_t memory, int *listener);

#endif
