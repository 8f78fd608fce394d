/* What the calls that make, take away and move names have in common (broker_names.c, broker_rename.c). */
#ifndef OS_SANDBOX_EXEC_NAMES_H
#define OS_SANDBOX_EXEC_NAMES_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/statx.h"
#include "exec/supervised.h"
#include "exec/walk.h"

#define CREATE "file-write-create"
#define UNLINK "file-write-unlink"

/* A path of a call, and where it leads. */
struct side {
    int dirfd;
    int error; /* of reading the path */
    char path[PATH_MAX];
    struct place place;
    /* What lies there (side_look). */
    bool exists;
    struct file_facts facts;
};

struct names {
    struct side first;
    struct side second;
    uint64_t extra; /* the mode, or the flags */
    uint64_t device;
};

static inline int result_of(long result) {
    return result == 0 ? 0 : errno;
}

const char *name_of(const struct place *place);
bool place_is_plain(const struct place *place);
bool place_is_entry(const struct place *place);
bool side_is_folder(const struct side *side);
int side_walk(struct call *call, struct side *side);
bool side_find(struct call *call, struct side *side, const char *operation, struct answer *answer);
int side_look(struct side *side);
struct answer side_refused(struct call *call, const char *operation, const struct side *side, int error);
int error_of_mount(const struct place *place);

/* rename, renameat, renameat2. */
struct answer rename_names(struct call *call, struct names *names);
int wrong_rename(uint64_t flags);

#endif
