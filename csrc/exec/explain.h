/*
 * Whether a call that failed was refused by the sandbox, and then the report of it. The mounts are the
 * policy: what failed with EROFS, EACCES or EPERM at a read-only mount, with EBUSY at a mount of the plan, or
 * with EXDEV across a read-only mount was refused; what failed by file modes in a writable place was not.
 */
#ifndef OS_SANDBOX_EXEC_EXPLAIN_H
#define OS_SANDBOX_EXEC_EXPLAIN_H

#include "exec/supervised.h"
#include "exec/walk.h"

/* True where the file or folder lies on a read-only mount. fd: O_PATH will do. */
bool is_on_read_only_mount(int fd);

/* Reports `operation` on the place where errnum there is a refusal. Returns answer_errno(errnum). */
struct answer explain_place(struct call *call, const char *operation, const struct place *place, int errnum);

/* The same for an object that is open already (O_PATH). */
struct answer explain_object(struct call *call, const char *operation, int fd, int errnum);

#endif
