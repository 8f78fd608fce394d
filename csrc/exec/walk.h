/*
 * Where a path of a command leads, in its own root. One openat2 with RESOLVE_NO_SYMLINKS decides that the
 * text is the truth; where a symlink is on the way (ELOOP) it is walked by components: symlinks are read and
 * followed here, /proc/self and thread-self are the command's, magic links are taken as they are, and the
 * rule of fs.protected_symlinks (proc_sys_fs(5)) is kept. Nothing here ever follows a link in the
 * supervisor's own root.
 */
#ifndef OS_SANDBOX_EXEC_WALK_H
#define OS_SANDBOX_EXEC_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "exec/supervised.h"

/*
 * A name in a folder. For calls that take a name (mkdir, unlink, rename, …) name is passed as it is: it has
 * no slash but one behind it, where the path had one; it may be "." or "..", for which those calls have their
 * own errors. It is "" where the path is the folder itself ("/", or a magic link was followed to it).
 */
struct place {
    int parent; /* O_PATH; owned; -1: none */
    char name[PATH_MAX];
};

/*
 * The place of a path, relative to dirfd as the call says it (AT_FDCWD too); what of the command was read
 * with target_read_path is looked at by this. follow: a symlink at the last component is followed, else it is
 * the place. What is at the place need not exist. 0 or the errno that the kernel would give. On EACCES *out
 * is filled too: the folder that refused, and the rest of the path from there.
 */
int walk_to_place(struct call *call, int dirfd, const char *path, bool follow, struct place *out);

/* O_PATH of what is at the place, a symlink not followed; or -errno. */
int place_open(const struct place *place);

/*
 * O_PATH of what the path leads to, in one step. Or -errno; on -EACCES *place is as above, else it is the
 * object's place. The caller clears place either way.
 */
int walk_to_object(struct call *call, int dirfd, const char *path, bool follow, struct place *place);

/* Its real absolute path inside, cut to size. False where that is not the whole one. */
bool place_path(const struct place *place, char *into, size_t size);

/* The real absolute path of an O_PATH descriptor in the run's root; "" where it has none (a pipe). False
 * where it does not fit, or is longer than the kernel tells (PATH_MAX). */
bool object_path(int fd, char *into, size_t size);

void place_clear(struct place *place);

#endif
