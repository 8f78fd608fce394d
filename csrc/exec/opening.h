/* open, openat, creat: what the call wants, and what exists already. */
#ifndef OS_SANDBOX_EXEC_OPENING_H
#define OS_SANDBOX_EXEC_OPENING_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/supervised.h"
#include "exec/walk.h"

struct opening {
    int dirfd;
    uint64_t address;
    int flags;
    mode_t mode;
    char path[PATH_MAX];
};

static inline bool opening_writes(const struct opening *opening) {
    return (opening->flags & O_ACCMODE) != O_RDONLY || (opening->flags & O_TRUNC) != 0;
}

static inline bool opening_creates(const struct opening *opening) {
    return (opening->flags & O_CREAT) != 0;
}

/* Where the kernel would read the path anew another file may be meant by then. */
static inline bool opening_changes(const struct opening *opening) {
    return opening_writes(opening) || opening_creates(opening);
}

static inline bool opening_is_unnamed(const struct opening *opening) {
    return (opening->flags & O_TMPFILE) == O_TMPFILE;
}

/*
 * The answer for an object (O_PATH) that was found at the place: opened here, and handed over, where the
 * kernel would not open it for the command itself (landlock.h); refused, or left to the kernel, where not.
 */
struct answer opening_object(struct call *call, const struct opening *opening, int object,
                             const struct place *place);

/* With O_TMPFILE, in the folder (O_PATH). */
struct answer opening_unnamed(struct call *call, const struct opening *opening, int folder);

/* Where the supervisor has nothing to say. What may change or make a file the kernel refuses, or would open
 * something else: EACCES. */
struct answer opening_left_to_kernel(const struct opening *opening);

/* True for what a denied path is covered with. */
bool is_mask(int fd);

/* Gives the command the file; the copy stays the caller's, to be closed before the command goes on. Where
 * that fails the answer is an errno: EMFILE, or ENOENT where the command was killed. */
struct answer opening_hand_over(struct call *call, const struct opening *opening, int fd);

#endif
