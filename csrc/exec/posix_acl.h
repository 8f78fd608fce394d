/* Access control lists as extended attributes carry them (include/uapi/linux/posix_acl_xattr.h). Pure. */
#ifndef OS_SANDBOX_EXEC_POSIX_ACL_H
#define OS_SANDBOX_EXEC_POSIX_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True unless an entry of the list names a user or group other than these: the kernel knows no others in a
 * user namespace that maps these alone (EINVAL). What is wrong with it otherwise the kernel says. */
bool posix_acl_is_of(const void *value, size_t size, uint32_t uid, uint32_t gid);

#endif
