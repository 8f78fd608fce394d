/*
 * Paths whose names are watched: when somebody makes, removes or renames a file or folder at one of them, or
 * at any folder above it, it is told as changed. One inotify instance for all (inotify(7)); every existing
 * folder above a path has a watch, which all paths below it share and which stays when they are let go, for
 * the next run that needs it. Of a folder that can be searched but not watched the wanted names are looked
 * at. Single-threaded.
 */
#ifndef OS_SANDBOX_EXEC_WATCH_H
#define OS_SANDBOX_EXEC_WATCH_H

#include <stdbool.h>
#include <stddef.h>

struct watch;
struct watch_place; /* one path */

/* Where no inotify instance can be had (fs.inotify.max_user_instances) no folder is watched. NULL: no memory.
 */
struct watch *watch_new(void);
void watch_free(struct watch *watch);

/* Readable when something happened in a watched folder, of interest or not. -1: none will ever be watched. */
int watch_fd(const struct watch *watch);

/*
 * From now on the absolute path is watched, until watch_leave is called as often. No symlink is followed at
 * a path's last component. Folders that are missing are watched once they appear; those that may not be read
 * (EACCES), and those for which the user has no watch left (ENOSPC), are not: watch_look. NULL: out of
 * memory.
 */
struct watch_place *watch_path(struct watch *watch, const char *path);
void watch_leave(struct watch *watch, struct watch_place *place); /* NULL is fine */

/*
 * Reads all events, and watches what appeared. True when a watched path may have changed. Folders are
 * watched before this returns: who looks at a changed path afterwards misses nothing.
 */
bool watch_hear(struct watch *watch);

/* Whether there are folders whose files can be reached, and which cannot be watched: watch_look tells then.
 */
bool watch_is_blind(const struct watch *watch);

/* What watch_hear is for the folders with a watch: looks at what is wanted of those without. */
bool watch_look(struct watch *watch);

/* Whether the last watch_hear or watch_look found the path or a folder above it changed. */
bool watch_changed(const struct watch *watch, const struct watch_place *place);

/* Whether something is there, a symlink itself; asked of the file system only where events leave it open. */
bool watch_exists(const struct watch *watch, struct watch_place *place);

/* How many paths are known, folders above them included. For tests. */
size_t watch_place_count(const struct watch *watch);

#endif
