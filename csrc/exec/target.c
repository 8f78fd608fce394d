#include "exec/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/proc_status.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* pidfd_open(2), Linux 6.9 */
#endif

/* Pages are at least as large; a larger one is read in parts. */
#define PAGE 4096u
/* Most paths are shorter. */
#define FIRST_PART 256u

/* The thread waits for its answer, so its number is still its own. */
bool target_waits(const struct call *call) {
    uint64_t id = call->id;
    return ioctl(call->supervisor->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

typedef ssize_t transfer(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                         unsigned long);

static int transfer_all(const struct call *call, transfer *function, uint64_t address, void *local,
                        size_t size) {
    struct iovec here = {.iov_base = local, .iov_len = size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    ssize_t done = size == 0 ? 0 : function(call->thread, &here, 1, &there, 1, 0);
    if (done < 0)
        return errno;
    return (size_t)done < size ? EFAULT : 0;
}

int target_read(const struct call *call, uint64_t address, void *into, size_t size) {
    int error = transfer_all(call, process_vm_readv, address, into, size);
    return target_waits(call) ? error : ESRCH;
}

int target_read_path(const struct call *call, uint64_t address, char *into, size_t size) {
    for (size_t done = 0; done < size;) {
        size_t to_page_end = PAGE - (size_t)((address + done) % PAGE);
        size_t part = size - done < to_page_end ? size - done : to_page_end;
        if (done == 0 && part > FIRST_PART)
            part = FIRST_PART;
        int error = transfer_all(call, process_vm_readv, address + done, into + done, part);
        if (error != 0)
            return error;
        if (memchr(into + done, '\0', part) != NULL)
            return 0;
        done += part;
    }
    return ENAMETOOLONG;
}

int target_read_string(const struct call *call, uint64_t address, char *into, size_t size) {
    int error = target_read_path(call, address, into, size);
    return target_waits(call) ? error : ESRCH;
}

int target_write(const struct call *call, uint64_t address, const void *from, size_t size) {
    if (!target_waits(call))
        return ESRCH;
    int error = transfer_all(call, process_vm_writev, address, (void *)(uintptr_t)from, size);
    return target_waits(call) ? error : ESRCH;
}

int call_pidfd(struct call *call) {
    if (call->pidfd >= 0)
        return call->pidfd;
    cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, call->thread, PIDFD_THREAD);
    if (pidfd < 0 && errno == EINVAL) {
        struct target_ids ids;
        int error = target_ids(call, &ids);
        if (error != 0)
            return -error;
        pidfd = (int)syscall(SYS_pidfd_open, ids.process, 0);
    }
    if (pidfd < 0)
        return -errno;
    if (!target_waits(call))
        return -ESRCH;
    call->pidfd = steal_fd(&pidfd);
    return call->pidfd;
}

int target_duplicate(struct call *call, int fd) {
    int pidfd = call_pidfd(call);
    if (pidfd < 0)
        return pidfd;
    if (fd < 0)
        return -EBADF;
    int duplicate = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
    return duplicate < 0 ? -errno : duplicate;
}

int target_folder(const struct call *call, int dirfd) {
    char path[64];
    if (dirfd < 0 && dirfd != AT_FDCWD)
        return -EBADF;
    if (dirfd == AT_FDCWD)
        snprintf(path, sizeof path, "/proc/%d/cwd", (int)call->thread);
    else
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)call->thread, dirfd);
    /* Not open(): musl's makes another system call of O_CLOEXEC. */
    cleanup_fd int folder = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC);
    int error = folder < 0 ? errno : 0;
    if (!target_waits(call))
        return -ESRCH;
    if (error != 0)
        return error == ENOENT && dirfd != AT_FDCWD ? -EBADF : -error;
    return steal_fd(&folder);
}

int target_ids(const struct call *call, struct target_ids *out) {
    struct proc_status status;
    int error = proc_status_of(call->thread, &status);
    if (!target_waits(call))
        error = ESRCH;
    *out = (struct target_ids){0};
    if (error == 0)
        *out = (struct target_ids){.process = status.process,
                                   .inner_process = status.inner_process,
                                   .inner_thread = status.inner_thread};
    return error;
}

void target_name(const struct call *call, char *into, size_t size) {
    struct target_ids ids;
    char path[64];
    into[0] = '\0';
    if (target_ids(call, &ids) != 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)ids.process);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, into, size - 1);
    if (length <= 0 || !target_waits(call))
        length = 0;
    else if (into[length - 1] == '\n')
        length--;
    into[length] = '\0';
}
