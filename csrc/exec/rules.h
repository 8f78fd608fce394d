/*
 * The rules that only the supervisor can hold, by name: protected names, parts of git directories, and denied
 * paths that are not mounted, or not any more. Mounts do the rest. Thread-safe.
 */
#ifndef OS_SANDBOX_EXEC_RULES_H
#define OS_SANDBOX_EXEC_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/payload.h"
#include "exec/session_index.h"

struct rules;
struct report;

enum rule_act {
    RULE_CREATE,  /* a new name: by open, mkdir, mknod, symlink, bind; the target of a link or a rename */
    RULE_REMOVE,  /* unlink, rmdir, the source of a rename */
    RULE_WRITE,   /* content or attributes of what is there; a second name for it (the source of a link) */
    RULE_READ,    /* opened for reading: only by a pattern that denies it, what else is denied has a mask */
    RULE_SYMLINK, /* RULE_CREATE where what gets the name is a symlink: by symlink, link, rename */
};

/* root: O_PATH of the run's root; it stays the caller's. NULL: out of memory. */
struct rules *rules_new(const struct payload *payload, int root, struct session_index *index);
void rules_free(struct rules *rules);

/*
 * Why the path, real and absolute in the run's root, may not be changed so; NULL: nothing here forbids it.
 * The words are constant, or as long-lived as the payload.
 */
const char *rules_refuse(struct rules *rules, enum rule_act act, const char *path);

/* Whether it lies where there are none: in the run's own /dev and /proc. */
bool rules_are_none_for(const char *path);

/* Why a name may not be made in a folder that is not there yet, as far as its text tells: what makes a git
 * directory is in that folder. */
const char *rules_refuse_unmade(struct rules *rules, const char *path);

/*
 * The same for a folder (O_PATH) that is to get another name: whether an entry of it is protected where it
 * is, or would be where it goes. Both real and absolute.
 */
const char *rules_refuse_move(struct rules *rules, int folder, const char *from, const char *to);

/*
 * To be called after the supervisor made a name (RULE_CREATE), or moved something to it, and before the
 * command hears of it; and before existing content is opened to be written. Marks git directories for the
 * check at the end.
 */
void rules_note(struct rules *rules, const char *path);

/* After a folder was moved: what is known of git directories below it goes by the new name as well. */
void rules_note_move(struct rules *rules, const char *from, const char *to);

/* Moves of folders, see session_index.h. */
uint64_t rules_moves(const struct rules *rules);
void rules_move_begins(struct rules *rules);
void rules_move_ended(struct rules *rules);

/*
 * The end of the run, when every process of it is gone: git directories that were made or touched are made
 * harmless (git_check.h), and what was taken out is reported. So are those that killed supervisors left.
 * report: NULL where nobody is told.
 */
void rules_finish(struct rules *rules, struct report *report);

#endif
