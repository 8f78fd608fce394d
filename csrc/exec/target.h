/* The thread that made a call: its memory, its descriptors, its folders, read from outside. */
#ifndef OS_SANDBOX_EXEC_TARGET_H
#define OS_SANDBOX_EXEC_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/supervised.h"

/*
 * Reads of memory (process_vm_readv(2), which reaches non-dumpable processes of the run too). Each is
 * followed by a look whether the notification still stands (SECCOMP_IOCTL_NOTIF_ID_VALID): else the pid may
 * be another's. 0, EFAULT as the kernel would say it, EPERM where this process cannot be read (an
 * execute-only program of another owner), ESRCH where the call is gone.
 */
int target_read(const struct call *call, uint64_t address, void *into, size_t size);

/* A string with its NUL into size bytes; besides: ENAMETOOLONG. */
int target_read_string(const struct call *call, uint64_t address, char *into, size_t size);

/* The same without that look: for a path that is walked next, which looks (walk.h). */
int target_read_path(const struct call *call, uint64_t address, char *into, size_t size);

/* True while the notification stands: what was read before is the thread's own. */
bool target_waits(const struct call *call);

/* Writes memory (a message's length that comes back). The same errors. */
int target_write(const struct call *call, uint64_t address, const void *from, size_t size);

/* A pidfd of the thread (before Linux 6.9: of its process), the call's own: closed after the answer. Or
 * -errno. */
int call_pidfd(struct call *call);

/* A duplicate of its descriptor: the same open file description (pidfd_getfd(2)). Or -errno: EBADF, … */
int target_duplicate(struct call *call, int fd);

/* O_PATH descriptors of its current folder, or of what its descriptor dirfd is; or -errno (EBADF, ESRCH). */
int target_folder(const struct call *call, int dirfd);

/* Its process id, as the supervisor sees it; inner: as /proc inside shows both. 0 or an errno. */
struct target_ids {
    pid_t process;
    pid_t inner_process;
    pid_t inner_thread;
};
int target_ids(const struct call *call, struct target_ids *out);

/* The name of its process (proc_pid_comm(5)), "" where it cannot be had. */
void target_name(const struct call *call, char *into, size_t size);

/* The file mode creation mask in force for the thread, remembered for a second: umask(2) is notified. */
mode_t target_umask(const struct call *call);

/* To be called for every umask(2), before it goes on. */
void target_umask_changes(const struct call *call, mode_t mask);

struct umask_cache *umask_cache_new(void);

#endif
