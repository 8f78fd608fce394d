/* The few facts of statx(2) that the mount check needs; musl's headers know neither the call nor its
 * attributes. */
#ifndef OS_SANDBOX_EXEC_STATX_H
#define OS_SANDBOX_EXEC_STATX_H

#include <stdbool.h>
#include <stdint.h>

struct file_facts {
    uint64_t device; /* as st_dev */
    uint64_t inode;
    uint32_t mode;
    bool mount_root; /* STATX_ATTR_MOUNT_ROOT, Linux 5.8 */
};

/* Facts of the file that fd (O_PATH is enough) stands for. 0, or -1 with errno. */
int file_facts_of(int fd, struct file_facts *out);

/* The same of a name in a folder, a symlink's own. */
int file_facts_at(int folder, const char *name, struct file_facts *out);

#endif
