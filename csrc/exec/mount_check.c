#include "exec/mount_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/statx.h"

static int differs(const struct payload_check *check, char *text, size_t text_size, const char *what) {
    snprintf(text, text_size, "%s: %s", check->path, what);
    return -1;
}

int mount_check(const struct payload_check *check, char *text, size_t text_size) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    cleanup_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, check->path, &how, sizeof how);
    if (fd < 0)
        return differs(check, text, text_size,
                       errno == ELOOP ? "became a symlink while the sandbox was set up" : strerror(errno));
    struct file_facts facts;
    struct statvfs volume;
    if (file_facts_of(fd, &facts) != 0 || fstatvfs(fd, &volume) != 0)
        return differs(check, text, text_size, strerror(errno));
    bool read_only = (volume.f_flag & ST_RDONLY) != 0;
    bool masked = check->kind == CHECK_MASKED_DIR || check->kind == CHECK_MASKED_FILE;
    if (!facts.mount_root)
        return differs(check, text, text_size, "the planned mount is not there");
    if (read_only != (check->kind != CHECK_WRITABLE))
        return differs(check, text, text_size, read_only ? "mounted read-only" : "not mounted read-only");
    if (masked && (facts.mode & 07777) != 0)
        return differs(check, text, text_size, "not masked");
    if (!masked && (facts.device != check->device || facts.inode != check->inode))
        return differs(check, text, text_size, "was replaced while the sandbox was set up");
    return 0;
}
