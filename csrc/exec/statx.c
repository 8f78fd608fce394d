#include "exec/statx.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef STATX_BASIC_STATS
#include <linux/stat.h>
#endif
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

int file_facts_at(int folder, const char *name, struct file_facts *out) {
    struct statx facts;
    memset(&facts, 0, sizeof facts);
    if (syscall(SYS_statx, folder, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                STATX_BASIC_STATS, &facts) != 0)
        return -1;
    *out = (struct file_facts){
        .device = (uint64_t)makedev(facts.stx_dev_major, facts.stx_dev_minor),
        .inode = facts.stx_ino,
        .mode = facts.stx_mode,
        .mount_root = (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
    };
    return 0;
}

int file_facts_of(int fd, struct file_facts *out) {
    return file_facts_at(fd, "", out);
}
